#include "compiler/loops/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/nth.h"
#include "compiler/loops/open_sizes.h"
#include "model/eval/program.h"
#include "model/graph/call.h"
#include "model/graph/constant.h"
#include "model/graph/flatten.h"
#include "model/graph/live_nodes.h"

namespace isomer::lower {
namespace {

// ": it needs n - 3 >= 0"; "" if that is too long to read.
std::string as_need(const Dim& condition) {
  constexpr std::size_t kReadable = 60;
  const std::string text = condition.text();
  return text.size() > kReadable ? "" : fmt::format(": it needs {} >= 0", text);
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Inference& inference, AxisNumbers& numbers, const Sizes& open)
      : graph_(graph), inference_(inference), numbers_(numbers) {
    plan_.sizes = open;
  }

  Result<Plan> run() {
    for (const Value& input : graph_.inputs()) {
      // A default is the caller's to give: a module has no optional inputs.
      ISOMER_TRY(const int buffer, add(input, Storage::Kind::Input));
      plan_.inputs.push_back({graph_.name_of(input), buffer});
    }
    const auto live = live_nodes(graph_);
    for (const NodeId id : graph_.order()) {
      if (!live.contains(id) || graph_.node(id).kind != NodeKind::Operator) continue;
      ISOMER_TRY_DO(lower_node(id));
    }
    for (const Value& output : graph_.outputs()) ISOMER_TRY_DO(put_out(output));
    return std::move(plan_);
  }

 private:
  int add(Storage storage) {
    storage.strides = row_major(storage.extents);
    storage.size = product(storage.extents);
    plan_.buffers.push_back(std::move(storage));
    return static_cast<int>(plan_.buffers.size()) - 1;
  }
  Result<int> add(Value value, Storage::Kind kind) {
    const ValueInfo& info = inference_.of(value);
    const auto extents = info.shape ? known(*info.shape) : std::nullopt;
    if (!extents || !is_computable(info.type))
      return Error{fmt::format("{}: {}", graph_.name_of(value),
                               extents ? "its type is not computed here" : "its size is not known"),
                   graph_.name_of(value)};
    const int buffer =
        add(Storage{.kind = kind, .name = graph_.name_of(value), .type = info.type, .extents = *extents});
    of_[value] = buffer;
    return buffer;
  }

  // Extents that are numbers, or are when sizes are given; nullopt: one of them is not.
  std::optional<Dims> known(const Dims& shape) const {
    Dims out;
    for (const Dim& extent : shape) {
      out.push_back(within(extent, plan_.sizes));
      if (unknown_size(out.back(), plan_.sizes)) return std::nullopt;
    }
    return out;
  }

  // The tensor of a value that is known before the model runs.
  std::optional<Tensor> constant(Value value) {
    if (const auto known = constants_.find(value); known != constants_.end()) return known->second;
    std::optional<Tensor> tensor = known_constant(graph_, value);
    if (!tensor) tensor = inference_.of(value).constant;
    const auto shape = concrete_shape(inference_.of(value));
    if (const auto& integers = inference_.of(value).integers; !tensor && integers && shape) {
      if (const auto numbers = concrete(*integers))
        tensor = convert(Tensor::of(ElementType::Int64, *shape, *numbers), inference_.of(value).type);
    }
    if (tensor) constants_.emplace(value, *tensor);
    return tensor;
  }
  Result<int> buffer_of(Value value) {
    if (const auto known = of_.find(value); known != of_.end()) return known->second;
    const auto tensor = constant(value);
    if (!tensor) return Error{fmt::format("{}: it is read before it is computed", graph_.name_of(value))};
    ISOMER_TRY(const int buffer, add(value, Storage::Kind::Weight));
    plan_.buffer(buffer).value = *tensor;
    return buffer;
  }

  Status lower_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (is_constant_node(node)) return Done{};
    bool is_known = true;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      is_known = is_known && (node.outputs[k].empty() || constant({id, k}));
    if (is_known) return Done{};
    const Definition definition = define_node(graph_, inference_, id);
    if (const auto* opaque = std::get_if<Opaque>(&definition))
      return Error{
          fmt::format("node '{}' ({}): {}; --as custom-op leaves it to ONNX Runtime and compiles the "
                      "rest",
                      label(node), node.op, opaque->reason),
          label(node)};
    if (const auto* invalid = std::get_if<Invalid>(&definition)) return error_of(node, *invalid);
    const Formula& formula = std::get<Formula>(definition);
    if (const auto condition = plan_.sizes.is_empty() ? std::nullopt : open_condition(formula, plan_.sizes))
      return Error{fmt::format("node '{}' ({}) does not run at every size{}; fix a size: --shape "
                               "INPUT=?x3x48x? leaves those open that are ?",
                               label(node), node.op, as_need(*condition)),
                   label(node)};
    ISOMER_TRY(const bool folded, fold(id, node, formula));
    return folded ? Status{Done{}} : stages_of(id, node, formula);
  }

