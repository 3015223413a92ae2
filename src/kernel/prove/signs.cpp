#include "kernel/prove/signs.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "kernel/normal/sets.h"
#include "kernel/prove/facts.h"
#include "model/expr/parts.h"
#include "model/expr/scalar_laws.h"
#include "model/graph/constant.h"
#include "model/graph/last_digits.h"

namespace isomer {
namespace {

constexpr std::uint64_t kEmptinessOperations = 1 << 16;

// Whether some position has nothing to take the maximum of: a window that lies in the padding.
bool may_be_empty(const ExprNode& reduce, const std::vector<Axis>& positions) {
  std::set<std::string> names;
  const auto note = [&](const Dim& d) {
    for (const std::string& name : d.symbols()) names.insert(name);
  };
  for (const auto* axes : {&positions, &reduce.axes})
    for (const Axis& axis : *axes) note(axis.extent);
  try {
    const SetSpace space({names.begin(), names.end()}, {}, kEmptinessOperations);
    RelationBuilder points(space, static_cast<int>(positions.size()), static_cast<int>(reduce.axes.size()),
                           0);
    Dims extents;
    int dim = 0;
    for (const auto* axes : {&positions, &reduce.axes})
      for (const Axis& axis : *axes) {
        points.name_axis(axis, dim);
        points.inside(dim++, axis.extent);
      }
    for (const Axis& axis : positions) extents.push_back(axis.extent);
    points.hold(reduce.domain);
    return !box(space, extents).is_subset_of(points.finish().domain());
  } catch (const Undecided&) {
    return true;
  } catch (const DimOverflow&) {
    return true;
  }
}

// The signs of a formula's values by its form, for any inputs with the known facts.
class Signs {
 public:
  Signs(const Formula& formula, const std::vector<InputSign>& inputs, Emptiness emptiness = Emptiness::Counts)
      : formula_(formula), inputs_(inputs), emptiness_(emptiness) {}

  bool is_positive(const ExprNode& e) const { return remembered(positive_, e, &Signs::is_seen_positive); }
  bool is_nonnegative(const ExprNode& e) const {
    return remembered(nonnegative_, e, &Signs::is_seen_nonnegative);
  }

  // Whether it is cut off at numbers that the integer type has: min(max(x, low), high), as quantisers write
  // it.
  static bool is_cut_off(const ExprNode& e, ElementType to) {
    const auto is_held = [&](const ExprNode& limit) {
      const int width = bits(to) - (is_signed_integer(to) ? 1 : 0);
      return limit.kind == ExprNode::Kind::Number && is_integer(to) && limit.number < std::exp2(width) &&
             limit.number >= (is_signed_integer(to) ? -std::exp2(width) : 0);
    };
    if (e.kind != ExprNode::Kind::Apply || e.fn != Fn::Min || !is_held(*e.args[1])) return false;
    const ExprNode& inner = *e.args[0];
    return inner.kind == ExprNode::Kind::Apply && inner.fn == Fn::Max && is_held(*inner.args[1]);
  }

  // Whether a function of finite numbers may be undefined here.
  bool may_fail(const ExprNode& e) const {
    if (!is_partial(e.fn)) return false;
    switch (e.fn) {
      case Fn::Div: return !is_float(e.type) || !is_positive(*e.args[1]);
      case Fn::Sqrt: return !is_nonnegative(*e.args[0]);
      case Fn::Pow:
      case Fn::Log: return !is_positive(*e.args[0]);
      case Fn::Cast: return is_float(e.args[0]->type) && !is_float(e.type) && !is_cut_off(*e.args[0], e.type);
      default: return true;
    }
  }

 private:
  using Answers = std::unordered_map<const ExprNode*, bool>;
  // Each part is evaluated once: the steps of a recurrence read each other, and the number of paths through
  // them is exponential.
  bool remembered(Answers& answers, const ExprNode& e, bool (Signs::*sees)(const ExprNode&) const) const {
    if (const auto at = answers.find(&e); at != answers.end()) return at->second;
    const bool answer = (this->*sees)(e);
    answers.emplace(&e, answer);
    return answer;
  }

