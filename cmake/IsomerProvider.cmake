# libisomer_provider.so, which ONNX Runtime loads as an execution provider: src/provider and what it needs of src/base, nothing else.

option(ISOMER_PROVIDER "Build the execution provider for ONNX Runtime" ON)
if(NOT ISOMER_PROVIDER OR ISOMER_SANITIZE OR ISOMER_FUZZ)
  return()  # a runtime without sanitizers loads it
endif()
if(NOT EXISTS "${ISOMER_DEPS}/include/onnxruntime_plugin/onnxruntime_ep_c_api.h")
  message(STATUS "the execution provider is left out: its header is not there (tools/setup, with a go client)")
  return()
endif()

file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/provider/*.cpp")
foreach(name blake2b cache_place entry_cache own_file processor)
  list(APPEND sources "${CMAKE_SOURCE_DIR}/src/base/${name}.cpp")
endforeach()
add_library(isomer_provider MODULE ${sources})
target_include_directories(isomer_provider PRIVATE "${CMAKE_SOURCE_DIR}/src")
target_include_directories(isomer_provider SYSTEM PRIVATE "${ISOMER_DEPS}/include")
target_compile_definitions(isomer_provider PRIVATE ISOMER_VERSION="${PROJECT_VERSION}")
target_compile_options(isomer_provider PRIVATE -fvisibility=hidden)
target_link_libraries(isomer_provider PRIVATE isomer_warnings Threads::Threads ${CMAKE_DL_LIBS})
set(map "${CMAKE_SOURCE_DIR}/cmake/isomer_provider.map")
target_link_options(isomer_provider PRIVATE "-Wl,--version-script=${map}" -Wl,--as-needed -Wl,-z,defs)
set_target_properties(isomer_provider PROPERTIES LINK_DEPENDS "${map}" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")  # beside isomer
