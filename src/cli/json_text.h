// Formats the fields of the library's reports as text.
#pragma once

#include <string>

#include "cli/command.h"

namespace isomer::cli {

std::string shape_text(const Json& shape);  // "[1, batch, 64]"
double number_of(const Json& number);  // what JSON can't write as a number is a text, or null: not a number

struct Interval {
  double estimate = 0, low = 0, high = 0;
};
// {"median", "low", "high"}, or another name of the first.
Interval interval_of(const Json& json, const char* middle = "median");

}  // namespace isomer::cli
