#include "optimizer/facts/constant_axes.h"

#include <algorithm>

#include "model/analysis/input_reads.h"

namespace isomer {
namespace {

// Whether a formula's output depends on the position along one of its axes.
class Dependence {
 public:
  Dependence(const Node& node, const Formula& formula, const ConstantAxes& known)
      : node_(node), formula_(formula), known_(known) {}

  bool of(const ExprNode& e, const Axis& axis) {
    const auto mentions_axis = [&](const Index& i) { return i.mentions(axis); };
    switch (e.kind) {
      case ExprNode::Kind::Number: return false;
      case ExprNode::Kind::IndexNumber: return e.index.mentions(axis);
      case ExprNode::Kind::Read: return of_read(e, axis);
      case ExprNode::Kind::Reduce:
        if (std::ranges::any_of(e.domain, mentions_axis)) return true;
        break;
      case ExprNode::Kind::Cases:
        if (std::ranges::any_of(
                e.cases, [&](const ExprNode::Case& c) { return std::ranges::any_of(c.when, mentions_axis); }))
          return !is_always_the_same(e);
        if (std::ranges::any_of(e.cases, [&](const ExprNode::Case& c) { return of(*c.value, axis); }))
          return true;
        break;
      case ExprNode::Kind::Apply: break;
    }
    return std::ranges::any_of(e.args, [&](const ExprRef& a) { return of(*a, axis); });
  }

 private:
  bool of_read(const ExprNode& e, const Axis& axis) {
    for (std::size_t k = 0; k < e.at.size(); ++k) {
      if (!e.at[k].mentions(axis)) continue;
      if (!e.at[k].is_inside(e.extents[k])) return true;
      if (e.tensor.kind == TensorRef::Kind::Input ? !is_constant(e, k) : stage_depends(e.tensor.number, k))
        return true;
    }
    return false;
  }

  bool is_constant(const ExprNode& read, std::size_t axis) const {
    const AxisSet& axes = known_.of(node_.inputs[static_cast<std::size_t>(read.tensor.number)]);
    return axis < axes.size() && axes[axis];
  }

  bool stage_depends(int number, std::size_t axis) {
    const auto known = stages_.find({number, axis});
    if (known != stages_.end()) return known->second;
    const Stage& stage = formula_.stages[static_cast<std::size_t>(number)];
    const bool out = of(*stage.value, stage.axes[axis]);
    stages_.emplace(std::pair(number, axis), out);
    return out;
  }

  // One value after itself, along an axis of one element or along which it is constant.
  bool is_always_the_same(const ExprNode& cases) const {
    const ExprNode& first = *cases.args[0];
    if (first.kind != ExprNode::Kind::Read || first.tensor.kind != TensorRef::Kind::Input) return false;
    const Value value = node_.inputs[static_cast<std::size_t>(first.tensor.number)];
    return std::ranges::all_of(cases.cases, [&](const ExprNode::Case& c) {
      const ExprNode& other = *c.value;
      if (other.kind != ExprNode::Kind::Read || other.tensor.kind != TensorRef::Kind::Input ||
          node_.inputs[static_cast<std::size_t>(other.tensor.number)] != value)
        return false;
      for (std::size_t k = 0; k < first.at.size(); ++k)
        if (!(first.at[k] == other.at[k]) && !first.extents[k].is(1) && !is_constant(first, k)) return false;
      return true;
    });
  }

  const Node& node_;
  const Formula& formula_;
  const ConstantAxes& known_;
  std::map<std::pair<int, std::size_t>, bool> stages_;
};

}  // namespace

// A node over a value of the same shape, without constant axes, varies as that value does: the formula need
// not be evaluated.
bool ConstantAxes::reads_its_own_shape(const Site& site, const Node& node, NodeId id) const {
  const auto& shape = site.inference.of({id, 0}).shape;
  bool out = false;
  for (const Value& v : node.inputs) {
    if (!v.exists() || site.is_constant(v)) continue;
    if (!of(v).empty()) return false;
    out = out || (shape && site.inference.of(v).shape == shape);
  }
  return out;
}

bool is_empty(const AxisSet& axes) {
  return std::ranges::none_of(axes, [](bool is) { return is; });
}

ConstantAxes::ConstantAxes(const Site& site) {
  for (const NodeId id : site.graph.order()) {
    const Node& node = site.node(id);
    if (node.kind != NodeKind::Operator || !node.captures.empty() || site.inference.opaque.contains(id))
      continue;
    if (reads_its_own_shape(site, node, id)) continue;
    const Definition definition = define_node(site.graph, site.inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) continue;
    Dependence dependence(node, *formula, *this);
    for (std::uint32_t k = 0; k < formula->outputs.size() && k < node.outputs.size(); ++k) {
      const Stage& out = formula->output(static_cast<int>(k));
      AxisSet axes;
      for (const Axis& a : out.axes) axes.push_back(!a.extent.is(1) && !dependence.of(*out.value, a));
      note({id, k}, std::move(axes));
    }
  }
}

void ConstantAxes::note(Value v, AxisSet axes) {
  if (!is_empty(axes)) known_.emplace(v, std::move(axes));
}

const AxisSet& ConstantAxes::of(Value v) const {
  static const AxisSet none;
  const auto at = known_.find(v);
  return at == known_.end() ? none : at->second;
}

std::optional<std::vector<AxisSet>> read_along(const Formula& formula, int output, const AxisSet& axes) {
  std::vector<AxisSet> out(formula.inputs.size());
  for (std::size_t k = 0; k < out.size(); ++k)
    if (formula.inputs[k]) out[k].assign(formula.inputs[k]->shape.size(), true);
  std::vector<bool> is_read(out.size(), false);
  const Stage& stage = formula.output(output);
  const auto is_along = [&](const Axis& a) {
    const auto at = std::ranges::find(stage.axes, a);
    return at != stage.axes.end() && axes[static_cast<std::size_t>(at - stage.axes.begin())];
  };
  for (const InputRead& read : input_reads(formula, output)) {
    const auto input = static_cast<std::size_t>(read.input);
    is_read[input] = true;
    for (std::size_t d = 0; d < read.at.size(); ++d) {
      const auto mentioned = read.at[d].axes();
      if (std::ranges::none_of(mentioned, is_along)) out[input][d] = false;
      else if (!std::ranges::all_of(mentioned, is_along) || !out[input][d]) return std::nullopt;
    }
  }
  for (std::size_t k = 0; k < out.size(); ++k)
    if (!is_read[k]) out[k].assign(out[k].size(), false);
  return out;
}

}  // namespace isomer
