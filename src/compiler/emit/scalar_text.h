// C++ of one element: its type, numbers, functions of numbers. Knows no loops and no buffers.
#pragma once

#include <string>
#include <vector>

#include "model/expr/formula.h"

namespace isomer::lower {

std::string c_type(ElementType type);       // that an element is computed in
std::string stored_type(ElementType type);  // that it has in memory

// The text of a Number.
std::string number_text(const ExprNode& e);
// Whether it is a Number that is no NaN, so that an extremum with it is one instruction.
bool is_plain_number(const ExprNode& e);

// An Apply of these arguments.
std::string apply_text(const ExprNode& e, const std::vector<std::string>& args);
std::string cast_text(ElementType from, ElementType to, const std::string& arg);

// Two parts of a reduction as one, and what a reduction of nothing is.
std::string combine_text(Reduction reduction, const std::string& a, const std::string& b);
std::string start_text(const ExprNode& reduction);
// Sums of at least this many float32 numbers are added in float64: runtimes add such sums in pieces, and a
// norm's last digits depend on them. For an open size the length is unknown.
bool is_long_sum(const ExprNode& reduction);

}  // namespace isomer::lower
