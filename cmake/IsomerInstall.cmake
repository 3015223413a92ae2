# libisomer.so, the headers of include/isomer, and what CMake and pkg-config need to find them. Paths are relative: an installed
# tree can be moved.

target_compile_definitions(isomer_app_api PRIVATE ISOMER_VERSION="${PROJECT_VERSION}")

if(ISOMER_SANITIZE OR ISOMER_FUZZ)
  return()  # those builds test the parts and are not linked
endif()

# Off if the standard library inside is not that of the program that links it (tools/portable): libisomer.so is then for
# C.
option(ISOMER_PUBLIC_CXX "libisomer.so shows isomer.h, too" ON)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_compile_options(isomer_app_api PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
add_library(isomer_shared SHARED $<TARGET_OBJECTS:isomer_app_api>)
target_link_libraries(isomer_shared PRIVATE isomer_app_scan isomer_compiler)
target_include_directories(isomer_shared INTERFACE "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>"
                                                   "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
# isomer.map leaves only the public functions: the other folders are compiled as for the programs, and the standard library's
# templates are visible wherever they are used.
set(map "${CMAKE_SOURCE_DIR}/cmake/isomer.map")
set(headers include/isomer/isomer_c.h)
foreach(header IN ITEMS isomer model optimize prove compile tools)
  list(APPEND headers include/isomer/${header}.h)
endforeach()
if(NOT ISOMER_PUBLIC_CXX)
  set(map "${CMAKE_SOURCE_DIR}/cmake/isomer_c.map")
  set(headers include/isomer/isomer_c.h)
endif()
target_link_options(isomer_shared PRIVATE "-Wl,--version-script=${map}" -Wl,--as-needed -Wl,-z,defs)
# Before 1.0 a minor version may break what links it.
set_target_properties(isomer_shared PROPERTIES
  OUTPUT_NAME isomer EXPORT_NAME isomer LINKER_LANGUAGE CXX LINK_DEPENDS "${map}"
  VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}"  # beside its worker
  # In the build tree too: CMake would leave room for it there, colons, which the loader reads as the current folder.
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/isomer")
install(TARGETS isomer isomer-check isomer-worker RUNTIME)
install(TARGETS isomer_shared EXPORT isomerTargets LIBRARY)
if(TARGET isomer_provider)
  add_dependencies(isomer_shared isomer_provider)  # a build of the installed files names only this target
  install(TARGETS isomer_provider LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/isomer")
install(FILES rules/generated.rules DESTINATION "${CMAKE_INSTALL_DATADIR}/isomer")
install(EXPORT isomerTargets NAMESPACE isomer:: DESTINATION "${package}")

configure_package_config_file(cmake/isomerConfig.cmake.in "${CMAKE_BINARY_DIR}/isomerConfig.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/isomerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/isomerConfig.cmake" "${CMAKE_BINARY_DIR}/isomerConfigVersion.cmake" DESTINATION "${package}")

file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/isomer.pc.in "${CMAKE_BINARY_DIR}/isomer.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/isomer.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
