# The chat page: the embedded files, and the page in headless Chromium over a fake server and over veloce-serve.
if(TARGET veloce-serve-lib)
  foreach(target ${area_targets_ui})
    target_link_libraries(${target} PRIVATE veloce-serve-lib)
  endforeach()
  set(ui_listing ${PROJECT_BINARY_DIR}/apps/serve/ui/generated/assets.txt)
  add_test(NAME ui/browser COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_browser_tests.sh ${PROJECT_BINARY_DIR} ui_test.py
                                   ${PROJECT_SOURCE_DIR} ${ui_listing})
  add_test(NAME ui/real COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_browser_tests.sh ${PROJECT_BINARY_DIR} real_server_test.py
                                ${PROJECT_SOURCE_DIR} $<TARGET_FILE:veloce-serve>)
  # Both set up one Python environment, and a browser wants the machine for itself.
  set_tests_properties(ui/browser ui/real PROPERTIES LABELS ui TIMEOUT 900 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
    ENVIRONMENT "VELOCE_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endif()
