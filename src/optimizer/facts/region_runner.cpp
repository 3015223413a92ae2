#include "optimizer/facts/region_runner.h"

#include <algorithm>

#include "kernel/prove/shrink.h"
#include "kernel/prove/step.h"
#include "model/graph/constant.h"
#include "model/graph/interpret.h"
#include "model/graph/node_attributes.h"
#include "optimizer/facts/repeated_constant.h"

namespace isomer {
namespace {

// Numbers for the named sizes: different ones, that may be halved.
constexpr std::int64_t kSizeUnit = 32;

bool has_target(const Node& node) {
  return node.kind == NodeKind::Operator && node.domain.empty() &&
         (node.op == "Reshape" || node.op == "Expand");
}

// A program's nodes that depend on its input, in order.
std::vector<NodeId> working_nodes(const Graph& program) {
  const auto constants = constant_values(program);
  std::vector<NodeId> out;
  for (const NodeId id : program.order())
    if (program.node(id).kind == NodeKind::Operator && !constants.contains({id, 0})) out.push_back(id);
  return out;
}

// A Reshape's target if axes of its input change: the axis of the output that holds the changed one changes
// with it; if several make it up, the first.
std::optional<Extents> reshaped(const Extents& from, const Extents& changed, const Extents& to) {
  Extents out = to, stride(to.size(), 1);
  for (std::size_t j = to.size(); j-- > 1;) stride[j - 1] = stride[j] * to[j];
  std::int64_t inner = 1;  // elements behind the axis
  for (std::size_t i = from.size(); i-- > 0; inner *= from[i]) {
    if (from[i] == changed[i]) continue;
    const std::int64_t outer = inner * from[i];
    std::optional<std::size_t> place;
    // A batch of one that grows: it may be hidden in an axis (1·64), and come out of it again.
    for (std::size_t j = 0; j < to.size() && changed[i] % from[i] == 0 && !place; ++j)
      if (to[j] == 1 && stride[j] == outer) place = j;
    for (std::size_t j = 0; j < to.size() && !place; ++j)
      if (stride[j] <= inner && outer <= stride[j] * to[j]) place = j;
    for (std::size_t j = 0; j < to.size() && !place; ++j)
      if (stride[j] < outer && outer == stride[j] * to[j]) place = j;  // it is split
    if (!place || (out[*place] * changed[i]) % from[i] != 0) return std::nullopt;
    out[*place] = out[*place] * changed[i] / from[i];
  }
  return out;
}

}  // namespace

std::optional<Extents> sizes_in(const Inference& inference, Value v) {
  return concrete_shape(inference.of(v));
}

std::optional<RegionRunner> RegionRunner::of(const Graph& graph, const Inference& inference,
                                             const LinearRegion& region) {
  const auto program = region_of(graph, inference, {region.input}, {region.output});
  if (!program.ok()) return std::nullopt;
  Sizes sizes;
  std::int64_t next = 1;
  for (const std::string& s : symbols_of(*program)) {
    sizes[s] = kSizeUnit * next;
    next += 2;
  }
  RegionRunner out;
  out.program_ = at_sizes(*program, sizes);
  auto info = infer(out.program_);
  if (!info.ok() || out.program_.inputs().size() != 1) return std::nullopt;
  out.inference_ = std::move(*info);
  out.region_ = {.nodes = working_nodes(out.program_),
                 .input = out.program_.inputs()[0],
                 .output = out.program_.outputs()[0],
                 .affine = region.affine};
  const auto x = sizes_in(out.inference_, out.region_.input);
  if (!x || !sizes_in(out.inference_, out.region_.output)) return std::nullopt;
  out.input_ = *x;
  return out;
}

std::optional<std::vector<std::int64_t>> RegionRunner::new_target(NodeId id, const Extents& input) const {
  const Node& node = program_.node(id);
  const auto from = sizes_in(inference_, node.inputs[0]), to = sizes_in(inference_, {id, 0});
  if (!from || !to || from->size() != input.size()) return std::nullopt;
  if (node.op == "Reshape") return reshaped(*from, input, *to);
  Extents out = *to;  // Expand: what is as long already follows
  const std::size_t missing = out.size() - from->size();
  for (std::size_t d = 0; d < from->size(); ++d)
    if ((*from)[d] == out[d + missing]) out[d + missing] = 1;
  return out;
}

std::optional<RegionRunner> RegionRunner::at(const Extents& input) const {
  RegionRunner out;
  out.input_ = input;
  Graph& program = out.program_;
  program = program_.without_nodes();
  std::map<NodeId, NodeId> moved;
  const auto moved_value = [&](Value v) { return v.exists() ? Value{moved.at(v.node), v.output} : v; };
  for (const NodeId id : program_.order()) {
    Node node = program_.node(id);
    for (Value& v : node.inputs) v = moved_value(v);
    if (id == region_.input.node)
      node.declared.shape = std::vector<std::optional<Dim>>(input.begin(), input.end());
    const bool works = std::ranges::find(region_.nodes, id) != region_.nodes.end();
    std::optional<std::vector<std::int64_t>> target;
    if (works && has_target(node)) {
      // How large its input is by now.
      Graph so_far = program;
      so_far.add_output(node.inputs[0]);
      const auto info = infer(so_far);
      const auto x = info.ok() ? sizes_in(*info, node.inputs[0]) : std::nullopt;
      target = x ? new_target(id, *x) : std::nullopt;
      if (!target) return std::nullopt;
      Node constant;
      constant.kind = NodeKind::Initializer;
      constant.outputs = {program_.name_of({id, 0}) + ".target"};
      constant.tensor = Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(target->size())}, *target);
      node.inputs[1] = {program.add(std::move(constant)), 0};
    }
    const bool is_input = node.kind == NodeKind::Input;
    moved.emplace(id, program.add(std::move(node)));
    if (is_input) program.add_input({moved.at(id), 0});
    if (works) out.region_.nodes.push_back(moved.at(id));
    if (target) out.targets_.emplace(moved.at(id), *target);
  }
  program.add_output(moved_value(region_.output));
  auto info = infer(program);
  if (!info.ok()) return std::nullopt;
  out.inference_ = std::move(*info);
  out.region_.input = moved_value(region_.input);
  out.region_.output = moved_value(region_.output);
  out.region_.affine = region_.affine;
  if (!sizes_in(out.inference_, out.region_.output)) return std::nullopt;
  return out;
}

