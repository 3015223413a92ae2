// Inner products of pairs of rows that constants choose: all inner products are one matrix product, of which
// the pairs are looked up. Rows that are in many pairs are not copied for each of them.
#include <algorithm>

#include "optimizer/propose/products/parts.h"

namespace isomer {
namespace {

// Rows of [batch, rows, width].
struct Rows {
  Value of, index;
};
std::optional<Rows> rows_of(const Site& site, Value v) {
  const auto id = site.made_by(v, "Gather");
  if (!id || !site.only_reader(v)) return std::nullopt;
  const std::vector<Value>& in = site.node(*id).inputs;
  const std::int64_t axis = attribute(site.node(*id), "axis", std::int64_t{0});
  if (site.rank(in[0]) != 3 || (axis != 1 && axis != -2) || !site.is_constant(in[1]) ||
      site.rank(in[1]) != 1 || site.is_constant(in[0]))
    return std::nullopt;
  return Rows{in[0], in[1]};
}

// The axes of a ReduceSum are the last one alone.
bool sums_last(const Site& site, NodeId id, std::size_t rank) {
  const Node& node = site.node(id);
  const auto given = node.inputs.size() > 1 && node.inputs[1].exists()
                         ? site.is_constant(node.inputs[1]) ? site.integers(node.inputs[1]) : std::nullopt
                         : std::optional(attribute(node, "axes", std::vector<std::int64_t>{}));
  const auto last = static_cast<std::int64_t>(rank) - 1;
  return given && given->size() == 1 && ((*given)[0] == last || (*given)[0] == -1);
}

std::optional<Proposal> pairs_at(const Site& site, NodeId sum) {
  const auto product = site.made_by(site.node(sum).inputs[0], "Mul");
  if (!product || !site.only_reader({*product, 0}) || !sums_last(site, sum, 3)) return std::nullopt;
  const auto a = rows_of(site, site.node(*product).inputs[0]),
             b = rows_of(site, site.node(*product).inputs[1]);
  if (!a || !b || site.concrete_sizes(a->index) != site.concrete_sizes(b->index)) return std::nullopt;
  ProgramBuilder p(site.graph, site.name({sum, 0}));
  const Value all =
      p.op("MatMul", {p.input(site.name(a->of)), p.transpose(p.input(site.name(b->of)), {0, 2, 1})});
  const Value pairs = p.concat(
      {p.unsqueeze(p.input(site.name(a->index)), {1}), p.unsqueeze(p.input(site.name(b->index)), {1})}, 1);
  Value y = p.transpose(p.op("GatherND", {p.transpose(all, {1, 2, 0}), pairs}), {1, 0});
  if (attribute(site.node(sum), "keepdims", std::int64_t{1}) != 0) y = p.unsqueeze(y, {2});
  return propose(site, "reassociate",
                 "pairs of rows looked up in all inner products, to " + site.name({sum, 0}), p, {{sum, 0}},
                 {y});
}

}  // namespace

void propose_chosen_pairs(const Site& site, Proposals& out) {
  if (site.graph.opset("") < 11) return;
  for (const NodeId id : site.graph.order()) {
    auto found = site.is(id, "ReduceSum") ? pairs_at(site, id) : std::nullopt;
    if (found) out.list.push_back(std::move(*found));
  }
}

}  // namespace isomer
