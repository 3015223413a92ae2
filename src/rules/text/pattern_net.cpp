#include "rules/text/pattern_net.h"

#include <algorithm>

namespace isomer::rules {
namespace {

constexpr std::size_t kMostExchanged = 4;  // nodes of a pattern of which both orders are paths: 16 of them

}  // namespace

PatternNet::Token PatternNet::token_of(const PatternNode& node, std::uint32_t output, bool is_exchanged) {
  Token out{.op = node.op, .output = output, .outputs = node.outputs, .operands = {}};
  if (node.is_variable) return {.op = "", .output = 0, .outputs = 1, .operands = {}};
  for (std::uint32_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i].kind == PatternInput::Kind::Operand) out.operands.push_back(i);
  if (is_exchanged) std::swap(out.operands[0], out.operands[1]);
  return out;
}

void PatternNet::add(const std::shared_ptr<const Pattern>& pattern) {
  const std::vector<PatternNode>& nodes = pattern->from.nodes;
  std::vector<std::size_t> commuting;
  for (std::size_t i = 0; i < nodes.size() && commuting.size() < kMostExchanged; ++i)
    if (nodes[i].is_commutative() && !(nodes[i].operands()[0] == nodes[i].operands()[1]))
      commuting.push_back(i);
  for (std::size_t choice = 0; choice < std::size_t{1} << commuting.size(); ++choice) {
    std::vector<bool> exchanged(nodes.size());
    for (std::size_t k = 0; k < commuting.size(); ++k) exchanged[commuting[k]] = (choice >> k & 1u) != 0;
    std::size_t at = 0;
    std::vector<PatternValue> open{pattern->from.outputs[0]};
    while (!open.empty()) {
      const PatternValue v = open.back();
      open.pop_back();
      // The token's places are of the graph; its operands are those of the pattern, in their order.
      const Token token = token_of(nodes[v.node], v.output, exchanged[v.node]);
      const auto found = std::ranges::find(nodes_[at].next, token, &std::pair<Token, std::size_t>::first);
      if (found != nodes_[at].next.end()) {
        at = found->second;
      } else {
        nodes_[at].next.emplace_back(token, nodes_.size());
        at = nodes_.size();
        nodes_.emplace_back();
      }
      const std::vector<PatternValue> operands = nodes[v.node].operands();
      open.insert(open.end(), operands.rbegin(), operands.rend());
    }
    nodes_[at].entries.push_back({pattern, std::move(exchanged)});
  }
  ++patterns_;
}

std::vector<const PatternNet::Entry*> PatternNet::find(const Graph& graph, Value value) const {
  std::vector<const Entry*> out;
  struct Walk {
    std::size_t at;
    std::vector<Value> open;  // the next one last
  };
  std::vector<Walk> walks{{0, {value}}};
  while (!walks.empty()) {
    const Walk walk = std::move(walks.back());
    walks.pop_back();
    const Node& node = nodes_[walk.at];
    if (walk.open.empty()) {
      for (const Entry& entry : node.entries) out.push_back(&entry);
      continue;
    }
    const Value v = walk.open.back();
    const isomer::Node& here = graph.node(v.node);
    for (const auto& [token, next] : node.next) {
      Walk further{next, walk.open};
      further.open.pop_back();
      if (!token.op.empty()) {
        if (here.kind != NodeKind::Operator || here.op != token.op || !here.domain.empty() ||
            v.output != token.output || here.outputs.size() != token.outputs)
          continue;
        bool fits = true;
        for (std::size_t k = token.operands.size(); k-- > 0 && fits;) {
          fits = token.operands[k] < here.inputs.size() && here.inputs[token.operands[k]].exists();
          if (fits) further.open.push_back(here.inputs[token.operands[k]]);
        }
        if (!fits) continue;
      }
      walks.push_back(std::move(further));
    }
  }
  return out;
}

}  // namespace isomer::rules