namespace {

// The number of the operand that is one number, if the node multiplies or divides by it.
std::optional<std::size_t> factor_of(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || (node.op != "Mul" && node.op != "Div")) return std::nullopt;
  for (const std::size_t k : {1, 0}) {
    const auto number = known_constant(graph, node.inputs[k]);
    if (number && number->count() == 1 && number->rank() <= 1 && (k == 1 || node.op == "Mul")) return k;
  }
  return std::nullopt;
}

}  // namespace

RegionRunner::Selected RegionRunner::selected(const std::vector<std::int64_t>& places) const {
  // The impulses' numbers as the nodes move them, factors left out.
  Graph moving = program_.without_nodes();
  std::map<Value, Value> made;
  std::map<Value, std::vector<NodeId>> factors{{region_.input, {}}};
  std::map<std::size_t, Value> products;
  for (const NodeId id : program_.order()) {
    Node node = program_.node(id);
    const bool works = std::ranges::find(region_.nodes, id) != region_.nodes.end();
    const auto factor = works ? factor_of(program_, node) : std::nullopt;
    const Value from = !works ? Value::none() : factor ? node.inputs[1 - *factor] : node.inputs[0];
    const auto known = factors.find(from);
    if (works && (known == factors.end() || node.outputs.size() != 1)) continue;
    if (works && factor) {
      made.emplace(Value{id, 0}, made.at(from));
      auto more = known->second;
      more.push_back(id);
      factors.emplace(Value{id, 0}, std::move(more));
      continue;
    }
    if (works && is_plain_product(node)) {
      const auto at = std::ranges::find(region_.nodes, id) - region_.nodes.begin();
      const auto weights = sizes_in(inference_, node.inputs[1]);
      if (weights && weights->size() == 2 && !made.contains(node.inputs[1]))
        products.emplace(static_cast<std::size_t>(at), from);
      continue;
    }
    if (works) {
      const Definition definition = define_node(program_, inference_, id);
      const auto* formula = std::get_if<Formula>(&definition);
      const bool moves = formula != nullptr && moves_data(*formula->output(0).value);
      const auto is_made = [&](Value v) { return !v.exists() || made.contains(v); };
      if (!moves || !std::ranges::all_of(node.inputs, is_made)) continue;
      factors.emplace(Value{id, 0}, known->second);
    }
    for (Value& v : node.inputs)
      if (v.exists()) v = made.at(v);
    const NodeId copy = moving.add(std::move(node));
    for (std::uint32_t k = 0; k < program_.node(id).outputs.size(); ++k) made[{id, k}] = {copy, k};
  }
  moving.add_input(made.at(region_.input));
  std::vector<float> numbers(static_cast<std::size_t>(element_count(input_).value_or(0)), 0);
  for (std::size_t r = 0; r < places.size(); ++r)
    numbers[static_cast<std::size_t>(places[r])] = static_cast<float>(r + 1);
  const NamedTensors feeds{
      {program_.name_of(region_.input), Tensor::of(ElementType::Float, input_, numbers)}};
  Selected out;
  for (const auto& [product, from] : products) {
    Graph one = moving;
    one.add_output(made.at(from));
    const auto outcome = interpret(one, feeds);
    if (!outcome.ok() || outcome->opaque) continue;
    const auto moved = outcome->outputs.begin()->second.doubles();
    if (!moved || moved->size() != places.size()) continue;
    Selection selection{.rows = std::vector<std::int64_t>(places.size(), -1), .factors = factors.at(from)};
    for (std::size_t k = 0; k < moved->size(); ++k)
      if ((*moved)[k] >= 1)
        selection.rows[static_cast<std::size_t>((*moved)[k]) - 1] = static_cast<std::int64_t>(k);
    if (std::ranges::count(selection.rows, -1) == 0) out.emplace(product, std::move(selection));
  }
  return out;
}

