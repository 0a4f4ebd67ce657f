foreach(target ${area_targets_model})
  target_link_libraries(${target} PRIVATE veloce-compiled nlohmann_json::nlohmann_json)
endforeach()
