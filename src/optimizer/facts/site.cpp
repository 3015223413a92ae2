#include "optimizer/facts/site.h"

#include <algorithm>
#include <ranges>

#include "model/graph/constant.h"
#include "optimizer/facts/price.h"

namespace isomer {
namespace {

// The nodes that compute the claim's outputs, the last ones first.
std::vector<NodeId> nodes_of(const Site& site, const Claim& claim) {
  std::set<Value> stops;
  for (const std::string& name : claim.inputs)
    if (const auto v = site.find(name)) stops.insert(*v);
  std::set<NodeId> seen;
  std::vector<NodeId> open;
  const auto note = [&](Value v) {
    if (!v.exists() || stops.contains(v) || site.node(v.node).kind != NodeKind::Operator) return;
    if (seen.insert(v.node).second) open.push_back(v.node);
  };
  for (const std::string& name : claim.outputs)
    if (const auto v = site.find(name)) note(*v);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    std::ranges::for_each(site.node(id).inputs, note);
  }
  std::vector<NodeId> out(seen.begin(), seen.end());
  std::ranges::sort(out, std::greater<>{}, [&](NodeId id) { return site.position(id); });
  return out;
}

// The nodes that only the claim's outputs need.
std::set<NodeId> dying(const Site& site, const Claim& claim) {
  const std::set<std::string> outputs(claim.outputs.begin(), claim.outputs.end());
  std::set<NodeId> out;
  for (const NodeId id : nodes_of(site, claim)) {
    const Node& node = site.node(id);
    bool dies = true;
    for (std::uint32_t k = 0; k < node.outputs.size() && dies; ++k) {
      if (outputs.contains(node.outputs[k])) continue;
      const Value v{id, k};
      dies = !site.is_output(v) &&
             std::ranges::all_of(site.readers(v), [&](NodeId r) { return out.contains(r); });
    }
    if (dies) out.insert(id);
  }
  return out;
}

// Constants that the program computes and something that is no constant reads.
std::vector<std::string> folds_of(const Graph& program) {
  const std::set<NodeId> constants = folded_nodes(program);
  std::vector<std::string> out;
  std::set<Value> seen;
  const auto note = [&](Value v) {
    if (!v.exists() || !constants.contains(v.node) || !seen.insert(v).second) return;
    if (program.node(v.node).kind == NodeKind::Operator) out.push_back(program.name_of(v));
  };
  for (const NodeId id : program.order())
    if (!constants.contains(id)) std::ranges::for_each(program.node(id).inputs, note);
  std::ranges::for_each(program.outputs(), note);
  return out;
}

// The other dependences of the region behind the claim's outputs, besides the claim's inputs: inputs of the
// model, and values of which only the shape is read. The new program does not read them.
std::vector<std::string> also_read(const Site& site, const Claim& claim) {
  Claim whole = claim;
  std::vector<std::string> out;
  const std::set<std::string> given(claim.inputs.begin(), claim.inputs.end());
  std::set<std::string> seen;
  const auto note = [&](Value v) {
    const std::string& name = site.name(v);
    if (!given.contains(name) && seen.insert(name).second) out.push_back(name);
  };
  // Values behind a Shape are not looked at: from here on they are inputs.
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const NodeId id : nodes_of(site, whole)) {
      const Node& node = site.node(id);
      const bool reads_shape = node.op == "Shape" && node.domain.empty() && !site.is_constant(node.inputs[0]);
      for (const Value& v : node.inputs) {
        if (!v.exists()) continue;
        const bool is_input = site.node(v.node).kind == NodeKind::Input;
        if ((!reads_shape && !is_input) || given.contains(site.name(v)) || seen.contains(site.name(v)))
          continue;
        note(v);
        whole.inputs.push_back(site.name(v));
        has_grown = true;
      }
      if (has_grown) break;
    }
  }
  return out;
}

}  // namespace