std::optional<RegionRunner::Shifts> RegionRunner::shifts() const {
  Shifts out;
  for (const NodeId id : region_.nodes) {
    const Node& node = program_.node(id);
    const Definition definition = define_node(program_, inference_, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) return std::nullopt;
    const auto is = [&](Linearity wanted, const std::set<int>& inputs) {
      for (int k = 0; k < static_cast<int>(formula->outputs.size()); ++k)
        if (linearity(*formula, k, inputs) == wanted) return true;
      return false;
    };
    std::set<int> linear;
    std::vector<int> constants;
    for (std::size_t k = 0; k < node.inputs.size() && k < formula->inputs.size(); ++k) {
      const Value v = node.inputs[k];
      if (!v.exists() || !formula->inputs[k]) continue;
      const bool works =
          v == region_.input || std::ranges::find(region_.nodes, v.node) != region_.nodes.end();
      if (works) linear.insert(static_cast<int>(k));
      else if (formula->inputs[k]->type == ElementType::Float && sizes_in(inference_, v))
        constants.push_back(static_cast<int>(k));
    }
    if (!is(Linearity::Affine, linear)) continue;
    for (const int k : constants) {
      std::set<int> more = linear;
      more.insert(k);
      if (is(Linearity::Nonlinear, more)) continue;
      linear = std::move(more);
      out.emplace(id, static_cast<std::size_t>(k));
    }
    if (is(Linearity::Affine, linear)) return std::nullopt;
  }
  return out;
}

Value RegionRunner::weights_of(ProgramBuilder& b, NodeId product, const Selection& selection,
                               const Shifts& zeros) const {
  const Node& node = program_.node(product);
  Value out = b.input(program_.name_of(node.inputs[1]));
  if (has_transposed_weights(node)) out = b.transpose(out, {1, 0});
  if (!std::ranges::is_sorted(selection.rows)) out = b.op("Gather", {out, b.integers(selection.rows)});
  for (const NodeId id : selection.factors) {
    const Node& factor = program_.node(id);
    out = b.op(factor.op, {out, b.input(program_.name_of(factor.inputs[*factor_of(program_, factor)]))});
  }
  if (node.op == "Gemm" && node.inputs.size() > 2 && node.inputs[2].exists() && !zeros.contains({product, 2}))
    out = b.op("Add", {out, b.input(program_.name_of(node.inputs[2]))});
  return node.op == "Gemm" ? out : b.reshape(out, *sizes_in(inference_, {product, 0}));
}

Value RegionRunner::run(ProgramBuilder& b, Value input, const Selected& selected, const Shifts& zeros) const {
  // The nodes that the output needs, except those that only move impulses to products.
  std::set<NodeId> needed{region_.output.node};
  for (std::size_t k = region_.nodes.size(); k-- > 0;)
    if (needed.contains(region_.nodes[k]) && !selected.contains(k))
      for (const Value& v : program_.node(region_.nodes[k]).inputs)
        if (v.exists()) needed.insert(v.node);
  std::map<Value, Value> made{{region_.input, input}};
  const auto value_of = [&](Value v) {
    const auto constant = v.exists() && !made.contains(v) ? known_constant(program_, v) : std::nullopt;
    if (constant)
      if (const auto expanded = as_expanded(b, b.input(program_.name_of(v)), *constant))
        return made.emplace(v, *expanded).first->second;
    return b.made_or_input(program_, v, made);
  };
  for (std::size_t k = 0; k < region_.nodes.size(); ++k) {
    const NodeId id = region_.nodes[k];
    const Node& node = program_.node(id);
    if (!needed.contains(id)) continue;
    if (const auto known = selected.find(k); known != selected.end()) {
      made.emplace(Value{id, 0}, weights_of(b, id, known->second, zeros));
      continue;
    }
    const auto target = targets_.find(id);
    std::vector<Value> inputs;
    for (const Value& v : node.inputs) {
      if (zeros.contains({id, inputs.size()})) inputs.push_back(b.zeros(*sizes_in(inference_, v)));
      else if (target != targets_.end() && inputs.size() == 1) inputs.push_back(b.integers(target->second));
      else inputs.push_back(value_of(v));
    }
    const Value first = b.copy(node, inputs);
    for (std::uint32_t o = 0; o < node.outputs.size(); ++o) made.emplace(Value{id, o}, Value{first.node, o});
  }
  return made.at(region_.output);
}

}  // namespace isomer
