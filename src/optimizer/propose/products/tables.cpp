#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "optimizer/facts/copied_nodes.h"
#include "optimizer/propose/products/parts.h"

namespace isomer {
namespace {

constexpr double kMostElements = 1 << 26;  // of all new tables together

// Gather along the first axis of a constant matrix.
struct Lookup {
  Value table, indices;
  std::int64_t rows, width;
};
std::optional<Lookup> lookup_of(const Site& site, Value v) {
  const auto id = site.made_by(v, "Gather");
  if (!id || attribute(site.node(*id), "axis", std::int64_t{0}) != 0) return std::nullopt;
  const std::vector<Value>& in = site.node(*id).inputs;
  const auto sizes = site.concrete_sizes(in[0]);
  if (!site.is_constant(in[0]) || site.is_constant(in[1]) || !sizes || sizes->size() != 2)
    return std::nullopt;
  return Lookup{.table = in[0], .indices = in[1], .rows = (*sizes)[0], .width = (*sizes)[1]};
}

// x W with constant W[k, n], maybe plus a constant.
struct Product {
  Value x, weights, bias = Value::none();
  bool transposed = false;
  std::int64_t columns = 0;
};
std::optional<Product> product_of(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || !is_plain_product(node)) return std::nullopt;
  Product out{.x = node.inputs[0], .weights = node.inputs[1]};
  if (node.inputs.size() > 2 && node.inputs[2].exists()) out.bias = node.inputs[2];
  out.transposed = has_transposed_weights(node);
  const auto sizes = site.concrete_sizes(out.weights);
  if (!site.is_constant(out.weights) || !sizes || sizes->size() != 2) return std::nullopt;
  if (out.bias.exists() && !site.is_constant(out.bias)) return std::nullopt;
  out.columns = (*sizes)[out.transposed ? 0 : 1];
  return out;
}

std::vector<Value> parts_of(const Site& site, Value x) {
  const auto concat = site.made_by(x, "Concat");
  const auto sizes = site.sizes(x);
  if (!concat || !sizes) return {x};
  const auto rank = static_cast<std::int64_t>(sizes->size());
  const std::int64_t axis = attribute(site.node(*concat), "axis", std::int64_t{0});
  return axis == rank - 1 || axis == -1 ? site.node(*concat).inputs : std::vector<Value>{x};
}

// Whether a node computes each element of its result of the one of `x` at the same place, and of constants
// that are the same for every row of a table of this rank.
bool is_by_row(const Site& site, NodeId id, Value x, std::size_t rank) {
  const Node& node = site.node(id);
  if (node.outputs.size() != 1 || !is_pointwise(site, id) || site.sizes(x) != site.sizes({id, 0}))
    return false;
  return std::ranges::all_of(node.inputs, [&](const Value& v) {
    return v == x || !v.exists() || (site.is_constant(v) && site.rank(v) < rank);
  });
}

// A function of looked-up rows is looked up instead: for constants it is folded.
void propose_rows(const Site& site, NodeId gather, Proposals& out) {
  const Node& node = site.node(gather);
  const auto table = site.concrete_sizes(node.inputs[0]);
  if (attribute(node, "axis", std::int64_t{0}) != 0 || !site.is_constant(node.inputs[0]) || !table ||
      site.is_constant(node.inputs[1]) ||
      static_cast<double>(element_count(*table).value_or(0)) > kMostElements)
    return;
  Value end{gather, 0};
  std::vector<NodeId> chain;
  for (auto next = site.only_reader(end); next && is_by_row(site, *next, end, table->size());
       next = site.only_reader(end)) {
    chain.push_back(*next);
    end = {*next, 0};
  }
  if (chain.empty()) return;
  ProgramBuilder b(site.graph, site.name(end));
  std::map<Value, Value> made{{{gather, 0}, b.input(site.name(node.inputs[0]))}};
  copy_nodes(b, site, chain, made);
  const Value y = b.op("Gather", {made.at(end), b.input(site.name(node.inputs[1]))});
  auto p =
      propose(site, "reassociate", fmt::format("{} looked up in a table", site.name(end)), b, {end}, {y});
  if (p) out.list.push_back(std::move(*p));
}

}  // namespace

void propose_tables(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order())
    if (site.is(id, "Gather")) propose_rows(site, id, out);
  for (const NodeId id : site.graph.order()) {
    const auto product = product_of(site, id);
    if (!product) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const Value w = b.input(site.name(product->weights));
    std::vector<Value> terms;
    std::int64_t begin = 0;
    double elements = 0;
    bool all = true;
    for (const Value& part : parts_of(site, product->x)) {
      const auto lookup = lookup_of(site, part);
      all = all && lookup;
      if (!all) break;
      const std::int64_t end = begin + lookup->width;
      Value rows = b.slice(w, product->transposed ? 1 : 0, begin, end);
      if (product->transposed) rows = b.transpose(rows, {1, 0});
      const Value table = b.op("MatMul", {b.input(site.name(lookup->table)), rows});
      terms.push_back(b.op("Gather", {table, b.input(site.name(lookup->indices))}));
      elements += static_cast<double>(lookup->rows * product->columns);
      begin = end;
    }
    if (!all || elements > kMostElements) continue;
    if (product->bias.exists()) terms.push_back(b.input(site.name(product->bias)));
    const Value sum = terms.size() == 1 ? terms[0] : b.op("Sum", terms);
    auto p =
        propose(site, "reassociate", fmt::format("{} looked up in tables of products", site.name({id, 0})), b,
                {{id, 0}}, {sum});
    if (p) out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
