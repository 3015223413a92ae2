#include "model/graph/text/tensor_text.h"

#include <fmt/format.h>

#include <bit>

#include "model/graph/text/spelling.h"

namespace isomer {
namespace {

using enum ElementType;

bool is_signed(ElementType type) { return is_signed_integer(type) || type == Int4 || type == Int2; }

// Element i of a type of up to 64 bits, as its bits. Packed types begin at the low end of a byte.
std::uint64_t element_bits(const Tensor& tensor, std::int64_t i) {
  const auto width = static_cast<std::size_t>(bits(tensor.type()));
  const auto first = static_cast<std::size_t>(i) * width;
  std::uint64_t word = 0;
  std::memcpy(&word, tensor.bytes().data + first / 8, (first % 8 + width + 7) / 8);
  return width < 8 ? (word >> first % 8) & ((1u << width) - 1) : word;
}

template <class T>
std::string complex_text(const Tensor& tensor, std::int64_t i) {
  T parts[2];
  std::memcpy(parts, tensor.bytes().data + static_cast<std::size_t>(i) * sizeof parts, sizeof parts);
  return fmt::format("{}, {}", parts[0], parts[1]);
}

std::string element_text(const Tensor& tensor, std::int64_t i) {
  const ElementType type = tensor.type();
  if (type == String) return quote(tensor.strings()[static_cast<std::size_t>(i)]);
  if (type == Complex64) return complex_text<float>(tensor, i);
  if (type == Complex128) return complex_text<double>(tensor, i);
  const std::uint64_t word = element_bits(tensor, i);
  if (type == Float) return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  if (type == Double) return fmt::format("{}", std::bit_cast<double>(word));
  if (!is_signed(type)) return std::to_string(word);
  const int shift = 64 - bits(type);
  return std::to_string(static_cast<std::int64_t>(word << shift) >> shift);
}

}  // namespace

std::string float_text(float value) {
  std::string out = fmt::format("{}", value);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::string elements_text(const Tensor& tensor, std::int64_t most) {
  if (tensor.count() > most) return "{...}";
  std::string out = "{";
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (i > 0) out += ", ";
    out += element_text(tensor, i);
  }
  return out + "}";
}

}  // namespace isomer
