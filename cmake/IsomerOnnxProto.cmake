# isomer_onnx_proto: the protobuf classes of the ONNX release, generated at build time. Only src/io/onnx links it.

find_package(Protobuf REQUIRED)

set(ISOMER_ONNX_PROTO_ROOT "${ISOMER_DEPS}/share/onnx" CACHE PATH "Folder that holds onnx/onnx-ml.proto")
set(proto "${ISOMER_ONNX_PROTO_ROOT}/onnx/onnx-ml.proto")
if(NOT EXISTS "${proto}")
  message(FATAL_ERROR "no onnx/onnx-ml.proto below ${ISOMER_ONNX_PROTO_ROOT}: run tools/setup first")
endif()

set(generated "${CMAKE_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${generated}")
add_custom_command(
  OUTPUT "${generated}/onnx/onnx-ml.pb.cc" "${generated}/onnx/onnx-ml.pb.h"
  COMMAND protobuf::protoc "--proto_path=${ISOMER_ONNX_PROTO_ROOT}" "--cpp_out=${generated}" "${proto}"
  DEPENDS "${proto}" VERBATIM)

add_library(isomer_onnx_proto STATIC "${generated}/onnx/onnx-ml.pb.cc" "${generated}/onnx/onnx-ml.pb.h")
target_compile_options(isomer_onnx_proto PRIVATE -w)
target_include_directories(isomer_onnx_proto SYSTEM PUBLIC "${generated}")
target_link_libraries(isomer_onnx_proto PUBLIC protobuf::libprotobuf)
