#include "model/graph/program_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace isomer {
namespace {

// "y.isomer.", or "y.isomer2." and so on: no name of a value or node in the graph or in what it declares
// begins so. For values that were named so, each has a number of its own: what replaces two of them may be
// taken together.
std::string fresh_prefix(const Graph& graph, const std::string& name) {
  const std::string stem = name.substr(0, name.find(".isomer"));
  const auto begins_so = [&](const std::string& prefix) {
    for (const NodeId id : graph.order()) {
      if (graph.node(id).name.starts_with(prefix)) return true;
      for (const std::string& output : graph.node(id).outputs)
        if (output.starts_with(prefix)) return true;
    }
    return std::ranges::any_of(graph.declared(),
                               [&](const auto& declared) { return declared.first.starts_with(prefix); });
  };
  const auto numbered = [&](std::uint64_t k) { return fmt::format("{}.isomer{}.", stem, k); };
  constexpr std::uint64_t kMostNumbers = 1'000'000;
  std::uint64_t k = stem == name ? 1 : Hasher().add(name).digest().low % kMostNumbers + 2;
  std::string prefix = k == 1 ? stem + ".isomer." : numbered(k);
  while (begins_so(prefix)) prefix = numbered(++k);
  return prefix;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const Graph& graph, const std::string& name)
    : prefix_(fresh_prefix(graph, name)) {
  graph_.opsets = graph.opsets;
}

Value ProgramBuilder::input(const std::string& name, const DeclaredType& type) {
  for (const Value& v : graph_.inputs())
    if (graph_.name_of(v) == name) return v;
  Node node;
  node.kind = NodeKind::Input;
  node.outputs = {name};
  node.declared = type;
  const Value v{graph_.add(std::move(node)), 0};
  graph_.add_input(v);
  return v;
}

Value ProgramBuilder::constant(Tensor tensor) {
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {fresh()};
  node.tensor = std::move(tensor);
  return {graph_.add(std::move(node)), 0};
}

Value ProgramBuilder::integers(const std::vector<std::int64_t>& values) {
  return constant(Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values));
}

Value ProgramBuilder::scalar_integer(std::int64_t value) {
  return constant(Tensor::of(ElementType::Int64, {}, std::vector<std::int64_t>{value}));
}

Value ProgramBuilder::op(const std::string& op, const std::vector<Value>& inputs,
                         const Attributes& attributes) {
  Node node;
  node.op = op;
  node.attributes = attributes;
  return copy(std::move(node), inputs);
}

Value ProgramBuilder::eye(std::int64_t rows) {
  return op("EyeLike", {zeros({rows, rows})}, with({{"dtype", std::int64_t{1}}}));
}

Value ProgramBuilder::pad_end(Value value, std::size_t rank, std::size_t axis, std::int64_t by) {
  std::vector<std::int64_t> pads(2 * rank, 0);
  pads[rank + axis] = by;
  return op("Pad", {value, integers(pads)});
}

Value ProgramBuilder::with_axes(const std::string& name, Value value, const std::vector<std::int64_t>& axes) {
  return graph_.opset("") >= 13 ? op(name, {value, integers(axes)})
                                : op(name, {value}, with({{"axes", axes}}));
}

std::optional<Value> ProgramBuilder::reshape(Value value, const Dims& from, const Dims& to) {
  if (from == to) return value;
  const auto target = reshape_target(from, to);
  return target ? std::optional(reshape(value, *target)) : std::nullopt;
}

Value ProgramBuilder::reduce(const std::string& op, Value value, std::int64_t axis) {
  const std::vector<std::int64_t> axes{axis};
  const std::int64_t drop = 0;
  const int since = op == "ReduceSum" ? 13 : 18;  // axes are an input
  if (graph_.opset("") >= since) return this->op(op, {value, integers(axes)}, with({{"keepdims", drop}}));
  return this->op(op, {value}, with({{"axes", axes}, {"keepdims", drop}}));
}

Value ProgramBuilder::made_or_input(const Graph& graph, Value value, const std::map<Value, Value>& made) {
  if (!value.exists()) return value;
  const auto at = made.find(value);
  return at != made.end() ? at->second : input(graph.name_of(value));
}

Value ProgramBuilder::transpose(Value value, const std::vector<std::int64_t>& order) {
  bool is_identity = true;
  for (std::size_t k = 0; k < order.size(); ++k) is_identity &= order[k] == static_cast<std::int64_t>(k);
  return is_identity ? value : op("Transpose", {value}, with({{"perm", order}}));
}

Value ProgramBuilder::concat(const std::vector<Value>& values, std::int64_t axis) {
  return values.size() == 1 ? values[0] : op("Concat", values, with({{"axis", axis}}));
}

Value ProgramBuilder::slice(Value value, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return op("Slice", {value, integers({begin}), integers({end}), integers({axis})});
}

std::vector<Value> ProgramBuilder::split(Value value, std::int64_t axis,
                                         const std::vector<std::int64_t>& sizes) {
  Node node;
  node.op = "Split";
  node.attributes.set("axis", axis);
  node.outputs.resize(sizes.size());
  std::vector<Value> inputs{value};
  if (graph_.opset("") >= 13) inputs.push_back(integers(sizes));
  else node.attributes.set("split", sizes);
  const Value first = copy(std::move(node), inputs);
  std::vector<Value> out;
  out.reserve(sizes.size());
  for (std::uint32_t k = 0; k < sizes.size(); ++k) out.push_back({first.node, k});
  return out;
}

Value ProgramBuilder::copy(Node node, const std::vector<Value>& inputs) {
  node.inputs = inputs;
  if (node.outputs.empty()) node.outputs = {""};
  for (std::string& output : node.outputs) output = fresh();
  node.name = node.outputs[0];
  node.extras.clear();
  return {graph_.add(std::move(node)), 0};
}

std::optional<std::vector<std::int64_t>> reshape_target(const Dims& from, const Dims& to) {
  std::vector<std::int64_t> out;
  int open = 0;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d].is_concrete()) out.push_back(to[d].concrete());
    else if (d < from.size() && from[d] == to[d]) out.push_back(0);
    else if (++open == 1) out.push_back(-1);
    else return std::nullopt;
  }
  return out;
}

std::vector<std::int64_t> inverse_order(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    out[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return out;
}

std::vector<std::int64_t> joined(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Attributes with(std::vector<std::pair<std::string, Attribute::Value>> list) {
  Attributes out;
  for (auto& [name, value] : list) out.set(std::move(name), std::move(value));
  return out;
}

}  // namespace isomer
