// Attributes and constants as rules write them: the difference between two words of one operator.
#pragma once

#include <optional>
#include <string>

#include "model/graph/graph.h"

namespace isomer::rules {

// nullopt: of another kind than a number, a string or a list of integers; a tensor that is no scalar and no
// vector.
std::optional<std::string> spelled_attribute(const Attribute& attribute);
std::optional<std::string> spelled_constant(const Tensor& tensor);

// Whether an attribute says what is so anyway.
bool is_default(const Attribute& attribute);

}  // namespace isomer::rules
