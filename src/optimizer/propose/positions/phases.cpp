#include "optimizer/propose/positions/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/prove/step.h"
#include "optimizer/facts/copied_nodes.h"
#include "optimizer/propose/collapse/collapse.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostFactor = 4;
constexpr double kSlack = 0.1;

// A region whose output is a larger image, by the same whole factor both ways.
struct Enlarging {
  LinearRegion region;
  std::int64_t factor;
  Extents to;
};

std::optional<Enlarging> enlarging(const Site& site, LinearRegion region) {
  const auto from = site.concrete_sizes(region.input), to = site.concrete_sizes(region.output);
  if (!from || !to || from->size() != 4 || to->size() != 4 || (*from)[0] != (*to)[0]) return std::nullopt;
  const std::int64_t factor = (*from)[2] > 0 ? (*to)[2] / (*from)[2] : 0;
  if (factor < 2 || factor > kMostFactor || (*to)[2] != factor * (*from)[2] ||
      (*to)[3] != factor * (*from)[3])
    return std::nullopt;
  return Enlarging{.region = std::move(region), .factor = factor, .to = *to};
}

// The convolution that one phase is, as a program; its inputs are the model's, by name.
std::optional<Graph> phase(const Site& site, const Enlarging& e, std::int64_t row, std::int64_t column) {
  auto program = region_of(site.graph, site.inference, {e.region.input}, {e.region.output});
  if (!program.ok()) return std::nullopt;
  std::set<NodeId> own;
  const auto constant = [&](const char* name, const std::vector<std::int64_t>& values) {
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {fmt::format("{}.{}.{}.{}", site.name(e.region.output), name, row, column)};
    node.tensor = Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values);
    return Value{*own.insert(program->add(std::move(node))).first, 0};
  };
  Node slice;
  slice.op = "Slice";
  slice.inputs = {program->outputs()[0], constant("begin", {row, column}),
                  constant("end", {e.to[2], e.to[3]}), constant("axes", {2, 3}),
                  constant("steps", {e.factor, e.factor})};
  slice.outputs = {fmt::format("{}.phase.{}.{}", site.name(e.region.output), row, column)};
  const Value y{program->add(std::move(slice)), 0};
  Graph sliced = *program;
  sliced.add_output(y);
  const auto inference = infer(sliced);
  if (!inference.ok()) return std::nullopt;
  LinearRegion region{.nodes = {}, .input = sliced.inputs()[0], .output = y, .affine = e.region.affine};
  const auto constants = constant_values(sliced);
  for (const NodeId id : sliced.order())
    if (sliced.node(id).kind == NodeKind::Operator && !constants.contains({id, 0}))
      region.nodes.push_back(id);
  std::string why;
  const auto found = collapse_region(Site(sliced, *inference, site.machine), region, true, why);
  const auto convolution = std::ranges::find_if(found, [](const Collapsed& c) {
    const Graph& after = c.proposal.claim.after;
    return after.node(after.outputs()[0].node).op == "Conv";
  });
  if (convolution == found.end()) return std::nullopt;
  const Graph& after = convolution->proposal.claim.after;
  // The constants of the slice are the program's own, not the model's.
  Graph out = after.without_nodes();
  std::map<NodeId, NodeId> moved;
  std::map<std::string, NodeId> names;
  for (const NodeId id : sliced.order()) names.emplace(sliced.node(id).outputs[0], id);
  for (const NodeId id : after.order()) {
    Node node = after.node(id);
    const auto known = node.kind == NodeKind::Input ? names.find(node.outputs[0]) : names.end();
    const bool is_own = known != names.end() && own.contains(known->second);
    if (is_own) node = sliced.node(known->second);
    for (Value& v : node.inputs)
      if (v.exists()) v.node = moved.at(v.node);
    moved.emplace(id, out.add(std::move(node)));
  }
  for (const Value& v : after.outputs()) out.add_output({moved.at(v.node), v.output});
  return out;
}

// The phases, then the first `count` following nodes for each of them, then interleaved.
std::optional<Proposal> interleave(const Site& site, const Enlarging& e, const std::vector<Graph>& phases,
                                   const std::vector<NodeId>& after, std::size_t count) {
  std::set<NodeId> inside{e.region.output.node};
  for (std::size_t k = 0; k < count; ++k) inside.insert(after[k]);
  const Value end = count == 0 ? e.region.output : Value{after[count - 1], 0};
  if (!is_closed(site, inside, end)) return std::nullopt;
  ProgramBuilder b(site.graph, site.name(end));
  std::vector<Value> parts;
  for (const Graph& phase : phases) {
    std::map<Value, Value> made{{e.region.output, append_program(b, site, phase)}};
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<Value> inputs;
      for (const Value& v : site.node(after[k]).inputs)
        inputs.push_back(!v.exists() ? v : made.contains(v) ? made.at(v) : b.input(site.name(v)));
      made[{after[k], 0}] = b.copy(site.node(after[k]), inputs);
    }
    parts.push_back(made.at(end));
  }
  const Value y = b.op("DepthToSpace", {b.concat(parts, 1)},
                       with({{"blocksize", e.factor}, {"mode", std::string("DCR")}}));
  return propose(site, "commute",
                 fmt::format("{} as {} phases of {}, with {} nodes after it", site.name(e.region.output),
                             phases.size(), site.name(e.region.input), count),
                 b, {end}, {y});
}

}  // namespace

void propose_phases(const Site& site, Proposals& out) {
  if (site.graph.opset("") < 11) return;
  const LinearRegions regions(site.graph, site.inference);
  std::set<NodeId> taken;
  for (const NodeId id : site.graph.order()) {
    if (taken.contains(id) || site.node(id).kind != NodeKind::Operator || site.is_constant({id, 0})) continue;
    if (!site.is(id, "Conv") && !site.is(id, "ConvTranspose")) continue;
    std::vector<LinearRegion> found = regions.ending_in({id, 0});
    if (site.activations(id).size() == 1)
      found.push_back({.nodes = {id},
                       .input = site.node(id).inputs[0],
                       .output = {id, 0},
                       .affine = site.node(id).inputs.size() > 2});
    std::optional<Enlarging> e;
    for (const LinearRegion& region : found)
      if (!e) e = enlarging(site, region);
    if (!e) continue;
    std::vector<Graph> phases;
    for (std::int64_t n = 0; n < e->factor * e->factor; ++n)
      if (auto one = phase(site, *e, n / e->factor, n % e->factor)) phases.push_back(std::move(*one));
    if (phases.size() != static_cast<std::size_t>(e->factor * e->factor)) continue;
    const auto after = parallel_after(site, e->region.output, {2, 3});
    // As late as it costs little: functions of single elements are free behind a convolution.
    std::optional<Proposal> best;
    for (std::size_t count = 0; count <= after.size(); ++count) {
      auto next = interleave(site, *e, phases, after, count);
      if (next && (!best || next->gain >= best->gain - kSlack * std::abs(best->gain))) best = std::move(next);
    }
    if (best) out.list.push_back(std::move(*best));
    taken.insert(e->region.nodes.begin(), e->region.nodes.end());
  }
}

}  // namespace isomer
