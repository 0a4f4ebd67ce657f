# Tests of what the programs do beyond their libraries: they run the programs themselves (VELOCE_BINARY_DIR/bin).
foreach(target ${area_targets_apps})
  target_link_libraries(${target} PRIVATE veloce-perplexity-lib veloce-bench-lib nlohmann_json::nlohmann_json)
  add_dependencies(${target} veloce-perplexity veloce-bench)
endforeach()
