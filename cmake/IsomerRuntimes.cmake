# isomer_runtime_headers: the C APIs of ONNX Runtime and OpenVINO. Headers only: their libraries are loaded at run time, from
# where the user's own are. Only src/runtime links it.

foreach(header onnxruntime/onnxruntime_c_api.h openvino/c/openvino.h)
  if(NOT EXISTS "${ISOMER_DEPS}/include/${header}")
    message(FATAL_ERROR "no ${header} below ${ISOMER_DEPS}/include: run tools/setup first")
  endif()
endforeach()

add_library(isomer_runtime_headers INTERFACE)
target_include_directories(isomer_runtime_headers SYSTEM INTERFACE "${ISOMER_DEPS}/include")
target_link_libraries(isomer_runtime_headers INTERFACE ${CMAKE_DL_LIBS})
