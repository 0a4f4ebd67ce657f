foreach(target ${area_targets_cpu})
  target_link_libraries(${target} PRIVATE veloce-compiled)
endforeach()
