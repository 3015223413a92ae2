#include "io/onnx/read_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "io/onnx/read_text.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {
namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little,
              "a Tensor's bytes are ONNX's raw data, which is little-endian");

// The fields that may hold elements.
enum class Payload : std::uint8_t { None, Raw, External, Float, Int32, Int64, Uint64, Double, Text };

// The typed field that ONNX assigns to an element type.
Payload typed_field(ElementType type) {
  switch (type) {
    case ElementType::Float:
    case ElementType::Complex64: return Payload::Float;
    case ElementType::Double:
    case ElementType::Complex128: return Payload::Double;
    case ElementType::Int64: return Payload::Int64;
    case ElementType::Uint32:
    case ElementType::Uint64: return Payload::Uint64;
    case ElementType::String: return Payload::Text;
    default: return Payload::Int32;
  }
}

Result<Payload> only_payload(const TensorProto& t) {
  int present = 0;
  Payload payload = Payload::None;
  const auto note = [&](bool is_present, Payload kind) {
    if (!is_present) return;
    ++present;
    payload = kind;
  };
  note(is_external(t), Payload::External);
  note(t.has_raw_data(), Payload::Raw);
  note(t.float_data_size() > 0, Payload::Float);
  note(t.int32_data_size() > 0, Payload::Int32);
  note(t.int64_data_size() > 0, Payload::Int64);
  note(t.uint64_data_size() > 0, Payload::Uint64);
  note(t.double_data_size() > 0, Payload::Double);
  note(t.string_data_size() > 0, Payload::Text);
  if (present > 1) return Error{"holds its elements in more than one field"};
  if (!is_external(t) && t.external_data_size() > 0)
    return Error{"names external data but is not marked external"};
  return payload;
}

struct Header {
  ElementType type = ElementType::Undefined;
  Extents extents;
  std::int64_t count = 0;
  std::size_t bytes = 0;  // 0 for strings
};

Result<Header> read_header(const TensorProto& t) {
  if (t.data_type() <= 0 || t.data_type() > kLastOnnxType) {
    return Error{fmt::format("has element type {}, which onnx 1.23 does not define or Isomer does not know",
                             t.data_type())};
  }
  if (t.has_segment()) return Error{"is a segment of a tensor, which no runtime reads"};
  if (t.dims_size() > kHighestRank)
    return Error{fmt::format("has {} dims, over {}", t.dims_size(), kHighestRank)};
  Header header;
  header.type = static_cast<ElementType>(t.data_type());
  header.extents.assign(t.dims().begin(), t.dims().end());
  const auto count = element_count(header.extents);
  const auto bytes = byte_size(header.type, header.extents);
  const bool is_text = header.type == ElementType::String;
  if (!count || (!bytes && !is_text)) return Error{"has dims that are negative or whose product overflows"};
  header.count = *count;
  header.bytes = bytes.value_or(0);
  return header;
}

Error wrong_count(const Header& header, std::size_t there, std::string_view unit) {
  return {fmt::format("has {} {} where its dims need {}", there, unit,
                      unit == "bytes" ? header.bytes : static_cast<std::size_t>(header.count))};
}

// Elements in a typed field with the very layout of the tensor.
template <class T>
Result<Tensor> aliased(Header&& header, const google::protobuf::RepeatedField<T>& field,
                       const TensorSource& source) {
  const std::size_t bytes = static_cast<std::size_t>(field.size()) * sizeof(T);
  if (bytes != header.bytes) return wrong_count(header, bytes, "bytes");
  return Tensor(header.type, std::move(header.extents),
                {source.arena, reinterpret_cast<const std::byte*>(field.data()), bytes});
}

// Elements of a wider typed field, each checked and stored in its own width. T is the stored element.
template <class T, class Wide>
Result<Tensor> narrowed(Header&& header, const google::protobuf::RepeatedField<Wide>& field,
                        std::uint64_t highest) {
  const auto stored = static_cast<std::size_t>(field.size());
  if (stored * sizeof(T) != header.bytes) return wrong_count(header, stored * sizeof(T), "bytes");
  Buffer buffer(header.bytes);
  for (std::size_t k = 0; k < stored; ++k) {
    const Wide wide = field[static_cast<int>(k)];
    const auto value = static_cast<T>(wide);
    bool in_range = static_cast<Wide>(value) == wide;
    if constexpr (std::is_unsigned_v<T>) in_range = in_range && value <= highest;
    if (!in_range) return Error{fmt::format("has element {} = {}, out of its type's range", k, wide)};
    std::memcpy(buffer.data() + k * sizeof(T), &value, sizeof value);
  }
  return Tensor(header.type, std::move(header.extents), std::move(buffer).freeze());
}

