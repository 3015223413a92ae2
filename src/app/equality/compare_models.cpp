#include "app/equality/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/inputs/opened_model.h"
#include "model/graph/interpret.h"
#include "model/graph/names.h"
#include "runtime/judge/scratch_model.h"

namespace isomer {
namespace {

Result<NamedTensors> outputs_of(const ComparedModel& of, const NamedTensors& feeds) {
  if (of.judge) {
    auto outputs = of.judge->run(of.source, feeds, of.runtime);
    if (!outputs) return to_error(outputs.error());
    return std::move(*outputs);
  }
  ISOMER_TRY(RunOutcome outcome, interpret(of.model.graph, feeds, Arithmetic::Native));
  if (outcome.opaque)
    return Error{fmt::format("{} is not modelled here: {}", outcome.opaque->op, outcome.opaque->reason)};
  return std::move(outcome.outputs);
}

ComparedValue compared(const CompareRequest& request, std::string a, std::string b, const Tensor& of_a,
                       const Tensor& of_b) {
  ComparedValue out{std::move(a), std::move(b), of_a.type(), difference(of_a, of_b)};
  const double tolerance = request.tolerance.value_or(usual_tolerance(out.type));
  out.is_apart = !out.difference.misfit.empty() || out.difference.of_scale > tolerance;
  return out;
}

Result<std::vector<ComparedValue>> compare_outputs(const CompareRequest& request, const NamedTensors& of_a,
                                                   const NamedTensors& of_b) {
  const Graph &a = request.a.model.graph, &b = request.b.model.graph;
  if (a.outputs().size() != b.outputs().size())
    return Error{
        fmt::format("the first model has {} outputs, the second {}", a.outputs().size(), b.outputs().size())};
  std::vector<ComparedValue> out;
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const std::string &x = a.name_of(a.outputs()[k]), &y = b.name_of(b.outputs()[k]);
    const auto at = of_a.find(x), other = of_b.find(y);
    if (at == of_a.end() || other == of_b.end()) return Error{fmt::format("output '{}' is no tensor", x)};
    out.push_back(compared(request, x, y, at->second, other->second));
  }
  return out;
}

// Values that both models compute under one name.
std::set<std::string> common_values(const Graph& a, const Graph& b) {
  const ValuesByName of_b = values_by_name(b);
  std::set<std::string> common;
  for (const auto& [name, value] : values_by_name(a))
    if (const auto at = of_b.find(name); at != of_b.end() && a.node(value.node).kind == NodeKind::Operator &&
                                         b.node(at->second.node).kind == NodeKind::Operator)
      common.insert(name);
  return common;
}

Result<std::optional<ComparedValue>> first_parting(const CompareRequest& request) {
  const std::set<std::string> common = common_values(request.a.model.graph, request.b.model.graph);
  NamedTensors values[2];
  const ComparedModel* sides[] = {&request.a, &request.b};
  for (const int k : {0, 1}) {
    const ComparedModel& side = *sides[k];
    const auto opened = opened_model(side.model, request.feeds, common);
    if (!opened) return std::optional<ComparedValue>();
    ISOMER_TRY(const ScratchModel file, ScratchModel::write(*opened, request.scratch));
    auto run = outputs_of({*opened, file.source(), side.judge, side.runtime}, request.feeds);
    if (!run.ok()) return std::optional<ComparedValue>();
    values[k] = std::move(*run);
  }
  const Graph& a = request.a.model.graph;
  for (const NodeId id : a.order())
    for (const std::string& name : a.node(id).outputs) {
      const auto x = values[0].find(name), y = values[1].find(name);
      if (x == values[0].end() || y == values[1].end()) continue;
      ComparedValue value = compared(request, name, name, x->second, y->second);
      if (value.is_apart) return std::optional(std::move(value));
    }
  return std::optional<ComparedValue>();
}

}  // namespace

bool ComparedModels::differ() const {
  return std::ranges::any_of(outputs, [](const ComparedValue& value) { return value.is_apart; });
}

Result<ComparedModels> compare_models(const CompareRequest& request) {
  request.progress("running the first model");
  ISOMER_TRY(const NamedTensors of_a, outputs_of(request.a, request.feeds));
  request.progress("running the second model");
  ISOMER_TRY(const NamedTensors of_b, outputs_of(request.b, request.feeds));
  ComparedModels out;
  ISOMER_TRY(out.outputs, compare_outputs(request, of_a, of_b));
  if (request.outputs_only || !out.differ()) return out;
  request.progress("searching for the first value that differs");
  ISOMER_TRY(out.first_parting, first_parting(request));
  return out;
}

}  // namespace isomer
