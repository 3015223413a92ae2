// The first step of a search: denormal weights as zero (optimizer/propose/values/denormals.cpp), if that is
// faster with 95 % confidence. All later steps are found and proved on the model that it makes.
#pragma once

#include "optimizer/search/context.h"

namespace isomer {

// The draft as it is, where nothing is measured, there are no such weights, or they cost nothing.
Result<Draft> without_denormals(SearchContext& context, const Draft& given);

// What these steps set to zero, of the weights of the model that they begin with.
Result<Draft::Flushed> count_flushed(const Graph& model, const std::vector<CertifiedStep>& steps);

}  // namespace isomer
