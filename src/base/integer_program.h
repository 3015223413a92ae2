// A linear program over variables that are 0 or 1, and some numbers, solved by HiGHS, if this machine has its
// library. It is loaded at first use, and nothing else of Isomer needs it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace isomer {

struct IntegerProgram {
  std::vector<double> costs;  // by variable; their sum over those that are 1 is to be small
  struct Row {
    std::vector<std::pair<int, double>> terms;  // variable, factor
    double least, most;
  };
  std::vector<Row> rows;
  std::size_t reals = 0;  // the number of last variables that are any non-negative numbers
};

bool has_integer_solver();

// Which variables are 1 (of numbers: more than a half), at the least cost; the same answer every time, unless
// `seconds` were not enough. nullopt: there is no solver, or no answer within its bounds.
std::optional<std::vector<bool>> solved(const IntegerProgram& program, double seconds);

}  // namespace isomer
