#include "io/npz/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace isomer {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kPreamble = 10;          // magic, version, and the header's length in two bytes
constexpr std::size_t kLongPreamble = 12;      // the same with four bytes, from version 2.0 on
constexpr std::size_t kMaxHeader = 64 * 1024;  // numpy itself refuses to read more than 10,000 bytes
constexpr std::size_t kMaxRank = 64;           // numpy's own limit
constexpr std::size_t kAlignment = 64;         // of the first element, as numpy writes it

constexpr std::array<std::pair<ElementType, std::string_view>, 15> kDtypes{{
    {ElementType::Float, "<f4"},
    {ElementType::Double, "<f8"},
    {ElementType::Float16, "<f2"},
    {ElementType::BFloat16, "<V2"},
    {ElementType::Int8, "|i1"},
    {ElementType::Int16, "<i2"},
    {ElementType::Int32, "<i4"},
    {ElementType::Int64, "<i8"},
    {ElementType::Uint8, "|u1"},
    {ElementType::Uint16, "<u2"},
    {ElementType::Uint32, "<u4"},
    {ElementType::Uint64, "<u8"},
    {ElementType::Bool, "|b1"},
    {ElementType::Complex64, "<c8"},
    {ElementType::Complex128, "<c16"},
}};

struct Header {
  ElementType type = ElementType::Undefined;
  Extents extents;
  bool fortran_order = false;
};

// The Python dictionary of a header. Each part of the grammar is one function, which leaves `rest_` behind
// what it read.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Result<Header> parse() {
    if (!eat('{')) return malformed();
    while (!eat('}')) {
      const auto key = read_quoted();
      if (!key || !eat(':')) return malformed();
      if (*key == "descr") ISOMER_TRY_DO(read_dtype());
      else if (*key == "fortran_order") ISOMER_TRY_DO(read_order());
      else if (*key == "shape") ISOMER_TRY_DO(read_shape());
      else return Error{fmt::format("the npy header has the unknown key '{}'", *key)};
      if (eat(',')) continue;
      if (!eat('}')) return malformed();
      break;
    }
    skip_space();
    if (!rest_.empty() || !dtype_ || !order_ || !shape_) return malformed();
    return Header{*dtype_, *std::move(shape_), *order_};
  }

 private:
  static Error malformed() { return {"the npy header is malformed"}; }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

  bool eat(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool eat_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string_view> read_quoted() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const auto text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  Status read_dtype() {
    const auto descr = read_quoted();
    if (!descr) return Error{"structured dtypes are not supported"};
    const auto matches = [&](const auto& entry) {
      const std::string_view known = entry.second;
      if (descr->size() != known.size() || descr->substr(1) != known.substr(1)) return false;
      const bool one_byte = known.front() == '|';
      return descr->front() == '=' || descr->front() == '<' ||
             (descr->front() == '|' && (one_byte || known == "<V2"));
    };
    const auto* const at = std::ranges::find_if(kDtypes, matches);
    if (at == kDtypes.end()) return Error{fmt::format("the dtype '{}' is not supported", *descr)};
    dtype_ = at->first;
    return Done{};
  }

  Status read_order() {
    if (eat_word("True")) order_ = true;
    else if (eat_word("False")) order_ = false;
    else return malformed();
    return Done{};
  }

  Status read_shape() {
    if (!eat('(')) return malformed();
    shape_.emplace();
    while (!eat(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (failure != std::errc{} || extent < 0 || shape_->size() == kMaxRank)
        return Error{"the npy header has a bad shape"};
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape_->push_back(extent);
      (void)eat('L');  // what Python 2 wrote after a long
      if (eat(',')) continue;
      if (!eat(')')) return malformed();
      break;
    }
    return Done{};
  }

  std::string_view rest_;
  std::optional<ElementType> dtype_;
  std::optional<bool> order_;
  std::optional<Extents> shape_;
};

// The stored bytes, first axis fastest, as row-major ones.
Buffer from_fortran_order(Buffer stored, const Extents& extents, std::size_t element_size) {
  Buffer result(stored.size());
  Extents position(extents.size(), 0);
  for (std::size_t from = 0; from < stored.size(); from += element_size) {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) to = to * extents[i] + position[i];
    std::memcpy(result.data() + static_cast<std::size_t>(to) * element_size, stored.data() + from,
                element_size);
    for (std::size_t i = 0; i < extents.size() && ++position[i] == extents[i]; ++i) position[i] = 0;
  }
  return result;
}

}  // namespace

Result<Tensor> read_npy(const ByteSource& source, std::uint64_t size) {
  if (size < kLongPreamble) return Error{"it is too short for an npy array"};
  std::array<unsigned char, kLongPreamble> start{};
  ISOMER_TRY_DO(source(start.data(), kPreamble));
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
    return Error{"it does not begin like an npy array"};
  const int version = start[6];
  if (version < 1 || version > 3) return Error{fmt::format("npy version {} is not known", version)};
  if (version > 1) ISOMER_TRY_DO(source(start.data() + kPreamble, kLongPreamble - kPreamble));

  const std::size_t preamble = version == 1 ? kPreamble : kLongPreamble;
  std::size_t length = start[8] | static_cast<std::size_t>(start[9]) << 8;
  if (version > 1)
    length |= static_cast<std::size_t>(start[10]) << 16 | static_cast<std::size_t>(start[11]) << 24;
  if (length > kMaxHeader || length > size - preamble) return Error{"the npy header is too long"};
  std::string text(length, '\0');
  ISOMER_TRY_DO(source(text.data(), length));
  ISOMER_TRY(const Header header, HeaderParser(text).parse());

  const auto bytes = byte_size(header.type, header.extents);
  if (!bytes || *bytes != size - preamble - length)
    return Error{fmt::format("the shape [{}] does not fit the {} bytes of data",
                             fmt::join(header.extents, ", "), size - preamble - length)};
  Buffer data(*bytes);
  ISOMER_TRY_DO(source(data.data(), data.size()));
  if (header.fortran_order && header.extents.size() > 1)
    data =
        from_fortran_order(std::move(data), header.extents, static_cast<std::size_t>(bits(header.type)) / 8);
  if (header.type == ElementType::Bool)  // any other byte than 0 is true, and stored as 1
    std::for_each(data.data(), data.data() + data.size(),
                  [](std::byte& b) { b = std::byte{b != std::byte{0}}; });
  return Tensor(header.type, header.extents, std::move(data).freeze());
}

Result<std::string> npy_header(const Tensor& tensor) {
  const auto* const dtype =
      std::ranges::find(kDtypes, tensor.type(), [](const auto& entry) { return entry.first; });
  if (dtype == kDtypes.end())
    return Error{fmt::format("numpy has no dtype for elements of type {}", name(tensor.type()))};
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", dtype->second,
                  fmt::join(tensor.extents(), ", "), tensor.rank() == 1 ? "," : "");
  const std::size_t unpadded = kPreamble + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ').push_back('\n');
  ISOMER_CHECK(text.size() <= 0xffff);
  std::string result(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, text.size() & 0xff, text.size() >> 8})
    result.push_back(static_cast<char>(byte));
  return result + text;
}

}  // namespace isomer