  bool is_seen_positive(const ExprNode& e) const {
    if (is_integer(e.type) && e.type != ElementType::Int64) return false;  // narrow ones wrap
    switch (e.kind) {
      case ExprNode::Kind::Number: return is_float(e.type) ? e.number > 0 : e.integer > 0;
      case ExprNode::Kind::IndexNumber: return e.index.is_constant() && is_there(e.index.offset());
      case ExprNode::Kind::Read: {
        if (!is_inside(e)) return false;
        const ExprNode* stage = stage_read(e);
        return stage != nullptr ? is_positive(*stage) : input_read(e).positive;
      }
      case ExprNode::Kind::Apply: break;
      case ExprNode::Kind::Reduce:
        return e.domain.empty() && is_positive(*e.args[0]) &&
               std::ranges::all_of(e.axes, [&](const Axis& a) { return is_there(a.extent); });
      case ExprNode::Kind::Cases:
        return is_positive(*e.args[0]) &&
               std::ranges::all_of(e.cases, [&](const ExprNode::Case& c) { return is_positive(*c.value); });
    }
    switch (e.fn) {
      case Fn::Exp:
      case Fn::Sigmoid:
      case Fn::Softplus:
      case Fn::Cosh: return true;
      case Fn::Sqrt:
      case Fn::Cast: return is_float(e.type) && is_positive(*e.args[0]);
      case Fn::Mul:
      case Fn::Div: return is_positive(*e.args[0]) && is_positive(*e.args[1]);
      case Fn::Add:
        return (is_positive(*e.args[0]) && is_nonnegative(*e.args[1])) ||
               (is_nonnegative(*e.args[0]) && is_positive(*e.args[1]));
      case Fn::Max: return is_float(e.type) && (is_positive(*e.args[0]) || is_positive(*e.args[1]));
      case Fn::Min: return is_float(e.type) && is_positive(*e.args[0]) && is_positive(*e.args[1]);
      default: return false;
    }
  }

  bool is_seen_nonnegative(const ExprNode& e) const {
    if (is_positive(e)) return true;
    if (is_integer(e.type) && e.type != ElementType::Int64) return false;
    if (e.kind == ExprNode::Kind::Number) return is_float(e.type) ? e.number >= 0 : e.integer >= 0;
    if (const ExprNode* stage = stage_read(e)) return is_nonnegative(*stage);
    if (e.kind == ExprNode::Kind::Read) return input_read(e).nonnegative;
    if (e.kind == ExprNode::Kind::Reduce) return e.reduction == Reduction::Sum && is_nonnegative(*e.args[0]);
    if (e.kind != ExprNode::Kind::Apply || !is_float(e.type)) return false;
    switch (e.fn) {
      case Fn::Abs:
      case Fn::Relu:
      case Fn::Sqrt: return true;
      case Fn::Mul: return is_square(e) || (is_nonnegative(*e.args[0]) && is_nonnegative(*e.args[1]));
      case Fn::Div: return is_nonnegative(*e.args[0]) && is_positive(*e.args[1]);
      case Fn::Min:
      case Fn::Add: return is_nonnegative(*e.args[0]) && is_nonnegative(*e.args[1]);
      case Fn::Max: return is_nonnegative(*e.args[0]) || is_nonnegative(*e.args[1]);
      default: return false;
    }
  }

  bool is_there(const Dim& extent) const {
    return extent.at_least(1).value_or(emptiness_ == Emptiness::Ignored);
  }
  // Outside of a tensor is zero.
  static bool is_inside(const ExprNode& read) {
    for (std::size_t k = 0; k < read.at.size(); ++k)
      if (!read.at[k].is_inside(read.extents[k])) return false;
    return true;
  }
  InputSign input_read(const ExprNode& e) const {
    const auto number = static_cast<std::size_t>(e.tensor.number);
    return number < inputs_.size() ? inputs_[number] : InputSign{};
  }
  // Also of one tensor that is there twice, read at the same place.
  bool is_square(const ExprNode& product) const {
    const ExprNode &a = *product.args[0], &b = *product.args[1];
    if (&a == &b) return true;
    const auto is_input = [](const ExprNode& e) {
      return e.kind == ExprNode::Kind::Read && e.tensor.kind == TensorRef::Kind::Input;
    };
    return is_input(a) && is_input(b) && a.at == b.at && input_read(a).same_as &&
           input_read(a).same_as == input_read(b).same_as;
  }
  const ExprNode* stage_read(const ExprNode& e) const {
    if (e.kind != ExprNode::Kind::Read || e.tensor.kind != TensorRef::Kind::Stage) return nullptr;
    return &*formula_.stages[static_cast<std::size_t>(e.tensor.number)].value;
  }
  const Formula& formula_;
  const std::vector<InputSign>& inputs_;
  Emptiness emptiness_;
  mutable Answers positive_, nonnegative_;
};

// `positions`: what it is computed for.
bool may_be_undefined(const ExprNode& e, const Signs& signs, std::vector<Axis> positions) {
  if (e.kind == ExprNode::Kind::Reduce) {
    if (e.reduction != Reduction::Sum && !e.domain.empty() && may_be_empty(e, positions)) return true;
    positions.insert(positions.end(), e.axes.begin(), e.axes.end());
  }
  const auto asks = [&](const ExprNode& inner) { return may_be_undefined(inner, signs, positions); };
  const bool infinite = e.kind == ExprNode::Kind::Number && is_float(e.type) && !std::isfinite(e.number);
  return infinite || (e.kind == ExprNode::Kind::Apply && signs.may_fail(e)) || any_direct_part(e, asks);
}

InputSign sign_of_constant(const Graph& graph, Value v) {
  const auto constant = v.exists() ? known_constant(graph, v) : std::nullopt;
  const bool positive = constant && is_float(constant->type()) && constant->count() <= kMostFactElements &&
                        all_positive(*constant);
  return {.positive = positive, .nonnegative = positive};
}

}  // namespace

ValueSigns::ValueSigns(const Graph& graph, const Inference& inference, Emptiness emptiness,
                       const Visit& visit) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator || known_constant(graph, {id, 0})) {
      if (!graph.is_overridable(id)) known_.emplace(Value{id, 0}, sign_of_constant(graph, {id, 0}));
      continue;
    }
    const Definition definition =
        inference.opaque.contains(id) ? Definition(Opaque{}) : define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    const std::vector<InputSign> inputs = inputs_of(node);
    if (visit) visit(id, formula, inputs);
    if (formula == nullptr) continue;
    const Signs signs(*formula, inputs, emptiness);
    for (std::uint32_t k = 0; k < node.outputs.size() && k < formula->outputs.size(); ++k) {
      const ExprNode& value = *formula->output(static_cast<int>(k)).value;
      known_.emplace(Value{id, k}, InputSign{.positive = signs.is_positive(value),
                                             .nonnegative = signs.is_nonnegative(value)});
    }
  }
}

