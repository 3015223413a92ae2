// Composition: an operator that is made of others, as QLinearConv is of DequantizeLinear, Conv and
// QuantizeLinear. Their formulas are written one behind the other; none is said twice.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

// The definition of a part of another operator's formula. No file has such a call, so its form and its types
// are not checked; otherwise as `define`, which is operator.cpp's too.
Definition define_part(const Operator& op, const Call& call);

class Composition {
 public:
  using Tensor = FormulaBuilder::Tensor;
  using Operands = std::vector<std::optional<Tensor>>;  // nullopt: absent

  explicit Composition(const Call& call) : f(call.formula()), call_(call) {}

  // The outputs of an operator on tensors of this formula. The whole has the operator's assumptions too.
  // Throws OpaqueCall or IllegalCall where it has no formula.
  std::vector<Tensor> all_of(std::string_view domain, std::string_view op, const Operands& inputs,
                             Attributes attributes = {}, int outputs = 1);
  // The first output of an operator of the standard domain.
  Tensor of(std::string_view op, const Operands& inputs, Attributes attributes = {}) {
    return all_of("", op, inputs, std::move(attributes))[0];
  }
  // An input of the call; absent, if it has none.
  std::optional<Tensor> input(int k) const { return call_.has(k) ? std::optional(f.input(k)) : std::nullopt; }
  // The attributes of the call of these names, where it has them.
  Attributes attributes(std::initializer_list<std::string_view> names) const;
  // A tensor as an output of the whole.
  void output(const Tensor& x);

  FormulaBuilder f;

 private:
  const Call& call_;
};

}  // namespace isomer
