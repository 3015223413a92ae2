// commute: moves operations that add elements up towards the inputs, and operations that make a tensor larger
// towards the outputs.
//
// A mover is a node that is linear in one activation and touches only some of its axes: means, pools,
// repetitions, resizes. It passes a node in which these axes are parallel, with the axes followed from output
// to input (or back) by the roles that the node's formula gives them. Movement of data passes any such node,
// sums pass only those that are linear. The whole path is one claim: it ends where another reader needs a
// value whole, so that nothing is computed twice. Pure selection of elements is needed.cpp's.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "model/graph/constant.h"
#include "optimizer/facts/linear_region.h"
#include "optimizer/facts/site.h"
#include "optimizer/propose/positions/phases.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 48;  // on one way
constexpr std::size_t kMostEnds = 4;    // of one way
using Axes = std::vector<int>;

struct Mover {
  NodeId node = 0;
  Value input, output;
  Axes axes = {};        // of the input, that it touches
  Extents extents = {};  // of its output there, axes kept
  bool is_data = false;  // moves data only
  bool drops_axes = false;
  bool grows = false;
};

// The input's axes that the output does not follow one to one, the axes in between in order.
std::optional<Mover> mover_at(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || node.inputs.empty()) return std::nullopt;
  const std::vector<Value> read = site.activations(id);
  const auto is_first = [&](Value v) { return v == node.inputs[0]; };
  if (read.empty() || !std::ranges::all_of(read, is_first)) return std::nullopt;
  const auto formula = site.formula(id);
  if (!formula || !is_float(formula->output(0).type)) return std::nullopt;
  // For one value that is read twice only movement is certain to be linear.
  const bool is_data = moves_data(*formula->output(0).value);
  if (read.size() > 1 ? !is_data : linearity(*formula, 0, 0) != Linearity::Linear) return std::nullopt;
  // Constants of a floating type take part in the value: a product, not a mover.
  for (std::size_t k = 1; k < formula->inputs.size() && k < node.inputs.size(); ++k)
    if (formula->inputs[k] && !is_first(node.inputs[k]) &&
        linearity(*formula, 0, static_cast<int>(k)) != Linearity::Independent &&
        is_float(formula->inputs[k]->type))
      return std::nullopt;
  const InputRoles roles = axis_roles(*formula, 0)[0];
  Mover out{.node = id, .input = node.inputs[0], .output = {id, 0}};
  out.is_data = is_data;
  const auto from = site.sizes(out.input), to = site.sizes(out.output);
  if (!from || !to || to->size() > from->size()) return std::nullopt;
  out.drops_axes = to->size() < from->size();
  const auto before = element_count(*from), after = element_count(*to);
  if (!before || !after || *before == *after) return std::nullopt;
  out.grows = *after > *before;
  int next = 0;
  for (std::size_t d = 0; d < from->size(); ++d) {
    // Concat's first input is followed one to one, and there is more behind it.
    const bool follows = roles.axes[d] == AxisRole::Parallel && roles.output_axis[d] == next &&
                         (*from)[d] == (*to)[static_cast<std::size_t>(next)];
    // An axis of one element has no index to follow.
    const bool is_alone = !out.drops_axes && (*from)[d] == 1 && (*to)[d] == 1;
    if (follows || is_alone) {
      ++next;
      continue;
    }
    out.axes.push_back(static_cast<int>(d));
    const bool kept = !out.drops_axes;
    out.extents.push_back(kept ? (*to)[d] : 1);
    if (kept) ++next;
  }
  if (out.axes.empty() || (out.drops_axes && next != static_cast<int>(to->size()))) return std::nullopt;
  return out;
}

// The mover (a slice, a mean ...) applied to another value, where it acts on other axes; nullopt: its
// operator cannot express that.
std::optional<Value> apply_mover(ProgramBuilder& b, const Site& site, const Mover& m, Value value,
                                 const Axes& axes, std::size_t rank) {
  Node node = site.node(m.node);
  const auto own_rank = static_cast<std::int64_t>(site.inference.of(m.input).shape->size());
  std::vector<Value> inputs{value};
  for (const Value& v : node.inputs | std::views::drop(1))
    inputs.push_back(!v.exists() ? Value::none() : v == m.input ? value : b.input(site.name(v)));
  const std::vector<std::int64_t> wide(axes.begin(), axes.end());
  if (site.is(m.node, "Gather") || site.is(m.node, "Concat")) {
    node.attributes.set("axis", wide[0]);
    return b.copy(std::move(node), inputs);
  }
  if (node.op.starts_with("Reduce") && node.domain.empty()) {
    node.attributes.set("keepdims", std::int64_t{1});
    if (site.graph.opset("") >= (node.op == "ReduceSum" ? 13 : 18)) {
      inputs.resize(1);
      inputs.push_back(b.integers(wide));
    } else {
      node.attributes.set("axes", wide);
    }
    return b.copy(std::move(node), inputs);
  }
  // Other operators name no axes: these must have stayed in place.
  if (axes != m.axes || rank != static_cast<std::size_t>(own_rank) || m.drops_axes) return std::nullopt;
  return b.copy(std::move(node), inputs);
}

