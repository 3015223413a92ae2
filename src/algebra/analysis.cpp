#include "algebra/analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace isomer {
namespace {

// Calls f on every read below an expression, with the axes of the reductions around it.
template <class F>
void for_each_read(const ExprNode& e, std::vector<Axis>& reduced, F&& f) {
  if (e.kind == ExprNode::Kind::Read) f(e, reduced);
  const std::size_t outer = reduced.size();
  if (e.kind == ExprNode::Kind::Reduce) reduced.insert(reduced.end(), e.axes.begin(), e.axes.end());
  for (const ExprNode::Case& c : e.cases) for_each_read(*c.value, reduced, f);
  for (const ExprRef& a : e.args) for_each_read(*a, reduced, f);
  reduced.resize(outer);
}

// --- cost ---------------------------------------------------------------------------------------------------------

// Operations to compute one value; a case distinction costs its dearest case. Casts and choices count as nothing, like moves.
Dim operations(const ExprNode& e) {
  Dim own = 0;
  for (const ExprRef& a : e.args) own = own + operations(*a);
  switch (e.kind) {
    case ExprNode::Kind::Apply: return e.fn == Fn::Cast || e.fn == Fn::Where ? own : own + Dim(1);
    case ExprNode::Kind::Cases:
      for (const ExprNode::Case& c : e.cases) own = Dim::max(own, operations(*c.value));
      return own;
    case ExprNode::Kind::Reduce: {
      // A sum that an equality pins to one point is a look-up: no arithmetic.
      const ExprNode& body = *e.args[0];
      const bool is_lookup = body.kind == ExprNode::Kind::Apply && body.fn == Fn::Where && body.args[0]->kind == ExprNode::Kind::Apply &&
                             body.args[0]->fn == Fn::Equal;
      if (is_lookup) return 0;
      Dim points = 1;
      for (const Axis& a : e.axes) points = points * a.extent;
      return points * (own + Dim(1));
    }
    default: return own;
  }
}

Dim bytes_of(ElementType type, const Dims& shape) { return Dim::ceil(product(shape) * Dim(bits(type)), 8); }

}  // namespace

Cost cost(const Formula& formula) {
  Cost out{.operations = 0, .bytes = 0};
  for (const Stage& s : formula.stages) out.operations = out.operations + product(s.shape()) * operations(*s.value);
  for (const auto& input : formula.inputs)
    if (input) out.bytes = out.bytes + bytes_of(input->type, input->shape);
  for (const int o : formula.outputs) {
    const Stage& s = formula.stages[static_cast<std::size_t>(o)];
    out.bytes = out.bytes + bytes_of(s.type, s.shape());
  }
  return out;
}

// --- axis roles ---------------------------------------------------------------------------------------------------

namespace {

// The whole formula as reads of inputs at indices over one output's axes and reduction axes: reads of stages are followed.
struct InputRead {
  int input;
  std::vector<Index> at;
  std::set<int> reduced;  // ids of axes that run under a reduction
};

class ReadCollector {
 public:
  explicit ReadCollector(const Formula& formula) : formula_(formula) {}

  // `position` gives the stage's axes as indices; `reduced` the reduction axes among them.
  void collect(int stage, const std::vector<Index>& position, const std::set<int>& reduced, int depth = 0) {
    ISOMER_CHECK(depth < 64, "stages read earlier stages only");
    const Stage& s = formula_.stages[static_cast<std::size_t>(stage)];
    const auto bind = [&](const Index& i) {
      return i.substitute([&](const Axis& a) {
        for (std::size_t k = 0; k < s.axes.size(); ++k)
          if (s.axes[k] == a) return position[k];
        return Index(a);
      });
    };
    std::vector<Axis> around;
    for_each_read(*s.value, around, [&](const ExprNode& read, const std::vector<Axis>& axes) {
      std::set<int> under = reduced;
      for (const Axis& a : axes) under.insert(a.id);
      std::vector<Index> at;
      for (const Index& i : read.at) at.push_back(bind(i));
      if (read.tensor.kind == TensorRef::Kind::Input) reads.push_back({read.tensor.number, std::move(at), std::move(under)});
      else collect(read.tensor.number, at, under, depth + 1);
    });
  }
  std::vector<InputRead> reads;

