#include <fmt/format.h>

#include <charconv>

#include "io/onnx/read_tensor.h"
#include "io/onnx/read_text.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {
namespace {

Result<std::uint64_t> decimal(std::string_view key, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end != text.data() + text.size()) {
    return Error{fmt::format("has external data whose {} {} is not a number of bytes", key, shown(text))};
  }
  return number;
}

}  // namespace

Result<ExternalPlace> external_place(const onnx::TensorProto& proto) {
  std::optional<std::string_view> location, offset, length, checksum;
  for (const auto& entry : proto.external_data()) {
    auto* slot = entry.key() == "location"   ? &location
                 : entry.key() == "offset"   ? &offset
                 : entry.key() == "length"   ? &length
                 : entry.key() == "checksum" ? &checksum
                                             : nullptr;
    if (slot == nullptr)
      return Error{fmt::format("has external data with the unknown entry {}", shown(entry.key()))};
    if (slot->has_value())
      return Error{fmt::format("has external data with two entries {}", shown(entry.key()))};
    *slot = entry.value();
  }
  if (!location) return Error{"is marked external but has no location"};
  ISOMER_TRY_DO(check_name(*location, "external location"));
  ExternalPlace place{std::string(*location), 0, std::nullopt};
  if (offset) {
    ISOMER_TRY(place.offset, decimal("offset", *offset));
  }
  if (length) {
    ISOMER_TRY(place.length, decimal("length", *length));
  }
  return place;
}

}  // namespace isomer::wire
