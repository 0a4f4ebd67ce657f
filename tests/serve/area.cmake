# The server's own tests link its library; its HTTP tests run veloce-serve over a fake engine, and over a model.
if(TARGET veloce-serve-lib)
  foreach(target ${area_targets_serve})
    target_link_libraries(${target} PRIVATE veloce-serve-lib)
  endforeach()
  add_executable(veloce-serve-fake ${CMAKE_CURRENT_LIST_DIR}/fake_server.cpp)
  target_link_libraries(veloce-serve-fake PRIVATE veloce-serve-lib)
  set_target_properties(veloce-serve-fake PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME serve/http COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_http_tests.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(serve/http PROPERTIES LABELS serve TIMEOUT 1200 SKIP_RETURN_CODE 77
    ENVIRONMENT "VELOCE_SOURCE_DIR=${PROJECT_SOURCE_DIR};VELOCE_BINARY_DIR=${PROJECT_BINARY_DIR}")
endif()