 private:
  const Formula& formula_;
};

struct Role {
  AxisRole role;
  int output_axis;
  friend bool operator==(const Role&, const Role&) = default;
};

Role role_of(const Index& index, const std::set<int>& reduced, const std::vector<Axis>& output, const Dim& extent) {
  const auto axes = index.axes();
  if (axes.empty()) return {AxisRole::Fixed, -1};
  const bool affine = std::ranges::all_of(index.terms(), [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
  int position = -1, positions = 0, reductions = 0;
  for (const Axis& a : axes) {
    if (reduced.contains(a.id)) ++reductions;
    const auto at = std::ranges::find(output, a);
    if (at == output.end()) continue;
    position = static_cast<int>(at - output.begin());
    ++positions;
  }
  if (positions + reductions != static_cast<int>(axes.size()) || positions > 1 || !affine) return {AxisRole::Mixed, -1};
  if (positions == 0) return {AxisRole::Reduced, -1};
  if (reductions > 0) return {AxisRole::Window, position};
  const auto alone = index.as_axis();
  return {alone && alone->extent == extent ? AxisRole::Parallel : AxisRole::Window, position};
}

}  // namespace

std::vector<InputRoles> axis_roles(const Formula& formula, int output) {
  const Stage& stage = formula.output(output);
  ReadCollector collector(formula);
  collector.collect(formula.outputs[static_cast<std::size_t>(output)], to_indices(stage.axes), {});
  std::vector<InputRoles> out(formula.inputs.size());
  for (std::size_t k = 0; k < formula.inputs.size(); ++k) {
    if (!formula.inputs[k]) continue;
    const std::size_t rank = formula.inputs[k]->shape.size();
    std::vector<std::optional<Role>> roles(rank);
    std::set<int> seen;
    for (const InputRead& r : collector.reads) {
      if (r.input != static_cast<int>(k)) continue;
      for (std::size_t d = 0; d < rank; ++d) {
        const Role role = role_of(r.at[d], r.reduced, stage.axes, formula.inputs[k]->shape[d]);
        roles[d] = !roles[d] || *roles[d] == role ? role : Role{AxisRole::Mixed, -1};
        for (const Axis& a : r.at[d].axes()) seen.insert(a.id);
      }
    }
    for (const auto& role : roles) {
      out[k].axes.push_back(role ? role->role : AxisRole::Fixed);
      out[k].output_axis.push_back(role ? role->output_axis : -1);
    }
    for (std::size_t a = 0; a < stage.axes.size(); ++a)
      if (!seen.contains(stage.axes[a].id)) out[k].broadcast.push_back(static_cast<int>(a));
  }
  return out;
}

// --- linearity ----------------------------------------------------------------------------------------------------

namespace {

// How a value depends on one input. Zero is the constant 0, which is linear and independent at once.
enum class Dependence : std::uint8_t { Zero, Independent, Linear, Affine, Nonlinear };

Dependence add(Dependence a, Dependence b) {
  if (a == Dependence::Zero) return b;
  if (b == Dependence::Zero || a == b) return a;
  if (a == Dependence::Nonlinear || b == Dependence::Nonlinear) return Dependence::Nonlinear;
  return Dependence::Affine;  // two different ones of independent, linear and affine
}

Dependence multiply(Dependence a, Dependence b) {
  if (a == Dependence::Zero || b == Dependence::Zero) return Dependence::Zero;
  if (a == Dependence::Independent) return b;
  if (b == Dependence::Independent) return a;
  return Dependence::Nonlinear;
}

bool is_free(Dependence d) { return d == Dependence::Zero || d == Dependence::Independent; }

class DependenceOn {
 public:
  DependenceOn(const Formula& formula, int input) : formula_(formula), input_(input) {}

  Dependence stage(int number) {
    const auto at = known_.find(number);
    if (at != known_.end()) return at->second;
    const Dependence d = of(*formula_.stages[static_cast<std::size_t>(number)].value);
    return known_.emplace(number, d).first->second;
  }

 private:
  Dependence of(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number: return e.number == 0 && e.integer == 0 ? Dependence::Zero : Dependence::Independent;
      case ExprNode::Kind::IndexNumber: return Dependence::Independent;
      case ExprNode::Kind::Read:
        if (e.tensor.kind == TensorRef::Kind::Stage) return stage(e.tensor.number);
        return e.tensor.number == input_ ? Dependence::Linear : Dependence::Independent;
      case ExprNode::Kind::Cases: {
        Dependence d = of(*e.args[0]);
        for (const ExprNode::Case& c : e.cases) d = add(d, of(*c.value));
        return d;
      }
      case ExprNode::Kind::Reduce: {
        const Dependence d = of(*e.args[0]);
        if (e.reduction == Reduction::Sum) return d;
        return is_free(d) ? Dependence::Independent : Dependence::Nonlinear;
      }
      case ExprNode::Kind::Apply: return of_apply(e);
    }
    return Dependence::Nonlinear;
  }

  Dependence of_apply(const ExprNode& e) {
    std::vector<Dependence> d;
    for (const ExprRef& a : e.args) d.push_back(of(*a));
    if (std::ranges::all_of(d, is_free)) return all_zero_stays_zero(e.fn, d) ? Dependence::Zero : Dependence::Independent;
    switch (e.fn) {
      case Fn::Add:
      case Fn::Sub: return add(d[0], d[1]);
      case Fn::Neg: return d[0];
      case Fn::Mul: return multiply(d[0], d[1]);
      case Fn::Div: return is_float(e.type) && is_free(d[1]) ? d[0] : Dependence::Nonlinear;
      case Fn::Where: return is_free(d[0]) ? add(d[1], d[2]) : Dependence::Nonlinear;
      // Between float types it is the identity over the reals; anything else rounds or wraps.
      case Fn::Cast: return is_float(e.type) && is_float(e.args[0]->type) ? d[0] : Dependence::Nonlinear;
      default: return Dependence::Nonlinear;
    }
  }

  static bool all_zero_stays_zero(Fn fn, const std::vector<Dependence>& d) {
    const auto zero = [&](std::size_t k) { return d[k] == Dependence::Zero; };
    switch (fn) {
      case Fn::Add:
      case Fn::Sub: return zero(0) && zero(1);
      case Fn::Mul: return zero(0) || zero(1);
      case Fn::Neg: return zero(0);
      case Fn::Where: return zero(1) && zero(2);
      default: return false;
    }
  }

  const Formula& formula_;
  int input_;
  std::map<int, Dependence> known_;
};

}  // namespace

Linearity linearity(const Formula& formula, int output, int input) {
  switch (DependenceOn(formula, input).stage(formula.outputs[static_cast<std::size_t>(output)])) {
    case Dependence::Zero:
    case Dependence::Independent: return Linearity::Independent;
    case Dependence::Linear: return Linearity::Linear;
    case Dependence::Affine: return Linearity::Affine;
    case Dependence::Nonlinear: return Linearity::Nonlinear;
  }
  ISOMER_UNREACHABLE("every dependence is a linearity");
}

// --- zero ---------------------------------------------------------------------------------------------------------

namespace {

// Whether a value is zero when every input is; false where that isn't seen.
class ZeroAtZero {
 public:
  explicit ZeroAtZero(const Formula& formula) : formula_(formula) {}
  bool stage(int number) const { return of(*formula_.stages[static_cast<std::size_t>(number)].value); }

