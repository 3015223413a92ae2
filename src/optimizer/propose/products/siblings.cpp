#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "optimizer/propose/products/parts.h"

namespace isomer {
namespace {

constexpr std::size_t kMostSiblings = 256;

std::string key_of(const Node& node) {
  std::string out = node.domain + "." + node.op;
  const auto speak = []<class T>(const T& v) -> std::string {
    if constexpr (std::is_same_v<T, std::string>) return v;
    else if constexpr (std::is_arithmetic_v<T>) return fmt::format("{}", v);
    else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
      return fmt::format("{}", fmt::join(v, ","));
    else return fmt::format("{}", static_cast<const void*>(&v));  // equal to nothing else
  };
  for (const Attribute& a : node.attributes.all())
    out += fmt::format(" {}={}", a.name, std::visit(speak, a.value));
  return out;
}

// A node of one activation whose constants can be stacked along an output axis that the activation does not
// see: rows of weights.
struct Stackable {
  std::size_t slot = 0;    // of the activation
  int axis = 0;            // of the output
  std::vector<int> along;  // per input: where its constant is stacked, -1: nowhere
  std::string shapes;      // of the constants, but for the stacked axes
};
std::optional<Stackable> stackable(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || site.activations(id).size() != 1) return std::nullopt;
  const auto formula = site.formula(id);
  if (!formula || formula->inputs.size() < 2) return std::nullopt;
  const auto roles = axis_roles(*formula, 0);
  Stackable out;
  while (site.is_constant(node.inputs[out.slot]) || !node.inputs[out.slot].exists()) ++out.slot;
  if (roles[out.slot].broadcast.size() != 1) return std::nullopt;
  out.axis = roles[out.slot].broadcast[0];
  bool any = false;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    out.along.push_back(-1);
    if (k == out.slot || !node.inputs[k].exists()) continue;
    const auto sizes = site.concrete_sizes(node.inputs[k]);
    if (!sizes || !formula->inputs[k] || !is_float(formula->inputs[k]->type)) return std::nullopt;
    for (std::size_t d = 0; d < sizes->size(); ++d)
      if (roles[k].output_axis[d] == out.axis && roles[k].axes[d] == AxisRole::Parallel)
        out.along.back() = static_cast<int>(d);
    if (out.along.back() < 0) return std::nullopt;
    any = true;
    out.shapes += "|";
    for (std::size_t d = 0; d < sizes->size(); ++d)
      out.shapes += static_cast<int>(d) == out.along.back() ? "*," : std::to_string((*sizes)[d]) + ",";
  }
  if (!any) return std::nullopt;
  return out;
}

std::vector<Value> outputs_of(const std::vector<NodeId>& nodes) {
  std::vector<Value> out;
  for (const NodeId id : nodes) out.push_back({id, 0});
  return out;
}

// One node on the activation `x` with the constants of all of them in a row.
Value stacked(ProgramBuilder& b, const Site& site, const std::vector<NodeId>& nodes, const Stackable& how,
              Value x) {
  const Node& first = site.node(nodes[0]);
  std::vector<Value> inputs;
  for (std::size_t k = 0; k < first.inputs.size(); ++k) {
    if (k == how.slot) {
      inputs.push_back(x);
    } else if (!first.inputs[k].exists()) {
      inputs.push_back(Value::none());
    } else {
      std::vector<Value> parts;
      for (const NodeId id : nodes) parts.push_back(b.input(site.name(site.node(id).inputs[k])));
      inputs.push_back(b.concat(parts, how.along[k]));
    }
  }
  return b.copy(first, inputs);
}

std::optional<std::vector<std::int64_t>> sizes_along(const Site& site, const std::vector<NodeId>& nodes,
                                                     int axis) {
  std::vector<std::int64_t> out;
  for (const NodeId id : nodes) {
    const auto& shape = site.inference.of({id, 0}).shape;
    const auto size = shape ? (*shape)[static_cast<std::size_t>(axis)].value() : std::nullopt;
    if (!size) return std::nullopt;
    out.push_back(*size);
  }
  return out;
}

// Which part of which split a value is.
struct Part {
  Value whole;
  std::uint32_t number;
  std::int64_t axis;
  std::size_t count;
};
std::optional<Part> part_of(const Site& site, Value v) {
  const auto split = site.made_by(v, "Split");
  if (!split) return std::nullopt;
  const auto& shape = site.inference.of(v).shape;
  if (!shape) return std::nullopt;
  std::int64_t axis = attribute(site.node(*split), "axis", std::int64_t{0});
  if (axis < 0) axis += static_cast<std::int64_t>(shape->size());
  return Part{.whole = site.node(*split).inputs[0],
              .number = v.output,
              .axis = axis,
              .count = site.node(*split).outputs.size()};
}

