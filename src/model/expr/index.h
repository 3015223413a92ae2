// Index: a quasi-affine expression over axes, the only way in which a formula addresses a tensor.
//
//   offset + Σ scale · atom,   atom = an axis | floor(index / divisor) | index mod divisor
//
// Scales and divisors are extents (concrete, or symbolic until sizes are bound). Building an index simplifies
// it with the known ranges of the axes: floor((56·i + j) / 56) with 0 <= j < 56 is i.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/expr/dim.h"

namespace isomer {

// An index variable that runs over 0 <= axis < extent. Ids are unique within one formula.
struct Axis {
  int id = -1;
  Dim extent;
  friend bool operator==(const Axis& a, const Axis& b) { return a.id == b.id; }
};

class Index {
 public:
  enum class AtomKind : std::uint8_t { Axis, Floor, Mod };
  struct Atom {
    AtomKind kind = AtomKind::Axis;
    isomer::Axis axis;                   // for Axis
    std::shared_ptr<const Index> inner;  // for Floor and Mod
    Dim divisor;                         // for Floor and Mod
    friend bool operator==(const Atom& a, const Atom& b);
  };
  struct Term {
    Dim scale;
    Atom atom;
    friend bool operator==(const Term&, const Term&) = default;
  };
  // Inclusive bounds over all values of the axes (axes with extent 0 are treated as if extent 1).
  struct Range {
    Dim low, high;
  };

  Index() = default;
  Index(std::int64_t constant) : offset_(constant) {}    // NOLINT(google-explicit-constructor)
  Index(int constant) : offset_(constant) {}             // NOLINT(google-explicit-constructor)
  Index(Dim constant) : offset_(std::move(constant)) {}  // NOLINT(google-explicit-constructor)
  Index(const Axis& axis);                               // NOLINT(google-explicit-constructor)
  static Index of_term(const Term& term);

  const Dim& offset() const { return offset_; }
  const std::vector<Term>& terms() const { return terms_; }
  bool is_constant() const { return terms_.empty(); }
  // The axis, if the index is just that axis.
  std::optional<Axis> as_axis() const;
  bool mentions(const Axis& axis) const;
  // Axes in it, in order of first appearance, each once.
  std::vector<Axis> axes() const;

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Dim& scale, const Index& a);
  friend bool operator==(const Index& a, const Index& b);
  // Divisors are positive; a symbolic one is taken to be (where it is zero, there is no position to evaluate
  // at).
  static Index floor(const Index& a, const Dim& divisor);
  static Index mod(const Index& a, const Dim& divisor);

  // The same index with each q·floor(x/q) + x mod q put together again as x.
  Index recombine() const;

  // Interval bounds; nullopt where symbolic extents keep them from being compared.
  std::optional<Range> range() const;
  // Whether 0 <= index < extent for all values of the axes (false: not seen to be).
  bool is_inside(const Dim& extent) const;

  // The same index with each axis replaced by an index, and with each symbol by a value.
  Index substitute(const std::function<Index(const Axis&)>& by) const;
  Index substitute_symbols(const Dim::Substitution& by) const;

  std::string text() const;  // "2*a0 + a3 - 1"

 private:
  void add_term(const Dim& scale, const Atom& atom);
  Dim offset_;
  std::vector<Term> terms_;
};

// Row-major: the position of (i0, i1, ...) in a tensor of these extents, and back.
Index linearize(const std::vector<Index>& position, const Dims& shape);
std::vector<Index> delinearize(const Index& linear, const Dims& shape);
std::vector<Index> to_indices(const std::vector<Axis>& axes);

}  // namespace isomer
