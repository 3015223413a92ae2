// What was done to a model, in words that its owner knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isomer {

// One step, from what its proposer said: "10 nodes linear in /stages/stages.0/Relu_output_0 are one 1x1
// convolution" -> "10 nodes after stages/stages.0/Relu merged into one 1×1 convolution".
std::string words_of_step(std::string_view kind, std::string_view what);

// Steps that do the same, from their label: "collapse: Conv+BatchNormalization -> Conv" -> "batch
// normalization folded into its convolution".
std::string words_of_group(std::string_view label);

// The same for what a search says of its progress.
std::string words_of_progress(std::string_view now);

// A value as people look for it in a viewer: without the slash and the number that exporters add.
std::string short_name(std::string_view name);

}  // namespace isomer
