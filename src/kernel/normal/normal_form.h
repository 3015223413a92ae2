// Normal forms: a formula as an expression of its inputs in which equal values are equal sets.
//
// A Form is a value as a sum of terms over its position axes (term.h). Formulas are applied to forms; two
// forms are compared as polynomials over elements (polynomial.h, elements.h). The arithmetic is over the
// reals for float types and over the integers for integer types. Values that are equal over the integers are
// equal in any type that wraps; for integers only sums and products are expanded, since wrapping does not
// keep order, signs and quotients. An unsupported expression becomes an element, equal only to itself. Throws
// Undecided where a budget ends or a shape is out of reach.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kernel/normal/budget.h"
#include "kernel/normal/elements.h"
#include "kernel/normal/term.h"
#include "model/expr/formula.h"
#include "model/expr/scalar_laws.h"
#include "model/expr/tensor.h"

namespace isomer {

struct Form {
  ElementType type = ElementType::Undefined;
  std::vector<Axis> axes;
  Sum sum;
  Dims shape() const;
};

class NormalForms {
 public:
  struct Options {
    Dims preconditions = {};   // each >= 0; symbols are anyway
    bool laws = false;         // exp of sums, common factors, positive scales, order
    bool definitions = false;  // sigmoid, tanh and softplus by exp and log
    Budget budget = {};
  };
  NormalForms(const std::vector<std::string>& symbols, Options options);

  // A tensor of unknown values: equal to nothing but itself.
  Form tensor(ElementType type, const Dims& shape, Sign sign = {});
  // A tensor of known values, exactly; nullopt: too many numbers, or not all of them are finite.
  std::optional<Form> constant(const Tensor& value);
  std::vector<Form> apply(const Formula& formula, const std::vector<std::optional<Form>>& inputs);

  // The same value as one family of scalars: what follows sees only that, not how it was computed.
  Form sealed(const Form& form);

  // A set of positions outside of which two forms of equal type and shape are proved equal.
  struct Unproved {
    Points positions;
    bool exact = false;  // the forms differ for some input at each of the positions
  };
  Unproved unproved_positions(const Form& a, const Form& b);
  // Why forms are not proved equal: their types or shapes differ; or "", and the positions that are open.
  struct Doubt {
    std::string why;
    std::string positions = {};
  };
  // Equal type, rank, extents for all values of the symbols, and no unproved position; otherwise why not.
  std::optional<Doubt> why_not_equal(const Form& a, const Form& b);

  // Whether what was applied after `mark` is defined wherever the forms `original` are: nothing but partial
  // functions of these forms' own elements, or such whose arguments' sign is known.
  std::size_t mark() const { return partial_.size(); }
  // A value that is computed once may be used many times. Each use registers its obligations again: the
  // sources that had to be defined for it, or the tensor itself if that may not be finite.
  std::vector<int> partial_since(std::size_t mark) const {
    return {partial_.begin() + static_cast<std::ptrdiff_t>(mark), partial_.end()};
  }
  void answer_for(const std::vector<int>& sources) {
    partial_.insert(partial_.end(), sources.begin(), sources.end());
  }
  void answer_for(const Form& tensor) {
    for (const Term& t : tensor.sum)
      for (const SourceFactor& f : t.factors) partial_.push_back(f.source);
  }
  bool is_defined_with(std::size_t mark, const std::vector<Form>& original);

  // Integers that are all known to be indices along an axis of this extent, -extent <= i < extent.
  struct Indices {
    Form form;
    Dim extent;
  };
  // Whether these are, if the known ones are: the same integers along an axis that is no shorter, or numbers
  // that are seen to lie inside.
  bool are_indices(const Indices& indices, const std::vector<Indices>& known);

  Polynomial polynomial(const Sum& sum, const std::vector<Axis>& position);
  const SetSpace& space() const { return space_; }
  const Elements& elements() const { return elements_; }
  bool used_laws() const { return used_laws_; }
  bool used_order() const { return used_order_; }  // laws of real numbers, which no finite field has

 private:
  friend class FormulaReader;
  // The meaning of a factor of a term: a family of scalars over a box of coordinates.
  struct Source {
    Dims extents;
    std::optional<int> element;  // all of it is this element, at the same coordinates
    std::vector<Piece> pieces;   // otherwise
    Sign sign;
    bool finite = true;
    std::optional<int> reciprocal;       // the source of 1/x, once made
    std::vector<Rational> numbers = {};  // a table: these, row-major
  };
  struct Summand {
    Rational weight;
    std::map<std::string, int> symbols;
    std::vector<int> elements;
    Relation at;  // (position, bound) -> coordinates
  };