// The functions that follow siblings, each of one of them and of the same part of something else (or of a
// constant): the last ones, and the value that is all of them in a row.
struct Row {
  std::vector<NodeId> nodes;
  Value all;
};
std::optional<Row> row_after(ProgramBuilder& b, const Site& site, const Row& row, int axis) {
  std::vector<NodeId> readers;
  for (const NodeId id : row.nodes) {
    const auto reader = site.only_reader({id, 0});
    if (!reader || site.node(*reader).inputs.size() != 2 || !is_pointwise(site, *reader)) return std::nullopt;
    if (!readers.empty() && key_of(site.node(*reader)) != key_of(site.node(readers[0]))) return std::nullopt;
    readers.push_back(*reader);
  }
  const std::size_t slot = site.node(readers[0]).inputs[0] == Value{row.nodes[0], 0} ? 0 : 1;
  std::vector<Value> others;
  for (std::size_t k = 0; k < readers.size(); ++k) {
    const std::vector<Value>& in = site.node(readers[k]).inputs;
    if (in[slot] != Value{row.nodes[k], 0} || in[0] == in[1]) return std::nullopt;
    others.push_back(in[1 - slot]);
  }
  Value other;
  if (const auto first = part_of(site, others[0])) {
    if (first->count != others.size() || first->axis != axis) return std::nullopt;
    for (std::size_t k = 0; k < others.size(); ++k) {
      const auto part = part_of(site, others[k]);
      if (!part || part->whole != first->whole || part->number != k) return std::nullopt;
    }
    other = b.input(site.name(first->whole));
  } else {
    std::vector<Value> parts;
    for (const Value& v : others) {
      const auto sizes = site.concrete_sizes(v);
      const auto rank = site.inference.of({row.nodes[0], 0}).shape->size();
      // One value per position of the last axis.
      if (!site.is_constant(v) || !sizes || sizes->size() != 1 || (*sizes)[0] == 1 ||
          axis + 1 != static_cast<int>(rank))
        return std::nullopt;
      parts.push_back(b.input(site.name(v)));
    }
    other = b.concat(parts, 0);
  }
  const std::vector<Value> inputs =
      slot == 0 ? std::vector<Value>{row.all, other} : std::vector<Value>{other, row.all};
  return Row{.nodes = readers, .all = b.copy(site.node(readers[0]), inputs)};
}

// f(x, w1), f(x, w2), ... = Split(f(x, [w1 w2 ...])).
void same_activation(const Site& site, Proposals& out) {
  std::map<std::string, std::vector<NodeId>> groups;
  for (const NodeId id : site.graph.order()) {
    const auto how = stackable(site, id);
    if (!how) continue;
    const Value x = site.node(id).inputs[how->slot];
    groups[fmt::format("{} {} {}:{} {}", key_of(site.node(id)), how->slot, x.node, x.output, how->shapes)]
        .push_back(id);
  }
  for (const auto& [key, nodes] : groups) {
    if (nodes.size() < 2 || nodes.size() > kMostSiblings) continue;
    const Stackable how = *stackable(site, nodes[0]);
    const auto sizes = sizes_along(site, nodes, how.axis);
    if (!sizes) continue;
    ProgramBuilder b(site.graph, site.name({nodes[0], 0}));
    const Value all = stacked(b, site, nodes, how, b.input(site.name(site.node(nodes[0]).inputs[how.slot])));
    // Together with all that follows alike, and without.
    Row row{.nodes = nodes, .all = all};
    ProgramBuilder longer = b;
    while (auto next = row_after(longer, site, row, how.axis)) row = std::move(*next);
    if (row.nodes != nodes)
      out.add(propose(site, "reassociate",
                      fmt::format("{} {} nodes on one value and what follows as one", nodes.size(),
                                  site.node(nodes[0]).op),
                      longer, outputs_of(row.nodes), longer.split(row.all, how.axis, *sizes)));
    out.add(propose(site, "reassociate",
                    fmt::format("{} {} nodes on one value as one", nodes.size(), site.node(nodes[0]).op), b,
                    outputs_of(nodes), b.split(all, how.axis, *sizes)));
  }
}

