// collapse: a region that is linear in one activation is what it does to impulses.
//
// How far an output looks (kernel, stride, pads, groups) is read off the boxes that its formulas need. The
// kernel itself is the region's own nodes applied to impulses, so no block has to be known by name: the new
// program is Conv(x, K) with K computed from the old weights by the old operators. Whether that is true at
// every position, borders included, is for the prover to say. Folding K afterwards computes it in float64 and
// rounds once.
#include <fmt/format.h>

#include <algorithm>

#include "graph/constant.h"
#include "graph/node_attributes.h"
#include "prove/shrink.h"
#include "rewrite/impulse_response.h"
#include "rewrite/linear_region.h"
#include "rewrite/program_builder.h"
#include "rewrite/proposal.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostTaps = 15;
constexpr double kMostElements = 1 << 24;  // of all impulses together

// How y[n, o, p] looks at x: taps stride·p - pad + u, u < kernel.
struct Look {
  std::int64_t groups = 1, channels = 0, outputs = 0;
  Extents kernel = {}, stride = {}, pad_begin = {}, pad_end = {};
};

struct Site {
  const Graph& graph;          // the model's
  const Inference& inference;  // symbolic sizes
  const LinearRegion& region;
  // Which axis the targets of Reshape nodes leave open (-1), so that the region can be run at another size:
  // the batch, which is the first, or the rows, which are the last but one.
  enum class Open : std::uint8_t { None, Batch, Rows } open = Open::None;
};

std::optional<Extents> sizes_of(const Inference& inference, Value v) {
  const auto& shape = inference.of(v).shape;
  return shape ? concrete(*shape) : std::nullopt;
}

std::optional<Look> look_of(const Graph& graph, const Inference& inference, const LinearRegion& region) {
  const auto x = sizes_of(inference, region.input), y = sizes_of(inference, region.output);
  if (!x || !y || x->size() != y->size() || x->size() < 3 || x->size() > 5 || (*x)[0] != (*y)[0])
    return std::nullopt;
  Look look{.channels = (*x)[1], .outputs = (*y)[1]};
  Extents middle(y->size(), 0);
  for (std::size_t d = 2; d < y->size(); ++d) middle[d] = (*y)[d] / 2;
  const auto here = needed_input(graph, inference, region, middle);
  if (!here) return std::nullopt;
  const std::int64_t width = here->high[1] - here->low[1];
  if (width > 0 && here->low[1] == 0 && look.channels % width == 0 &&
      look.outputs % (look.channels / width) == 0)
    look.groups = look.channels / width;
  for (std::size_t d = 2; d < y->size(); ++d) {
    Extents next = middle;
    if (++next[d] >= (*y)[d]) return std::nullopt;
    const auto there = needed_input(graph, inference, region, next);
    if (!there) return std::nullopt;
    std::int64_t kernel = here->high[d] - here->low[d], begin = 0;
    const std::int64_t stride = there->low[d] - here->low[d];
    if (stride < 1 || kernel < 1) return std::nullopt;
    begin = stride * middle[d] - here->low[d];
    // What is cut off in front are taps of weight zero; at the end, too, unless the stride skips it.
    kernel += std::max<std::int64_t>(0, -begin);
    begin = std::max<std::int64_t>(0, begin);
    std::int64_t end = ((*y)[d] - 1) * stride + kernel - (*x)[d] - begin;
    if (end <= -stride) kernel -= end;
    end = std::max<std::int64_t>(0, end);
    if (kernel > kMostTaps) return std::nullopt;
    look.kernel.push_back(kernel);
    look.stride.push_back(stride);
    look.pad_begin.push_back(begin);
    look.pad_end.push_back(end);
  }
  return look;
}

// Reshape's shape constant for any batch: its first entry, which holds the batch, left open.
std::optional<std::vector<std::int64_t>> shape_for_any_batch(const Site& site, const Tensor& constant) {
  const auto batch = sizes_of(site.inference, site.region.input);
  auto shape = constant.integers();
  if (!batch || !shape || shape->empty() || (*shape)[0] <= 0) return std::nullopt;
  const bool is_open = std::ranges::find(*shape, -1) != shape->end();
  if (is_open && (*shape)[0] != (*batch)[0]) return std::nullopt;
  (*shape)[0] = is_open ? 0 : -1;
  return shape;
}

