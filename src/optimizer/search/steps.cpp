#include "optimizer/search/steps.h"

#include <algorithm>
#include <map>

#include "kernel/prove/widen.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"

namespace isomer {
namespace {

// Nodes that depend on one of the inputs; all others can be computed beforehand.
std::vector<NodeId> working_nodes(const Graph& graph, const std::vector<std::string>& inputs) {
  std::vector<NodeId> out;
  std::set<NodeId> active;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool is_read =
        node.kind == NodeKind::Input && std::ranges::find(inputs, node.outputs[0]) != inputs.end();
    const bool is_work =
        std::ranges::any_of(node.inputs, [&](Value v) { return v.exists() && active.contains(v.node); });
    if (is_read || is_work) active.insert(id);
    if (is_work) out.push_back(id);
  }
  return out;
}

// Equal keys: the same change at the same sizes.
std::string key_of(const Step& step) {
  const Claim& claim = step.proposal.claim;
  const Graph& region = step.region;
  const auto inference = infer(region);
  Hasher hasher;
  hasher.add(step.proposal.kind);
  for (const NodeId id : region.order()) {
    const Node& node = region.node(id);
    if (node.kind == NodeKind::Initializer) continue;
    hasher.add(node.op);
    const auto shape = inference.ok() ? inference->of({id, 0}).shape : std::nullopt;
    if (shape) hasher.add(text(*shape));
  }
  for (const NodeId id : working_nodes(claim.after, claim.inputs)) {
    hasher.add(claim.after.node(id).op);
    add_content(hasher, claim.after.node(id).attributes);
  }
  return hasher.digest().hex();
}

// Folded values, as they were computed; without those that follow from extents.
void add_folded(const Graph& changed, const ValuesByName& names, const std::vector<std::string>& folds,
                Draft& out) {
  const ValuesByName after = values_by_name(out.graph);
  for (const std::string& name : folds) {
    const auto constant = after.find(name + std::string(kFoldedSuffix));
    const auto value = constant == after.end() ? std::nullopt : known_constant(out.graph, constant->second);
    auto program = region_of(changed, {}, {}, {names.at(name)});
    if (value && program.ok()) out.folded.push_back({*value, std::move(*program)});
  }
}

}  // namespace

std::uintmax_t bytes_of_constants(const Graph& graph) {
  std::uintmax_t out = 0;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Initializer) out += graph.node(id).tensor.bytes().size;
  return out;
}

std::variant<Step, std::string> StepMaker::prove(const Proposal& proposal, const ProofSource& ask) const {
  Step step{.proposal = proposal,
            .claims = {},
            .region = {},
            .replaced = {},
            .change = {.kind = proposal.kind},
            .label = proposal.kind};
  const Claim& claim = proposal.claim;
  if (!proposal.widens.empty()) return widened(std::move(step));
  if (auto why = demands_.objection(proposal)) return std::move(*why);
  std::erase_if(step.proposal.folds, [&](const std::string& name) { return !demands_.may_fold(name); });
  if (claim.outputs.empty()) {
    if (step.proposal.folds.empty() && !proposal.folds.empty())
      return "ONNX Runtime may not load the model with these constants";
    return step;
  }
  auto answer = piece_.prove(claim, {.key = key_, .stop = stop_}, ask);
  if (auto* why = std::get_if<std::string>(&answer)) return std::move(*why);
  step.claims.push_back(std::get<ProvedClaim>(std::move(answer)));
  auto region = piece_.region(claim.inputs, claim.outputs);
  ISOMER_CHECK(region.ok());
  step.region = std::move(*region);
  int nodes = 0;
  for (const NodeId id : step.region.order()) {
    const Node& node = step.region.node(id);
    if (node.kind != NodeKind::Operator) continue;
    step.replaced.insert(node.outputs.begin(), node.outputs.end());
    ++nodes;
  }
  const std::vector<NodeId> after = working_nodes(claim.after, claim.inputs);
  step.change.before = count_operators(step.region, working_nodes(step.region, claim.inputs));
  step.change.after = count_operators(claim.after, after);
  step.change.where = claim.outputs[0];
  step.fewer = nodes - static_cast<int>(after.size());
  return step;
}

// A step without a claim: `widen` says itself whether it may be done.
std::variant<Step, std::string> StepMaker::widened(Step step) const {
  const auto wide = widen(piece_.graph(), step.proposal.widens);
  if (!wide.ok()) return wide.error().message;
  step.replaced.insert(step.proposal.widens.begin(), step.proposal.widens.end());
  step.fewer = static_cast<int>(piece_.graph().operator_count()) - static_cast<int>(wide->operator_count());
  return step;
}

Result<Draft> StepMaker::together(const Draft& draft, const std::vector<const Step*>& steps) const {
  std::vector<ProvedClaim> claims;
  std::vector<std::string> folds;
  Draft out = draft;
  for (const Step* s : steps) {
    claims.insert(claims.end(), s->claims.begin(), s->claims.end());
    folds.insert(folds.end(), s->proposal.folds.begin(), s->proposal.folds.end());
    if (!s->claims.empty()) {
      Claim claim = s->proposal.claim;
      claim.attempt = s->claims.front().proof().attempt;
      out.steps.emplace_back(std::move(claim));
    }
    out.taken.push_back({s->change, s->proposal.what, s->label, s->fewer, s->ratio, !s->claims.empty()});
  }
  ISOMER_TRY(const Graph changed, piece_.with(claims));
  // A value that one step makes for another value to be folded may be removed with that value.
  const ValuesByName names = values_by_name(changed);
  std::erase_if(folds, [&](const std::string& name) { return !names.contains(name); });
  ISOMER_TRY(out.graph, fold_constants(changed, folds));
  add_folded(changed, names, folds, out);
  out.steps.emplace_back(FoldStep{folds});
  for (const Step* s : steps) {
    if (s->proposal.widens.empty()) continue;
    ISOMER_TRY(out.graph, widen(out.graph, s->proposal.widens));
    out.steps.emplace_back(WidenStep{s->proposal.widens});
  }
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

std::vector<StepGroup> grouped(std::vector<Step> steps) {
  std::map<std::string, StepGroup> groups;
  for (Step& step : steps) {
    StepGroup& group = groups[key_of(step)];
    if (group.steps.empty()) group.what = label_of(step.change);
    step.label = group.what;
    group.gain += step.proposal.gain;
    group.steps.push_back(std::move(step));
  }
  std::vector<StepGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::ranges::stable_sort(out, std::greater<>{}, &StepGroup::gain);
  return out;
}

std::vector<const Step*> all_steps(const std::vector<const StepGroup*>& groups) {
  std::vector<const Step*> out;
  for (const StepGroup* g : groups)
    for (const Step& s : g->steps) out.push_back(&s);
  return out;
}

}  // namespace isomer
