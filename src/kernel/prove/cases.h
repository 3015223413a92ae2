// The law of cases. A program that makes each element of its output of the element at the same place of one
// tensor of 8 bits is a function of 256 cases: two such programs are equal if they make the same integers of
// all of them. So all that a quantised model computes between two of its quantised values may be looked up.
//
// A case is computed with real numbers, as float64, by both evaluators (model/eval/program.h,
// model/eval/element.h). Where a number comes nearer to a jump than float64 can be trusted, float32 has to
// say the same (half a step, exactly, is such a case), else there is no proof.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

// The results of a program of one 8-bit input in each of its 256 cases, by position: an index of such a type
// looks up its own case, -1 the last. Error: why it is no such function, or where last digits decide.
Result<std::vector<Tensor>> cases_of(const Graph& program, const Inference& inference);

// Whether both are worth asking: each has one input, of 8 bits.
bool may_have_cases(const Graph& a, const Graph& b);

// Whether both are such functions, and the same one; else why not.
std::optional<std::string> why_not_equal_by_cases(const Graph& a, const Inference& a_info, const Graph& b,
                                                  const Inference& b_info);

}  // namespace isomer