// The same for any number of rows: the entry that holds them, alone or with all axes before, left open.
std::optional<std::vector<std::int64_t>> shape_for_any_rows(const Site& site, Value made) {
  const auto x = sizes_of(site.inference, site.region.input);
  auto shape = sizes_of(site.inference, made);
  if (!x || !shape || x->size() < 2) return std::nullopt;
  const std::int64_t rows = (*x)[x->size() - 2];
  std::int64_t all = 1;
  for (std::size_t d = 0; d + 1 < x->size(); ++d) all *= (*x)[d];
  if (all != rows) return std::nullopt;  // other axes would have to be told apart
  const auto at = std::find(shape->begin(), shape->end(), rows);
  if (at == shape->end()) return std::nullopt;
  *at = -1;
  return shape;
}

std::optional<std::vector<std::int64_t>> open_shape(const Site& site, NodeId id) {
  const Node& node = site.graph.node(id);
  if (site.open == Site::Open::None || node.op != "Reshape" || !node.domain.empty()) return std::nullopt;
  const auto constant = known_constant(site.graph, node.inputs[1]);
  if (!constant) return std::nullopt;
  return site.open == Site::Open::Batch ? shape_for_any_batch(site, *constant)
                                        : shape_for_any_rows(site, {id, 0});
}

// A product of the region's input with one number, which only matrix products read: (x · c) W is x (W · c),
// so that no unit matrix has to be multiplied.
struct LeadingFactor {
  NodeId node;
  Value number;
};

std::optional<LeadingFactor> leading_factor(const Site& site) {
  std::optional<LeadingFactor> out;
  const auto reads = [&](NodeId id, Value v) {
    return std::ranges::count(site.graph.node(id).inputs, v) > 0;
  };
  for (const NodeId id : site.region.nodes) {
    if (!reads(id, site.region.input)) continue;
    const Node& node = site.graph.node(id);
    if (out || !node.domain.empty() || (node.op != "Mul" && node.op != "Div")) return std::nullopt;
    const std::size_t place = node.op == "Mul" && node.inputs[1] == site.region.input ? 1 : 0;
    const auto number = known_constant(site.graph, node.inputs[1 - place]);
    if (node.inputs[place] != site.region.input || !number || number->count() != 1 || number->rank() > 1)
      return std::nullopt;
    out = {id, node.inputs[1 - place]};
  }
  if (!out || site.region.output.node == out->node) return std::nullopt;
  for (const NodeId id : site.region.nodes) {
    const Node& node = site.graph.node(id);
    if (reads(id, {out->node, 0}) && (!is_plain_product(node) || node.inputs[0] != Value{out->node, 0} ||
                                      node.inputs[1] == Value{out->node, 0}))
      return std::nullopt;
  }
  return out;
}

// The unit matrix times the weights of a MatMul or Gemm: the weights. nullopt: the node is something else.
std::optional<Value> unit_times(ProgramBuilder& b, const Site& site, const Node& node, const Extents& unit,
                                const std::optional<LeadingFactor>& factor) {
  if (!is_plain_product(node)) return std::nullopt;
  const auto weights = sizes_of(site.inference, node.inputs[1]);
  if (!weights || weights->size() != 2) return std::nullopt;
  const bool transposed = has_transposed_weights(node), is_gemm = node.op == "Gemm";
  Value out = b.input(site.graph.name_of(node.inputs[1]));
  if (transposed) out = b.transpose(out, {1, 0});
  Extents shape = unit;
  shape.back() = (*weights)[transposed ? 0 : 1];
  if (!is_gemm) out = b.reshape(out, shape);
  if (factor)
    out = b.op(site.graph.node(factor->node).op, {out, b.input(site.graph.name_of(factor->number))});
  if (is_gemm && node.inputs.size() > 2 && node.inputs[2].exists())
    out = b.op("Add", {out, b.input(site.graph.name_of(node.inputs[2]))});
  return out;
}

// Whether a node turns a matrix with rows in front into one without, or back.
bool keeps_rows(const Site& site, const Node& node, Value made) {
  if (node.op != "Reshape" || !node.domain.empty()) return false;
  const auto from = sizes_of(site.inference, node.inputs[0]), to = sizes_of(site.inference, made);
  return from && to && !from->empty() && !to->empty() && from->back() == to->back();
}