// Where output axes come from in one input: followed one to one (`axes`), or not seen by it at all.
struct Origin {
  bool depends = false;
  Axes axes;
};
std::optional<Origin> origin_of(const InputRoles& roles, const Axes& wanted) {
  Origin out;
  std::size_t unseen = 0;
  for (const int a : wanted) {
    std::vector<int> from;
    for (std::size_t d = 0; d < roles.axes.size(); ++d)
      if (roles.output_axis[d] == a) from.push_back(static_cast<int>(d));
    if (from.size() == 1 && roles.axes[static_cast<std::size_t>(from[0])] == AxisRole::Parallel)
      out.axes.push_back(from[0]);
    else if (from.empty() && std::ranges::find(roles.broadcast, a) != roles.broadcast.end()) ++unseen;
    else return std::nullopt;
  }
  if (unseen == wanted.size()) return out;
  if (unseen > 0) return std::nullopt;
  out.depends = true;
  return out;
}

// A node on the way: where its output's axes come from, per input; nullopt: the mover does not pass.
struct Passing {
  std::vector<Origin> inputs;
};
std::optional<Passing> passing(const Site& site, const Mover& m, NodeId id, const Axes& wanted) {
  const auto formula = site.formula(id);
  if (!formula || !is_float(formula->output(0).type)) return std::nullopt;
  const auto roles = axis_roles(*formula, 0);
  const Node& node = site.node(id);
  Passing out;
  int dependent = 0;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    out.inputs.emplace_back();
    if (!node.inputs[k].exists() || k >= roles.size() || !formula->inputs[k]) continue;
    const bool is_read = linearity(*formula, 0, static_cast<int>(k)) != Linearity::Independent;
    if (!is_float(formula->inputs[k]->type) && !is_read) continue;  // a shape, a list of axes
    const auto origin = origin_of(roles[k], wanted);
    if (!origin) return std::nullopt;
    out.inputs.back() = *origin;
    if (!origin->depends) continue;
    ++dependent;
    if (!m.is_data && linearity(*formula, 0, static_cast<int>(k)) == Linearity::Nonlinear)
      return std::nullopt;
  }
  if (dependent == 0 || (!m.is_data && dependent > 1 && !adds(node))) return std::nullopt;
  return out;
}

// A node on the way, applied to what the mover has left of its inputs; constant shapes are adapted.
std::optional<Value> rebuilt(ProgramBuilder& b, const Site& site, NodeId id, std::vector<Value> inputs,
                             const Axes& axes, const Extents& extents) {
  Node node = site.node(id);
  if (site.is(id, "Reshape") || site.is(id, "Expand")) {
    auto shape = site.concrete_sizes({id, 0});
    if (!shape) return std::nullopt;
    for (std::size_t k = 0; k < axes.size(); ++k) (*shape)[static_cast<std::size_t>(axes[k])] = extents[k];
    inputs[1] = b.integers(*shape);
  }
  return b.copy(std::move(node), inputs);
}

// The way of a mover towards the inputs.
class Pull {
 public:
  Pull(const Site& site, const Mover& mover) : site_(site), mover_(mover) { find_way(); }

  std::size_t length() const { return way_.size(); }

