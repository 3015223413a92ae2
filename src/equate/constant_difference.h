// Constants that two models have under one name and that differ: the most useful first answer when two
// exports of one network are compared. Also whether that is the only difference between the models.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "kernel/prove/verdict.h"
#include "model/graph/graph.h"

namespace isomer {

struct ConstantDifference {
  std::string name;
  std::uint64_t differing = 0, of = 0;  // elements that differ, and all
  Extents first;                        // position of the first that differs
  double a = 0, b = 0;                  // the numbers at that position
  double largest = 0;                   // |a - b| / max(|a|, |b|), of any element
};

// "p.weight differs in 1 of 73,728 elements, first at [5, 1, 0, 0]: 0.25 and 0.26"
std::string text(const ConstantDifference& difference);

// Differing initializers with the same name, type and shape, in the order of the first model.
std::vector<ConstantDifference> differing_constants(const Graph& a, const Graph& b);

// Whether the second model is the first but for these constants.
bool is_all_that_differs(const Graph& a, const Graph& b, const std::vector<ConstantDifference>& differences);

// An input that shows that two models differ, for models that are the same but for constants which are
// farther apart than rounding. Both are the same computation: if their results in float64 differ, only the
// constants can be the reason.
std::optional<Refuted> differing_by_constants(const Graph& a, const Graph& b,
                                              const std::vector<ConstantDifference>& differences,
                                              const std::atomic<bool>* stop);

}  // namespace isomer
