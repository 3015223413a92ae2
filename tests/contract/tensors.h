// Tensors for the contract suite: random ones, sums of multiples, and comparison with a stated tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "contract/drawn_case.h"
#include "model/analysis/analysis.h"
#include "model/expr/tensor.h"

namespace isomer::contract {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::int64_t between(std::int64_t low, std::int64_t high);  // inclusive

 private:
  std::uint64_t state_;
};

// Other values of the same type and extents: any field elements, floats of both signs, and for integers and
// bools elements of the tensor itself, so that indices stay legal.
Tensor random_like(const Tensor& tensor, Random& random);
Tensor zeros_like(const Tensor& tensor);
// A scalar of the type: any element of the field, a small integer elsewhere.
Tensor random_scalar(ElementType type, Random& random);
// a·x + b·y in the type's own arithmetic; of bools with "and" for the product and "exclusive or" for the sum.
Tensor combine(const Tensor& a, const Tensor& x, const Tensor& b, const Tensor& y);
// The tensor with the elements outside of the box (nullopt: all of them) taken from `other`.
Tensor poison(const Tensor& tensor, const std::optional<Box>& keep, const Tensor& other);

// The inputs for the formula lifted to Double (the same values) or to Field (random elements for what was
// float).
Inputs lifted_to_double(const Inputs& inputs);
Inputs lifted_to_field(const Inputs& inputs, Random& random);

// Where and by how much two tensors differ; nullopt: nowhere. Floats may differ by `tolerance` times the
// largest magnitude in `expected`, NaN equals NaN and an infinity equals itself; all else must be equal bit
// for bit.
std::optional<std::string> difference(const Tensor& actual, const Tensor& expected, double tolerance);
// The same where only the positions in the box count, exactly.
std::optional<std::string> difference_inside(const Tensor& actual, const Tensor& expected, const Box& box);

}  // namespace isomer::contract
