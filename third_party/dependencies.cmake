# Finds each dependency as the distribution packages it. Where a package is missing, a pinned release is fetched
# (FetchContent, checked by hash), unless VELOCE_FETCH is off.
#
#   library        Debian package         licence      used by
#   nlohmann/json  nlohmann-json3-dev     MIT          text (templates, schemas), apps
#   cpp-httplib    libcpp-httplib-dev     MIT          apps/serve
#   CLI11          libcli11-dev           BSD-3        apps
#   doctest        doctest-dev            MIT          tests
#   PCRE2          libpcre2-dev           BSD-3        tests/text (checks the pre-tokenizers; optional)
#   OpenSSL        libssl-dev             Apache-2.0   apps/serve (TLS)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # CMake 3.24; older versions include this file at the top level anyway
if(VELOCE_BUILD_APPS OR VELOCE_BUILD_TESTS)
  find_package(nlohmann_json REQUIRED)
  find_package(CLI11 REQUIRED)
endif()