// Elements of 6 bits, one in each entry, as the bit stream that raw data holds: low bits first.
Result<Tensor> packed_sixes(Header&& header, const google::protobuf::RepeatedField<std::int32_t>& field) {
  if (field.size() != header.count)
    return wrong_count(header, static_cast<std::size_t>(field.size()), "elements");
  Buffer buffer(header.bytes);
  for (std::size_t k = 0; k < static_cast<std::size_t>(field.size()); ++k) {
    const std::int32_t value = field[static_cast<int>(k)];
    if (value < 0 || value > 0x3f)
      return Error{fmt::format("has element {} = {}, out of its type's range", k, value)};
    const std::size_t bit = 6 * k;
    const auto shifted = static_cast<unsigned>(value) << (bit % 8);
    buffer.data()[bit / 8] |= static_cast<std::byte>(shifted & 0xffu);
    if (bit % 8 > 2) buffer.data()[bit / 8 + 1] |= static_cast<std::byte>(shifted >> 8);
  }
  return Tensor(header.type, std::move(header.extents), std::move(buffer).freeze());
}

Result<Tensor> from_int32(Header&& header, const TensorProto& t, const TensorSource& source) {
  const auto& field = t.int32_data();
  if (bits(header.type) == 6) return packed_sixes(std::move(header), field);
  switch (header.type) {
    case ElementType::Int32: return aliased(std::move(header), field, source);
    case ElementType::Int16: return narrowed<std::int16_t>(std::move(header), field, 0);
    case ElementType::Int8: return narrowed<std::int8_t>(std::move(header), field, 0);
    case ElementType::Uint16:
    case ElementType::Float16:
    case ElementType::BFloat16: return narrowed<std::uint16_t>(std::move(header), field, 0xffff);
    case ElementType::Bool: return narrowed<std::uint8_t>(std::move(header), field, 1);
    default:
      return narrowed<std::uint8_t>(std::move(header), field, 0xff);  // 8 bits, or several packed into 8
  }
}

Result<Tensor> from_strings(Header&& header, const TensorProto& t) {
  if (t.string_data_size() != header.count)
    return wrong_count(header, static_cast<std::size_t>(t.string_data_size()), "strings");
  return Tensor(std::move(header.extents), {t.string_data().begin(), t.string_data().end()});
}

Result<Tensor> from_raw(Header&& header, const TensorProto& t, const TensorSource& source) {
  const std::string& raw = t.raw_data();
  if (raw.size() != header.bytes) return wrong_count(header, raw.size(), "bytes");
  if (header.type == ElementType::Bool &&
      std::ranges::any_of(raw, [](char byte) { return byte != 0 && byte != 1; })) {
    return Error{"has a bool that is neither 0 nor 1"};
  }
  return Tensor(header.type, std::move(header.extents),
                {source.arena, reinterpret_cast<const std::byte*>(raw.data()), raw.size()});
}

Result<Tensor> from_external(Header&& header, const TensorProto& t, const TensorSource& source) {
  ISOMER_TRY(const ExternalPlace place, external_place(t));
  if (place.length.value_or(header.bytes) != header.bytes) return wrong_count(header, *place.length, "bytes");
  const int element_bits = bits(header.type);
  const std::size_t alignment = std::clamp(element_bits / 8, 1, 8);  // complex numbers are pairs
  ISOMER_TRY(Bytes bytes, source.files->range(place.location, place.offset, header.bytes, alignment));
  return Tensor(header.type, std::move(header.extents), std::move(bytes));
}

Result<Tensor> read_unnamed(const TensorProto& t, const TensorSource& source) {
  ISOMER_TRY(Header header, read_header(t));
  ISOMER_TRY(const Payload payload, only_payload(t));
  if (payload == Payload::None) {
    if (header.count != 0) return Error{"has no elements though its dims need some"};
    if (header.type == ElementType::String) return Tensor(std::move(header.extents), {});
    return Tensor(header.type, std::move(header.extents), {});
  }
  if (payload == Payload::Raw || payload == Payload::External) {
    if (header.type == ElementType::String) return Error{"holds strings elsewhere than in string_data"};
    return payload == Payload::Raw ? from_raw(std::move(header), t, source)
                                   : from_external(std::move(header), t, source);
  }
  if (payload != typed_field(header.type)) {
    return Error{fmt::format("holds its {} elements in a field for other types", name(header.type))};
  }
  switch (payload) {
    case Payload::Float: return aliased(std::move(header), t.float_data(), source);
    case Payload::Double: return aliased(std::move(header), t.double_data(), source);
    case Payload::Int64: return aliased(std::move(header), t.int64_data(), source);
    case Payload::Text: return from_strings(std::move(header), t);
    case Payload::Uint64:
      if (header.type == ElementType::Uint64) return aliased(std::move(header), t.uint64_data(), source);
      return narrowed<std::uint32_t>(std::move(header), t.uint64_data(),
                                     std::numeric_limits<std::uint32_t>::max());
    default: return from_int32(std::move(header), t, source);
  }
}

}  // namespace

bool is_external(const TensorProto& t) { return t.data_location() == TensorProto::EXTERNAL; }

Result<Tensor> read_tensor(const TensorProto& proto, const TensorSource& source) {
  auto tensor = read_unnamed(proto, source);
  if (tensor.ok()) return tensor;
  return Error{fmt::format("tensor {} {}", shown(proto.name()), tensor.error().message)};
}

}  // namespace isomer::wire
