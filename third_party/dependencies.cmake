# Finds each dependency as the distribution packages it. One that is missing is fetched as a pinned release, checked by
# its hash, unless VELOCE_FETCH is off (CMake 3.24 or later, so that later find_package calls find what was fetched).
#
#   library        Debian package         licence      used by
#   nlohmann/json  nlohmann-json3-dev     MIT          text (templates, schemas), apps
#   CLI11          libcli11-dev           BSD-3        apps
#   cpp-httplib    libcpp-httplib-dev     MIT          apps/serve
#   OpenSSL        libssl-dev             Apache-2.0   apps/serve (TLS); never fetched
#   doctest        doctest-dev            MIT          tests
#   PCRE2          libpcre2-dev           BSD-3        tests/text (checks the pre-tokenizers; optional, never fetched)
#   zlib, zstd     zlib1g-dev libzstd-dev zlib, BSD-3  bench/gfx906 (optional, never fetched)
option(VELOCE_FETCH "Fetch pinned releases of missing dependencies" ON)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # CMake 3.24; older versions include this file at the top level anyway

# veloce_find(<package> <Debian package> <URL> <SHA-256> [<cache variables to turn off in the fetched build>…])
macro(veloce_find package debian url hash)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    if(NOT VELOCE_FETCH OR CMAKE_VERSION VERSION_LESS 3.24)
      message(FATAL_ERROR "${package} is missing: install ${debian}, or allow VELOCE_FETCH with CMake 3.24 or later")
    endif()
    message(STATUS "${package} is missing (Debian package ${debian}): fetching ${url}")
    include(FetchContent)
    foreach(option ${ARGN})
      set(${option} OFF CACHE INTERNAL "")
    endforeach()
    FetchContent_Declare(${package} URL ${url} URL_HASH SHA256=${hash} DOWNLOAD_EXTRACT_TIMESTAMP ON
                         OVERRIDE_FIND_PACKAGE SYSTEM)
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

if(VELOCE_BUILD_APPS OR VELOCE_BUILD_TESTS)
  veloce_find(nlohmann_json nlohmann-json3-dev
    https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d JSON_BuildTests JSON_Install)
  veloce_find(CLI11 libcli11-dev https://github.com/CLIUtils/CLI11/archive/v2.4.2.tar.gz
    f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a CLI11_BUILD_TESTS CLI11_BUILD_EXAMPLES CLI11_INSTALL)
endif()
if(VELOCE_BUILD_TESTS)
  veloce_find(doctest doctest-dev https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
    632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186 DOCTEST_WITH_TESTS DOCTEST_NO_INSTALL)
  if(NOT TARGET doctest::doctest AND TARGET doctest)
    add_library(doctest::doctest ALIAS doctest)
  endif()
endif()

# PkgConfig::HTTPLIB. The distribution's package carries the settings its library was built with; they change the layout
# of its types. The fetched one is the header alone, with TLS.
if(VELOCE_BUILD_APPS)
  find_package(OpenSSL REQUIRED)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(HTTPLIB QUIET IMPORTED_TARGET GLOBAL cpp-httplib)
  endif()
  if(NOT TARGET PkgConfig::HTTPLIB)
    veloce_find(httplib libcpp-httplib-dev https://github.com/yhirose/cpp-httplib/archive/v0.14.3.tar.gz
      dcf6486d9030937636d8a4f820ca9531808fd7edb283893dddbaa05f99357e63 HTTPLIB_COMPILE HTTPLIB_INSTALL
      HTTPLIB_USE_BROTLI_IF_AVAILABLE HTTPLIB_USE_ZLIB_IF_AVAILABLE)
    add_library(PkgConfig::HTTPLIB ALIAS httplib)
  endif()
endif()
