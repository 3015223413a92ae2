// Whether an equation follows from others in a few steps: a small saturation from both of its sides.
//
// A step rewrites one subterm, wherever it occurs, by one equation. Both searches are bounded by counts, so
// that the same question has the same answer on every machine. Untrusted: what is derivable is left out of a
// pack of rules, nothing more.
#pragma once

#include <memory>
#include <optional>

#include "rules/term.h"

namespace isomer::rules {

struct DeriveBounds {
  int steps = 3;
  std::size_t most_terms = 4000;  // whole sides seen from one side
  std::size_t most_nodes = 12;    // of a side on the way
  // With general equations, a way that is found at some sizes is one at all sizes of both sides.
  EquationIndex::Which which = EquationIndex::Which::All;
};

// The rules that a way takes, from one side to the other, by number; nullopt: none was found.
using Derivation = std::vector<std::size_t>;
std::optional<Derivation> derive(const Words& words, const EquationIndex& index, const Side& a, const Side& b,
                                 const DeriveBounds& bounds = {});

// Of all outputs of all instances of a rule: the longest derivation; nullopt: one of them is not derivable.
std::optional<Derivation> derive_rule(Words& words, const EquationIndex& index, const Rule& rule,
                                      const DeriveBounds& bounds = {});

}  // namespace isomer::rules
