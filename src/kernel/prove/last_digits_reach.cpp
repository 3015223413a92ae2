#include "kernel/prove/last_digits_reach.h"

#include <algorithm>
#include <set>

#include "kernel/prove/signs.h"
#include "kernel/prove/value_numbers.h"
#include "model/graph/last_digits.h"

namespace isomer {
namespace {

class Reach {
 public:
  Reach(const Graph& graph, const Inference& inference, const std::map<Value, RoundedConstant>& rounded)
      : graph_(graph), inference_(inference), constants_(rounded) {}

  const Node* first_jump() {
    const std::set<NodeId> needed = needed_nodes(graph_);
    for (const NodeId id : graph_.order())
      if (needed.contains(id) && jumps(id)) return &graph_.node(id);
    return nullptr;
  }

 private:
  bool is_constant(Value v) const { return constants_.contains(v); }
  bool jumps(NodeId id);
  bool jumps_as(const Formula& formula, const Node& node);

  const Graph& graph_;
  const Inference& inference_;
  const std::map<Value, RoundedConstant>& constants_;
  std::set<Value> changed_, cancelled_, variable_;
  std::optional<ValueSigns> signs_;
};

// Whether it may do more than follow small changes; marks what it makes of them.
bool Reach::jumps(NodeId id) {
  const Node& node = graph_.node(id);
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    const auto at = constants_.find({id, k});
    if (at == constants_.end()) continue;
    changed_.insert({id, k});
    if (at->second.has_cancelled) cancelled_.insert({id, k});
  }
  bool varies = node.kind == NodeKind::Input || graph_.is_overridable(id), is_changed = false,
       has_cancelled = false;
  for (const auto* values : {&node.inputs, &node.captures})
    for (const Value& v : *values) {
      if (!v.exists()) continue;
      is_changed = is_changed || changed_.contains(v);
      has_cancelled = has_cancelled || cancelled_.contains(v);
      varies = varies || variable_.contains(v);
    }
  for (std::uint32_t k = 0; varies && k < node.outputs.size(); ++k) variable_.insert({id, k});
  if (!is_changed) return false;
  // Definitions without the values of the constants, so that the conclusion holds for all values.
  std::vector<bool> unseen;
  for (const Value& v : node.inputs) unseen.push_back(v.exists() && changed_.contains(v));
  const Definition definition = define_node(graph_, inference_, id, unseen);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr || jumps_as(*formula, node)) return true;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    changed_.insert({id, k});
    // Beside what varies, such an element is one term of many.
    if (has_cancelled && !varies) cancelled_.insert({id, k});
  }
  return false;
}

bool Reach::jumps_as(const Formula& formula, const Node& node) {
  std::vector<bool> changed, nearly_zero, steady;
  for (const Value& v : node.inputs) {
    changed.push_back(v.exists() && changed_.contains(v));
    nearly_zero.push_back(v.exists() && cancelled_.contains(v));
    steady.push_back(changed.back() && is_constant(v) && !nearly_zero.back());
  }
  for (const Value& v : node.captures) changed.push_back(changed_.contains(v));
  if (!is_continuous(formula, node, changed)) return true;
  const bool has_cancelled = std::ranges::find(nearly_zero, true) != nearly_zero.end();
  if (has_cancelled && is_steep_near_zero(formula, nearly_zero)) return true;
  // Signs are computed only where the functions alone don't decide.
  if (!may_be_undefined_near(formula, {}, changed, steady)) return false;
  if (!signs_) signs_.emplace(graph_, inference_, Emptiness::Ignored);
  return may_be_undefined_near(formula, signs_->inputs_of(node), changed, steady);
}

}  // namespace

const Node* first_jump(const Graph& graph, const Inference& inference,
                       const std::map<Value, RoundedConstant>& rounded) {
  if (rounded.empty()) return nullptr;
  return Reach(graph, inference, rounded).first_jump();
}

}  // namespace isomer
