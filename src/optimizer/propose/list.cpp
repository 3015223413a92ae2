#include "optimizer/propose/list.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "optimizer/propose/by_rule/generated.h"
#include "optimizer/propose/float_twin.h"
#include "optimizer/propose/lanes/batch.h"
#include "optimizer/propose/positions/needed.h"
#include "optimizer/propose/positions/partial/partial.h"
#include "optimizer/propose/positions/repeated.h"
#include "optimizer/propose/products/derive.h"
#include "optimizer/propose/products/linear.h"
#include "optimizer/propose/values/functions.h"
#include "optimizer/propose/values/order.h"
#include "optimizer/propose/values/widen.h"

namespace isomer {

const std::vector<Proposer>& proposers() {
  static const std::vector<Proposer> list{
      {"simplify", propose_simplify},
      {"collapse", propose_collapse},
      {"needed", propose_needed},
      {"batch", propose_batch},
      {"commute", propose_commute},
      {"linear", propose_linear},
      {"repeated", propose_repeated},
      {"reassociate", propose_reassociate},
      {"fastpath", propose_fastpath},
      {"bilinear", propose_bilinear},
      {"structure", propose_structure},
      {"order", propose_order},
      {"functions", propose_functions},
      {"partial", propose_partial},
      {"derive", propose_derive, true},
      {"generated", propose_generated, true},
      {"user", nullptr},
      {"relax", propose_relax, true},
      {.name = "widen", .propose = propose_widen, .is_first = true},
  };
  return list;
}

namespace {

// What rules say where another proposer replaces the same values and saves as much: it would only be proved
// and measured once more.
void drop_what_others_do(std::vector<Proposal>& list) {
  const auto is_by_rule = [](const Proposal& p) { return p.kind == "generated" || p.kind == "user"; };
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
  const auto twin = FloatTwin::of(graph, inference);
  const Graph& seen = twin ? twin->graph() : graph;
  const Inference& known = twin ? twin->inference() : inference;
  const bool is_further =
      options.relaxed || std::ranges::all_of(proposers(), [&](const Proposer& p) {
        return p.is_relaxed || p.is_first || p.propose == nullptr || options.without.contains(p.name);
      });
  for (const Proposer& proposer : proposers()) {
    if (options.without.contains(proposer.name) || proposer.is_first || (proposer.is_relaxed && !is_further))
      continue;
    Proposals found;
    const auto start = std::chrono::steady_clock::now();
    if (proposer.propose != nullptr) found = proposer.propose(seen, known, options);
    else if (user_rules != nullptr)
      found = propose_by_rules(seen, known, options, *user_rules, proposer.name);
    if (seconds != nullptr)
      (*seconds)[proposer.name] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (Proposal& p : found.list) out.list.push_back(twin ? twin->translated(std::move(p)) : std::move(p));
    for (std::string& why : found.declined) out.declined.push_back(std::move(why));
  }
  if (!options.relaxed && !options.any_price) drop_what_others_do(out.list);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

std::vector<Proposal> in_order(std::vector<Proposal> list, bool any_price) {
  std::map<std::string, std::size_t> places;
  for (std::size_t k = 0; k < proposers().size(); ++k) places.emplace(proposers()[k].name, k);
  if (!any_price) drop_what_others_do(list);
  std::ranges::stable_sort(list, {}, [&](const Proposal& p) { return places[p.kind]; });
  std::ranges::stable_sort(list, std::greater<>{}, &Proposal::gain);
  return list;
}

Proposals propose_first(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  for (const Proposer& proposer : proposers()) {
    if (!proposer.is_first || options.without.contains(proposer.name)) continue;
    Proposals found = proposer.propose(graph, inference, options);
    for (Proposal& p : found.list) out.list.push_back(std::move(p));
    for (std::string& why : found.declined) out.declined.push_back(std::move(why));
  }
  return out;
}

}  // namespace isomer
