// Term: one summand of a value, before any set is built: coefficient · Σ over bound axes, where conditions
// hold, of a product of factors, each a source (a tensor, or a function of tensors) at quasi-affine indices.
//
// Reading a value at indices is substitution, a product joins lists, a sum appends them: cheap, and exact.
// Sets are built only where something has to be decided (polynomial.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/expr/expr.h"
#include "model/expr/index.h"
#include "model/expr/rational.h"

namespace isomer {

using Powers = std::map<std::string, int>;  // of symbols; none is zero
void multiply(Powers& powers, const Powers& by);

// A number times powers of symbols (1/N of a mean over N elements).
struct Coefficient {
  Rational number = 1;
  Powers symbols = {};
  Coefficient inverse() const;
  friend Coefficient operator*(const Coefficient& a, const Coefficient& b);
};
// nullopt: not a single product of symbols.
std::optional<Coefficient> as_coefficient(const Dim& dim);

struct SourceFactor {
  int source = 0;
  std::vector<Index> at;
  friend bool operator==(const SourceFactor&, const SourceFactor&) = default;
};

struct Term {
  Coefficient coefficient = {};
  std::vector<Axis> bound = {};
  Domain where = {};
  std::vector<SourceFactor> factors = {};
};
using Sum = std::vector<Term>;

// Hands out axes that no one else has.
class AxisMaker {
 public:
  Axis axis(const Dim& extent) { return {next_++, extent}; }

 private:
  int next_ = 0;
};

using AxisMap = std::function<Index(const Axis&)>;

// Adds a condition, unless it holds anyway; false: it never holds, the term is zero.
bool require(Term& term, const Index& at_least_zero);
bool require(Term& term, const Domain& conditions);
// The term with its free axes replaced and its bound axes renamed; nullopt: zero.
std::optional<Term> substitute(const Term& term, const AxisMap& by, AxisMaker& maker);
// Σ_r [r = v] f(r) is f(v): the term with a bound axis at a value that may depend on other axes; nullopt:
// zero. And the same for every bound axis that the conditions tie to such a value.
std::optional<Term> fixed(Term term, const Axis& bound, const Index& value);
std::optional<Term> without_fixed_axes(Term term);
std::optional<Term> product(const Term& a, const Term& b, AxisMaker& maker);
Sum scaled(Sum sum, const Coefficient& by);
// The divisor that normalizes a sum: it makes y, 6y and -y/2 one. It depends on all terms, not on their
// order.
Rational leading(const Sum& sum);
// Adds up the coefficients of summands that are the same as written, and drops those that become zero.
void merge_alike(Sum& sum);
// Disjoint conjunctions that together are the complement of one.
std::vector<Domain> complement(const Domain& conditions);
// Free axes, in order of first appearance.
std::vector<Axis> free_axes(const Sum& sum);
// The same sum of terms without floor(x / d), x mod d of a symbolic d, where x / d takes few values: each
// value a term.
Sum without_symbolic_floors(const Sum& sum, std::int64_t most_values);

}  // namespace isomer