// f(a1, b1), f(a2, b2), ... of all parts of splits = Split(f(a, b)).
void same_parts(const Site& site, Proposals& out) {
  std::map<std::string, std::map<std::uint32_t, NodeId>> groups;
  for (const NodeId id : site.graph.order()) {
    const Node& node = site.node(id);
    if (node.kind != NodeKind::Operator || node.inputs.size() < 2 || node.outputs.size() != 1) continue;
    std::string key = key_of(node);
    std::optional<std::uint32_t> number;
    bool fits = true;
    for (std::size_t k = 0; k < node.inputs.size() && fits; ++k) {
      if (site.is_constant(node.inputs[k])) continue;
      const auto part = part_of(site, node.inputs[k]);
      fits = part && (!number || *number == part->number);
      if (!fits) break;
      number = part->number;
      key += fmt::format(" {}:{}:{}", k, part->whole.node, part->whole.output);
    }
    if (fits && number) groups[key].emplace(*number, id);
  }
  for (const auto& [key, members] : groups) {
    std::vector<NodeId> nodes;
    for (const auto& [number, id] : members) nodes.push_back(id);
    const Node& first = site.node(nodes[0]);
    const auto formula = site.formula(nodes[0]);
    if (!formula) continue;
    const auto roles = axis_roles(*formula, 0);
    ProgramBuilder b(site.graph, site.name({nodes[0], 0}));
    std::vector<Value> inputs;
    std::optional<std::int64_t> axis;
    for (const Value& input : first.inputs) {
      const auto part = part_of(site, input);
      if (!part) continue;
      if (part->count == nodes.size() && (!axis || axis == part->axis)) axis = part->axis;
      else axis = -1;
    }
    if (!axis || *axis < 0) continue;
    for (std::size_t k = 0; k < first.inputs.size(); ++k) {
      if (const auto part = part_of(site, first.inputs[k])) {
        inputs.push_back(b.input(site.name(part->whole)));
        continue;
      }
      const auto along = std::ranges::find(roles[k].output_axis, static_cast<int>(*axis));
      if (along == roles[k].output_axis.end()) break;
      std::vector<Value> parts;
      for (const NodeId id : nodes) parts.push_back(b.input(site.name(site.node(id).inputs[k])));
      inputs.push_back(b.concat(parts, along - roles[k].output_axis.begin()));
    }
    const auto sizes = sizes_along(site, nodes, static_cast<int>(*axis));
    if (inputs.size() != first.inputs.size() || !sizes) continue;
    const Value all = b.copy(first, inputs);
    out.add(propose(site, "reassociate",
                    fmt::format("{} {} nodes of the parts of a split as one", nodes.size(), first.op), b,
                    outputs_of(nodes), b.split(all, *axis, *sizes)));
  }
}

// The same on an activation of more axes: Gemm has only two, MatMul any number.
std::optional<Value> stacked_on_all(ProgramBuilder& b, const Site& site, const std::vector<NodeId>& nodes,
                                    const Stackable& how, Value x) {
  const Node& first = site.node(nodes[0]);
  if (!site.is(nodes[0], "Gemm")) return stacked(b, site, nodes, how, x);
  if (how.slot != 0 || !is_plain_product(first)) return std::nullopt;
  const auto in_a_row = [&](std::size_t k) {
    std::vector<Value> parts;
    for (const NodeId id : nodes) parts.push_back(b.input(site.name(site.node(id).inputs[k])));
    return b.concat(parts, how.along[k]);
  };
  const Value w = in_a_row(1);
  const bool is_turned = attribute(first, "transB", std::int64_t{0}) != 0;
  const Value y = b.op("MatMul", {x, is_turned ? b.transpose(w, {1, 0}) : w});
  return first.inputs.size() > 2 && first.inputs[2].exists() ? b.op("Add", {y, in_a_row(2)}) : y;
}

