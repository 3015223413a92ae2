// denormals: weights below 2^-126, which training leaves behind where a channel has died, as zero. Processors
// compute with them up to a hundred times more slowly, and a runtime meets them in every sum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel/prove/flush.h"
#include "kernel/prove/value_numbers.h"
#include "model/graph/constant.h"
#include "model/graph/last_digits.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

struct Denormals {
  std::uint64_t count = 0;
  double sum = 0;  // of their sizes
};

Denormals denormals_in(const Tensor& tensor) {
  Denormals out;
  for (const float value : tensor.as<float>()) {
    if (!is_denormal(value)) continue;
    ++out.count;
    out.sum += std::abs(static_cast<double>(value));
  }
  return out;
}

// Values that follow constants with denormal numbers, as long as nothing but constants goes into them.
class Followed {
 public:
  Followed(const Graph& graph, const Inference& inference, const std::map<Value, Denormals>& found)
      : graph_(graph), inference_(inference), found_(found) {}

  // Constants that no node divides by, compares, or takes a root or a power of.
  std::map<Value, Denormals> harmless() {
    std::map<Value, Denormals> out = found_;
    for (const auto& [value, denormals] : found_)
      if (is_decisive(value)) out.erase(value);
    return out;
  }

 private:
  bool is_decisive(Value constant) const {
    std::set<Value> follows{constant}, varies;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      const auto is_in = [](const std::set<Value>& set) {
        return [&set](Value v) { return v.exists() && set.contains(v); };
      };
      const bool is_varying = node.kind == NodeKind::Input || graph_.is_overridable(id) ||
                              std::ranges::any_of(node.inputs, is_in(varies));
      const bool is_reader = std::ranges::any_of(node.inputs, is_in(follows));
      if (std::ranges::any_of(node.captures, is_in(follows))) return true;
      if (is_reader && is_decided_at(id, follows)) return true;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
        if (is_varying) varies.insert({id, k});
        else if (is_reader) follows.insert({id, k});
    }
    return false;
  }

  bool is_decided_at(NodeId id, const std::set<Value>& follows) const {
    const Node& node = graph_.node(id);
    std::vector<bool> changed;
    for (const Value& v : node.inputs) changed.push_back(v.exists() && follows.contains(v));
    const Definition definition = define_node(graph_, inference_, id, changed);
    const auto* formula = std::get_if<Formula>(&definition);
    return formula == nullptr || !is_continuous(*formula, node, changed) ||
           is_steep_near_zero(*formula, changed);
  }

  const Graph& graph_;
  const Inference& inference_;
  const std::map<Value, Denormals>& found_;
};

Proposals propose_denormals(const Graph& graph, const Inference& inference, const ProposeOptions&) {
  std::map<Value, Denormals> found;
  for (const NodeId id : graph.order())
    if (const auto tensor = known_constant(graph, {id, 0}); tensor && tensor->type() == ElementType::Float)
      if (const Denormals inside = denormals_in(*tensor); inside.count > 0)
        found.emplace(Value{id, 0}, inside);
  Proposals out;
  Proposal p{.kind = "denormals", .what = {}, .claim = {}, .folds = {}, .rounds_otherwise = true};
  Denormals all;
  for (const auto& [value, inside] : Followed(graph, inference, found).harmless()) {
    p.flushes.push_back(graph.name_of(value));
    all.count += inside.count;
    all.sum = std::max(all.sum, inside.sum);
  }
  if (p.flushes.empty()) return out;
  p.what = fmt::format(
      "{} numbers below 2^-126 in {} constants are zero; a sum that they are coefficients of changes by at "
      "most "
      "{:.1e} of its largest input",
      all.count, p.flushes.size(), all.sum);
  out.list.push_back(std::move(p));
  return out;
}

}  // namespace

constinit const Proposer kDenormals{
    .name = "denormals",
    .title = "denormal weights as zero",
    .law = "w · x   ⟼   0 · x,   |w| < 2⁻¹²⁶",
    .finds =
        "Writes float32 weights below 2⁻¹²⁶ as zero: processors compute with such numbers slowly. Not equal "
        "over the reals, so the certificate states it; `--keep-denormals` leaves them.",
    .propose = propose_denormals,
    .kind = Proposer::Kind::Given,
    .summary = "weights below 2⁻¹²⁶ written as zero",
};

}  // namespace isomer
