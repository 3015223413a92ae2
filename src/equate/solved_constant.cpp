#include "equate/solved_constant.h"

#include <algorithm>
#include <map>
#include <optional>

#include "kernel/prove/value_numbers.h"
#include "model/graph/constant.h"
#include "model/graph/infer.h"
#include "optimizer/facts/impulse_response.h"
#include "optimizer/facts/site.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostElements = 1 << 25;  // of all impulses together

// The second program: an operator that is linear in its activation, and what is added to it.
struct Linear {
  const Node* node = nullptr;
  Value input;  // an input of the program
  std::optional<Tensor> weight, bias;
};

std::optional<Tensor> float_constant(const Graph& graph, Value v) {
  if (!v.exists()) return std::nullopt;
  auto tensor = known_constant(graph, v);
  return tensor && tensor->type() == ElementType::Float ? tensor : std::nullopt;
}

bool is_input(const Graph& graph, Value v) {
  return v.exists() && graph.node(v.node).kind == NodeKind::Input;
}

bool is_op(const Node& node, std::string_view op) {
  return node.kind == NodeKind::Operator && node.domain.empty() && node.op == op;
}

std::optional<Linear> read_linear(const Graph& b) {
  Linear out;
  const Node* node = &b.node(b.outputs()[0].node);
  // A sum with a constant, unless that is all there is.
  if (is_op(*node, "Add"))
    for (const std::size_t k : {0u, 1u}) {
      const auto bias = float_constant(b, node->inputs[k]);
      if (!bias) continue;
      out.bias = bias;
      const Value rest = node->inputs[1 - k];
      if (is_input(b, rest)) {
        out.node = node;
        out.input = rest;
        return out;
      }
      node = &b.node(rest.node);
      break;
    }
  if (node->kind != NodeKind::Operator || !node->domain.empty()) return std::nullopt;
  out.node = node;
  if (node->op == "Mul") {
    for (const std::size_t k : {0u, 1u})
      if (const auto weight = float_constant(b, node->inputs[k]);
          weight && is_input(b, node->inputs[1 - k])) {
        out.weight = weight;
        out.input = node->inputs[1 - k];
        return out;
      }
    return std::nullopt;
  }
  if (node->op != "Conv" && node->op != "MatMul" && node->op != "Gemm") return std::nullopt;
  out.weight = float_constant(b, node->inputs[1]);
  out.input = node->inputs[0];
  if (!out.weight || !is_input(b, out.input)) return std::nullopt;
  if (node->inputs.size() > 2 && node->inputs[2].exists()) {
    if (out.bias) return std::nullopt;
    out.bias = float_constant(b, node->inputs[2]);
    if (!out.bias) return std::nullopt;
  }
  return out;
}

// Runs the first program on tensors of the solver's choice.
class Solver {
 public:
  Solver(const Graph& a, std::string input) : a_(a), input_(std::move(input)), b_(a.opsets, "solved.") {}

  // All other inputs, and whatever else a program can't have, rule it out.
  bool can_run() const {
    bool found = false;
    for (const NodeId id : a_.order()) {
      const Node& node = a_.node(id);
      if (node.kind != NodeKind::Input) continue;
      if (node.outputs[0] != input_ || node.declared.type != ElementType::Float) return false;
      found = true;
    }
    return found;
  }

