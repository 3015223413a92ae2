// Whether an equation follows from others in a few steps: a small saturation from both of its sides.
//
// A step rewrites one subterm, wherever it occurs, by one equation. Both searches are bounded by counts, so
// that the same question has the same answer on every machine. Untrusted: what is derivable is left out of a
// pack of rules, nothing more.
#pragma once

#include <deque>
#include <optional>

#include "rules/generate/term.h"

namespace isomer::rules {

struct DeriveBounds {
  int steps = 3;
  std::size_t most_terms = 4000;  // whole sides seen from one side
  std::size_t most_nodes = 12;    // of a side on the way
  // No side on the way has more nodes than the larger one of both ends: a search that accepts no loss on its
  // way goes it, too.
  bool is_straight = false;
  // With general equations, a way that is found at some sizes is one at all sizes of both sides.
  EquationIndex::Which which = EquationIndex::Which::All;
};

// A cache of shapes, for all queries to one index: the shapes that words make, and the equations that apply
// to them. It changes no answer, only the time. For one thread.
class ShapeMemory {
 public:
  using ShapeNumber = std::uint32_t;
  ShapeNumber number(const Dims& shape);
  const Dims& shape(ShapeNumber number) const { return shapes_[number]; }
  bool fits(ShapeNumber number, const Needed& needed) const;
  // The shape of a term whose operands have these; nullopt: there is no such term.
  std::optional<ShapeNumber> made(const Words& words, const Term& term,
                                  const std::array<ShapeNumber, 2>& operands);
  // Whether the equation with this number speaks of variables of these shapes; kNone: it has no such
  // variable.
  static constexpr ShapeNumber kNone = 0xffffffffu;
  bool speaks_of(const Equation& equation, std::size_t equation_number,
                 const std::vector<ShapeNumber>& variables);

 private:
  std::unordered_map<std::string, ShapeNumber> numbers_;
  std::deque<Dims> shapes_;
  std::unordered_map<Term, std::optional<ShapeNumber>, TermHash> made_;  // a word of shapes
  std::unordered_map<Digest, bool> speaks_of_;
};

// The rules that a way takes, from one side to the other, by number; nullopt: none was found.
using Derivation = std::vector<std::size_t>;
std::optional<Derivation> derive(const Words& words, const EquationIndex& index, const Side& a, const Side& b,
                                 const DeriveBounds& bounds = {}, ShapeMemory* memory = nullptr);

// For all outputs of all instances of a rule: the longest derivation; nullopt: one of them is not derivable.
std::optional<Derivation> derive_rule(Words& words, const EquationIndex& index, const Rule& rule,
                                      const DeriveBounds& bounds = {});

}  // namespace isomer::rules
