include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/veloce DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers
        FILES_MATCHING PATTERN "*.hpp")
install(TARGETS veloce EXPORT veloceTargets COMPONENT headers)
install(EXPORT veloceTargets NAMESPACE veloce:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veloce COMPONENT headers)
file(WRITE ${PROJECT_BINARY_DIR}/veloceConfig.cmake
"include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/veloceTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/veloceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/veloceConfig.cmake ${PROJECT_BINARY_DIR}/veloceConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/veloce COMPONENT headers)