// The region's nodes with another input, which may be known to be a unit matrix of this shape. Constants are
// the model's, by name.
Value run_region(ProgramBuilder& b, const Site& site, Value input, const Extents& unit = {}) {
  std::map<Value, Value> made{{site.region.input, input}};
  const auto factor = unit.empty() ? std::nullopt : leading_factor(site);
  std::set<Value> units;  // what the unit matrix is, times the factor
  if (!unit.empty()) units.insert(factor ? Value{factor->node, 0} : site.region.input);
  for (const NodeId id : site.region.nodes) {
    const Node& node = site.graph.node(id);
    if (factor && id == factor->node) continue;
    const bool of_unit = !node.inputs.empty() && units.contains(node.inputs[0]);
    if (of_unit && !factor && keeps_rows(site, node, {id, 0})) units.insert({id, 0});
    if (const auto known = of_unit ? unit_times(b, site, node, unit, factor) : std::nullopt) {
      made.emplace(Value{id, 0}, *known);
      continue;
    }
    std::vector<Value> inputs;
    for (const Value& v : node.inputs) {
      if (!v.exists()) inputs.push_back(v);
      else if (const auto at = made.find(v); at != made.end()) inputs.push_back(at->second);
      else inputs.push_back(b.input(site.graph.name_of(v)));
    }
    if (const auto shape = open_shape(site, id)) inputs[1] = b.integers(*shape);
    const Value first = b.copy(node, inputs);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) made.emplace(Value{id, k}, Value{first.node, k});
  }
  return made.at(site.region.output);
}

// The shape of the region's output for another shape of its input.
std::optional<Extents> output_sizes(const Site& site, const Extents& input) {
  const ValueInfo& info = site.inference.of(site.region.input);
  ProgramBuilder b(site.graph, "");
  DeclaredType type;
  type.type = info.type;
  type.shape = std::vector<std::optional<Dim>>(input.begin(), input.end());
  const Value x = b.input(site.graph.name_of(site.region.input), type);
  const Value y = run_region(b, site, x);
  // The constants that it reads are inputs so far.
  Graph program = b.graph().without_nodes();
  std::map<std::string, Value> constants;
  for (const NodeId id : site.region.nodes)
    for (const Value& v : site.graph.node(id).inputs)
      if (v.exists()) constants.emplace(site.graph.name_of(v), v);
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : b.graph().order()) {
    Node node = b.graph().node(id);
    const bool is_constant = node.kind == NodeKind::Input && id != x.node;
    if (is_constant) {
      const auto tensor = known_constant(site.graph, constants.at(node.outputs[0]));
      if (!tensor) return std::nullopt;
      node.kind = NodeKind::Initializer;
      node.tensor = *tensor;
    }
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    moved.emplace(id, program.add(std::move(node)));
  }
  program.add_input({moved.at(x.node), 0});
  program.add_output({moved.at(y.node), y.output});
  const auto sizes = infer(program);
  if (!sizes.ok()) return std::nullopt;
  return sizes_of(*sizes, program.outputs()[0]);
}

struct Kernel {
  Value weights, bias = Value::none();
};

std::optional<Kernel> kernel_of(ProgramBuilder& b, const Site& site, const Look& look) {
  const std::size_t d = look.kernel.size();
  const std::int64_t rows = look.channels / look.groups;
  Impulses impulses{
      .rows = rows, .groups = look.groups, .stride = look.stride, .spatial = Extents(d), .place = Extents(d)};
  double elements = static_cast<double>(impulses.phases() * rows * look.channels);
  for (std::size_t i = 0; i < d; ++i) {
    impulses.place[i] = look.kernel[i] - 1;
    impulses.spatial[i] = 2 * look.kernel[i] - 2 + look.stride[i];
    if (site.open == Site::Open::None) continue;
    // Only the batch may be another one.
    const auto& shape = site.inference.of(site.region.input).shape;
    const auto size = shape ? (*shape)[i + 2].value() : std::nullopt;
    if (!size || *size < look.stride[i]) return std::nullopt;
    impulses.spatial[i] = *size;
    impulses.place[i] = (*size - look.stride[i]) / 2;
    elements *= static_cast<double>(*size);
  }
  if (elements > kMostElements) return std::nullopt;
  const std::int64_t images = impulses.phases() * rows;
  const auto out = output_sizes(site, joined({images, look.channels}, impulses.spatial));
  if (!out || out->size() != d + 2 || (*out)[0] != images || (*out)[1] != look.outputs) return std::nullopt;

  Value answer = run_region(b, site, impulse_images(b, impulses));
  Kernel kernel;
  if (site.region.affine) {
    const Value rest = run_region(b, site, b.zeros(joined({1, look.channels}, impulses.spatial)));
    answer = b.op("Sub", {answer, rest});
    kernel.bias = b.op("Reshape", {middle_of(b, rest, *out), b.integers({look.outputs})});
  }
  const auto weights = kernel_from(b, impulses, answer, *out, look.kernel, look.pad_begin, Extents(d, 1));
  if (!weights) return std::nullopt;
  kernel.weights = *weights;
  return kernel;
}

