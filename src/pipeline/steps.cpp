#include "pipeline/steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace isomer {
namespace {

// What kind of work a program does on what it reads: its operators, each once, in order.
std::string operators_of(const Graph& graph, const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  std::set<NodeId> active;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool is_read =
        node.kind == NodeKind::Input && std::ranges::find(inputs, node.outputs[0]) != inputs.end();
    const bool is_work =
        std::ranges::any_of(node.inputs, [&](Value v) { return v.exists() && active.contains(v.node); });
    if (is_read || is_work) active.insert(id);
    if (is_work && std::ranges::find(out, node.op) == out.end()) out.push_back(node.op);
  }
  return fmt::format("{}", fmt::join(out, "+"));
}

// Equal keys: the same kind of change at the same sizes.
std::string key_of(const Step& step, const Workpiece& piece) {
  const Claim& claim = step.proposal.claim;
  std::string key = step.proposal.kind;
  const auto region = piece.region(claim.inputs, claim.outputs);
  if (!region.ok()) return key;
  const auto inference = infer(*region);
  for (const NodeId id : region->order()) {
    const Node& node = region->node(id);
    if (node.kind == NodeKind::Initializer) continue;
    key += " " + node.op;
    if (!inference.ok()) continue;
    const auto& shape = inference->of({id, 0}).shape;
    if (shape) key += text(*shape);
  }
  return key;
}

std::string what_of(const Step& step, const Workpiece& piece) {
  const Claim& claim = step.proposal.claim;
  if (step.proposal.kind == "simplify" || claim.outputs.empty()) return step.proposal.kind;
  const auto region = piece.region(claim.inputs, claim.outputs);
  return fmt::format("{}: {} -> {}", step.proposal.kind,
                     region.ok() ? operators_of(*region, claim.inputs) : "?",
                     operators_of(claim.after, claim.inputs));
}

}  // namespace

std::variant<Step, std::string> StepMaker::prove(const Proposal& proposal) const {
  Step step{.proposal = proposal, .claims = {}, .replaced = {}};
  const Claim& claim = proposal.claim;
  if (claim.outputs.empty()) return step;
  auto answer = piece_.prove(claim, {.key = key_, .refute = false}, &proofs_);
  if (auto* why = std::get_if<std::string>(&answer)) return std::move(*why);
  step.claims.push_back(std::get<ProvedClaim>(std::move(answer)));
  const auto region = piece_.region(claim.inputs, claim.outputs);
  ISOMER_CHECK(region.ok());
  for (const NodeId id : region->order()) {
    const Node& node = region->node(id);
    if (node.kind == NodeKind::Operator) step.replaced.insert(node.outputs.begin(), node.outputs.end());
  }
  return step;
}

Result<Draft> StepMaker::together(const Draft& draft, const std::vector<const Step*>& steps) const {
  std::vector<ProvedClaim> claims;
  std::vector<std::string> folds;
  Draft out = draft;
  for (const Step* s : steps) {
    claims.insert(claims.end(), s->claims.begin(), s->claims.end());
    folds.insert(folds.end(), s->proposal.folds.begin(), s->proposal.folds.end());
    if (!s->claims.empty()) out.steps.emplace_back(s->proposal.claim);
    out.notes.push_back({.kind = s->proposal.kind, .what = s->proposal.what});
  }
  ISOMER_TRY(const Graph changed, piece_.with(claims));
  ISOMER_TRY(out.graph, fold_constants(changed, folds));
  out.steps.emplace_back(FoldStep{folds});
  return out;
}

Draft StepMaker::with(const Draft& draft, const std::vector<const Step*>& steps) {
  std::vector<const Step*> chosen;
  std::set<std::string> taken;
  for (const Step* s : steps) {
    if (std::ranges::any_of(s->replaced, [&](const auto& name) { return taken.contains(name); })) continue;
    taken.insert(s->replaced.begin(), s->replaced.end());
    chosen.push_back(s);
  }
  auto all = together(draft, chosen);
  if (all.ok()) return std::move(*all);
  trouble_.push_back(all.error().message);
  // One of them does not go with the others.
  std::vector<const Step*> kept;
  std::vector<ProvedClaim> claims;
  for (const Step* s : chosen) {
    const std::size_t before = claims.size();
    claims.insert(claims.end(), s->claims.begin(), s->claims.end());
    if (piece_.with(claims).ok()) kept.push_back(s);
    else claims.resize(before, claims[0]);
  }
  auto most = together(draft, kept);
  if (most.ok()) return std::move(*most);
  trouble_.push_back(most.error().message);
  return draft;
}

std::vector<StepGroup> grouped(std::vector<Step> steps, const Workpiece& piece) {
  std::map<std::string, StepGroup> groups;
  for (Step& step : steps) {
    StepGroup& group = groups[key_of(step, piece)];
    if (group.steps.empty()) group.what = what_of(step, piece);
    group.gain += step.proposal.gain;
    group.steps.push_back(std::move(step));
  }
  std::vector<StepGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.gain > b.gain; });
  return out;
}

std::vector<const Step*> all_steps(const std::vector<StepGroup>& groups) {
  std::vector<const Step*> out;
  for (const StepGroup& g : groups)
    for (const Step& s : g.steps) out.push_back(&s);
  return out;
}

}  // namespace isomer
