// Attributes in ONNX's text syntax: axis = 1, pads = [0, 0], alpha: float = 1, value = float[2] {1, 2}.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph/text/scanner.h"
#include "model/ops/shared/attribute.h"

namespace isomer {

struct ParsedAttribute {
  std::string name;
  Attribute::Value value;
  std::optional<std::vector<std::string>> captures;  // captures: values = [x, y]; no attribute then
};

Result<ParsedAttribute> parse_attribute(Scanner& scanner);

}  // namespace isomer