  // The program at zero, of whatever inputs, with one of its constants left out; nullopt: it has inputs that
  // are no floats of known rank.
  std::optional<Value> at_zero(const Graph& graph, const std::optional<Tensor>& left_out) {
    std::map<NodeId, NodeId> moved;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::Operator) {
        std::vector<Value> inputs = node.inputs;
        for (Value& v : inputs)
          if (v.exists()) v.node = moved.at(v.node);
        moved.emplace(id, b_.copy(node, inputs).node);
      } else if (node.kind == NodeKind::Initializer) {
        const bool is_it = left_out && node.tensor.same_bits(*left_out);
        moved.emplace(id, (is_it ? filled(node.tensor.extents(), 0) : b_.constant(node.tensor)).node);
      } else {
        if (!node.declared.shape || node.declared.type != ElementType::Float) return std::nullopt;
        Extents shape;
        for (const auto& d : *node.declared.shape) shape.push_back(d && d->is_concrete() ? d->concrete() : 1);
        moved.emplace(id, filled(shape, 0).node);
      }
    }
    const Value y = graph.outputs()[0];
    return Value{moved.at(y.node), y.output};
  }

  Value run(Value x, const Impulses* impulses = nullptr) {
    std::map<NodeId, NodeId> moved;
    for (const NodeId id : a_.order()) {
      const Node& node = a_.node(id);
      if (node.kind == NodeKind::Input) {
        moved.emplace(id, x.node);
      } else if (node.kind == NodeKind::Initializer) {
        if (!constants_.contains(id)) constants_.emplace(id, b_.constant(node.tensor).node);
        moved.emplace(id, constants_.at(id));
      } else {
        std::vector<Value> inputs = node.inputs;
        for (Value& v : inputs)
          if (v.exists()) v.node = moved.at(v.node);
        std::optional<Value> quick;
        if (impulses != nullptr && inputs.size() > 1 && inputs[0] == x)
          quick = response(node, inputs, *impulses);
        moved.emplace(id, quick ? quick->node : b_.copy(node, inputs).node);
      }
    }
    const Value y = a_.outputs()[0];
    return {moved.at(y.node), y.output};
  }

  std::optional<Extents> extents(Value v) const {
    const auto info = infer(b_.graph());
    return info.ok() ? concrete_shape(info->of(v)) : std::nullopt;
  }

  Value filled(const Extents& shape, float value) {
    const Tensor one = Tensor::of(ElementType::Float, {1}, std::vector<float>{value});
    return b_.op("ConstantOfShape", {b_.integers(shape)}, with({{"value", one}}));
  }

  std::optional<SolvedConstant> finish(Value v, const Tensor& stored) {
    const auto shape = extents(v);
    if (!shape) return std::nullopt;
    std::int64_t count = 1;
    for (const std::int64_t e : *shape) count *= e;
    if (count != stored.count()) return std::nullopt;
    if (*shape != stored.extents()) v = b_.op("Reshape", {v, b_.integers(stored.extents())});
    Graph program = only_needed(v);
    return SolvedConstant{stored, std::move(program)};
  }

  // The position (0, ..., 0) of the axes that the constant does not have.
  std::optional<Value> at_origin(Value v, const Tensor& like) {
    const auto shape = extents(v);
    if (!shape || shape->size() < like.extents().size()) return std::nullopt;
    const std::size_t more = shape->size() - like.extents().size();
    std::vector<std::int64_t> low, high, axes;
    for (std::size_t d = 0; d < shape->size(); ++d) {
      const bool is_whole = d >= more && like.extents()[d - more] == (*shape)[d];
      low.push_back(0);
      high.push_back(is_whole ? (*shape)[d] : 1);
      axes.push_back(static_cast<std::int64_t>(d));
    }
    return b_.op("Slice", {v, b_.integers(low), b_.integers(high), b_.integers(axes)});
  }

  ProgramBuilder& builder() { return b_; }

 private:
  // The response of a convolution or a product to impulses is its own weights, moved. Without spatial axes
  // the impulses are the rows of a unit matrix.
  std::optional<Value> response(const Node& node, const std::vector<Value>& inputs,
                                const Impulses& impulses) {
    if (!inputs[1].exists()) return std::nullopt;
    const Node& weights = b_.graph().node(inputs[1].node);
    if (weights.kind != NodeKind::Initializer) return std::nullopt;
    const Extents k = weights.tensor.extents();
    if (impulses.spatial.empty()) {
      if (!is_op(node, "MatMul") || k.size() != 2 || k[0] != impulses.rows) return std::nullopt;
      return b_.op("Identity", {inputs[1]});
    }
    const auto* auto_pad = node.attributes.find_as<std::string>("auto_pad");
    const std::size_t d = impulses.spatial.size();
    if (!is_op(node, "Conv") || (auto_pad != nullptr && *auto_pad != "NOTSET") || k.size() != d + 2 ||
        attribute(node, "group", std::int64_t{1}) != impulses.groups || k[1] != impulses.rows)
      return std::nullopt;
    for (const std::int64_t dilation : attribute(node, "dilations", Extents(d, 1)))
      if (dilation != 1) return std::nullopt;
    const auto stride = attribute(node, "strides", Extents(d, 1)),
               pads = attribute(node, "pads", Extents(2 * d, 0));
    std::vector<std::int64_t> swap{1, 0};
    for (std::size_t i = 0; i < d; ++i) swap.push_back(static_cast<std::int64_t>(i + 2));
    const Value turned = b_.op("Transpose", {inputs[1]}, with({{"perm", swap}}));
    std::vector<Value> parts;
    for (std::int64_t phase = 0; phase < impulses.phases(); ++phase) {
      const Extents place = impulses.place_of(phase);
      std::vector<std::int64_t> start(d), end(d), axes(d), step(d), before(d), after(d);
      for (std::size_t i = 0; i < d; ++i) {
        const std::int64_t reach = impulses.spatial[i] + pads[i] + pads[i + d] - k[i + 2];
        const std::int64_t out = reach / stride[i] + 1, seen = place[i] + pads[i];
        // Position p sees the impulse through tap seen - stride·p.
        std::int64_t first = std::max<std::int64_t>(0, (seen - k[i + 2] + stride[i]) / stride[i]);
        const std::int64_t last = std::min(out - 1, seen / stride[i]);
        if (reach < 0 || seen < 0 || first > last) return std::nullopt;
        axes[i] = static_cast<std::int64_t>(i + 2);
        step[i] = -stride[i];
        start[i] = seen - stride[i] * first;
        end[i] = seen - stride[i] * last - 1;
        if (end[i] < 0) end[i] = -k[i + 2] - 1;
        before[i] = first;
        after[i] = out - 1 - last;
      }
      const Value cut = b_.op(
          "Slice", {turned, b_.integers(start), b_.integers(end), b_.integers(axes), b_.integers(step)});
      parts.push_back(
          b_.op("Pad", {cut, b_.integers(joined(joined({0, 0}, before), joined({0, 0}, after)))}));
    }
    Value all = parts.size() == 1 ? parts[0] : b_.op("Concat", parts, with({{"axis", std::int64_t{0}}}));
    if (inputs.size() > 2 && inputs[2].exists())
      all = b_.op("Add", {all, b_.op("Reshape", {inputs[2], b_.integers(joined({1, k[0]}, Extents(d, 1)))})});
    return all;
  }

  Graph only_needed(Value v) const {
    Graph whole = b_.graph();
    whole.add_output(v);
    const std::set<NodeId> wanted = needed_nodes(whole);
    Graph out = whole.without_nodes();
    for (const NodeId id : whole.order())
      if (wanted.contains(id)) out.add(id);
    out.add_output(v);
    return out;
  }

  const Graph& a_;
  std::string input_;
  ProgramBuilder b_;
  std::map<NodeId, NodeId> constants_;
};

