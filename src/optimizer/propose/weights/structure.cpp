#include "optimizer/propose/weights/structure.h"

#include <algorithm>

#include "model/graph/constant.h"
#include "optimizer/propose/proposer.h"

namespace isomer {

Value StructureClaim::call(Value x, Value constant, const Attributes* attributes) {
  Node node = site_.node(product_.id);
  if (attributes != nullptr) node.attributes = *attributes;
  const bool is_first = node.inputs[0] == product_.x;
  return after.copy(std::move(node), is_first ? std::vector{x, constant} : std::vector{constant, x});
}

Value StructureClaim::with_bias(Value y) {
  if (!product_.bias.exists()) return y;
  Value added = bias();
  if (product_.bias_axis) {
    std::vector<std::int64_t> shape(product_.rank - static_cast<std::size_t>(*product_.bias_axis), 1);
    shape[0] = -1;
    added = after.reshape(added, shape);
  }
  return after.op("Add", {y, added});
}

std::optional<Proposal> StructureClaim::finish(const std::string& what, Value y, Value stated) {
  auto out = propose(site_, "structure", what, after, {{product_.id, 0}}, {y});
  if (!out) return out;
  fact.output(stated);
  out->claim.facts.push_back({site_.name(product_.constant), fact.graph()});
  return out;
}

std::optional<std::vector<std::int64_t>> shape_with(const Dims& shape, std::size_t axis,
                                                    const std::vector<std::int64_t>& parts) {
  std::vector<std::int64_t> out;
  int open = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == axis) out.insert(out.end(), parts.begin(), parts.end());
    else if (shape[d].is_concrete()) out.push_back(shape[d].concrete());
    else if (d < axis) out.push_back(0);  // as it is there
    else if (++open == 1) out.push_back(-1);
  }
  return open > 1 ? std::nullopt : std::optional(out);
}

Value with_rows_of(ProgramBuilder& b, Value rows, Value x, const Dims& shape, std::int64_t columns) {
  std::vector<std::int64_t> sizes;
  for (const Dim& d : shape) sizes.push_back(d.is_concrete() ? d.concrete() : -1);
  sizes.back() = columns;
  if (std::ranges::count(sizes, -1) <= 1) return b.reshape(rows, sizes);
  const Value leading = b.slice(b.op("Shape", {x}), 0, 0, -1);
  return b.op("Reshape", {rows, b.concat({leading, b.integers({columns})}, 0)},
              with({{"allowzero", std::int64_t{1}}}));
}

Value same_class(ProgramBuilder& b, std::int64_t classes, std::size_t rank) {
  std::vector<std::int64_t> shape(rank, 1);
  shape[0] = shape[2] = classes;
  return b.reshape(b.eye(classes), shape);
}

namespace {

Proposals propose_structure(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  const Site site(graph, inference, *options.machine);
  Proposals out;
  std::map<int, std::optional<ConstantStructure>> known;  // by content
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator || node.inputs.size() < 2) continue;
    for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {
      const Value v = node.inputs[k];
      if (!site.is_constant(v)) continue;
      const auto [at, is_new] = known.try_emplace(site.content(v));
      const Tensor constant = *known_constant(graph, v);
      if (is_new && constant.count() <= kMostWeights) at->second = ConstantStructure::of(constant);
      const auto& structure = at->second;
      if (!structure || !structure->has_any()) break;
      const auto product = product_sum_at(site, id);
      if (!product) break;
      if (propose_selection(site, *product, *structure, out)) break;
      if (propose_shifts(site, *product, *structure, out)) break;
      propose_blocks(site, *product, *structure, out);
      propose_band(site, *product, *structure, out);
      propose_fewer_slices(site, *product, *structure, out);
      propose_kernels(site, *product, *structure, out);
      break;
    }
  }
  propose_fewer_channels(site, out);
  return out;
}

}  // namespace

constinit const Proposer kStructure{
    .name = "structure",
    .title = "structure in the weights",
    .law = "W = P [D 0; 0 0] Q   ⟹   W x = P [D (Q x)₁; 0]",
    .finds =
        "Uses what the numbers of weights show: zero borders and channels, holes as dilation, "
        "channels that are zero or unread between two products, blocks as groups or batches, "
        "permutations, selections and kernels of one number as data movement, equal rows once, "
        "bands as convolutions, kernels that are products.",
    .propose = propose_structure,
    .remark = "by the numbers of the weights",
};

}  // namespace isomer
