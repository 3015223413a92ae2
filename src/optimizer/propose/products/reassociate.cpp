// reassociate: what linear (linear.cpp) would not take by its price, as bets: a product with a concatenation
// as a sum of products, contractions as matrix products; and equal nodes side by side.
#include <fmt/format.h>

#include <algorithm>

#include "model/graph/constant.h"
#include "optimizer/facts/site.h"
#include "optimizer/propose/products/contraction.h"
#include "optimizer/propose/products/parts.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr const char* kKind = "reassociate";

// Labels of a formula that is one sum of products of two reads, each at plain axes.
struct Contraction {
  Labels left, right, out;
  LabelSizes extents;
};

std::optional<Labels> labels_of_read(const ExprNode& e, int input, Contraction& c) {
  if (e.kind != ExprNode::Kind::Read || e.tensor.kind != TensorRef::Kind::Input || e.tensor.number != input)
    return std::nullopt;
  Labels out;
  for (const Index& i : e.at) {
    if (i.is_constant()) {
      out.push_back(kNoLabel);  // an axis of one element
      continue;
    }
    const auto axis = i.as_axis();
    if (!axis || std::ranges::find(out, axis->id) != out.end()) return std::nullopt;
    out.push_back(axis->id);
    c.extents[axis->id] = axis->extent;
  }
  return out;
}

std::optional<Contraction> contraction_of(const Formula& formula, const Machine& machine) {
  if (formula.stages.size() != 1 || formula.inputs.size() != 2) return std::nullopt;
  const Stage& stage = formula.stages[0];
  const ExprNode& sum = *stage.value;
  if (sum.kind != ExprNode::Kind::Reduce || sum.reduction != Reduction::Sum || !sum.domain.empty())
    return std::nullopt;
  const ExprNode& product = *sum.args[0];
  if (product.kind != ExprNode::Kind::Apply || product.fn != Fn::Mul) return std::nullopt;
  Contraction c{.left = {}, .right = {}, .out = {}, .extents = LabelSizes(machine)};
  const auto left = labels_of_read(*product.args[0], 0, c), right = labels_of_read(*product.args[1], 1, c);
  if (!left || !right) return std::nullopt;
  c.left = *left;
  c.right = *right;
  for (const Axis& a : stage.axes)
    if (!a.extent.is(1)) c.out.push_back(a.id);
  return c;
}

// A contraction that is written otherwise than as MatMul.
void contractions(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (site.node(id).kind != NodeKind::Operator || site.node(id).inputs.size() != 2 || site.is(id, "MatMul"))
      continue;
    const auto formula = site.formula(id);
    const auto c = formula ? contraction_of(*formula, site.machine) : std::nullopt;
    if (!c) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const Value x = site.node(id).inputs[0], y = site.node(id).inputs[1];
    const auto product = contract(b, {b.input(site.name(x)), c->left, site.is_constant(x)},
                                  {b.input(site.name(y)), c->right, site.is_constant(y)}, c->out, c->extents);
    if (!product) continue;
    const auto result = reshaped(b, product->value, product->shape.value_or(shape_of(c->out, c->extents)),
                                 formula->output(0).shape());
    if (!result) continue;
    out.add(propose(site, kKind, fmt::format("{} as a matrix product", label(site.node(id))), b, {{id, 0}},
                    {*result}));
  }
}

// A product with a concatenation is the sum of the products with its parts.
void sums_over_parts(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    const bool is_conv = site.is(id, "Conv") && attribute(site.node(id), "group", std::int64_t{1}) == 1;
    if (!is_conv && !site.is(id, "MatMul")) continue;
    const std::vector<Value>& in = site.node(id).inputs;
    const auto parts = site.made_by(in[0], "Concat");
    if (!parts || !site.is_constant(in[1])) continue;
    const auto full = site.sizes(in[0]);
    const std::vector<Value>& xs = site.node(*parts).inputs;
    if (!full || xs.size() > 8) continue;
    const auto rank = static_cast<std::int64_t>(full->size());
    std::int64_t axis = attribute(site.node(*parts), "axis", std::int64_t{0});
    if (axis < 0) axis += rank;
    if (axis != (is_conv ? 1 : rank - 1)) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const Value w = b.input(site.name(in[1]));
    Value sum = Value::none();
    std::int64_t begin = 0;
    for (const Value& x : xs) {
      const auto sizes = site.concrete_sizes(x);
      if (!sizes) break;
      const std::int64_t end = begin + (*sizes)[static_cast<std::size_t>(axis)];
      std::vector<Value> inputs{b.input(site.name(x)), b.slice(w, is_conv ? 1 : 0, begin, end)};
      if (begin == 0 && in.size() > 2 && in[2].exists()) inputs.push_back(b.input(site.name(in[2])));
      const Value term = b.copy(site.node(id), inputs);
      sum = sum.exists() ? b.op("Add", {sum, term}) : term;
      begin = end;
    }
    if (begin != (*full)[static_cast<std::size_t>(axis)]) continue;
    out.add(propose(site, kKind,
                    fmt::format("{} as a sum over the parts of {}", site.name({id, 0}), site.name(in[0])), b,
                    {{id, 0}}, {sum}));
  }
}

Proposals propose_reassociate(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  contractions(site, out);
  sums_over_parts(site, out);
  propose_tables(site, out);
  propose_one_hot(site, out);
  propose_chosen_pairs(site, out);
  propose_shift_first(site, out);
  propose_siblings(site, out);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace

constinit const Proposer kReassociate{
    .name = "reassociate",
    .title = "siblings as one, products later",
    .law = "[A x; B x] = [A; B] x,   T[i] W = (T W)[i]",
    .finds =
        "Merges sibling products, writes contractions (Einsum) as matrix products, multiplies "
        "tables before rows are looked up, and hoists products out of recurrences.",
    .propose = propose_reassociate,
};

}  // namespace isomer