  // Computes a node whose inputs are all known.
  Result<bool> fold(NodeId id, const Node& node, const Formula& formula) {
    const auto is_open = [](const Stage& s) { return !is_concrete(s.shape()); };
    if (std::ranges::any_of(formula.stages, is_open)) return false;
    std::vector<std::optional<Tensor>> inputs(formula.inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (k >= node.inputs.size() || !node.inputs[k].exists()) continue;
      inputs[k] = constant(node.inputs[k]);
      if (!inputs[k]) return false;
    }
    ISOMER_TRY(std::vector<Tensor> outputs, Program::compile(formula).run(inputs));
    for (std::uint32_t k = 0; k < outputs.size(); ++k) constants_[{id, k}] = std::move(outputs[k]);
    return true;
  }

  Status stages_of(NodeId id, const Node& node, const Formula& formula) {
    std::vector<int> inputs, stages;
    for (std::size_t k = 0; k < formula.inputs.size(); ++k) {
      inputs.push_back(-1);
      if (k >= node.inputs.size() || !node.inputs[k].exists()) continue;
      ISOMER_TRY(inputs.back(), buffer_of(node.inputs[k]));
    }
    for (std::size_t s = 0; s < formula.stages.size(); ++s) {
      const Stage& stage = formula.stages[s];
      const auto extents = known(stage.shape());
      if (!extents || (!plan_.sizes.is_empty() && unknown_size(stage.value, plan_.sizes)))
        return Error{fmt::format("{}: its size is not known", label(node)), label(node)};
      const auto output = std::ranges::find(formula.outputs, static_cast<int>(s));
      const auto number = static_cast<std::uint32_t>(output - formula.outputs.begin());
      const bool is_output = output != formula.outputs.end();
      const bool is_half = stage.type == ElementType::Float16 || stage.type == ElementType::BFloat16;
      Storage storage{.kind = Storage::Kind::Local,
                      .name = is_output && number < node.outputs.size()
                                  ? node.outputs[number]
                                  : fmt::format("{}.{}", label(node), s),
                      .type = is_half && !is_output ? ElementType::Float : stage.type,
                      .extents = *extents};
      stages.push_back(add(std::move(storage)));
      if (is_output) of_[{id, number}] = stages.back();
      plan_.nests.push_back(nest_of(node, stage, stages.back(), inputs, stages));
    }
    return Done{};
  }

  Nest nest_of(const Node& node, const Stage& stage, int target, const std::vector<int>& inputs,
               const std::vector<int>& stages) {
    Nest nest{.name = label(node), .target = target};
    AxisMap by;
    for (const Axis& a : stage.axes) {
      nest.axes.push_back(numbers_.make(within(a.extent, plan_.sizes)));
      by[a.id] = Index(nest.axes.back());
    }
    nest.at = to_indices(nest.axes);
    const Expr value = with_reads(stage.value, [&](const ExprNode& read) -> std::optional<Expr> {
      const bool is_input = read.tensor.kind == TensorRef::Kind::Input;
      ExprNode out = read;
      out.tensor = {.kind = TensorRef::Kind::Input,
                    .number = nth(is_input ? inputs : stages, read.tensor.number)};
      return Expr(std::make_shared<const ExprNode>(std::move(out)));
    });
    nest.value = with_axes(within(value, plan_.sizes), by, numbers_);
    return nest;
  }

  // Outputs have memory of their own, the caller's: what computes one writes there; all else is copied.
  Status put_out(Value output) {
    ISOMER_TRY(const int source, buffer_of(output));
    Storage& storage = plan_.buffer(source);
    if (storage.kind == Storage::Kind::Local) {
      storage.kind = Storage::Kind::Output;
      storage.name = graph_.name_of(output);
      plan_.outputs.push_back({graph_.name_of(output), source});
      return Done{};
    }
    Storage copy = storage;
    copy.kind = Storage::Kind::Output;
    copy.name = graph_.name_of(output);
    copy.value = {};
    Nest nest{.name = copy.name};
    for (const Dim& e : copy.extents) nest.axes.push_back(numbers_.make(e));
    nest.at = to_indices(nest.axes);
    nest.value = read({.kind = TensorRef::Kind::Input, .number = source}, copy.type, copy.extents, nest.at);
    nest.target = add(std::move(copy));
    plan_.outputs.push_back({graph_.name_of(output), nest.target});
    plan_.nests.push_back(std::move(nest));
    return Done{};
  }

  const Graph& graph_;
  const Inference& inference_;
  AxisNumbers& numbers_;
  Plan plan_;
  std::map<Value, int> of_;
  std::map<Value, Tensor> constants_;
};

}  // namespace

Result<Plan> lower_graph(const Graph& graph, const InferOptions& given, AxisNumbers& numbers,
                         const Sizes& open) {
  const InferOptions sizes = open.is_empty() ? given : within_sizes(given);
  ISOMER_TRY(Graph flat, flatten(graph, sizes));
  if (!open.is_empty()) {
    ISOMER_TRY(const Inference declared, infer(flat, sizes));
    flat = with_steps(flat, declared, open);
  }
  ISOMER_TRY(const Inference inference, infer(flat, sizes));
  return Lowering(flat, inference, numbers, open).run();
}

Status check_open(const Graph& graph) {
  AxisNumbers numbers;
  ISOMER_TRY(const Sizes sizes, open_sizes(graph, {}));
  const auto plan = lower_graph(graph, {}, numbers, sizes);
  return plan.ok() ? Status(Done{}) : Status(plan.error());
}

}  // namespace isomer::lower
