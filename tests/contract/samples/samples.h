// How legal calls of operators are drawn: for X(Foo) of model/ops/list.h the function samples::Foo, in one of
// the files of this folder, grouped by what they share. Without it the contract suite doesn't link.
#pragma once

#include "contract/sampler.h"
#include "model/ops/list.h"

namespace isomer::contract::samples {

#define ISOMER_DECLARE(op) void op(Sampler& s);
ISOMER_OPERATORS(ISOMER_DECLARE)  // NOLINT(readability-identifier-naming): the operators' own
#undef ISOMER_DECLARE

// Draws a call of the operator.
void draw(const Operator& op, Sampler& s);
// What the comparison with onnxruntime can't use, with its reason (types without a kernel there, say).
std::string_view runtime_note(const Operator& op);

}  // namespace isomer::contract::samples
