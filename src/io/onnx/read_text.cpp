#include "io/onnx/read_text.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {
namespace {

constexpr std::size_t kLongestShown = 120;  // bytes; three of them still make one readable line

}  // namespace

std::string printable(std::string_view text) { return isomer::printable(text, kLongestShown); }
std::string shown(std::string_view text) { return "'" + printable(text) + "'"; }

Status check_name(std::string_view name, std::string_view what) {
  for (std::string_view rest = name; !rest.empty();) {
    const CodePoint c = decode_utf8(rest);
    if (c.bytes == 0) return Error{fmt::format("{} {} is not valid UTF-8", what, shown(name))};
    if (is_control(c.value)) {
      return Error{
          fmt::format("{} {} has a control character; rename it in the exporter", what, shown(name))};
    }
    rest.remove_prefix(c.bytes);
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
