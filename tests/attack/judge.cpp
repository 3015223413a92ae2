#include "attack/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "base/hash.h"
#include "model/eval/field_pair.h"
#include "model/eval/program.h"

namespace isomer::attack {

Case written(const Pair& pair, std::uint64_t seed) {
  Random random(mix(seed + 1));
  Case out{.inputs = pair.inputs, .a = {}, .b = {}};
  out.a = formula_of(random, pair.a, pair.inputs);
  out.b = formula_of(random, pair.b, pair.inputs);
  return out;
}

Truth truth_of(Oracle& oracle, const Case& c) {
  Truth out;
  out.a = oracle.evaluate(c.a);
  out.b = oracle.evaluate(c.b);
  out.equal = out.a.size() == out.b.size();
  // Where the first program is undefined at some position for all inputs, the second may do anything.
  const bool runs = std::ranges::none_of(out.a, [](const auto& at) { return at.value == Exact::kUndefined; });
  out.defined = true;
  // An output is judged as a whole (docs/concepts/equality.md): what the first divides by for one element of
  // it, the second may divide by for another.
  std::set<int> needs;
  for (const auto& at : out.a) needs.insert(at.needs.begin(), at.needs.end());
  for (std::size_t i = 0; i < out.a.size() && i < out.b.size(); ++i) {
    const bool both = out.a[i].value != Exact::kUndefined && out.b[i].value != Exact::kUndefined;
    const bool same = !both || oracle.equal(out.a[i].value, out.b[i].value);
    out.different.push_back(!same);
    out.equal = out.equal && same;
    if (runs) out.defined = out.defined && both && std::ranges::includes(needs, out.b[i].needs);
  }
  return out;
}

bool differ_as_numbers(Oracle& oracle, const Truth& truth) {
  oracle.forget_numbers();
  for (int round = 0; round < 12; ++round) {
    const auto key = static_cast<std::uint64_t>(round) * 1000003 + 5;
    for (std::size_t i = 0; i < truth.a.size(); ++i) {
      const int a = truth.a[i].value, b = truth.b[i].value;
      if (a == b || a == Exact::kUndefined || b == Exact::kUndefined) continue;
      if (a < 0 || b < 0) return true;
      const long double x = oracle.number(a, key, round % 4), y = oracle.number(b, key, round % 4);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;  // a measure-zero input: see `defined`
      if (std::fabs(x - y) > 1e-9L * std::max({1.0L, std::fabs(x), std::fabs(y)})) return true;
    }
  }
  return false;
}

SetsVerdict judge_sets(const Case& c, bool laws, const Budget& budget, const Truth* truth) {
  SetsVerdict out;
  try {
    NormalForms forms({}, {.preconditions = {}, .laws = laws, .budget = budget});
    std::vector<std::optional<Form>> inputs;
    for (const Extents& e : c.inputs) inputs.emplace_back(forms.tensor(ElementType::Float, to_dims(e)));
    const Form a = forms.apply(c.a, inputs)[0];
    const std::size_t mark = forms.mark();
    const Form b = forms.apply(c.b, inputs)[0];
    const auto why = forms.why_not_equal(a, b);
    out.equal = !why.has_value();
    out.proved = out.equal && forms.is_defined_with(mark, {a});
    if (why) out.why = why->why.empty() ? "not proved" : why->why;
    else if (!out.proved) out.why = "the second may be undefined";
    if (truth != nullptr && a.axes.size() == b.axes.size()) {
      const auto unproved = forms.unproved_positions(a, b);
      out.exact = unproved.exact;
      const auto positions =
          positions_of(c.a.output_type(0).shape.empty() ? Extents{} : *concrete(a.shape()));
      Points different = unproved.positions - unproved.positions;
      for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!truth->different[i]) continue;
        RelationBuilder point(forms.space(), static_cast<int>(positions[i].size()), 0, 0);
        for (std::size_t d = 0; d < positions[i].size(); ++d)
          point.equal(static_cast<int>(d), Index(positions[i][d]));
        different = different | point.finish().domain();
      }
      out.misses_a_difference = !different.is_subset_of(unproved.positions);
      out.wrongly_exact = unproved.exact && !(different == unproved.positions);
    }
  } catch (const Undecided& undecided) {
    out = {};
    out.undecided = true;
    out.why = undecided.what();
  }
  return out;
}

namespace {

bool uses(const ExprNode& e, const std::vector<Fn>& any) {
  const bool here = e.kind == ExprNode::Kind::Apply && std::ranges::find(any, e.fn) != any.end();
  const bool folds = e.kind == ExprNode::Kind::Reduce && e.reduction != Reduction::Sum &&
                     std::ranges::find(any, Fn::Max) != any.end();
  return here || folds || std::ranges::any_of(e.args, [&](const ExprRef& a) { return uses(*a, any); }) ||
         std::ranges::any_of(e.cases, [&](const ExprNode::Case& c) { return uses(*c.value, any); });
}

bool uses(const Formula& f, const std::vector<Fn>& any) {
  return std::ranges::any_of(f.stages, [&](const Stage& s) { return uses(*s.value, any); });
}

}  // namespace

namespace {

FieldVerdict judge_once(const Case& c, ElementType field, const Program& left, const Program& right,
                        std::uint64_t key) {
  std::vector<std::optional<Tensor>> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(*element_count(c.inputs[k])));
    std::mt19937_64 random(key + 0x9e3779b97f4a7c15 * (k + 1));
    for (std::int64_t& v : values) v = static_cast<std::int64_t>(random() % Zp::kModulus);
    inputs.emplace_back(convert(Tensor::of(ElementType::Int64, c.inputs[k], values), field));
  }
  const auto x = left.run(inputs, key), y = right.run(inputs, key);
  if (!x.ok() || !y.ok()) return FieldVerdict::NotTested;
  const Tensor &s = (*x)[0], &t = (*y)[0];
  if (s.type() != t.type() || s.extents() != t.extents()) return FieldVerdict::Differ;
  if (field == ElementType::Field)
    return std::memcmp(s.bytes().data, t.bytes().data, s.bytes().size) == 0 ? FieldVerdict::Agree
                                                                            : FieldVerdict::Differ;
  const auto a = s.as<FieldPair>(), b = t.as<FieldPair>();
  bool tested = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Agreement agreement = compare(a[i], b[i]);
    if (!agreement.agree) return FieldVerdict::Differ;
    tested = tested && agreement.tested;
  }
  return tested ? FieldVerdict::Agree : FieldVerdict::NotTested;
}

}  // namespace

FieldVerdict judge_field(const Case& c, std::uint64_t key) {
  const bool pair = uses(c.a, {Fn::Exp}) || uses(c.b, {Fn::Exp});
  const ElementType field = pair ? ElementType::FieldPair : ElementType::Field;
  const Program left = Program::compile(lift(c.a, field)), right = Program::compile(lift(c.b, field));
  // What selects hides a difference at half of the inputs, or more.
  const std::vector<Fn> selecting{Fn::Relu, Fn::Abs, Fn::Max, Fn::Min};
  const int rounds = uses(c.a, selecting) || uses(c.b, selecting) ? 64 : 1;
  for (int r = 0; r < rounds; ++r) {
    const FieldVerdict verdict = judge_once(c, field, left, right, mix(key + static_cast<std::uint64_t>(r)));
    if (verdict != FieldVerdict::Agree) return verdict;
  }
  return FieldVerdict::Agree;
}

}  // namespace isomer::attack
