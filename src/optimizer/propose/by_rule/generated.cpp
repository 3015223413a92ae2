#include "optimizer/propose/by_rule/generated.h"

#include <algorithm>
#include <set>

#include "model/graph/text/text.h"
#include "optimizer/facts/price.h"
#include "optimizer/propose/by_rule/rule_writer.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr std::size_t kMostProposals = 512;  // of one graph; the search has not the time for more

std::set<std::string, std::less<>> operators_of(const Graph& graph) {
  std::set<std::string, std::less<>> out;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator && graph.node(id).domain.empty())
      out.insert(graph.node(id).op);
  return out;
}

// Equal for proposals that say the same, by whatever rule.
std::string key_of(const Proposal& p) {
  std::string out = text(p.claim.after, {.most_elements = 16});
  for (const std::string& name : p.claim.outputs) out += ' ' + name;
  return out;
}

// Whether a rewrite has at most as many operators as the original, without folded ones. A rewrite that saves
// nothing and adds operators leads to more of the same: x as -(-x), and so on.
bool adds_no_operators(const Site& site, const Proposal& p, const rules::Pattern& pattern) {
  const Graph program = with_constants(site, p.claim.after);
  const std::set<NodeId> constants = folded_nodes(program);
  const auto before = std::ranges::count(pattern.from.nodes, false, &rules::PatternNode::is_variable);
  const auto after = std::ranges::count_if(program.order(), [&](NodeId id) {
    return program.node(id).kind == NodeKind::Operator && !constants.contains(id);
  });
  return after <= before;
}

}  // namespace

Proposals propose_by_rules(const Graph& graph, const Inference& inference, const ProposeOptions& options,
                           const rules::RuleBook& book, const std::string& kind) {
  Proposals out;
  if (graph.opset("") < 13) return out;  // before it, axes and parts of a Split are written otherwise
  const auto net = book.patterns(operators_of(graph));
  if (net->size() == 0) return out;
  const Site site(graph, inference, *options.machine);
  std::set<std::string> seen;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      for (const RuleMatch& match : matches_at(site, *net, {id, k}))
        for (Proposal& p : written(site, match, kind)) {
          const bool is_wanted = p.gain > 0 || options.any_price ||
                                 (options.relaxed && adds_no_operators(site, p, *match.pattern));
          if (!is_wanted || !seen.insert(key_of(p)).second) continue;
          out.list.push_back(std::move(p));
          if (out.list.size() == kMostProposals) return out;
        }
  }
  return out;
}

namespace {

Proposals propose_generated(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  return propose_by_rules(graph, inference, options, rules::generated_rules(), "generated");
}

}  // namespace

constinit const Proposer kGenerated{
    .name = "generated",
    .title = "a generated rule",
    .law = "l(x) = r(x) for all x and all sizes",
    .finds =
        "Applies rules that were found by enumeration and proved for all sizes "
        "(rules/generated.rules); used by backtrack and saturate, or where no other proposer is "
        "selected.",
    .propose = propose_generated,
    .kind = Proposer::Kind::Further,
    .remark = "by a generated rule",
};

constinit const Proposer kUser{
    .name = "user",
    .title = "a custom rule",
    .law = "l(x) = r(x) for all x and all sizes",
    .finds = "Applies the rules that are given with --rules, each proved again in its place.",
    .propose = nullptr,
    .remark = "by your rule",
};

}  // namespace isomer
