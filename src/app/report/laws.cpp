#include "app/report/laws.h"

#include <algorithm>

namespace isomer {

const std::vector<Law>& laws() {
  static const std::vector<Law> list{
      {"simplify", "nothing left to compute", "f(c) = c′,   x + 0 = x,   f(x), f(x) ⟼ one f(x)",
       "What depends on constants and known sizes is computed beforehand; what changes nothing, or is "
       "computed "
       "twice, goes."},
      {"collapse", "an affine region as one node", "A₂(A₁x + b₁) + b₂ + Bx = (A₂A₁ + B)x + (A₂b₁ + b₂)",
       "Convolutions, products, scalings, normalizations and sums in a row or side by side are affine in one "
       "value: together they are one convolution or one matrix product with other numbers."},
      {"needed", "only what is read", "(f(x))[S] = f(x[N(S)])",
       "Readers need the positions S of a value; these depend on the positions N(S) of what it is made of, "
       "and "
       "nothing else is computed."},
      {"batch", "equal computations as one", "[f(x₁, w₁), …, f(xₙ, wₙ)] = f⁽ⁿ⁾([x₁ … xₙ], [w₁ … wₙ])",
       "The same computation on several inputs is one computation with one more axis, or with groups."},
      {"commute", "smaller first", "R(A x) = A (R x)",
       "What makes a value smaller (a mean, a pooling, a slice) changes places with what works on it, so "
       "that "
       "less is computed."},
      {"linear", "sums of products, cheaply", "(AB)x = A(Bx),   Σᵢ Aᵢxᵢ = [A₁ … Aₙ][x₁; …; xₙ]",
       "A value that is a sum of products is computed by other products: in another order, over parts, or "
       "once "
       "for what is repeated."},
      {"repeated", "what is the same everywhere, once", "x[i] = x[0] for all i   ⟹   f(x)[i] = f(x[0])",
       "Along an axis where a value is the same everywhere it is computed at one position and broadcast."},
      {"reassociate", "siblings as one, products later", "[A x; B x] = [A; B] x,   T[i] W = (T W)[i]",
       "Products of one value are merged, tables are multiplied before they are looked up, what does not "
       "depend "
       "on a step is taken out of it."},
      {"fastpath", "the same, as the runtime likes it", "f(x) = σ⁻¹ f′(σ x)",
       "The same computation in a form that the runtime has a faster kernel for; σ only moves or pads "
       "elements."},
      {"bilinear", "fewer multiplications", "Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A",
       "Winograd's convolution: the sums are formed first, so that fewer products are needed. Its rounding "
       "error is "
       "another one, and is measured."},
      {"structure", "what the weights' bytes show", "W = P [D 0; 0 0] Q   ⟹   W x = P [D (Q x)₁; 0]",
       "Zeros, equal rows, blocks, permutations and kernels that are products, seen in the numbers of a "
       "weight, "
       "need not be multiplied with."},
      {"order", "functions that keep the order", "max f(x) = f(max x)   for f that rises",
       "A function that keeps the order of numbers moves out of maxima and comparisons, or is not needed "
       "there."},
      {"functions", "known by its values", "f(x) = g(x) for all x",
       "A function that is spelled out in several nodes is one that the runtime has as one."},
      {"partial", "right but for a border",
       "f(x) = g(x) outside of B   ⟹   f(x) = g(x) outside of B, f(x)[B] on B",
       "Another computation is the same but for a few positions, which the prover names; these are computed "
       "as "
       "before."},
      {"derive", "by the formula", "Σₖ w[k] x[p + k] = w[0] x[p] + w[1] x[p + 1] + …",
       "A node's formula is a sum of products; its sums are pulled apart or put together, and written with "
       "other operators."},
      {"generated", "a rule that nobody wrote", "l(x) = r(x) for all x and all sizes",
       "A rule found by enumeration and proved for all sizes, and proved again in this place."},
      {"user", "a rule of your own", "l(x) = r(x) for all x and all sizes",
       "A rule that was given with --rules, and proved again in this place."},
      {"relax", "room for another step", "k ∗ x = [0 k 0] ∗ x",
       "A step that gains nothing by itself, such as a kernel padded to its sibling's size, and lets another "
       "step "
       "happen."},
      {"widen", "16 bits in, 16 bits out, float32 between", "ρ₁₆(f(ρ₁₆(g(x))))   ⟼   ρ₁₆(f(g(x)))",
       "The same formulas, computed in float32 and rounded to 16 bits where they end: over the reals nothing "
       "changes, and less is rounded, which is measured."},
  };
  return list;
}

const Law& law_of(std::string_view kind) {
  static const Law any{"", "another way to compute the same", "l(x) = r(x) for all x",
                       "The values after were proved equal to those before, for all inputs."};
  const auto at = std::ranges::find(laws(), kind, &Law::kind);
  return at == laws().end() ? any : *at;
}

}  // namespace isomer
