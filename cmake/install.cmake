# SPDX-License-Identifier: MIT
# install: libraries, headers, the man page, pkg-config and CMake package files. The prefix may be stated at
# install time (cmake --install --prefix), so the pkg-config file is written then.
include(CMakePackageConfigHelpers)

install(TARGETS weir_static weir_shared weir_core_static weir_core_shared EXPORT weirTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET weir_hdf5)
  install(TARGETS weir_hdf5 RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/weir)
endif()
install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
set_target_properties(weir_shared PROPERTIES EXPORT_NAME weir)
set_target_properties(weir_core_shared PROPERTIES EXPORT_NAME weir_core)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package})
configure_package_config_file(cmake/weirConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake DESTINATION ${package})

# A static libweir is linked with the libraries it uses as they are installed (mostly shared): Requires.private would
# require their static dependencies too, and Debian's libsndfile names some that no package provides.
foreach(name weir weir-core)
  set(private "-lm -pthread")
  set(what "streaming signal chains inside a stated number of bytes")
  if(name STREQUAL "weir")
    string(JOIN " " private ${SNDFILE_LDFLAGS} ${HDF5_LDFLAGS} ${FYAML_LDFLAGS} "${private}")
  else()
    string(APPEND what ", without files: needs libc, libm and threads only")
  endif()
  install(CODE "set(PROJECT_VERSION \"${PROJECT_VERSION}\")
set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(name \"${name}\")
set(what \"${what}\")
set(private \"${private}\")
configure_file(\"${CMAKE_SOURCE_DIR}/cmake/weir.pc.in\" \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\" @ONLY)")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The man page is printed by the command from its own tables.
if(TARGET weir_cli)
  install(CODE "file(MAKE_DIRECTORY \"${CMAKE_CURRENT_BINARY_DIR}/doc\")
execute_process(COMMAND \"$<TARGET_FILE:weir_cli>\" docs \"${CMAKE_CURRENT_BINARY_DIR}/doc\"
                RESULT_VARIABLE status OUTPUT_QUIET)
if(status)
  message(FATAL_ERROR \"weir docs ended with \${status}\")
endif()")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/doc/weir.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
