// Losses over classes: what NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss share.
#pragma once

#include "model/ops/shared/look_up.h"

namespace isomer {

// Scores [N, C, d...], labels [N, d...], weights [C]; throws IllegalCall or OpaqueCall.
void check_loss(const Call& call);
// Puts out the loss: -weight[label] · score(label) where the label counts, else 0; for each sample, summed,
// or divided by the sum of the weights that count.
void output_loss(const Call& call, FormulaBuilder& f,
                 const std::function<Expr(const std::vector<Index>&)>& score);

}  // namespace isomer