  // With the first `count` nodes of the way passed.
  std::optional<Proposal> proposal(std::size_t count) {
    ProgramBuilder b(site_.graph, site_.name(mover_.output));
    std::map<NodeId, const Step*> inside;
    for (std::size_t k = 0; k < count; ++k) inside.emplace(way_[k].node, &way_[k]);
    std::map<std::pair<Value, Axes>, Value> made;
    // The part of a value that the mover leaves.
    const auto moved = [&](Value v, const Axes& axes) -> std::optional<Value> {
      if (const auto at = made.find({v, axes}); at != made.end()) return at->second;
      const auto& shape = site_.inference.of(v).shape;
      if (!shape) return std::nullopt;
      const auto value = apply_mover(b, site_, mover_, b.input(site_.name(v)), axes, shape->size());
      if (value) made.emplace(std::pair(v, axes), *value);
      return value;
    };
    for (const NodeId id : site_.graph.order()) {
      const auto at = inside.find(id);
      if (at == inside.end()) continue;
      const Step& step = *at->second;
      std::vector<Value> inputs;
      for (std::size_t k = 0; k < site_.node(id).inputs.size(); ++k) {
        const Value v = site_.node(id).inputs[k];
        if (!v.exists()) {
          inputs.push_back(v);
        } else if (!step.passing.inputs[k].depends) {
          inputs.push_back(b.input(site_.name(v)));
        } else {
          const auto input = moved(v, step.passing.inputs[k].axes);
          if (!input) return std::nullopt;
          inputs.push_back(*input);
        }
      }
      const auto value = rebuilt(b, site_, id, std::move(inputs), step.axes, mover_.extents);
      if (!value) return std::nullopt;
      made.emplace(std::pair(Value{id, 0}, step.axes), *value);
    }
    const auto last = made.find({mover_.input, mover_.axes});
    if (last == made.end()) return std::nullopt;
    Value result = last->second;
    if (mover_.drops_axes) {
      const std::vector<std::int64_t> axes(mover_.axes.begin(), mover_.axes.end());
      result = b.squeeze(result, axes);
    }
    return propose(site_, "commute",
                   fmt::format("{} of {} before {} nodes, from {}", site_.node(mover_.node).op,
                               site_.name(mover_.input), count, site_.name(Value{way_[count - 1].node, 0})),
                   b, {mover_.output}, {result});
  }

 private:
  struct Step {
    NodeId node;
    Axes axes;  // of its output, that the mover touches
    Passing passing;
  };

  void find_way() {
    std::map<Value, std::set<Axes>> wanted{{mover_.input, {mover_.axes}}};
    std::set<Value> whole;
    std::set<NodeId> inside{mover_.node};
    for (const NodeId id : site_.graph.order() | std::views::reverse) {
      const Value v{id, 0};
      const auto want = wanted.find(v);
      if (way_.size() >= kMostNodes) return;
      if (want == wanted.end() || want->second.size() != 1 || whole.contains(v) || site_.is_output(v))
        continue;
      if (!std::ranges::all_of(site_.readers(v), [&](NodeId r) { return inside.contains(r); })) continue;
      const Axes axes = *want->second.begin();
      const Node& node = site_.node(id);
      auto pass = passing(site_, mover_, id, axes);
      if (!pass) continue;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (!node.inputs[k].exists()) continue;
        if (pass->inputs[k].depends) wanted[node.inputs[k]].insert(pass->inputs[k].axes);
        else whole.insert(node.inputs[k]);
      }
      inside.insert(id);
      way_.push_back({id, axes, std::move(*pass)});
    }
  }

  const Site& site_;
  const Mover& mover_;
  std::vector<Step> way_;  // against the order of the graph
};

// Where the mover's axes are in a node's output, if it passes.
std::optional<Axes> axes_after(const Site& site, const Mover& m, NodeId id,
                               const std::map<Value, Axes>& moved) {
  const auto formula = site.formula(id);
  if (!formula) return std::nullopt;
  const auto roles = axis_roles(*formula, 0);
  const Node& node = site.node(id);
  std::optional<Axes> out;
  for (std::size_t k = 0; k < node.inputs.size() && k < roles.size(); ++k) {
    const auto at = moved.find(node.inputs[k]);
    if (at == moved.end()) continue;
    Axes axes;
    for (const int a : at->second) {
      const auto d = static_cast<std::size_t>(a);
      if (roles[k].axes[d] != AxisRole::Parallel) return std::nullopt;
      axes.push_back(roles[k].output_axis[d]);
    }
    if (out && *out != axes) return std::nullopt;
    out = axes;
  }
  if (!out) return std::nullopt;
  const auto pass = passing(site, m, id, *out);
  if (!pass) return std::nullopt;
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (pass->inputs[k].depends != moved.contains(node.inputs[k])) return std::nullopt;
  return out;
}

// The way of a mover towards the outputs.
class Push {
 public:
  Push(const Site& site, const Mover& mover) : site_(site), mover_(mover) { find_way(); }

  std::size_t length() const { return way_.size(); }

