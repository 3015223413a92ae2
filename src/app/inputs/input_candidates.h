// Candidates for sizes and values that the user leaves open, in order.
#pragma once

#include <string>
#include <vector>

#include "runtime/judge/feeds.h"

namespace isomer {

// Sizes by the names of open dimensions, numbers by the names of inputs; what is absent is as draw_feeds has
// it.
struct InputChoice {
  WantedSizes sizes = {};
  FilledInputs values = {};
};

// An input whose number decides how the model runs.
struct OpenValue {
  std::string input;
  std::vector<double> numbers;  // to try
  bool is_chosen = false;       // the first of them is better than any made-up number
  std::string why = {};         // it is: "the model compares it with that"
};
std::vector<OpenValue> open_values(const Graph& graph, const FilledInputs& given);

// Changes of a choice, the likely ones first. hints: sizes that the refusal of the choice speaks of.
std::vector<InputChoice> changes_of(const InputChoice& choice, const std::vector<AssumedSize>& sizes,
                                    const std::vector<OpenValue>& values,
                                    const std::vector<std::int64_t>& hints);

}  // namespace isomer
