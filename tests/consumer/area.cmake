# Projects that use Veloce as others would, each configured, built and run by a test.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
target_sources(test-consumer-odr PRIVATE consumer/odr_other.cpp)
set(consumer_dir ${CMAKE_CURRENT_LIST_DIR})
set(consumer_work ${PROJECT_BINARY_DIR}/tests/consumer)
set(consumer_prefix ${consumer_work}/prefix)
function(veloce_add_consumer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OPTIONS" "DEFINES")
  add_test(NAME consumer/${name}
    COMMAND ${CMAKE_COMMAND} -D PROJECT=${consumer_dir}/${name} -D WORK=${consumer_work}/${name} -D COMPILER=${CMAKE_CXX_COMPILER}
            -D GENERATOR=${CMAKE_GENERATOR} ${arg_DEFINES} "-DOPTIONS=${arg_OPTIONS}" -P ${consumer_dir}/run_project.cmake)
  set_tests_properties(consumer/${name} PROPERTIES LABELS consumer TIMEOUT 600)
endfunction()
veloce_add_consumer(subdirectory OPTIONS -DVELOCE_DIR=${PROJECT_SOURCE_DIR})
veloce_add_consumer(package OPTIONS -DCMAKE_PREFIX_PATH=${consumer_prefix}
                    DEFINES -D INSTALL_FROM=${PROJECT_BINARY_DIR} -D PREFIX=${consumer_prefix})
veloce_add_consumer(instances OPTIONS -DCMAKE_PREFIX_PATH=${consumer_prefix} DEFINES -D CHECK_INSTANCES=1 -D NM=${CMAKE_NM})
set_tests_properties(consumer/package PROPERTIES FIXTURES_SETUP veloce_installed)
set_tests_properties(consumer/instances PROPERTIES FIXTURES_REQUIRED veloce_installed)
add_test(NAME consumer/must_not_compile
  COMMAND Python3::Interpreter ${consumer_dir}/must_not_compile.py ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/include)
set_tests_properties(consumer/must_not_compile PROPERTIES LABELS consumer)