 private:
  bool of(const ExprNode& e) const {
    switch (e.kind) {
      case ExprNode::Kind::Number: return e.number == 0 && e.integer == 0;
      case ExprNode::Kind::IndexNumber: return e.index.is_constant() && e.index.offset().is(0);
      case ExprNode::Kind::Read: return e.tensor.kind == TensorRef::Kind::Input || stage(e.tensor.number);
      case ExprNode::Kind::Cases:
        return of(*e.args[0]) && std::ranges::all_of(e.cases, [&](const ExprNode::Case& c) { return of(*c.value); });
      case ExprNode::Kind::Reduce:
        // Over nothing a product is 1 and a maximum -inf: only sums, and reductions that surely have a point.
        if (e.reduction == Reduction::Sum) return of(*e.args[0]);
        return of(*e.args[0]) && e.domain.empty() &&
               std::ranges::all_of(e.axes, [](const Axis& a) { return a.extent.at_least(1).value_or(false); });
      case ExprNode::Kind::Apply: return of_apply(e);
    }
    return false;
  }

  bool of_apply(const ExprNode& e) const {
    const auto zero = [&](std::size_t k) { return of(*e.args[k]); };
    switch (e.fn) {
      case Fn::Add: case Fn::Sub: case Fn::Max: case Fn::Min: case Fn::BitAnd: case Fn::BitOr: case Fn::BitXor: case Fn::And: case Fn::Or:
      case Fn::Xor: return zero(0) && zero(1);
      case Fn::Mul: return zero(0) || zero(1);
      case Fn::Where: return zero(1) && zero(2);
      case Fn::ShiftLeft: case Fn::ShiftRight: return zero(0);
      // A quotient of zero is zero where the divisor isn't: known only of numbers.
      case Fn::Div: return zero(0) && e.args[1]->kind == ExprNode::Kind::Number && !zero(1);
      case Fn::Neg: case Fn::Abs: case Fn::Relu: case Fn::Sign: case Fn::Sqrt: case Fn::Floor: case Fn::Ceil: case Fn::Round: case Fn::Erf:
      case Fn::Sin: case Fn::Tan: case Fn::Asin: case Fn::Atan: case Fn::Sinh: case Fn::Tanh: case Fn::Asinh: case Fn::Atanh: case Fn::Cast:
      case Fn::IsNaN: case Fn::IsPositiveInf: case Fn::IsNegativeInf: return zero(0);
      default: return false;
    }
  }

