#include <fmt/format.h>

#include <bit>

#include "model/graph/text/tensor_text.h"

namespace isomer {
namespace {

using enum ElementType;

bool is_complex(ElementType type) { return type == Complex64 || type == Complex128; }
bool is_signed(ElementType type) { return is_signed_integer(type) || type == Int4 || type == Int2; }

// The bits of one number of the type; nullopt where it doesn't fit.
std::optional<std::uint64_t> read_bits(ElementType type, const Scanner::Number& number) {
  if (type == Float || type == Complex64) {
    const auto value = read_number<float>(number.text);
    return value ? std::optional<std::uint64_t>(std::bit_cast<std::uint32_t>(*value)) : std::nullopt;
  }
  if (type == Double || type == Complex128) {
    const auto value = read_number<double>(number.text);
    return value ? std::optional(std::bit_cast<std::uint64_t>(*value)) : std::nullopt;
  }
  if (number.is_float) return std::nullopt;
  const int width = type == Bool ? 1 : bits(type);
  if (width < 1 || width > 64) return std::nullopt;  // a type whose elements are no numbers
  if (is_signed(type)) {
    const auto value = read_number<std::int64_t>(number.text);
    const std::int64_t most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - width));
    if (!value || *value > most || *value < -most - 1) return std::nullopt;
    return static_cast<std::uint64_t>(*value) & (~std::uint64_t{0} >> (64 - width));
  }
  const auto value = read_number<std::uint64_t>(number.text);
  if (!value || *value > ~std::uint64_t{0} >> (64 - width)) return std::nullopt;
  return value;
}

void append_bits(std::vector<std::byte>& bytes, std::size_t index, int width, std::uint64_t word) {
  if (width >= 8) {
    for (int k = 0; k < width; k += 8) bytes.push_back(static_cast<std::byte>(word >> k));
    return;
  }
  const std::size_t first = index * static_cast<std::size_t>(width),
                    last = first + static_cast<std::size_t>(width) - 1;
  const std::uint64_t shifted = word << first % 8;
  bytes.resize(last / 8 + 1);
  bytes[first / 8] |= static_cast<std::byte>(shifted);
  if (last / 8 > first / 8) bytes[last / 8] |= static_cast<std::byte>(shifted >> 8);
}

Result<Tensor> parse_strings(Scanner& scanner, const Extents& extents, std::int64_t count) {
  std::vector<std::string> strings;
  if (!scanner.matches('}')) {
    do {
      ISOMER_TRY(std::string element, scanner.string());
      strings.push_back(std::move(element));
    } while (scanner.matches(','));
    ISOMER_TRY_DO(scanner.expect('}'));
  }
  if (static_cast<std::int64_t>(strings.size()) != count)
    return scanner.error(fmt::format("{} elements where {} are declared", strings.size(), count));
  return Tensor(extents, std::move(strings));
}

}  // namespace

Result<Tensor> parse_elements(Scanner& scanner, ElementType type, const Extents& extents) {
  const auto count = element_count(extents);
  const auto size = type == String ? std::optional<std::size_t>(0) : byte_size(type, extents);
  if (!count || !size) return scanner.error("the tensor is too large");
  ISOMER_TRY_DO(scanner.expect('{'));
  if (scanner.matches("...")) return scanner.error("the elements are left out");
  if (type == String) return parse_strings(scanner, extents, *count);

  const int parts = is_complex(type) ? 2 : 1;
  const int width = bits(type) / parts;
  std::vector<std::byte> bytes;
  std::size_t numbers = 0;
  if (!scanner.matches('}')) {
    do {
      const std::size_t begin = scanner.position();
      ISOMER_TRY(const Scanner::Number number, scanner.number());
      const auto word = read_bits(type, number);
      if (!word) return scanner.error_at(begin, fmt::format("{} is no {}", number.text, name(type)));
      append_bits(bytes, numbers++, width, *word);
    } while (scanner.matches(','));
    ISOMER_TRY_DO(scanner.expect('}'));
  }
  if (static_cast<std::int64_t>(numbers) / parts != *count || bytes.size() != *size)
    return scanner.error(fmt::format("{} elements where {} are declared", numbers, *count));
  return Tensor(type, extents, Bytes::copy_of(bytes.data(), bytes.size()));
}

}  // namespace isomer