using Answers = std::vector<SolvedConstant>;

void add(Answers& out, std::optional<SolvedConstant> answer) {
  if (answer) out.push_back(std::move(*answer));
}

Answers solve_convolution(const Graph& a, const std::string& input, const Linear& linear) {
  const Extents& k = linear.weight->extents();
  const std::size_t d = k.size() - 2;
  const auto* auto_pad = linear.node->attributes.find_as<std::string>("auto_pad");
  if (auto_pad != nullptr && *auto_pad != "NOTSET" && *auto_pad != "VALID") return {};
  const auto dilation = attribute(*linear.node, "dilations", Extents(d, 1));
  const auto pads = attribute(*linear.node, "pads", Extents(2 * d, 0));
  Impulses impulses{.rows = k[1],
                    .groups = attribute(*linear.node, "group", std::int64_t{1}),
                    .stride = attribute(*linear.node, "strides", Extents(d, 1)),
                    .spatial = Extents(d),
                    .place = Extents(d)};
  std::int64_t elements = impulses.phases() * impulses.rows * impulses.channels();
  for (std::size_t i = 0; i < d; ++i) {
    const std::int64_t reach = dilation[i] * (k[i + 2] - 1) + 1;
    impulses.place[i] = reach - 1;
    impulses.spatial[i] = 2 * reach - 2 + impulses.stride[i];
    elements *= impulses.spatial[i];
  }
  if (elements > kMostElements) return {};
  Solver solver(a, input);
  if (!solver.can_run()) return {};
  ProgramBuilder& b = solver.builder();
  const Value all = impulse_images(b, impulses);
  const Value zero = solver.run(solver.filled(joined({1, impulses.channels()}, impulses.spatial), 0));
  const Value answer = b.op("Sub", {solver.run(all, &impulses), zero});
  const auto out = solver.extents(answer);
  if (!out || out->size() != d + 2 || (*out)[0] != impulses.phases() * impulses.rows || (*out)[1] != k[0])
    return {};
  Answers answers;
  if (linear.bias) add(answers, solver.finish(middle_of(b, zero, *out), *linear.bias));
  const auto kernel = kernel_from(b, impulses, answer, *out, {k.begin() + 2, k.end()},
                                  {pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(d)}, dilation);
  if (kernel) add(answers, solver.finish(*kernel, *linear.weight));
  return answers;
}