Site::Site(const Graph& g, const Inference& i, const Machine& m)
    : graph(g), inference(i), machine(m), index_(g) {
  std::map<std::pair<int, Extents>, std::vector<std::pair<Tensor, int>>> alike;
  int next = 0;
  for (const NodeId id : g.order()) {
    const auto tensor = known_constant(g, {id, 0});
    if (!tensor) continue;
    constants_.insert({id, 0});
    auto& others = alike[{static_cast<int>(tensor->type()), tensor->extents()}];
    const auto same = std::ranges::find_if(others, [&](const auto& o) { return o.first.same_bits(*tensor); });
    contents_.emplace(Value{id, 0}, same == others.end() ? next : same->second);
    if (same == others.end()) others.emplace_back(*tensor, next++);
  }
}

bool Site::is(NodeId id, std::string_view op) const {
  const Node& n = node(id);
  return n.kind == NodeKind::Operator && n.op == op && n.domain.empty() && n.bodies.empty();
}

std::optional<NodeId> Site::made_by(Value v, std::string_view op) const {
  return v.exists() && is(v.node, op) ? std::optional(v.node) : std::nullopt;
}

std::vector<Value> Site::activations(NodeId id) const {
  std::vector<Value> out;
  for (const Value& v : node(id).inputs)
    if (v.exists() && !is_constant(v)) out.push_back(v);
  return out;
}

std::optional<Extents> Site::sizes(Value v) const {
  const auto& shape = inference.of(v).shape;
  if (!shape) return std::nullopt;
  Extents out;
  for (const Dim& d : *shape) {
    const auto size = typical_size(d, machine);
    if (!size) return std::nullopt;
    out.push_back(*size);
  }
  return out;
}

std::optional<Extents> Site::concrete_sizes(Value v) const { return concrete_shape(inference.of(v)); }

std::size_t Site::rank(Value v) const {
  const auto& shape = inference.of(v).shape;
  return shape ? shape->size() : 0;
}

std::optional<std::vector<std::int64_t>> Site::integers(Value v) const {
  if (!is_constant(v)) return std::nullopt;
  return known_constant(graph, v)->integers();
}

std::optional<Formula> Site::formula(NodeId id) const {
  const Node& n = node(id);
  if (n.kind != NodeKind::Operator || !n.captures.empty() || n.outputs.size() != 1) return std::nullopt;
  if (inference.opaque.contains(id)) return std::nullopt;
  Definition definition = define_node(graph, inference, id);
  auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return std::nullopt;
  return std::move(*formula);
}

bool is_pointwise(const Site& site, NodeId id) {
  const auto formula = site.formula(id);
  const auto y = site.sizes({id, 0});
  if (!formula || !y || !is_float(formula->output(0).type)) return false;
  const auto roles = axis_roles(*formula, 0);
  const Node& node = site.node(id);
  for (std::size_t k = 0; k < node.inputs.size() && k < roles.size(); ++k) {
    if (!node.inputs[k].exists() || !formula->inputs[k]) continue;
    const auto x = site.sizes(node.inputs[k]);
    if (!is_float(formula->inputs[k]->type) || !x || x->size() > y->size()) return false;
    const std::size_t offset = y->size() - x->size();
    for (std::size_t d = 0; d < x->size(); ++d) {
      const bool follows =
          roles[k].axes[d] == AxisRole::Parallel && roles[k].output_axis[d] == static_cast<int>(d + offset);
      if (!follows && (*x)[d] != 1) return false;
    }
  }
  return true;
}

std::optional<Extents> with_axis_inserted(const Extents& constant, std::size_t rank, std::size_t axis) {
  const std::size_t missing = rank - constant.size();
  if (axis <= missing) return std::nullopt;  // broadcasting puts it there
  Extents out = constant;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis - missing), 1);
  return out;
}

