// derive: a node by its formula, not by its name. What it says is written as a sum of products
// (optimizer/facts/linear_form.h); summed indices that make windows are pulled apart (products of slices that
// are added) or put beside the channels (one product of all slices); or the node is what it does to impulses,
// as any region is (collapse.h): a pool as a convolution, a convolution as a matrix product.
#pragma once

#include "optimizer/facts/proposal.h"

namespace isomer {

Proposals propose_derive(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
