// A product with rows of which one element is 1 and the others are 0 looks up a row of the other factor.
//
// Rows that may be all zeros (an index that points outside) are not excluded here: then the look-up fails
// where the product does not, and the prover rejects it. The operation that keeps an index inside, a clip or
// an argmax, is part of the claim.
#include <algorithm>
#include <set>

#include "model/graph/constant.h"
#include "optimizer/facts/repeated_constant.h"
#include "optimizer/propose/products/parts.h"

namespace isomer {
namespace {

constexpr int kMostDepth = 8;  // of the nodes that make an index

struct Hot {
  Value index;
  bool has_last = false;  // the index has an axis of one element where the rows are
};

bool is_last(const Site& site, NodeId id, Value of, std::int64_t otherwise) {
  const std::int64_t axis = attribute(site.node(id), "axis", otherwise);
  return axis == -1 || axis == static_cast<std::int64_t>(site.rank(of)) - 1;
}

std::optional<Hot> hot_rows(const Site& site, Value v) {
  while (const auto cast = site.made_by(v, "Cast")) v = site.node(*cast).inputs[0];
  if (const auto id = site.made_by(v, "OneHot")) {
    const std::vector<Value>& in = site.node(*id).inputs;
    const auto values = known_constant(site.graph, in[2]);
    const auto numbers = values ? values->doubles() : std::nullopt;
    if (numbers == std::vector<double>{0, 1} && is_last(site, *id, v, -1)) return Hot{in[0]};
  }
  if (const auto id = site.made_by(v, "ScatterElements")) {
    const std::vector<Value>& in = site.node(*id).inputs;
    const auto sizes = site.sizes(in[1]);
    if (sizes && sizes->back() == 1 && is_last(site, *id, v, 0) && is_all(site.graph, in[0], 0) &&
        is_all(site.graph, in[2], 1))
      return Hot{in[1], true};
  }
  return std::nullopt;
}

// An index, with what says where it points.
Value remade(const Site& site, ProgramBuilder& b, Value v, int depth = kMostDepth) {
  static const std::set<std::string, std::less<>> kept{"Min",     "Max",      "Clip",    "ArgMax",
                                                       "ArgMin",  "Where",    "Squeeze", "Unsqueeze",
                                                       "Reshape", "Identity", "Cast"};
  const Node& node = site.node(v.node);
  const bool is_kept = node.kind == NodeKind::Operator && node.domain.empty() && kept.contains(node.op) &&
                       is_integer(site.inference.of(v).type) && !site.is_constant(v) && depth > 0;
  if (!is_kept) return b.input(site.name(v));
  std::vector<Value> inputs;
  for (const Value& x : node.inputs) inputs.push_back(x.exists() ? remade(site, b, x, depth - 1) : x);
  return b.copy(node, inputs);
}

}  // namespace

void propose_one_hot(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    const Node& node = site.node(id);
    if (node.kind != NodeKind::Operator || !is_plain_product(node)) continue;
    const auto hot = hot_rows(site, node.inputs[0]);
    if (!hot || site.rank(node.inputs[1]) != 2) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const Value made = remade(site, b, hot->index);
    const Value index = hot->has_last ? b.squeeze(made, {-1}) : made;
    Value rows = b.input(site.name(node.inputs[1]));
    if (has_transposed_weights(node)) rows = b.transpose(rows, {1, 0});
    Value y = b.op("Gather", {rows, index});
    if (node.inputs.size() > 2 && node.inputs[2].exists())
      y = b.op("Add", {y, b.input(site.name(node.inputs[2]))});
    // Others that read the index read the one that is made here: it is not computed twice.
    std::vector<Value> replaced{{id, 0}}, by{y};
    const bool is_shared = site.is_output(hot->index) || site.readers(hot->index).size() > 1;
    if (is_shared && b.graph().node(made.node).kind == NodeKind::Operator) {
      replaced.push_back(hot->index);
      by.push_back(made);
    }
    auto p = propose(site, "reassociate", site.name({id, 0}) + " looks up rows of the other factor", b,
                     replaced, by);
    if (p) out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
