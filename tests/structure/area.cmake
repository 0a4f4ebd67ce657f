# Every public header compiles alone.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME structure/self_contained_headers
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/self_contained_headers.py ${CMAKE_CXX_COMPILER}
          ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/tests/structure)
set_tests_properties(structure/self_contained_headers PROPERTIES LABELS structure TIMEOUT 600)
# Objects for one instruction set keep their functions to themselves.
if(CMAKE_NM AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT VELOCE_SANITIZE)
  add_test(NAME structure/object_symbols
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/object_symbols.py ${CMAKE_NM} $<TARGET_FILE:veloce-compiled>)
  set_tests_properties(structure/object_symbols PROPERTIES LABELS structure)
  foreach(target ${area_targets_structure})
    add_dependencies(${target} veloce-compiled)
  endforeach()
endif()
# A level is chosen only where the processor has all that its units may use.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(level avx2 avx512)
    get_source_file_property(level_options ${PROJECT_SOURCE_DIR}/models/common/cpu_${level}.cpp DIRECTORY ${PROJECT_SOURCE_DIR}/models
                             COMPILE_OPTIONS)
    add_test(NAME structure/isa_flags_${level}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/isa_flags.py ${CMAKE_CXX_COMPILER}
              ${PROJECT_SOURCE_DIR}/include/veloce/cpu/isa.hpp -- ${level_options})
    set_tests_properties(structure/isa_flags_${level} PROPERTIES LABELS structure)
  endforeach()
endif()
