// relu, max and min of one number and of constants: the part of NormalForms that knows that numbers are
// ordered.
#include <algorithm>

#include "kernel/normal/normal_form.h"
#include "kernel/normal/piecewise_linear.h"

namespace isomer {
namespace {

bool is_plain(const Term& t) { return t.bound.empty() && t.where.empty() && t.coefficient.symbols.empty(); }

Sum times(Sum sum, const Rational& k) { return scaled(std::move(sum), Coefficient{.number = k}); }

}  // namespace

// A sum as a function of one number: the rest without constants and known knots, or the argument of these
// knots.
struct NormalForms::OfOne {
  Sum y;  // empty: it is a constant
  PiecewiseLinear f;
};

bool NormalForms::is_same(const Sum& a, const Sum& b) { return add(a, times(b, -1)).empty(); }

Sum NormalForms::bent(const SourceFactor& factor) {
  const Bend& bend = bends_.at(factor.source);
  return read({.type = ElementType::Float, .axes = bend.axes, .sum = bend.y}, factor.at);
}

NormalForms::OfOne NormalForms::of_one(const Sum& sum) {
  OfOne out;
  Sum rest;
  std::vector<const Term*> bends;
  for (const Term& t : sum) {
    if (is_plain(t) && t.factors.empty()) out.f.start += t.coefficient.number;
    else if (is_plain(t) && t.factors.size() == 1 && bends_.contains(t.factors[0].source))
      bends.push_back(&t);
    else rest.push_back(t);
  }
  if (rest.empty() && !bends.empty()) {
    out.y = bent(bends[0]->factors[0]);
  } else if (!rest.empty()) {
    out.f.slope = leading(rest);
    out.y = times(rest, 1 / out.f.slope);
  }
  for (const Term* t : bends) {
    if (is_same(bent(t->factors[0]), out.y)) {
      out.f.add_bend(bends_.at(t->factors[0].source).knot, t->coefficient.number);
      continue;
    }
    // Knots of several numbers: a number like any other.
    for (const Term* b : bends) rest.push_back(*b);
    return {.y = times(rest, 1 / leading(rest)), .f = {.start = out.f.start, .slope = leading(rest)}};
  }
  return out;
}

Sum NormalForms::bend(const Sum& y, const Rational& knot, ElementType type) {
  Sum argument = y;
  if (knot != 0) argument = add(argument, Sum{{.coefficient = {.number = -knot}}});
  Sum out = call_without_order(Fn::Relu, type, {argument});
  if (out.size() != 1 || out[0].factors.size() != 1) return out;
  const SourceFactor& made = out[0].factors[0];
  if (bends_.contains(made.source)) return out;
  Bend known{.y = {}, .axes = {}, .knot = knot};
  const bool is_moved = knot == 0 && y.size() == 1 && y[0].factors.size() == 1 && y[0].bound.empty() &&
                        y[0].coefficient.number == 1 && y[0].coefficient.symbols.empty();
  if (is_moved) {
    // relu of a whole family of scalars, of which this is one.
    for (const Dim& d : source(made.source).extents) known.axes.push_back(maker_.axis(d));
    known.y = {{.factors = {{y[0].factors[0].source, to_indices(known.axes)}}}};
  } else {
    known.axes = free_axes(argument);
    if (to_indices(known.axes) != made.at) return out;
    known.y = y;
  }
  bends_.emplace(made.source, std::move(known));
  return out;
}

// max(a, b) = b + relu(a - b), min(a, b) = a - relu(a - b); and a piecewise linear function of one number has
// one normal form. For all reals, and for no finite field: these have no order.
std::optional<Sum> NormalForms::call_by_order(Fn fn, ElementType type, const std::vector<Sum>& args) {
  if (fn != Fn::Relu && fn != Fn::Max && fn != Fn::Min) return std::nullopt;
  if (!std::ranges::all_of(args, [&](const Sum& a) { return is_finite(a); })) return std::nullopt;
  const OfOne a = of_one(args[0]), b = args.size() == 2 ? of_one(args[1]) : OfOne{};
  if (a.y.empty() && b.y.empty()) return std::nullopt;
  if (!a.y.empty() && !b.y.empty() && !is_same(a.y, b.y)) return std::nullopt;
  const Sum& y = a.y.empty() ? b.y : a.y;
  if (fn == Fn::Relu && a.f == PiecewiseLinear{.slope = 1}) return bend(y, 0, type);
  const PiecewiseLinear above = relu(a.f + Rational(-1) * b.f);
  const PiecewiseLinear f = fn == Fn::Min ? a.f + Rational(-1) * above : b.f + above;
  used_laws_ = used_order_ = true;
  Sum out;
  if (f.start != 0) out.push_back({.coefficient = {.number = f.start}});
  if (f.slope != 0) out = add(std::move(out), times(y, f.slope));
  for (const auto& [knot, k] : f.bends) out = add(std::move(out), times(bend(y, knot, type), k));
  return out;
}

}  // namespace isomer
