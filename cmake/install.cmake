include(CMakePackageConfigHelpers)
install(TARGETS dkho EXPORT dkhoTargets PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET dkho_cli)
  install(TARGETS dkho_cli)
endif()
install(EXPORT dkhoTargets NAMESPACE dkho:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dkho)
configure_file(cmake/dkhoConfig.cmake.in ${PROJECT_BINARY_DIR}/gen/dkhoConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gen/dkhoConfigVersion.cmake COMPATIBILITY SameMajorVersion)
# Found from where the file itself lies, so that an installed tree may be moved.
file(RELATIVE_PATH DKHO_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/dkho.pc.in ${PROJECT_BINARY_DIR}/gen/dkho.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gen/dkhoConfig.cmake ${PROJECT_BINARY_DIR}/gen/dkhoConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dkho)
install(FILES ${PROJECT_BINARY_DIR}/gen/dkho.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
