// One nest as a C++ function. Internal to emit.cpp.
#pragma once

#include <string>
#include <vector>

#include "compiler/emit/nest_writer.h"
#include "compiler/loops/nest.h"

namespace isomer::lower {

struct NestFunction {
  std::string body;
  std::vector<int> buffers;        // of its pointers p0, p1, ..., in order
  std::vector<std::string> sizes;  // open ones, of its parameters s0, s1, ..., in order
  bool may_fail = false;           // it returns an int: 1 where a computed index was outside of its tensor
};
NestFunction emit_nest(const Plan& plan, const Nest& nest);

// Kinds of nests, each in a file of its own.
void emit_reduction(NestWriter& out);  // loops over a sum, or another reduction
void emit_tile(NestWriter& out);
void emit_winograd(NestWriter& out);

}  // namespace isomer::lower
