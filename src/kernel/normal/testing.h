// For tests of normal forms: formulas applied to forms.
#pragma once

#include <optional>
#include <vector>

#include "kernel/normal/normal_form.h"
#include "model/expr/formula.h"

namespace isomer {

// The first output of the formula that `build` writes into a FormulaBuilder.
template <class F>
Form applied(NormalForms& forms, const std::vector<Form>& inputs, const F& build) {
  std::vector<std::optional<TensorType>> types;
  std::vector<std::optional<Form>> given;
  for (const Form& f : inputs) {
    types.push_back(TensorType{f.type, f.shape()});
    given.push_back(f);
  }
  FormulaBuilder f(types);
  build(f);
  return forms.apply(std::move(f).finish(), given)[0];
}

}  // namespace isomer
