// An element-wise function between two 8-bit values of a quantised model, as a look-up in a table of 256. A
// GELU that is quantised between all of its operators takes five and more passes over floats. The runtime's
// GatherElements takes half of the time of such a GELU, and a third of Gather's.
#include <fmt/format.h>

#include <ranges>
#include <set>

#include "kernel/prove/cases.h"
#include "kernel/prove/step.h"
#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 48;  // a GELU by tanh has nine operators, each with a Q, a DQ and a number
// For a SiLU or a HardSwish, two operators, the runtime has integer kernels that are faster than a look-up.
constexpr std::size_t kLeastWorking = 3;

struct Region {
  Value x, y;
  std::size_t working = 0;    // nodes that neither quantise nor dequantise
  std::vector<NodeId> nodes;  // the last first
};

bool has_8_bits(ElementType type) { return type == ElementType::Uint8 || type == ElementType::Int8; }

// Whether it reads elements at one place, as far as shapes show; the proof checks it.
bool may_be_pointwise(const Site& site, NodeId id, Value y) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || !node.captures.empty()) return false;
  const auto sizes = site.concrete_sizes({id, 0});
  if (!sizes || sizes != site.concrete_sizes(y)) return false;
  const auto formula = site.formula(id);
  return formula && formula->stages.size() == 1 && formula->output(0).value->kind != ExprNode::Kind::Reduce;
}

// A number that was quantised, too, or another that is made of constants alone.
bool is_number(const Site& site, Value v) {
  const Node& node = site.node(v.node);
  const auto sizes = site.concrete_sizes(v);
  return node.kind == NodeKind::Operator && site.activations(v.node).empty() && sizes &&
         element_count(*sizes) == 1;
}

// The largest region that ends in this value and begins with one value of 8 bits.
std::optional<Region> region_before(const Site& site, Value y) {
  std::optional<Region> out;
  std::set<Value, LaterFirst> open({y}, LaterFirst{&site});
  Region now{.x = y, .y = y, .nodes = {}};
  while (!open.empty() && now.nodes.size() < kMostNodes) {
    const Value v = *open.begin();
    if (!may_be_pointwise(site, v.node, y)) break;
    open.erase(open.begin());
    now.nodes.push_back(v.node);
    if (!site.is(v.node, "QuantizeLinear") && !site.is(v.node, "DequantizeLinear")) ++now.working;
    for (const Value& x : site.activations(v.node))
      if (!is_number(site, x)) open.insert(x);
    if (open.size() != 1) continue;
    now.x = *open.begin();
    if (has_8_bits(site.inference.of(now.x).type) && site.concrete_sizes(now.x) == site.concrete_sizes(y))
      out = now;
  }
  return out;
}

}  // namespace

void propose_quantized_tables(const Site& site, Proposals& out) {
  if (site.graph.opset("") < 11) return;  // GatherElements
  std::set<NodeId> covered;               // by regions that end later
  for (const NodeId id : std::views::reverse(site.graph.order())) {
    const Value y{id, 0};
    if (covered.contains(id) || !site.is(id, "QuantizeLinear") || !has_8_bits(site.inference.of(y).type))
      continue;
    const auto region = region_before(site, y);
    if (!region || region->working < kLeastWorking) continue;
    covered.insert(region->nodes.begin(), region->nodes.end());
    const auto program = region_of(site.graph, site.inference, {region->x}, {y});
    const auto inference = program.ok() ? infer(*program) : Error{program.error().message};
    if (!inference.ok()) continue;
    const auto table = cases_of(*program, *inference);
    if (!table.ok()) {
      out.declined.push_back(fmt::format("{} as a table: {}", site.name(y), table.error().message));
      continue;
    }
    const Extents sizes = *site.concrete_sizes(y);
    ProgramBuilder b(site.graph, site.name(y));
    const Tensor& cases = (*table)[0];
    const Value numbers = b.constant({cases.type(), {cases.count()}, cases.bytes()});
    const Value index = b.op("Cast", {b.input(site.name(region->x))},
                             with({{"to", static_cast<std::int64_t>(ElementType::Int32)}}));
    const Value found =
        b.op("GatherElements", {numbers, b.reshape(index, {-1})}, with({{"axis", std::int64_t{0}}}));
    const Value made = b.reshape(found, sizes);
    if (auto p = propose(site, "fastpath",
                         fmt::format("{} operators between {} and {} are a table of 256", region->working,
                                     site.name(region->x), site.name(y)),
                         b, {y}, {made}))
      out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
