#include "model/expr/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>
#include <set>

#include "base/mapped_bytes.h"

namespace isomer {

std::optional<std::int64_t> element_count(const Extents& extents) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
    else if (__builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return empty ? 0 : count;
}

std::optional<std::size_t> byte_size(ElementType type, const Extents& extents) {
  const auto count = element_count(extents);
  std::int64_t total_bits = 0;
  if (!count || bits(type) == 0 ||
      __builtin_mul_overflow(*count, static_cast<std::int64_t>(bits(type)), &total_bits))
    return std::nullopt;
  return static_cast<std::size_t>(total_bits / 8 + (total_bits % 8 != 0));
}

Bytes Bytes::copy_of(const void* data, std::size_t size) {
  Buffer buffer(size);
  if (size > 0) std::memcpy(buffer.data(), data, size);
  return std::move(buffer).freeze();
}

// Zeros from the system, which has pages of them: a large buffer is not written twice.
Buffer::Buffer(std::size_t size)
    : data_(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(size, 1), 1)), std::free), size_(size) {
  if (data_ == nullptr) throw std::bad_alloc();
}

Bytes Buffer::freeze() && {
  const std::byte* data = data_.get();
  return {std::move(data_), data, size_};
}

Tensor::Tensor(ElementType type, Extents extents, Bytes bytes)
    : type_(type), extents_(std::move(extents)), bytes_(std::move(bytes)) {
  const auto size = byte_size(type_, extents_);
  ISOMER_CHECK(size && *size == bytes_.size, "a tensor's bytes must be as many as its type and extents say");
  count_ = *element_count(extents_);
}

Tensor::Tensor(Extents extents, std::vector<std::string> strings)
    : type_(ElementType::String),
      extents_(std::move(extents)),
      strings_(std::make_shared<const std::vector<std::string>>(std::move(strings))) {
  const auto count = element_count(extents_);
  ISOMER_CHECK(count && static_cast<std::size_t>(*count) == strings_->size());
  count_ = *count;
}

namespace {

template <class Out, class T>
std::vector<Out> widened(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  std::vector<Out> out;
  out.reserve(values.size());
  for (const T value : values) out.push_back(static_cast<Out>(value));
  return out;
}

template <class Out>
std::optional<std::vector<Out>> widened_integers(const Tensor& tensor) {
  switch (tensor.type()) {
    case ElementType::Int8: return widened<Out, std::int8_t>(tensor);
    case ElementType::Int16: return widened<Out, std::int16_t>(tensor);
    case ElementType::Int32: return widened<Out, std::int32_t>(tensor);
    case ElementType::Int64: return widened<Out, std::int64_t>(tensor);
    case ElementType::Uint8: return widened<Out, std::uint8_t>(tensor);
    case ElementType::Uint16: return widened<Out, std::uint16_t>(tensor);
    case ElementType::Uint32: return widened<Out, std::uint32_t>(tensor);
    case ElementType::Uint64: return widened<Out, std::uint64_t>(tensor);
    case ElementType::Bool: {
      auto out = widened<Out, std::uint8_t>(tensor);
      for (Out& value : out) value = value != 0;
      return out;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<std::int64_t>> Tensor::integers() const {
  return widened_integers<std::int64_t>(*this);
}

std::optional<std::vector<double>> Tensor::doubles() const {
  switch (type_) {
    case ElementType::Float: return widened<double, float>(*this);
    case ElementType::Double: return widened<double, double>(*this);
    case ElementType::Float16:
    case ElementType::BFloat16: {
      std::vector<double> out;
      for (const std::uint16_t half : as<std::uint16_t>())
        out.push_back(static_cast<double>(type_ == ElementType::Float16 ? float16_to_float(half)
                                                                        : bfloat16_to_float(half)));
      return out;
    }
    default: return widened_integers<double>(*this);
  }
}

bool Tensor::same_bits(const Tensor& other) const {
  if (type_ != other.type_ || extents_ != other.extents_) return false;
  if (type_ == ElementType::String) return strings() == other.strings();
  return same_bytes(bytes_.data, other.bytes_.data, bytes_.size);
}

bool Tensor::is_uniform() const {
  if (count_ == 0 || type_ == ElementType::String || bytes_.size % static_cast<std::size_t>(count_) != 0)
    return false;
  const std::size_t size = bytes_.size / static_cast<std::size_t>(count_);
  return size > 0 && std::memcmp(bytes_.data, bytes_.data + size, bytes_.size - size) == 0;
}

bool Tensor::has_few_numbers(std::int64_t most) const {
  if (count_ <= most) return true;
  if (count_ > most * most) return false;
  const auto numbers = doubles();
  if (!numbers) return false;
  std::set<double> seen;
  return std::ranges::all_of(*numbers, [&](double v) {
    if (!std::isfinite(v)) return false;
    seen.insert(v);
    return static_cast<std::int64_t>(seen.size()) <= most;
  });
}

float float16_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16u, exponent = (half >> 10u) & 0x1fu,
                      fraction = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13u));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23u) | (fraction << 13u));
  const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
  return sign ? -magnitude : magnitude;
}

std::uint16_t float_to_float16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), sign = (bits >> 16u) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u)
    return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 65536: infinity
  std::uint32_t result = 0;
  if (magnitude < 0x38800000u) {  // below the smallest normal number, 2^-14: the unit is 2^-24
    result = static_cast<std::uint32_t>(std::nearbyintf(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  } else {
    const std::uint32_t odd = (magnitude >> 13u) & 1u;
    result = ((magnitude + 0xfffu + odd) >> 13u) - (112u << 10u);
  }
  return static_cast<std::uint16_t>(sign | result);
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16u);
}

std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16u) | 0x40u);
  const std::uint32_t odd = (bits >> 16u) & 1u;
  return static_cast<std::uint16_t>((bits + 0x7fffu + odd) >> 16u);
}

}  // namespace isomer
