// One element of a formula's output, evaluated alone, at any size; and its value as an integer expression
// over symbols.
//
// A tree walk that shares no code with Program beyond the scalar functions: each checks the other.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/eval/extent_bits.h"
#include "model/expr/formula.h"
#include "model/expr/tensor.h"

namespace isomer {

// A tensor of rank 0 with the element's value, in the output's type.
Result<Tensor> evaluate_element(const Formula& formula, int output, const Extents& position,
                                const std::vector<std::optional<Tensor>>& inputs, std::uint64_t key = 0);

// Known bounds of the sizes of symbols: an axis has at most 2^extent_bits elements, and so has a tensor. So a
// product of symbols is known to fit 64 bits if some tensor has such axes.
class SymbolProducts {
 public:
  explicit SymbolProducts(int extent_bits = kExtentBits) : extent_bits_(extent_bits) {}
  void add(const Dims& shape);
  // Whether a value is certain to be below 2^bits, and above -2^bits.
  bool fits(const Dim& value, int bits) const;

 private:
  double bits_of(const Dim& value) const;
  int extent_bits_;
  std::set<std::string> extents_;                   // as text; no symbols by themselves
  std::vector<std::vector<std::string>> products_;  // sorted; of two symbols and more
};

// All elements of an integer or bool output as symbolic integers, from inputs whose elements are known as
// such; nullopt where an element isn't an integer expression of them, or where there are more than `most`
// elements.
std::optional<Dims> evaluate_symbolic(const Formula& formula, int output,
                                      const std::vector<std::optional<Dims>>& inputs,
                                      std::int64_t most = 4096,
                                      const SymbolProducts& products = SymbolProducts());

}  // namespace isomer
