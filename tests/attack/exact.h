// The oracle: every element of a formula's output as a canonical polynomial with exact rational
// coefficients, by walking the expression at every position. Neither of the prover's witnesses: no sets, no
// residues, no sharing between positions but of equal values.
//
// Monomials are products of powers of scalars: a coordinate of an input, a function of canonical polynomials,
// the largest or smallest of a set of them, the reciprocal of one.
#pragma once

#include <gmpxx.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/expr/formula.h"

namespace isomer::attack {

// A pair that is too large to be worth judging.
class TooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An element's value: a polynomial's number, or one of the three that no polynomial is. `needs` are the
// scalars and polynomials that must not be zero for it to be defined.
struct Exact {
  static constexpr int kUndefined = -1, kLowest = -2, kHighest = -3;  // max and min of nothing
  int value = kUndefined;
  std::set<int> needs = {};
  bool is_finite() const { return value >= 0; }
};

class Oracle {
 public:
  Oracle();
  // One value per position, row-major.
  std::vector<Exact> evaluate(const Formula& formula);
  // Equal as rational functions of their scalars.
  bool equal(int a, int b);
  // The values at inputs drawn from a key; what a function of reals gives. `kind`: 0 any, 1 small integers
  // with zeros and ties, 2 positive, 3 negative.
  long double number(int value, std::uint64_t key, int kind);
  void forget_numbers() { numbers_.clear(); }
  std::string text(int value) const;

 private:
  using Monomial = std::vector<std::pair<int, int>>;  // scalar, power; sorted
  using Poly = std::map<Monomial, mpq_class>;
  struct Scalar {
    enum class Kind : std::uint8_t { Element, Apply, Fold, Reciprocal } kind = Kind::Element;
    int what = 0;  // the tensor, the function, the reduction
    std::vector<int> args = {};
    friend auto operator<=>(const Scalar&, const Scalar&) = default;
  };
  class Walk;

  int intern(Poly poly);
  int constant(const mpq_class& value);
  int of_scalar(const Scalar& scalar);
  std::optional<mpq_class> as_constant(int value) const;
  int add(int a, int b, int scale);
  int multiply(int a, int b);
  int reciprocal(int a, std::set<int>& needs);
  int fold(Reduction reduction, const std::set<int>& values);
  bool is_positive(int scalar) const;
  long double scalar_number(int scalar, std::uint64_t key, int kind);
  static void limit(const Poly& poly);

  std::deque<Poly> polys_;
  std::unordered_map<std::string, int> known_;
  std::vector<Scalar> scalars_;
  std::map<Scalar, int> scalar_ids_;
  std::map<std::pair<int, std::pair<std::uint64_t, int>>, long double> numbers_;
};

}  // namespace isomer::attack
