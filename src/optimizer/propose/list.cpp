#include "optimizer/propose/list.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "optimizer/propose/by_rule/generated.h"
#include "optimizer/propose/float32_view.h"

namespace isomer {

std::span<const Proposer* const> proposers() {
  static constexpr std::array kList{
      &kSimplify,  &kCollapse,    &kNeeded,    &kBatch,    &kCommute,   &kLinear,
      &kRepeated,  &kReassociate, &kFastpath,  &kBilinear, &kStructure, &kOrder,
      &kFunctions, &kPartial,     &kGenerated, &kUser,     &kDenormals, &kWiden,
  };
  return kList;
}

const Proposer* proposer_named(std::string_view name) {
  const auto at = std::ranges::find(proposers(), name, &Proposer::name);
  return at == proposers().end() ? nullptr : *at;
}

namespace {

using Kind = Proposer::Kind;

bool is_left_out(const Proposer& proposer, const ProposeOptions& options) {
  return options.without.contains(std::string(proposer.name));
}

// Proposals of rules where another proposer replaces the same values and saves as much: they would only be
// proved and measured once more.
void drop_what_others_do(std::vector<Proposal>& list) {
  const auto is_by_rule = [](const Proposal& p) { return p.kind == kGenerated.name || p.kind == kUser.name; };
  std::map<std::vector<std::string>, double> best;
  for (const Proposal& p : list)
    if (!is_by_rule(p)) {
      const auto [at, is_new] = best.emplace(p.claim.outputs, p.gain);
      if (!is_new) at->second = std::max(at->second, p.gain);
    }
  std::erase_if(list, [&](const Proposal& p) {
    const auto at = best.find(p.claim.outputs);
    return is_by_rule(p) && at != best.end() && at->second >= p.gain;
  });
}

}  // namespace

Proposals propose_all(const Graph& graph, const Inference& inference, const ProposeOptions& options,
                      const rules::RuleBook* user_rules, std::map<std::string, double>* seconds) {
  Proposals out;
  const auto view = Float32View::of(graph, inference);
  const Graph& seen = view ? view->graph() : graph;
  const Inference& known = view ? view->inference() : inference;
  const bool is_further =
      options.relaxed || std::ranges::all_of(proposers(), [&](const Proposer* p) {
        return p->kind != Kind::Default || p->propose == nullptr || is_left_out(*p, options);
      });
  for (const Proposer* proposer : proposers()) {
    if (is_left_out(*proposer, options) || proposer->kind == Kind::First || proposer->kind == Kind::Given ||
        (proposer->kind == Kind::Further && !is_further))
      continue;
    Proposals found;
    const auto start = std::chrono::steady_clock::now();
    if (proposer->propose != nullptr) found = (*proposer)(seen, known, options);
    else if (user_rules != nullptr)
      found = propose_by_rules(seen, known, options, *user_rules, std::string(proposer->name));
    if (seconds != nullptr)
      (*seconds)[std::string(proposer->name)] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (Proposal& p : found.list) out.list.push_back(view ? view->translate(std::move(p)) : std::move(p));
    for (std::string& why : found.declined) out.declined.push_back(std::move(why));
  }
  if (!options.relaxed && !options.any_price) drop_what_others_do(out.list);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

Proposals propose_first(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  for (const Proposer* proposer : proposers()) {
    if (proposer->kind != Kind::First || is_left_out(*proposer, options)) continue;
    Proposals found = (*proposer)(graph, inference, options);
    for (Proposal& p : found.list) out.list.push_back(std::move(p));
    for (std::string& why : found.declined) out.declined.push_back(std::move(why));
  }
  return out;
}

}  // namespace isomer