  // Past the first `count` nodes of the path. Values that other nodes read are moved at its end.
  std::optional<Proposal> proposal(std::size_t count) {
    std::set<NodeId> inside{mover_.node};
    for (std::size_t k = 0; k < count; ++k) inside.insert(way_[k].node);
    if (is_read_outside(mover_.output, inside)) return std::nullopt;
    ProgramBuilder b(site_.graph, site_.name(Value{way_[count - 1].node, 0}));
    std::map<Value, Value> made{{mover_.output, b.input(site_.name(mover_.input))}};
    const auto small = site_.sizes(mover_.input);
    Extents extents;
    for (const int a : mover_.axes) extents.push_back((*small)[static_cast<std::size_t>(a)]);
    std::vector<Value> ends, results;
    for (const Step& step : way_ | std::views::take(count)) {
      std::vector<Value> inputs;
      for (const Value& v : site_.node(step.node).inputs)
        inputs.push_back(b.made_or_input(site_.graph, v, made));
      const auto value = rebuilt(b, site_, step.node, std::move(inputs), step.axes, extents);
      if (!value) return std::nullopt;
      const Value old{step.node, 0};
      made.emplace(old, *value);
      if (!is_read_outside(old, inside)) continue;
      const auto& shape = site_.inference.of(old).shape;
      if (!shape || ends.size() == kMostEnds) return std::nullopt;
      const auto result = apply_mover(b, site_, mover_, *value, step.axes, shape->size());
      if (!result) return std::nullopt;
      ends.push_back(old);
      results.push_back(*result);
    }
    if (ends.empty()) return std::nullopt;
    return propose(site_, "commute",
                   fmt::format("{} of {} after {} nodes, to {}", site_.node(mover_.node).op,
                               site_.name(mover_.input), count, site_.name(ends.back())),
                   b, ends, results);
  }

 private:
  struct Step {
    NodeId node;
    Axes axes;  // of its output
  };

  bool is_read_outside(Value v, const std::set<NodeId>& inside) const {
    return site_.is_output(v) ||
           std::ranges::any_of(site_.readers(v), [&](NodeId r) { return !inside.contains(r); });
  }

  void find_way() {
    std::map<Value, Axes> moved{{mover_.output, mover_.axes}};
    for (const NodeId id : site_.graph.order()) {
      if (way_.size() >= kMostNodes) return;
      const auto reads = [&](Value v) { return moved.contains(v); };
      if (site_.node(id).kind != NodeKind::Operator || std::ranges::none_of(site_.node(id).inputs, reads))
        continue;
      if (const auto axes = axes_after(site_, mover_, id, moved)) {
        moved.emplace(Value{id, 0}, *axes);
        way_.push_back({id, *axes});
      }
    }
  }

  const Site& site_;
  const Mover& mover_;
  std::vector<Step> way_;
};

}  // namespace

std::vector<NodeId> parallel_after(const Site& site, Value value, const std::vector<int>& axes) {
  std::map<Value, Axes> moved{{value, axes}};
  std::vector<NodeId> out;
  const Mover any_data{.node = value.node, .input = value, .output = value, .is_data = true};
  for (const NodeId id : site.graph.order()) {
    const auto reads = [&](Value v) { return moved.contains(v); };
    if (out.size() >= kMostNodes) break;
    if (site.node(id).kind != NodeKind::Operator || std::ranges::none_of(site.node(id).inputs, reads))
      continue;
    const auto now = axes_after(site, any_data, id, moved);
    if (!now || *now != axes) continue;
    moved.emplace(Value{id, 0}, *now);
    out.push_back(id);
  }
  return out;
}

bool is_closed(const Site& site, const std::set<NodeId>& nodes, Value end) {
  return std::ranges::all_of(nodes, [&](NodeId id) {
    const Value v{id, 0};
    return v == end || (!site.is_output(v) &&
                        std::ranges::all_of(site.readers(v), [&](NodeId r) { return nodes.contains(r); }));
  });
}

namespace {

// The best stop on the way.
template <class Way>
std::optional<Proposal> best_of(Way way) {
  std::optional<Proposal> best;
  for (std::size_t count = 1; count <= way.length(); ++count) {
    auto next = way.proposal(count);
    if (next && (!best || next->gain >= best->gain)) best = std::move(next);
  }
  return best;
}

Proposals propose_commute(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  for (const NodeId id : graph.order()) {
    const auto mover = mover_at(site, id);
    if (!mover || (!mover->grows && (mover->is_data || site.is(id, "Gather")))) continue;
    auto found = mover->grows ? best_of(Push(site, *mover)) : best_of(Pull(site, *mover));
    if (found && (options.any_price || found->gain > 0)) out.list.push_back(std::move(*found));
  }
  propose_phases(site, out);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace

constinit const Proposer kCommute{
    .name = "commute",
    .title = "smaller first",
    .law = "R(A x) = A (R x)",
    .finds =
        "Moves reductions, pools, repetitions and resizes to where less is computed: means "
        "before products, pooling before a 1×1 convolution, functions before a concatenation of "
        "a value with itself (rotary positions).",
    .propose = propose_commute,
    .remark = "in an order that computes less",
};

}  // namespace isomer
