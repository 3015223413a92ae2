#include "propose/list.h"

#include <algorithm>

#include "propose/batch.h"
#include "propose/functions.h"
#include "propose/linear.h"
#include "propose/needed.h"
#include "propose/order.h"
#include "propose/repeated.h"

namespace isomer {

const std::vector<Proposer>& proposers() {
  static const std::vector<Proposer> list{
      {"simplify", propose_simplify},   {"collapse", propose_collapse},       {"needed", propose_needed},
      {"batch", propose_batch},         {"commute", propose_commute},         {"linear", propose_linear},
      {"repeated", propose_repeated},   {"reassociate", propose_reassociate}, {"fastpath", propose_fastpath},
      {"bilinear", propose_bilinear},   {"structure", propose_structure},     {"order", propose_order},
      {"functions", propose_functions}, {"relax", propose_relax, true},
  };
  return list;
}

Proposals propose_all(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  for (const Proposer& proposer : proposers()) {
    if (options.without.contains(proposer.name) || (proposer.is_relaxed && !options.relaxed)) continue;
    Proposals found = proposer.propose(graph, inference, options);
    for (Proposal& p : found.list) out.list.push_back(std::move(p));
    for (std::string& why : found.declined) out.declined.push_back(std::move(why));
  }
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace isomer
