// Program: a formula of concrete extents compiled once to loop nests, run many times.
//
// Loops run over strips of the output; a sum of products goes through one blocked, vectorised kernel
// (contraction.h); a sum that an equality pins to one point (Σ_v [v = i[p]] · data[v]) is a look-up. Integers
// wrap; integer division by zero and look-ups outside of a tensor are errors. float16 and bfloat16 are
// computed in float and rounded when an output is stored.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/expr/formula.h"
#include "model/expr/tensor.h"

namespace isomer {

class Program {
 public:
  static Program compile(const Formula& formula);  // every extent concrete, checked
  // One tensor per output. Inputs must have the formula's types and extents; absent ones are nullopt.
  // `key` chooses the field's functions.
  Result<std::vector<Tensor>> run(const std::vector<std::optional<Tensor>>& inputs,
                                  std::uint64_t key = 0) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// The formula with every float type replaced: by Double for a float64 evaluation of a float32 model, in which
// casts to narrower floats still round; by Field for the evaluation mod p, by FieldPair where exp has to
// keep its law.
Formula lift(const Formula& formula, ElementType to);
// A tensor's elements in another computable type, as Cast does it; to a field: floats by their exact rational
// value.
Tensor convert(const Tensor& tensor, ElementType to);

}  // namespace isomer
