#include "cli/json_text.h"

#include <cmath>
#include <cstdlib>

namespace isomer::cli {

std::string shape_text(const Json& shape) {
  std::string out = "[";
  for (const Json& extent : shape) {
    if (out.size() > 1) out += ", ";
    out += extent.is_string() ? extent.get<std::string>() : extent.dump();
  }
  return out + "]";
}

double number_of(const Json& number) {
  if (number.is_string()) return std::strtod(number.get_ref<const std::string&>().c_str(), nullptr);
  return number.is_number() ? number.get<double>() : NAN;
}

Interval interval_of(const Json& json, const char* middle) {
  Interval out{number_of(json.at(middle)), number_of(json.at("low")), number_of(json.at("high"))};
  if (std::isnan(out.high)) out.high = INFINITY;  // few measurements
  return out;
}

}  // namespace isomer::cli
