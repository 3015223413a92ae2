#include "runtime/engines/openvino_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace isomer::openvino {
namespace {

// The numbers of element types changed between releases; a library whose numbers are others than the
// header's would read our bytes as another type.
Outcome<Done> check_types(const Api& api) {
  std::int64_t extent = 1;
  std::uint64_t bytes[2] = {};
  for (const auto& [type, size] : {std::pair{F32, 4u}, std::pair{I64, 8u}, std::pair{U8, 1u}}) {
    ov_tensor_t* tensor = nullptr;
    const ov_shape_t shape{1, &extent};
    ISOMER_OV(api, ov_tensor_create_from_host_ptr(type, shape, bytes, &tensor));
    std::size_t found = 0;
    const auto status = api.ov_tensor_get_byte_size(tensor, &found);
    api.ov_tensor_free(tensor);
    ISOMER_TRY_DO(api.check(status));
    if (found != size)
      return Failure{
          FailureKind::Unavailable,
          fmt::format("OpenVINO {} numbers its element types otherwise than the release that Isomer "
                      "was built for",
                      api.version)};
  }
  return Done{};
}

}  // namespace

Outcome<std::shared_ptr<const Api>> Api::open(const std::string& library) {
  // Never closed: its threads and static objects may outlive any point we could close it at.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return Failure{FailureKind::Unavailable, fmt::format("can't load OpenVINO: {}", ::dlerror())};
  auto api = std::make_shared<Api>();
#define ISOMER_OPENVINO_LOAD(function)                                                   \
  api->function = reinterpret_cast<decltype(api->function)>(::dlsym(handle, #function)); \
  if (!api->function)                                                                    \
    return Failure{FailureKind::Unavailable, fmt::format("{} has no function {}", library, #function)};
  ISOMER_OPENVINO_FUNCTIONS(ISOMER_OPENVINO_LOAD)
#undef ISOMER_OPENVINO_LOAD
  ov_version_t version{};
  ISOMER_OV(*api, ov_get_openvino_version(&version));
  api->version = version.buildNumber;
  api->ov_version_free(&version);
  ISOMER_TRY_DO(check_types(*api));
  return std::shared_ptr<const Api>(std::move(api));
}

Outcome<Done> Api::check(ov_status_e status) const {
  if (status == ov_status_e::OK) return Done{};
  const char* message = ov_get_last_err_msg();
  Failure failure{FailureKind::Refused, message && *message ? message : ov_get_error_info(status)};
  if (message) ov_free(message);
  if (failure.what.find("bad_alloc") != std::string::npos ||
      failure.what.find("Failed to allocate") != std::string::npos)
    failure.kind = FailureKind::OutOfMemory;
  return failure;
}

std::optional<ov_element_type_e> native(ElementType type) {
  switch (type) {
    case ElementType::Bool: return BOOLEAN;
    case ElementType::BFloat16: return BF16;
    case ElementType::Float16: return F16;
    case ElementType::Float: return F32;
    case ElementType::Double: return F64;
    case ElementType::Int8: return I8;
    case ElementType::Int16: return I16;
    case ElementType::Int32: return I32;
    case ElementType::Int64: return I64;
    case ElementType::Uint8: return U8;
    case ElementType::Uint16: return U16;
    case ElementType::Uint32: return U32;
    case ElementType::Uint64: return U64;
    default: return std::nullopt;
  }
}

ElementType from_native(ov_element_type_e type) {
  for (int i = 1; i <= kLastOnnxType; ++i)
    if (native(static_cast<ElementType>(i)) == type) return static_cast<ElementType>(i);
  return ElementType::Undefined;
}

Outcome<Tensor> copy_tensor(const Api& api, const ov_tensor_t* tensor) {
  ov_element_type_e type = DYNAMIC;
  ISOMER_OV(api, ov_tensor_get_element_type(tensor, &type));
  const ElementType ours = from_native(type);
  ov_shape_t shape{};
  ISOMER_OV(api, ov_tensor_get_shape(tensor, &shape));
  const Extents extents(shape.dims, shape.dims + shape.rank);
  api.ov_shape_free(&shape);
  const auto size = byte_size(ours, extents);
  if (ours == ElementType::Undefined || !size)
    return Failure{FailureKind::Refused, "an output of a type that has no counterpart in ONNX"};
  void* data = nullptr;
  if (*size > 0) ISOMER_OV(api, ov_tensor_data(tensor, &data));
  return Tensor(ours, extents, Bytes::copy_of(*size > 0 ? data : "", *size));
}

Outcome<ov_tensor_t*> make_tensor(const Api& api, const Tensor& tensor) {
  const auto type = native(tensor.type());
  if (!type)
    return Failure{FailureKind::Refused,
                   fmt::format("OpenVINO takes no feeds of type {}", isomer::name(tensor.type()))};
  Extents extents = tensor.extents();
  const ov_shape_t shape{static_cast<std::int64_t>(extents.size()), extents.data()};
  // It takes a mutable pointer and does not write through it: these are inputs.
  void* data = const_cast<std::byte*>(tensor.bytes().data);
  ov_tensor_t* made = nullptr;
  ISOMER_OV(api, ov_tensor_create_from_host_ptr(*type, shape, data, &made));
  return made;
}

}  // namespace isomer::openvino
