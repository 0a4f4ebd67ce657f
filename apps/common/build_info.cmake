# cmake -DSOURCE=… -DOUT=… -P build_info.cmake: writes the header if the commit is another than before.
cmake_minimum_required(VERSION 3.22)
set(commit "unknown")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define VELOCE_BUILD_COMMIT \"@commit@\"\n" @ONLY)
