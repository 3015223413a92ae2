// Our tensors as OrtValues, without a copy, and OrtValues as our tensors, copied.
#include <fmt/format.h>

#include <cstring>

#include "runtime/engines/ort_api.h"

namespace isomer::ort {
namespace {

struct ShapeInfo {
  ElementType type = ElementType::Undefined;
  Extents extents;
};

Outcome<ShapeInfo> shape_of(const Api& api, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  ISOMER_ORT(api, GetTensorTypeAndShape(value, &info));
  const auto read = [&]() -> Outcome<ShapeInfo> {
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    ISOMER_ORT(api, GetTensorElementType(info, &type));
    ISOMER_ORT(api, GetDimensionsCount(info, &rank));
    Extents extents(rank);
    ISOMER_ORT(api, GetDimensions(info, extents.data(), rank));
    // ONNX Runtime numbers the types as ONNX does.
    return ShapeInfo{static_cast<ElementType>(type), std::move(extents)};
  };
  auto shape = read();
  api->ReleaseTensorTypeAndShapeInfo(info);
  return shape;
}

Outcome<Tensor> copy_strings(const Api& api, const OrtValue* value, const Extents& extents) {
  const auto count = static_cast<std::size_t>(element_count(extents).value_or(0));
  std::size_t size = 0;
  ISOMER_ORT(api, GetStringTensorDataLength(value, &size));
  std::string all(size, '\0');
  std::vector<std::size_t> starts(count);
  ISOMER_ORT(api, GetStringTensorContent(value, all.data(), size, starts.data(), count));
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < count; ++i)
    strings.push_back(all.substr(starts[i], (i + 1 < count ? starts[i + 1] : size) - starts[i]));
  return Tensor(extents, std::move(strings));
}

Outcome<Tensor> copy_tensor(const Api& api, OrtValue* value) {
  int is_tensor = 0;
  ISOMER_ORT(api, IsTensor(value, &is_tensor));
  if (!is_tensor) return Failure{FailureKind::Refused, "an output that is no tensor"};
  ISOMER_TRY(const ShapeInfo shape, shape_of(api, value));
  if (shape.type == ElementType::String) return copy_strings(api, value, shape.extents);
  const auto size = byte_size(shape.type, shape.extents);
  if (!size || *size == 0) {
    if (!size) return Failure{FailureKind::Refused, "an output of a size that no tensor has"};
    return Tensor(shape.type, shape.extents, Bytes::copy_of("", 0));
  }
  void* data = nullptr;
  ISOMER_ORT(api, GetTensorMutableData(value, &data));
  return Tensor(shape.type, shape.extents, Bytes::copy_of(data, *size));
}

}  // namespace

Outcome<OrtValue*> make_value(const Api& api, const Tensor& tensor) {
  OrtValue* value = nullptr;
  const auto type = static_cast<ONNXTensorElementDataType>(tensor.type());
  const Extents& extents = tensor.extents();
  if (tensor.type() == ElementType::String) {
    ISOMER_ORT(api, CreateTensorAsOrtValue(api.allocator(), extents.data(), extents.size(), type, &value));
    std::vector<const char*> texts;
    for (const std::string& text : tensor.strings()) texts.push_back(text.c_str());
    auto filled = api.check(api->FillStringTensor(value, texts.data(), texts.size()));
    if (filled) return value;
    api->ReleaseValue(value);
    return filled.error();
  }
  // The library takes a mutable pointer and does not write through it: these are inputs.
  void* data = const_cast<std::byte*>(tensor.bytes().data);
  ISOMER_ORT(api, CreateTensorWithDataAsOrtValue(api.memory(), data, tensor.bytes().size, extents.data(),
                                                 extents.size(), type, &value));
  return value;
}

Outcome<NamedTensors> copy_outputs(const Api& api, const std::vector<std::string>& names,
                                   const std::vector<OrtValue*>& values) {
  NamedTensors tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!values[i]) return Failure{FailureKind::Refused, fmt::format("output '{}' is absent", names[i])};
    auto tensor = copy_tensor(api, values[i]);
    if (!tensor)
      return Failure{tensor.error().kind, fmt::format("output '{}': {}", names[i], tensor.error().what)};
    tensors.emplace(names[i], std::move(*tensor));
  }
  return tensors;
}

}  // namespace isomer::ort