std::string spatial_text(const Extents& kernel) {
  std::string out;
  for (const std::int64_t k : kernel) out += (out.empty() ? "" : "x") + std::to_string(k);
  return out;
}

std::optional<Proposal> as_convolution(const Site& site, const Look& look, double price) {
  const std::string y = site.graph.name_of(site.region.output);
  ProgramBuilder b(site.graph, y);
  const Value x = b.input(site.graph.name_of(site.region.input));
  const auto kernel = kernel_of(b, site, look);
  if (!kernel) return std::nullopt;
  std::vector<Value> inputs{x, kernel->weights};
  std::vector<std::string> folds{b.name_of(kernel->weights)};
  if (kernel->bias.exists()) {
    inputs.push_back(kernel->bias);
    folds.push_back(b.name_of(kernel->bias));
  }
  const Value out = b.op("Conv", inputs,
                         with({{"kernel_shape", look.kernel},
                               {"strides", look.stride},
                               {"pads", joined(look.pad_begin, look.pad_end)},
                               {"group", look.groups}}));
  b.output(out);
  return Proposal{
      .kind = "collapse",
      .what = fmt::format("{} nodes linear in {} are one {} convolution", site.region.nodes.size(),
                          site.graph.name_of(site.region.input), spatial_text(look.kernel)),
      .claim = {.inputs = {site.graph.name_of(site.region.input)}, .outputs = {y}, .after = b.graph()},
      .folds = std::move(folds),
      .gain = price};
}

double convolution_price(const Look& look, const Extents& y) {
  double macs = 1;
  for (const std::int64_t e : y) macs *= static_cast<double>(e);
  for (const std::int64_t k : look.kernel) macs *= static_cast<double>(k);
  const std::int64_t per_group = look.channels / look.groups;
  return 2 * macs * static_cast<double>(per_group);
}

// Whether the region is already what would be proposed: one product and its bias.
bool is_product_and_bias(const Graph& graph, const LinearRegion& region) {
  return region.nodes.size() == 2 && graph.node(region.nodes[0]).op == "MatMul" &&
         graph.node(region.nodes[1]).op == "Add";
}

