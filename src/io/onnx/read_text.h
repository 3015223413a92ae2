// How text from an untrusted file is displayed, and which text may be a name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace onnx {
class NodeProto;
}

namespace isomer::wire {

// Printable, on one line, valid UTF-8 and short, whatever the bytes are: the rest is escaped (\x1b) or cut
// off.
std::string printable(std::string_view text);
std::string shown(std::string_view text);  // 'text'

// Names may hold anything but control characters (which would reach terminals, and cut names in C
// interfaces).
Status check_name(std::string_view name, std::string_view what);

// "node 'conv1' (Conv)", or "node Conv that makes 'y'" where it has no name.
std::string describe(const onnx::NodeProto& node);
// An error at a node, or at one of its attributes.
Error fault(const onnx::NodeProto& node, std::string_view message);
Error fault(const onnx::NodeProto& node, std::string_view attribute, std::string_view message);

}  // namespace isomer::wire