  int add_source(Source source);
  const Source& source(int id) const { return sources_[static_cast<std::size_t>(id)]; }
  const std::vector<Piece>& pieces_of(int source);
  // Tables are factors while values are added, multiplied and moved; whatever else is done to a value sees
  // it without them (tables.cpp).
  int table(const Extents& extents, std::vector<Rational> numbers);
  // Sums over axes that only tables mention, done in numbers; nullopt: zero.
  std::optional<Term> contracted(Term term);
  // Over axes, where the conditions hold.
  Sum summed(const std::vector<Axis>& axes, const Domain& conditions, const Sum& body);
  // Each entry that is not zero as a term.
  Sum expanded(const Sum& sum);
  Sum read(const Form& form, const std::vector<Index>& at);
  Sum add(Sum a, const Sum& b);
  Sum multiply(const Sum& a, const Sum& b);
  Sum reciprocal(const Sum& divisor);
  int reciprocal_of(int source);
  Sum power(const Sum& base, const Sum& exponent, ElementType type);
  Sum exponential(const Sum& a);
  // A function of values, as one source over their free axes. `of`: as of Elements::apply.
  Sum call(Fn fn, ElementType type, std::vector<Sum> args, ElementType of = ElementType::Undefined);
  Sum call_without_order(Fn fn, ElementType type, const std::vector<Sum>& args,
                         ElementType of = ElementType::Undefined);
  struct OfOne;
  OfOne of_one(const Sum& sum);
  std::optional<Sum> call_by_order(Fn fn, ElementType type, const std::vector<Sum>& args);
  Sum bend(const Sum& y, const Rational& knot, ElementType type);  // relu(y - knot)
  Sum bent(const SourceFactor& factor);                            // its y
  Sum argument(const SourceFactor& factor);                        // of a source that is f(argument)
  void note_call(int source, Fn fn, ElementType type, const Sum& argument, const std::vector<Axis>& axes);
  void note_call_on(int source, Fn fn, ElementType type, int of);  // of a whole family of scalars
  std::optional<Sum> exponent(const Term& term);  // of a product of exponentials and their reciprocals
  // The number that all of a sum is a function of, as far as one can see; how the sum follows it (up, down,
  // or not at all), with another number in its place.
  struct Parts;
  struct Followed {
    int direction;
    Sum value;
  };
  Parts parts_of(const Sum& sum, const Domain& domain);
  std::optional<Sum> inner(const Sum& base, const Domain& domain);
  Sum number_in(const Sum& sum, const Domain& domain);
  std::optional<Followed> follow(const Sum& sum, const Sum& y, const Sum& put, const Domain& domain);
  std::optional<Sum> fold_by_order(Reduction reduction, ElementType type, const std::vector<Axis>& axes,
                                   const Domain& domain, const Sum& of);
  // Two numbers that are in the order of these, and simpler; also in floats, but for what rounding does to
  // neighbours.
  void compare_simpler(Fn comparison, Sum& a, Sum& b);
  bool is_same(const Sum& a, const Sum& b);
  std::optional<Sum> call_on_movement(Fn fn, ElementType type, const Sum& arg, ElementType of);
  Sum fold(Reduction reduction, ElementType type, const std::vector<Axis>& axes, const Domain& domain,
           const Sum& of);
  std::vector<Piece> apply_pieces(Fn fn, ElementType type, const std::vector<std::vector<Piece>>& args,
                                  ElementType of);
  Piece apply_piece(Fn fn, ElementType type, const std::vector<int>& args, const std::vector<Relation>& at,
                    ElementType of = ElementType::Undefined);
  // With signs of the arguments that are known otherwise than from their terms.
  Sum call_of_signs(Fn fn, ElementType type, const std::vector<Sum>& args, const std::vector<Sign>& signs,
                    ElementType of = ElementType::Undefined);
  Sign sign_of(const Sum& sum) const;
  bool is_finite(const Sum& sum) const;
  bool is_total(const Sum& sum);
  // Look-ups by computed indices that are known to point inside (normal_form_look_up.cpp).
  std::optional<SourceFactor> hit(const Sum& condition, const Axis& v, ElementType type);
  bool is_same_hit(const SourceFactor& a, const SourceFactor& b) const;
  bool is_hit(const SourceFactor& factor, const Term& term, const std::vector<Axis>& apart_from) const;
  std::optional<Term> with_each_hit_once(Term term);
  Sum looked_up(const SourceFactor& hit, const Axis& v, const Sum& of);
  using Function = std::function<Sum(const std::vector<Sum>& args)>;
  std::optional<Sum> through_look_up(const std::vector<Sum>& args, const std::vector<Axis>& apart_from,
                                     const Function& f);
  // The common part of all terms that no bound axis touches.
  std::vector<SourceFactor> common_factors(const Sum& sum) const;
  Sum index_number(const Index& index);
  Sum number(ElementType type, double value);
  void check_size(const Sum& sum) const;
  bool is_inside(const Piece& piece, const Dim& extent);
  // Whether all of it is a tensor, none of it computed.
  bool is_drawn(int id) const {
    return source(id).element && elements_[*source(id).element].kind == Element::Kind::Tensor;
  }

  void add_term(Polynomial& out, const Term& term, const std::vector<Axis>& position);
  std::vector<Summand> expand_pieces(const Term& term, Relation at);
  void settle_bound(Polynomial& out, Summand summand, int position, std::vector<Dim> bound);
  void add_symmetric(Polynomial& out, const Summand& summand);
  std::map<int, Points> coordinates_in(const std::vector<Form>& forms);

  Options options_;
  SetSpace space_;
  Elements elements_;
  AxisMaker maker_;
  std::vector<Source> sources_;
  std::set<int> real_;        // elements that are tensors of any real values
  std::set<int> maxima_;      // sources that are a maximum
  std::set<int> hits_;        // sources [v = index(q)] over (v, q): for every q one of them is 1
  std::vector<int> partial_;  // sources that a partial function made, in order
  std::optional<int> index_numbers_;
  std::map<std::string, int> strange_numbers_;
  std::map<std::pair<Extents, std::vector<Rational>>, int> tables_;  // equal ones are one source
  struct Bend {
    Sum y;
    std::vector<Axis> axes;
    Rational knot;
  };
  std::map<int, Bend> bends_;  // sources that are relu(y - knot)
  struct Call {
    Fn fn;  // Div: 1 / argument
    ElementType type;
    Sum argument;
    std::vector<Axis> axes;
  };
  std::map<int, Call> calls_;  // sources that are functions of one number
  bool used_laws_ = false, used_order_ = false;
};

}  // namespace isomer
