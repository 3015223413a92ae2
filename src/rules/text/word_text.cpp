#include "rules/text/word_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/graph/text/tensor_text.h"

namespace isomer::rules {

std::optional<std::string> spelled_attribute(const Attribute& a) {
  if (const auto* i = std::get_if<std::int64_t>(&a.value)) return fmt::format("{} = {}", a.name, *i);
  if (const auto* s = std::get_if<std::string>(&a.value)) return fmt::format("{} = \"{}\"", a.name, *s);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&a.value))
    return fmt::format("{} = [{}]", a.name, fmt::join(*list, ", "));
  return std::nullopt;
}

bool is_default(const Attribute& a) {
  if (const auto* i = std::get_if<std::int64_t>(&a.value)) return a.name == "group" && *i == 1;
  const auto* list = std::get_if<std::vector<std::int64_t>>(&a.value);
  if (list == nullptr) return false;
  const auto all = [&](std::int64_t v) { return std::ranges::count(*list, v) == std::ssize(*list); };
  return (a.name == "pads" && all(0)) || ((a.name == "strides" || a.name == "dilations") && all(1));
}

std::optional<std::string> spelled_constant(const Tensor& t) {
  if (t.type() == ElementType::Int64 && t.rank() == 1)
    return fmt::format("value_ints = [{}]", fmt::join(*t.integers(), ", "));
  if (t.type() != ElementType::Float || t.rank() > 1) return std::nullopt;
  std::vector<std::string> numbers;
  for (const float f : t.as<float>()) numbers.push_back(float_text(f));
  if (t.rank() == 0) return "value_float = " + numbers[0];
  return fmt::format("value_floats = [{}]", fmt::join(numbers, ", "));
}

}  // namespace isomer::rules