// Slices side by side that are all of a value = Split.
void same_whole(const Site& site, Proposals& out) {
  struct Cut {
    std::int64_t begin, end;
    NodeId node;
  };
  std::map<std::pair<Value, std::int64_t>, std::vector<Cut>> by_value;
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "Slice") || site.node(id).inputs.size() < 4) continue;
    const std::vector<Value>& in = site.node(id).inputs;
    const auto sizes = site.concrete_sizes(in[0]);
    const auto begin = site.integers(in[1]), end = site.integers(in[2]), axes = site.integers(in[3]);
    if (!sizes || !begin || !end || !axes || axes->size() != 1) continue;
    if (in.size() > 4 && in[4].exists() && site.integers(in[4]) != std::vector<std::int64_t>{1}) continue;
    const std::int64_t axis =
        (*axes)[0] < 0 ? (*axes)[0] + static_cast<std::int64_t>(sizes->size()) : (*axes)[0];
    const std::int64_t extent = (*sizes)[static_cast<std::size_t>(axis)];
    const auto inside = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent);
    };
    by_value[{in[0], axis}].push_back({inside((*begin)[0]), inside((*end)[0]), id});
  }
  for (auto& [of, cuts] : by_value) {
    std::ranges::stable_sort(cuts, {}, &Cut::begin);
    const std::int64_t extent = (*site.concrete_sizes(of.first))[static_cast<std::size_t>(of.second)];
    std::int64_t at = 0;
    std::vector<std::int64_t> sizes;
    std::vector<NodeId> nodes;
    for (const Cut& c : cuts) {
      if (c.begin != at || c.end <= c.begin) break;
      sizes.push_back(c.end - c.begin);
      nodes.push_back(c.node);
      at = c.end;
    }
    if (at != extent || nodes.size() != cuts.size() || nodes.size() < 2) continue;
    ProgramBuilder b(site.graph, site.name({nodes[0], 0}));
    out.add(propose(site, "reassociate",
                    fmt::format("{} slices of {} as one split", nodes.size(), site.name(of.first)), b,
                    outputs_of(nodes), b.split(b.input(site.name(of.first)), of.second, sizes)));
  }
}

// f(x[t], w) for every t and several w = f(x, [w1 w2 ...])[t], split.
void same_positions(const Site& site, Proposals& out) {
  struct Group {
    Value whole;
    std::int64_t axis;
    std::map<std::vector<int>, std::map<std::int64_t, NodeId>> by_constants;
  };
  std::map<std::string, Group> groups;
  for (const NodeId id : site.graph.order()) {
    const auto how = stackable(site, id);
    const auto position = how ? position_of(site, site.node(id).inputs[how->slot]) : std::nullopt;
    if (!position) continue;
    Group& group =
        groups[fmt::format("{} {} {}:{} {} {}", key_of(site.node(id)), how->slot, position->whole.node,
                           position->whole.output, position->axis, how->shapes)];
    group.whole = position->whole;
    group.axis = position->axis;
    std::vector<int> constants;
    for (const Value& v : site.node(id).inputs)
      if (site.is_constant(v)) constants.push_back(site.content(v));
    group.by_constants[constants].emplace(position->at, id);
  }
  for (const auto& [key, group] : groups) {
    const auto& grid = group.by_constants;
    const auto& times = grid.begin()->second;
    const bool is_full = std::ranges::all_of(grid, [&](const auto& entry) {
      return std::ranges::equal(
          entry.second, times, {}, [](const auto& e) { return e.first; },
          [](const auto& e) { return e.first; });
    });
    if (!is_full || times.size() < 2 || grid.size() * times.size() > kMostSiblings) continue;
    std::vector<NodeId> nodes, row;
    for (const auto& [constants, by_time] : grid) row.push_back(by_time.begin()->second);
    const Stackable how = *stackable(site, row[0]);
    const auto sizes = sizes_along(site, row, how.axis);
    if (!sizes) continue;
    ProgramBuilder b(site.graph, site.name({row[0], 0}));
    const auto all = stacked_on_all(b, site, row, how, b.input(site.name(group.whole)));
    if (!all) continue;
    std::vector<Value> results;
    for (const auto& [at, unused] : times) {
      const Value one = b.op("Gather", {*all, b.scalar_integer(at)}, with({{"axis", group.axis}}));
      for (const Value& v : row.size() == 1 ? std::vector<Value>{one} : b.split(one, how.axis, *sizes))
        results.push_back(v);
      for (const auto& [constants, by_time] : grid) nodes.push_back(by_time.at(at));
    }
    out.add(propose(site, "reassociate",
                    fmt::format("{} {} nodes at positions of {} as one", nodes.size(), site.node(row[0]).op,
                                site.name(group.whole)),
                    b, outputs_of(nodes), results));
  }
}

}  // namespace

void propose_siblings(const Site& site, Proposals& out) {
  same_positions(site, out);
  same_activation(site, out);
  same_parts(site, out);
  same_whole(site, out);
}

}  // namespace isomer