// y[..., j] = Σ_k x[..., k] M[k, j]: the first program applied to the unit matrix.
Answers solve_matrix(const Graph& a, const std::string& input, const Linear& linear, std::size_t rank) {
  if (linear.weight->rank() != 2 || rank < 2) return {};
  const bool is_turned = has_transposed_weights(*linear.node);
  const std::int64_t rows = linear.weight->extents()[is_turned ? 1 : 0];
  if (rows * rows > kMostElements) return {};
  Solver solver(a, input);
  if (!solver.can_run()) return {};
  ProgramBuilder& b = solver.builder();
  Extents shape(rank, 1), one(rank, 1);
  shape[rank - 2] = shape[rank - 1] = one[rank - 1] = rows;
  const Value eye = b.eye(rows);
  const Value zero = solver.run(solver.filled(one, 0));
  const Impulses where{.rows = rows};
  const Value x = rank == 2 ? eye : b.op("Reshape", {eye, b.integers(shape)});
  Value answer = b.op("Sub", {solver.run(x, &where), zero});
  Answers answers;
  if (linear.bias) add(answers, solver.finish(zero, *linear.bias));
  if (is_turned) {
    answer = b.op("Reshape", {answer, b.integers({rows, linear.weight->extents()[0]})});
    answer = b.op("Transpose", {answer}, with({{"perm", std::vector<std::int64_t>{1, 0}}}));
  }
  add(answers, solver.finish(answer, *linear.weight));
  return answers;
}

// y = x · K + c, each at its own position.
Answers solve_scale(const Graph& a, const std::string& input, const Linear& linear, const Extents& shape) {
  Solver solver(a, input);
  if (!solver.can_run()) return {};
  ProgramBuilder& b = solver.builder();
  const Value zero = solver.run(solver.filled(shape, 0));
  Answers answers;
  if (linear.bias)
    if (const auto v = solver.at_origin(zero, *linear.bias)) add(answers, solver.finish(*v, *linear.bias));
  if (linear.weight) {
    const Value scale = b.op("Sub", {solver.run(solver.filled(shape, 1)), zero});
    if (const auto v = solver.at_origin(scale, *linear.weight))
      add(answers, solver.finish(*v, *linear.weight));
  }
  return answers;
}

}  // namespace

std::vector<SolvedConstant> solved_shift(const Graph& a, const Graph& b, const std::vector<Tensor>& unknown) {
  std::optional<Tensor> shift;
  std::size_t channel = 0;  // the axis that a convolution's bias is of
  // Through sums, from the end.
  std::vector<Value> open{b.outputs()[0]};
  while (!open.empty() && !shift) {
    const Node& node = b.node(open.back().node);
    open.pop_back();
    const bool is_sum = is_op(node, "Add");
    const bool has_bias = (is_op(node, "Conv") || is_op(node, "Gemm")) && node.inputs.size() > 2;
    for (std::size_t k = has_bias ? 2 : 0; (is_sum || has_bias) && k < node.inputs.size(); ++k) {
      const auto tensor = float_constant(b, node.inputs[k]);
      if (tensor && std::ranges::any_of(unknown, [&](const Tensor& u) { return u.same_bits(*tensor); })) {
        shift = tensor;
        channel = is_op(node, "Conv") ? 1 : 0;
      }
      if (is_sum && node.inputs[k].exists()) open.push_back(node.inputs[k]);
    }
  }
  if (!shift) return {};
  Solver solver(a, "");
  ProgramBuilder& builder = solver.builder();
  const auto x = solver.at_zero(a, std::nullopt), y = solver.at_zero(b, shift);
  if (!x || !y) return {};
  const Value difference = builder.op("Sub", {*x, *y});
  std::optional<Value> found;
  if (channel == 0) {
    found = solver.at_origin(difference, *shift);
  } else if (const auto shape = solver.extents(difference)) {
    Extents low(shape->size(), 0), high(shape->size(), 1), axes(shape->size());
    for (std::size_t d = 0; d < axes.size(); ++d) axes[d] = static_cast<std::int64_t>(d);
    // Padding does not reach the middle.
    for (std::size_t d = 2; d < axes.size(); ++d) low[d] = (*shape)[d] / 2, high[d] = low[d] + 1;
    high[channel] = (*shape)[channel];
    found = builder.op("Slice",
                       {difference, builder.integers(low), builder.integers(high), builder.integers(axes)});
  }
  Answers answers;
  if (found) add(answers, solver.finish(*found, *shift));
  return answers;
}

std::vector<SolvedConstant> solved_constants(const Graph& a, const Graph& b) {
  const auto linear = read_linear(b);
  if (!linear) return {};
  const std::string& input = b.name_of(linear->input);
  const auto& declared = b.node(linear->input.node).declared.shape;
  if (!declared) return {};
  if (linear->node->op == "Conv") return solve_convolution(a, input, *linear);
  if (linear->node->op == "MatMul" || linear->node->op == "Gemm")
    return solve_matrix(a, input, *linear, declared->size());
  Extents shape;
  for (const auto& d : *declared) shape.push_back(d && d->is_concrete() ? d->concrete() : 1);
  return solve_scale(a, input, *linear, shape);
}

}  // namespace isomer
