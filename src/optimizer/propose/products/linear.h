// Sums of products, by the cheapest products.
#pragma once

#include "optimizer/facts/linear_form.h"
#include "optimizer/facts/proposal.h"

namespace isomer {

// What is a sum of products, by the cheapest products.
Proposals propose_linear(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

// A form as a program, which reads the site's values by their names. `is_image`: products with channels as
// convolutions of one position. nullopt: a position is no slice, or a shape can't be written for all sizes.
std::optional<Value> write_linear(const Site& site, const LinearForm& form, ProgramBuilder& b, bool is_image);

}  // namespace isomer
