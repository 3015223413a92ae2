// Elements: the scalars that polynomials are made of, each a family over coordinates of its own: a tensor's
// elements, a function of other elements, a polynomial under a function, a maximum or minimum over a set.
//
// Whatever position space a value was computed in, equal scalars get the same element and coordinates: a
// polynomial that meets a function is matched with the ones known by anchors. The equalities that tie
// positions to coordinates, joined with those of another polynomial, give the candidate map between their
// positions; where they don't determine one, position ↦ lexicographically smallest coordinates does, composed
// with the inverse of the other's. Equality of weighted sets then confirms where it holds: the candidate
// itself needs no trust. So relu(concat(a, b)) and concat(relu a, relu b), shuffles, slices and reshapes
// under a function meet.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kernel/normal/polynomial.h"

namespace isomer {

struct Element {
  enum class Kind : std::uint8_t { Tensor, Number, Apply, Polynomial, Fold };
  Kind kind = Kind::Tensor;
  int rank = 0;                               // of its coordinates
  Rational number = {};                       // Number
  Fn fn = Fn::Add;                            // Apply
  ElementType type = ElementType::Undefined;  // Apply: of the result
  std::vector<int> args = {};                 // Apply; coordinates are those of the arguments in a row
  Reduction fold = Reduction::Max;            // Fold: of the elements that `body` relates to a position
  Polynomial body = {};                       // Polynomial, Fold: over the element's own coordinates
  std::optional<Points> domain = {};          // Polynomial, Fold: the coordinates
  struct Anchor {
    std::optional<Relation> hull = {}, smallest = {};  // once they were needed
  };
  std::map<Group, Anchor> anchors = {};  // Polynomial, Fold
};

// On the domain of `to`, a value is this element at these coordinates.
struct Piece {
  int element = 0;
  Relation to;
};

class Elements {
 public:
  explicit Elements(const SetSpace& space, int most_candidates = 1)
      : space_(space), most_candidates_(most_candidates) {}

  const Element& operator[](int id) const { return elements_[static_cast<std::size_t>(id)]; }
  int tensor(int rank);
  int number(const Rational& value);
  // `of`: the type of arguments that are integers of another type than the result. A number here has not been
  // wrapped, and which number it is depends on that.
  int apply(Fn fn, ElementType type, const std::vector<int>& args, ElementType of = ElementType::Undefined);

  // The value of a polynomial at all positions, in pieces that cover them, each position once.
  std::vector<Piece> pieces(const Polynomial& value, const Points& positions);
  // The largest or smallest of the bodies' values, which are over (position, further coordinates).
  std::vector<Piece> fold(Reduction reduction, const std::vector<Piece>& bodies, const Points& positions);

 private:
  struct Class {
    Element::Kind kind;
    Reduction fold;
    Group group;
    friend auto operator<=>(const Class&, const Class&) = default;
  };
  std::vector<Piece> match(Element::Kind kind, Reduction reduction, Polynomial body, Points rest);
  // Coordinates of a known element at which a polynomial may have the same value.
  struct Candidates {
    Relation at;
    bool is_function = true;
  };
  Candidates candidates(int element, const Group& group, const Relation& here, const Points& rest);
  std::vector<Piece> create(Element::Kind kind, Reduction reduction, const Polynomial& body,
                            const Points& rest);

  const SetSpace& space_;
  int most_candidates_;  // that are tried, one after the other
  std::vector<Element> elements_;
  std::map<Rational, int> numbers_;
  std::map<std::tuple<Fn, ElementType, ElementType, std::vector<int>>, int> applications_;
  std::map<Class, std::vector<int>> by_group_;
};

}  // namespace isomer
