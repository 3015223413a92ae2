#include "onnx/read_text.h"

#include <fmt/format.h>

#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {
namespace {

constexpr std::size_t kLongestShown = 120;  // bytes; three of them still make one readable line

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  // bytes; 0: the bytes here are not UTF-8
};

// The code point at the front of a non-empty text (RFC 3629: shortest form, no surrogates, at most U+10FFFF).
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t value = lead & (0xffu >> (size + 1));
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(k) & 0x3fu);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, size};
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

// What would move the cursor, end the line or turn the direction of writing.
bool is_unprintable(char32_t c) {
  return is_control(c) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= kLongestShown) return shown + "...";
    const CodePoint c = decode(text);
    const std::size_t size = std::max<std::size_t>(c.size, 1);
    if (c.size == 0 || is_unprintable(c.value)) {
      for (std::size_t k = 0; k < size; ++k)
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[k]));
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return shown;
}

std::string shown(std::string_view text) { return "'" + printable(text) + "'"; }

Status check_name(std::string_view name, std::string_view what) {
  for (std::string_view rest = name; !rest.empty();) {
    const CodePoint c = decode(rest);
    if (c.size == 0) return Error{fmt::format("{} {} is not valid UTF-8", what, shown(name))};
    if (is_control(c.value)) {
      return Error{
          fmt::format("{} {} has a control character; rename it in the exporter", what, shown(name))};
    }
    rest.remove_prefix(c.size);
  }
  return Done{};
}

std::string describe(const onnx::NodeProto& node) {
  if (!node.name().empty()) return fmt::format("node {} ({})", shown(node.name()), printable(node.op_type()));
  for (const std::string& output : node.output()) {
    if (!output.empty())
      return fmt::format("node {} that makes {}", printable(node.op_type()), shown(output));
  }
  return fmt::format("a node {} without name and outputs", shown(node.op_type()));
}

Error fault(const onnx::NodeProto& node, std::string_view message) {
  return {fmt::format("{}: {}", describe(node), message), printable(node.name()), {}};
}

Error fault(const onnx::NodeProto& node, std::string_view attribute, std::string_view message) {
  return {fmt::format("{}: attribute {} {}", describe(node), shown(attribute), message),
          printable(node.name()), printable(attribute)};
}

}  // namespace isomer::wire