  const Formula& formula_;
};

}  // namespace

bool preserves_zero(const Formula& formula, int output) { return ZeroAtZero(formula).stage(formula.outputs[static_cast<std::size_t>(output)]); }

// --- needed regions -----------------------------------------------------------------------------------------------

bool Box::empty() const {
  for (std::size_t k = 0; k < low.size(); ++k)
    if (low[k] >= high[k]) return true;
  return false;
}

namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;  // inclusive
using AxisIntervals = std::map<int, Interval>;

Interval interval_of(const Index& index, const AxisIntervals& axes) {
  Interval out{index.offset().concrete(), index.offset().concrete()};
  for (const Index::Term& t : index.terms()) {
    Interval atom;
    if (t.atom.kind == Index::AtomKind::Axis) {
      atom = axes.at(t.atom.axis.id);
    } else {
      const Interval inner = interval_of(*t.atom.inner, axes);
      const std::int64_t q = t.atom.divisor.concrete(), first = floor_div(inner.first, q), last = floor_div(inner.second, q);
      if (t.atom.kind == Index::AtomKind::Floor) atom = {first, last};
      else if (first == last) atom = {inner.first - first * q, inner.second - last * q};
      else atom = {0, q - 1};
    }
    const std::int64_t a = checked_multiply(t.scale.concrete(), atom.first), b = checked_multiply(t.scale.concrete(), atom.second);
    out = {checked_add(out.first, std::min(a, b)), checked_add(out.second, std::max(a, b))};
  }
  return out;
}

void include(std::optional<Box>& box, const Box& more) {
  if (more.empty()) return;
  if (!box) {
    box = more;
    return;
  }
  for (std::size_t k = 0; k < more.low.size(); ++k) {
    box->low[k] = std::min(box->low[k], more.low[k]);
    box->high[k] = std::max(box->high[k], more.high[k]);
  }
}

}  // namespace

std::vector<std::optional<Box>> needed_regions(const Formula& formula, int output, const Box& box) {
  std::vector<std::optional<Box>> inputs(formula.inputs.size()), stages(formula.stages.size());
  include(stages[static_cast<std::size_t>(formula.outputs[static_cast<std::size_t>(output)])], box);
  for (std::size_t s = formula.stages.size(); s-- > 0;) {  // stages read earlier ones only
    if (!stages[s]) continue;
    const Stage& stage = formula.stages[s];
    AxisIntervals intervals;
    for (std::size_t k = 0; k < stage.axes.size(); ++k) intervals[stage.axes[k].id] = {stages[s]->low[k], stages[s]->high[k] - 1};
    std::vector<Axis> around;
    for_each_read(*stage.value, around, [&](const ExprNode& read, const std::vector<Axis>& reduced) {
      for (const Axis& a : reduced) intervals[a.id] = {0, a.extent.concrete() - 1};
      Box region;
      for (std::size_t d = 0; d < read.at.size(); ++d) {
        const auto [low, high] = interval_of(read.at[d], intervals);
        const std::int64_t extent = read.extents[d].concrete();
        region.low.push_back(std::clamp<std::int64_t>(low, 0, extent));
        region.high.push_back(std::clamp<std::int64_t>(high + 1, 0, extent));
      }
      auto& target = read.tensor.kind == TensorRef::Kind::Input ? inputs : stages;
      include(target[static_cast<std::size_t>(read.tensor.number)], region);
    });
  }
  return inputs;
}

}  // namespace isomer