std::vector<InputSign> ValueSigns::inputs_of(const Node& node) const {
  std::vector<InputSign> out;
  for (const Value& v : node.inputs) {
    const auto at = known_.find(v);
    out.push_back(at == known_.end() ? InputSign{} : at->second);
    out.back().same_as = v.exists() ? std::optional(v) : std::nullopt;
  }
  return out;
}

std::set<NodeId> partial_nodes(const Graph& graph, const Inference& inference) {
  std::set<NodeId> out;
  const auto visit = [&](NodeId id, const Formula* formula, const std::vector<InputSign>& inputs) {
    const bool has_partial_input = std::ranges::any_of(
        graph.node(id).inputs, [&](const Value& v) { return v.exists() && out.contains(v.node); });
    if (formula == nullptr || has_partial_input || may_be_undefined(*formula, inputs)) out.insert(id);
  };
  const ValueSigns signs(graph, inference, Emptiness::Counts, visit);
  return out;
}

bool may_be_undefined(const Graph& graph, NodeId id, const Formula& formula) {
  if (!may_be_undefined(formula)) return false;
  std::vector<InputSign> inputs;
  for (const Value& v : graph.node(id).inputs) inputs.push_back(sign_of_constant(graph, v));
  return may_be_undefined(formula, inputs);
}

bool may_be_undefined(const Formula& formula, const std::vector<InputSign>& inputs) {
  const Signs signs(formula, inputs);
  return std::ranges::any_of(formula.stages,
                             [&](const Stage& s) { return may_be_undefined(*s.value, signs, s.axes); });
}

namespace {

// The arguments on which it depends whether a function is defined.
std::vector<std::size_t> critical_arguments(Fn fn) {
  switch (fn) {
    case Fn::Div: return {1};
    case Fn::Pow:
    case Fn::Mod:
    case Fn::Fmod: return {0, 1};
    default: return {0};
  }
}

// Whether it is a constant itself, whose sign no last digit changes, and the sign is all that counts.
bool is_steady(const ExprNode& e, std::size_t argument, const std::vector<bool>& steady) {
  const ExprNode& at = *e.args[argument];
  const bool by_sign =
      e.fn == Fn::Div || e.fn == Fn::Sqrt || e.fn == Fn::Log || (e.fn == Fn::Pow && argument == 0);
  return by_sign && at.kind == ExprNode::Kind::Read && at.tensor.kind == TensorRef::Kind::Input &&
         steady[static_cast<std::size_t>(at.tensor.number)];
}

}  // namespace

bool may_be_undefined_near(const Formula& formula, const std::vector<InputSign>& inputs,
                           const std::vector<bool>& changed, const std::vector<bool>& steady) {
  const Dependence dependence(formula, changed);
  const Signs signs(formula, inputs, Emptiness::Ignored);
  std::vector<bool> flags = steady;
  flags.resize(std::max(flags.size(), formula.inputs.size()), false);
  const auto fails = [&](const ExprNode& e) {
    if (e.kind != ExprNode::Kind::Apply || !is_partial(e.fn)) return false;
    const auto decides = [&](std::size_t argument) {
      return dependence.of(*e.args[argument]) && !is_steady(e, argument, flags);
    };
    return std::ranges::any_of(critical_arguments(e.fn), decides) && signs.may_fail(e);
  };
  return std::ranges::any_of(formula.stages, [&](const Stage& s) { return any_part(*s.value, fails); });
}

}  // namespace isomer
