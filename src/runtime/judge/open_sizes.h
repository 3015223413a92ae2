// Sizes of inputs that a model leaves open: numbers for those that the user does not give.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/graph/infer.h"

namespace isomer {

// A size that the model leaves open and the user did not give.
struct AssumedSize {
  std::string name;  // of the dimension; "x[2]" for one without a name
  std::int64_t size = 0;
  bool is_batch = false;  // a first axis, or that of a recurrent state's samples
  bool is_named = false;  // its name says what it usually is
};

// Sizes of the options or the feeds, or assumed ones, for inference.
struct ChosenSizes {
  InferOptions options;  // a concrete shape for every input
  std::vector<AssumedSize> assumed;
};
// Open sizes are as `wanted` says, by AssumedSize::name; else as the name says (samples: 16000), else 1 for a
// first axis and 128 for others.
using WantedSizes = std::map<std::string, std::int64_t, std::less<>>;
Result<ChosenSizes> choose_sizes(const Graph& graph, const InferOptions& options,
                                 const WantedSizes& wanted = {});

// Whether the caller must give the input: it has no default.
bool needs_feed(const Graph& graph, Value input);
// Whether one of these is a part of it, in any case of letters.
bool has_word(const std::string& name, std::initializer_list<std::string_view> words);

}  // namespace isomer