std::optional<Position> position_of(const Site& site, Value v) {
  const auto gather = site.made_by(v, "Gather");
  if (!gather) return std::nullopt;
  const std::vector<Value>& in = site.node(*gather).inputs;
  const auto index = site.integers(in[1]);
  const auto& shape = site.inference.of(in[0]).shape;
  const auto rank = site.concrete_sizes(in[1]);
  if (!index || index->size() != 1 || !shape || !rank || !rank->empty() || site.is_constant(in[0]))
    return std::nullopt;
  std::int64_t axis = attribute(site.node(*gather), "axis", std::int64_t{0});
  if (axis < 0) axis += static_cast<std::int64_t>(shape->size());
  const Dim& extent = (*shape)[static_cast<std::size_t>(axis)];
  if (!extent.is_concrete()) return std::nullopt;
  const std::int64_t at = (*index)[0];
  return Position{.whole = in[0], .axis = axis, .at = at < 0 ? at + extent.concrete() : at};
}

Graph with_constants(const Site& site, const Graph& program) {
  Graph out = program.without_nodes();
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    if (node.kind == NodeKind::Input) {
      const auto at = site.find(node.outputs[0]);
      const auto constant = at ? known_constant(site.graph, *at) : std::nullopt;
      if (constant) {
        node.kind = NodeKind::Initializer;
        node.tensor = *constant;
      } else if (at) {
        const ValueInfo& info = site.inference.of(*at);
        node.declared.type = info.type;
        if (info.shape)
          node.declared.shape = std::vector<std::optional<Dim>>(info.shape->begin(), info.shape->end());
      }
    }
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    moved.emplace(id, out.add(std::move(node)));
    const NodeId made = moved.at(id);
    if (out.node(made).kind == NodeKind::Input) out.add_input({made, 0});
  }
  for (const Value& v : program.outputs()) out.add_output({moved.at(v.node), v.output});
  return out;
}

namespace {

// The saving of a claim: the price of nodes that become dead, minus the price of the new program, without
// folded constants (optimizer/facts/price.h). nullopt: the new program is not legal, or a size is not known.
std::optional<double> saved(const Site& site, const Claim& claim, const Graph& program) {
  double before = 0, after = 0;
  for (const NodeId id : dying(site, claim)) {
    const auto price = price_of(site.graph, site.inference, id, site.machine);
    before += price.value_or(0);
  }
  const auto inference = infer(program);
  if (!inference.ok()) return std::nullopt;
  const std::set<NodeId> constants = folded_nodes(program);
  for (const NodeId id : program.order()) {
    if (program.node(id).kind != NodeKind::Operator || constants.contains(id)) continue;
    const auto price = price_of(program, *inference, id, site.machine);
    if (!price) return std::nullopt;
    after += *price;
  }
  for (std::size_t k = 0; k < claim.outputs.size(); ++k)
    if (!inference->of(program.outputs()[k]).shape) return std::nullopt;
  return before - after;
}

}  // namespace

std::optional<Proposal> propose(const Site& site, std::string kind, std::string what, ProgramBuilder& builder,
                                const std::vector<Value>& replaced, const std::vector<Value>& by) {
  for (const Value& v : by) builder.output(v);
  Proposal out;
  out.kind = std::move(kind);
  out.what = std::move(what);
  out.claim.after = builder.graph();
  for (const Value& v : replaced) out.claim.outputs.push_back(site.name(v));
  for (const Value& v : builder.graph().inputs()) {
    const auto from = site.find(builder.name_of(v));
    if (from && !site.is_constant(*from)) out.claim.inputs.push_back(builder.name_of(v));
  }
  for (std::string& name : also_read(site, out.claim)) out.claim.inputs.push_back(std::move(name));
  const Graph program = with_constants(site, out.claim.after);
  out.folds = folds_of(program);
  const auto gain = saved(site, out.claim, program);
  if (!gain) return std::nullopt;
  out.gain = *gain;
  return out;
}

}  // namespace isomer