// y[..., j] = Σ_k x[..., k] M[k, j]: the region applied to the unit matrix.
std::optional<Proposal> as_matrix(Site site, const Graph& sized, const Inference& info,
                                  const LinearRegion& region, double price, bool any_price,
                                  std::string& why) {
  const auto x = sizes_of(info, region.input), y = sizes_of(info, region.output);
  if (!x || !y || x->size() != y->size() || x->size() < 2) return std::nullopt;
  Extents position(y->size(), 0);
  for (std::size_t d = 0; d + 1 < y->size(); ++d) {
    if ((*x)[d] != (*y)[d]) return std::nullopt;
    position[d] = (*y)[d] / 2;
  }
  const auto box = needed_input(sized, info, region, position);
  if (!box) return std::nullopt;
  for (std::size_t d = 0; d + 1 < y->size(); ++d)
    if (box->low[d] != position[d] || box->high[d] != position[d] + 1) return std::nullopt;
  const std::int64_t rows = x->back(), columns = y->back();
  double rest = 1;
  for (std::size_t d = 0; d + 1 < y->size(); ++d) rest *= static_cast<double>((*y)[d]);
  const double after = 2 * rest * static_cast<double>(rows) * static_cast<double>(columns);
  if (is_product_and_bias(site.graph, site.region)) {
    why = "it is one matrix product already";
    return std::nullopt;
  }
  if (after >= price && !any_price) {
    why = "one matrix product would cost more";
    return std::nullopt;
  }
  Extents shape(x->size(), 1);
  shape[shape.size() - 2] = shape[shape.size() - 1] = rows;
  const auto fits = [&] {
    const auto out = output_sizes(site, shape);
    return out && out->back() == columns && (*out)[out->size() - 2] == rows;
  };
  if (!fits()) {
    site.open = Site::Open::Rows;
    if (!fits()) return std::nullopt;
  }

  const std::string name = site.graph.name_of(site.region.output);
  ProgramBuilder b(site.graph, name);
  const Value in = b.input(site.graph.name_of(site.region.input));
  Value answer = run_region(b, site, b.op("Reshape", {b.eye(rows), b.integers(shape)}), shape);
  std::vector<std::string> folds;
  Value bias = Value::none();
  if (site.region.affine) {
    Extents one = shape;
    one[one.size() - 2] = 1;
    const Value rest_of = run_region(b, site, b.zeros(one));
    answer = b.op("Sub", {answer, rest_of});
    bias = b.op("Reshape", {rest_of, b.integers({columns})});
    folds.push_back(b.name_of(bias));
  }
  const Value matrix = b.op("Reshape", {answer, b.integers({rows, columns})});
  folds.push_back(b.name_of(matrix));
  Value result = b.op("MatMul", {in, matrix});
  if (bias.exists()) result = b.op("Add", {result, bias});
  b.output(result);
  return Proposal{
      .kind = "collapse",
      .what = fmt::format("{} nodes linear in {} are one {}x{} matrix product", site.region.nodes.size(),
                          site.graph.name_of(site.region.input), rows, columns),
      .claim = {.inputs = {site.graph.name_of(site.region.input)}, .outputs = {name}, .after = b.graph()},
      .folds = std::move(folds),
      .gain = price - after};
}

// Numbers for the named sizes, to find a candidate with; the proof is for all sizes.
std::optional<Inference> sized_inference(const Graph& graph, Graph& sized) {
  Sizes sizes;
  for (const std::string& s : symbols_of(graph)) sizes[s] = 32;
  sized = at_sizes(graph, sizes);
  auto info = infer(sized);
  if (!info.ok()) return std::nullopt;
  return std::move(*info);
}

}  // namespace

std::optional<Proposal> collapse_region(const Graph& graph, const Inference& inference,
                                        const LinearRegion& region, bool any_price, std::string& why) {
  // The region alone, at some sizes.
  why = "its sizes are not known";
  const auto program = region_of(graph, inference, {region.input}, {region.output});
  if (!program.ok()) return std::nullopt;
  Graph sized;
  const auto info = sized_inference(*program, sized);
  if (!info) return std::nullopt;
  const auto price = operations(sized, *info);
  if (!price) return std::nullopt;
  LinearRegion inner{
      .nodes = {}, .input = sized.inputs()[0], .output = sized.outputs()[0], .affine = region.affine};
  const auto constants = constant_values(sized);
  for (const NodeId id : sized.order())
    if (sized.node(id).kind == NodeKind::Operator && !constants.contains({id, 0})) inner.nodes.push_back(id);
  const Site site{graph, inference, region};
  why = "it is neither a convolution nor a matrix product";
  if (const auto look = look_of(sized, *info, inner)) {
    const double after = convolution_price(*look, *sizes_of(*info, inner.output));
    if (any_price || after < *price) {
      if (auto proposal = as_convolution(site, *look, *price - after)) return proposal;
      const Site fixed{graph, inference, region, Site::Open::Batch};
      if (auto proposal = as_convolution(fixed, *look, *price - after)) return proposal;
      why = "its kernel is not found at another size";
    } else {
      why = "one convolution would cost more";
    }
  }
  return as_matrix(site, sized, *info, inner, *price, any_price, why);
}

Proposals propose_collapse(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  if (graph.opset("") < 11) return out;
  const LinearRegions regions(graph, inference);
  std::set<NodeId> taken;
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    if (taken.contains(*at) || regions.constants().contains({*at, 0})) continue;
    for (const LinearRegion& region : regions.ending_in({*at, 0})) {
      std::string why;
      auto proposal = collapse_region(graph, inference, region, options.any_price, why);
      if (proposal) {
        taken.insert(region.nodes.begin(), region.nodes.end());
        out.list.push_back(std::move(*proposal));
        break;
      }
      out.declined.push_back(fmt::format("{} nodes from {} to {}: {}", region.nodes.size(),
                                         graph.name_of(region.input), graph.name_of(region.output), why));
    }
  }
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace isomer
