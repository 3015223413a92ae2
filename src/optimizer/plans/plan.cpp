#include "optimizer/plans/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "io/onnx/program.h"
#include "kernel/certify/certificate.h"

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

std::size_t claims_in(const std::vector<CertifiedStep>& steps) {
  return static_cast<std::size_t>(
      std::ranges::count_if(steps, [](const auto& s) { return std::holds_alternative<Claim>(s); }));
}

Status parse_head(const Json& head, Plan& out) {
  if (!head.is_object() || head.size() != 5 || !head.contains("isomer_plan") ||
      head["isomer_plan"] != kPlanFormat)
    return Error{"not a plan of this format"};
  for (const char* field : {"key", "region", "by"})
    if (!head.contains(field) || !head[field].is_string()) return Error{"a plan without its fields"};
  if (!head.contains("constants") || !head["constants"].is_object()) return Error{"a plan without its facts"};
  out.key = head["key"].get<std::string>();
  out.by = head["by"].get<std::string>();
  const auto bytes = from_base64(head["region"].get<std::string>());
  if (!bytes) return Error{"a region is a program in base64"};
  ISOMER_TRY(out.region.graph, read_program(*bytes));
  for (const auto& [name, fact] : head["constants"].items()) {
    if (!fact.is_array() || fact.size() != 2 || !fact[0].is_boolean() || !fact[1].is_number_integer())
      return Error{"of a constant is known whether it is positive, and how many are the same"};
    out.region.constants.emplace(
        name, KnownRegion::Constant{.positive = fact[0].get<bool>(), .same = fact[1].get<int>()});
  }
  const Graph& graph = out.region.graph;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Input && !graph.node(id).declared.shape)
      return Error{"an input of a region without a type"};
  if (graph.outputs().empty()) return Error{"a region without outputs"};
  if (key_of(out.region) != out.key) return Error{"the region is not that of its key"};
  return Done{};
}

}  // namespace

std::string to_text(const Plan& plan) {
  const auto region = write_program(plan.region.graph);
  Json head{{"isomer_plan", kPlanFormat},
            {"key", plan.key},
            {"region", region.ok() ? to_base64(*region) : std::string("none")},
            {"constants", Json::object()},
            {"by", plan.by}};
  for (const auto& [name, fact] : plan.region.constants) head["constants"][name] = {fact.positive, fact.same};
  Certificate rest{.steps = plan.steps, .notes = {}};
  for (const Plan::About& a : plan.about) rest.notes.push_back({.kind = a.kind, .what = a.what});
  return head.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + to_text(rest);
}

Result<Plan> parse_plan(std::string_view text) {
  if (text.size() > kMostPlanBytes) return Error{"a plan that is too large"};
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return Error{"a plan that ends too early"};
  const Json head = Json::parse(text.substr(0, end), nullptr, false);
  if (head.is_discarded()) return Error{"not a plan"};
  Plan out;
  ISOMER_TRY_DO(parse_head(head, out));
  ISOMER_TRY(Certificate rest, parse_certificate(text.substr(end + 1)));
  if (rest.pairing) return Error{"a plan has steps only"};
  for (const CertifiedStep& step : rest.steps)
    if (!std::holds_alternative<Claim>(step) && !std::holds_alternative<FoldStep>(step))
      return Error{"a plan replaces and folds only"};
  if (rest.steps.empty() || !std::holds_alternative<FoldStep>(rest.steps.back()))
    return Error{"a plan that ends too early"};
  if (rest.notes.size() != claims_in(rest.steps)) return Error{"a plan describes each of its claims"};
  out.steps = std::move(rest.steps);
  for (Note& note : rest.notes) out.about.push_back({std::move(note.kind), std::move(note.what)});
  return out;
}

}  // namespace isomer
