// Operators that a user states, beside those of the list: graph/operator_text.h reads them.
//
// They hold for the whole process, from when they are declared on: what a model means does not change while
// it is looked at. Nothing here says that a runtime's kernel computes what is stated; whoever states it does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/operator.h"

namespace isomer {

struct OwnOperator {
  std::string domain, name;
  std::string text;  // as it was stated
  int inputs = 0;
  std::function<Definition(const Call&)> define;
};

// Error: a domain that is ONNX's or that the list has operators of; a name that was declared by another text.
// The same text again is none.
Status declare_operator(OwnOperator op);

// In the order in which they were declared.
std::vector<const OwnOperator*> own_operators();

// Of one of these, whose Operator has no `define`.
Definition define_own(const Operator& op, const Call& call);
// nullptr: there is none.
const Operator* find_own_operator(std::string_view domain, std::string_view name);

}  // namespace isomer
