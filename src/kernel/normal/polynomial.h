// Polynomial: a value as weighted integer sets. Per product of elements, relations from positions to the
// coordinates of the factors, each with a weight:
//
//   value[p] = Σ over groups, over (weight, relation), over (p, c) in relation:  weight · Π element[c]
//
// Two polynomials are equal for all values of their elements iff in every group the weighted indicator
// functions agree; where they don't is a set of positions.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "kernel/normal/sets.h"
#include "kernel/normal/term.h"

namespace isomer {

// A product of elements, sorted, and of powers of symbols.
struct Group {
  std::vector<int> elements;
  std::map<std::string, int> symbols;
  friend auto operator<=>(const Group&, const Group&) = default;
};

struct Weighted {
  Rational weight;
  Relation at;  // position -> coordinates of all factors, one after the other
};

struct Polynomial {
  std::map<Group, std::vector<Weighted>> groups;
};

// Disjoint relations, none empty, none of weight zero, one for each weight.
std::vector<Weighted> overlaid(const std::vector<Weighted>& weighted);
// Each group overlaid; one with equal factors may stay a sum of overlapping relations if no two can cancel.
Polynomial reduced(const Polynomial& polynomial);
Polynomial on(const Polynomial& polynomial, const Points& positions);
// The value at positions m(p), for a function m.
Polynomial at(const Relation& m, const Polynomial& polynomial);
// Where some group has a term.
Points support(const Polynomial& polynomial, const Points& nothing);
// The positions at which two reduced polynomials differ.
Points differing(const Polynomial& a, const Polynomial& b, const Points& nothing);

}  // namespace isomer
