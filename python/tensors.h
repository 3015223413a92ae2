// Tensors of the library as (ONNX's number of the type, the shape, the bytes), which numpy sees without
// copying.
#pragma once

#include <isomer/isomer.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace isomer::python {

namespace nb = nanobind;

using GivenBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using GivenTensors = std::map<std::string, std::tuple<std::int32_t, std::vector<std::int64_t>, GivenBytes>>;
using MadeBytes = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

inline api::Tensors to_tensors(const GivenTensors& given) {
  api::Tensors out;
  for (const auto& [name, parts] : given) {
    const auto& [type, shape, bytes] = parts;
    api::Tensor tensor{.type = static_cast<api::ElementType>(type), .shape = shape, .bytes = {}};
    tensor.bytes.resize(bytes.size());
    if (bytes.size() > 0) std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
    out.emplace(name, std::move(tensor));
  }
  return out;
}

inline nb::dict from_tensors(api::Tensors tensors) {
  nb::dict out;
  for (auto& [name, tensor] : tensors) {
    auto* owned = new std::vector<std::byte>(std::move(tensor.bytes));
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
    const MadeBytes bytes(owned->data(), {owned->size()}, owner);
    out[name.c_str()] = nb::make_tuple(static_cast<std::int32_t>(tensor.type), tensor.shape, bytes);
  }
  return out;
}

}  // namespace isomer::python
