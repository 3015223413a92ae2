// collapse: a region that is affine in one activation is determined by its response to impulses and to zeros.
//
// The composed formulas (optimizer/facts/region_reads.h) show how an output reads the input: channels,
// groups, windows, strides, in any layout. The weights are the region's own nodes applied to impulses, so no
// block has to be known by name: the new program is Conv(x, K) with K computed from the old weights by the
// old operators. The prover decides whether that is true at every position, borders included. Folding K
// afterwards computes it in float64 and rounds once.
#include "optimizer/propose/collapse/collapse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <variant>

#include "kernel/prove/refute.h"
#include "kernel/prove/shrink.h"
#include "model/expr/parts.h"
#include "model/graph/constant.h"
#include "optimizer/facts/price.h"
#include "optimizer/facts/region_form.h"
#include "optimizer/facts/region_runner.h"
#include "optimizer/facts/repeated_constant.h"
#include "optimizer/propose/collapse/collapse_form.h"
#include "optimizer/propose/collapse/region_weights.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr std::size_t kMostTries = 12;  // regions that end in one value
constexpr std::int64_t kMostMapFactor =
    16;  // times the constants of the model, or it grows out of proportion

// The map of a region, with axes of one element looked at as if they were longer: a batch of one is a batch.
std::optional<RegionMap> opened_map(const RegionRunner& runner) {
  Extents sizes = runner.input_sizes();
  std::optional<RegionRunner> opened = runner;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) continue;
    Extents longer = sizes;
    longer[d] = 3;
    auto next = opened->at(longer);
    const auto before = sizes_in(opened->inference(), opened->region().output);
    const auto after = next ? sizes_in(next->inference(), next->region().output) : std::nullopt;
    if (!after || after->size() != before->size() || *after == *before) continue;
    opened = std::move(next);
    sizes = longer;
  }
  return map_of(opened->program(), opened->inference(), opened->region());
}

// The map with the extents that the region's input and output really have.
std::optional<RegionMap> at_real_sizes(RegionMap map, const Dims& x, const Dims& y) {
  std::vector<bool> known(map.outputs.size(), false);
  for (std::size_t d = 0; d < x.size(); ++d) {
    InputAxis& a = map.inputs[d];
    a.extent = x[d];
    if (a.kind != InputAxis::Kind::Parallel) continue;
    map.outputs[static_cast<std::size_t>(a.digit)].extent = x[d];
    known[static_cast<std::size_t>(a.digit)] = true;
  }
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    std::vector<std::size_t> digits, open;
    Dim rest = 1;
    for (std::size_t k = 0; k < map.outputs.size(); ++k) {
      if (map.outputs[k].axis != axis) continue;
      digits.push_back(k);
      const auto is_window = [&](const InputAxis& a) { return a.digit == static_cast<int>(k) && !known[k]; };
      if (std::ranges::any_of(map.inputs, is_window)) open.push_back(k);
    }
    if (digits.size() == 1) {
      map.outputs[digits[0]].extent = y[axis];
      continue;
    }
    for (const std::size_t k : digits)
      if (open.size() != 1 || k != open[0]) rest = rest * map.outputs[k].extent;
    if (open.size() == 1) {
      const auto extent = Dim::exact_quotient(y[axis], rest);
      if (!extent) return std::nullopt;
      map.outputs[open[0]].extent = *extent;
    } else if (!(rest == y[axis])) {
      return std::nullopt;
    }
  }
  return map;
}

// Whether a window in the region reads the output of another window: then borders may differ from those of
// one window. Elsewhere the prover alone decides.
bool has_inner_borders(const RegionRunner& runner) {
  const Graph& program = runner.program();
  std::map<Value, int> depth;
  for (const NodeId id : runner.region().nodes) {
    const Definition definition = define_node(program, runner.inference(), id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) return true;
    const Node& node = program.node(id);
    const auto roles = axis_roles(*formula, 0);
    int deepest = 0;
    for (std::size_t k = 0; k < node.inputs.size() && k < roles.size(); ++k) {
      const auto inner = depth.find(node.inputs[k]);
      if (inner == depth.end() && node.inputs[k] != runner.region().input) continue;
      const bool looks = std::ranges::count(roles[k].axes, AxisRole::Window) > 0;
      deepest = std::max(deepest, (inner == depth.end() ? 0 : inner->second) + (looks ? 1 : 0));
    }
    if (deepest > 1) return true;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) depth[{id, k}] = deepest;
  }
  return false;
}

// Whether both programs differ on some input: at a smaller size, if they run there.
bool is_refuted(const Site& site, const RegionRunner& runner, const RegionForm& form, const Claim& claim) {
  constexpr double kMostOperations = 2e8;
  if (std::ranges::none_of(form.windows, &FormWindow::weighted) && !has_inner_borders(runner)) return false;
  const Graph after = with_constants(site, claim.after);
  const std::string& x = runner.program().name_of(runner.region().input);
  const Extents smaller = smaller_input(runner, form);
  for (const Extents& sizes : {smaller, runner.input_sizes()}) {
    const auto before = sizes == runner.input_sizes() ? std::optional(runner) : runner.at(sizes);
    if (!before) continue;
    const Graph resized = with_input_shape(after, x, sizes);
    const auto info = infer(resized);
    if (!info.ok() ||
        sizes_in(*info, resized.outputs()[0]) != sizes_in(before->inference(), before->region().output))
      continue;
    const auto work = operations(resized, *info);
    if (!work || *work > kMostOperations) continue;
    return find_counterexample(before->program(), resized, {}, 1).has_value();
  }
  return false;
}

std::string text_of(const RegionForm& form) {
  if (form.kind == RegionForm::Kind::Scaling) return "scale and shift";
  const auto count = [](const std::vector<FormDigit>& digits) {
    Dim out = 1;
    for (const FormDigit& d : digits)
      if (d.role == FormDigit::Role::Channel) out = out * d.extent;
    return out.text();
  };
  if (form.kind == RegionForm::Kind::Product)
    return count(form.input) + "x" + count(form.output) + " matrix product";
  std::string taps;
  for (const FormWindow& w : form.windows) taps += (taps.empty() ? "" : "x") + std::to_string(w.taps);
  return taps + " convolution";
}

// The cost of a program if all nodes of a runtime were equal and a sum no faster than a product.
double plain_cost(const Graph& graph, const Inference& inference, const Machine& machine) {
  const std::set<NodeId> folded = folded_nodes(graph);
  double out = 0;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).kind != NodeKind::Operator || folded.contains(id)) continue;
    const Definition definition = define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) continue;
    const Cost c = cost(*formula);
    const double moved = static_cast<double>(typical_size(c.bytes, machine).value_or(0)) / sizeof(float);
    out += Prices{}.node + moved +
           std::max(static_cast<double>(typical_size(c.operations, machine).value_or(0)), 2 * moved);
  }
  return out;
}

// Whether the new program may be faster whatever its price: prices know how fast a runtime is with each of
// its nodes, but not well.
bool is_worth_measuring(const Site& site, const RegionRunner& runner, const Claim& claim) {
  const Graph after = with_input_shape(with_constants(site, claim.after),
                                       runner.program().name_of(runner.region().input), runner.input_sizes());
  const auto info = infer(after);
  return info.ok() && plain_cost(after, *info, site.machine) <
                          plain_cost(runner.program(), runner.inference(), site.machine);
}

// Whether an element of the output may see more than one of the input. Elements that are only moved and
// scaled are no matrix: a runtime is slow with one for three channels.
bool mixes(const RegionRunner& runner) {
  const LinearRegion& region = runner.region();
  for (const NodeId id : region.nodes) {
    const Node& node = runner.program().node(id);
    const auto is_active = [&](Value v) {
      return v == region.input || std::ranges::find(region.nodes, v.node) != region.nodes.end();
    };
    if (node.op != "Concat" && std::ranges::count_if(node.inputs, is_active) > 1) return true;
    const Definition definition = define_node(runner.program(), runner.inference(), id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr || has_reductions(*formula)) return true;
  }
  return false;
}

// The number of elements of a constant that is added to each image of the output.
std::int64_t map_elements(const RegionForm& form, const Machine& machine) {
  double out = 1;
  for (const FormDigit& d : form.output)
    if (d.role != FormDigit::Role::Batch)
      out *= static_cast<double>(typical_size(d.extent, machine).value_or(1));
  return static_cast<std::int64_t>(std::min(out, 1e15));
}

std::int64_t constant_elements(const Site& site) {
  std::int64_t out = 0;
  for (const NodeId id : site.graph.order())
    if (const auto tensor = known_constant(site.graph, {id, 0})) out += tensor->count();
  return out;
}

// Whether slices of constants that the weights are computed with are all the same.
std::vector<ConstantFact> repeated_constants(const Site& site, const LinearRegion& region) {
  std::vector<ConstantFact> out;
  std::set<Value> seen;
  for (const NodeId id : region.nodes) {
    for (const Value& v : site.node(id).inputs) {
      const auto tensor = v.exists() && seen.insert(v).second ? known_constant(site.graph, v) : std::nullopt;
      if (!tensor) continue;
      ProgramBuilder fact(site.graph, site.name(v));
      const auto stated = as_expanded(fact, fact.input(site.name(v)), *tensor);
      if (!stated) continue;
      fact.output(*stated);
      out.push_back({site.name(v), fact.graph()});
    }
  }
  return out;
}

// Whether all that is added is zero, as what is scattered into is.
bool adds_only_zeros(const RegionRunner& runner) {
  const auto is_zero = [&](const std::pair<NodeId, std::size_t>& shift) {
    return is_all(runner.program(), runner.program().node(shift.first).inputs[shift.second], 0);
  };
  const auto shifts = runner.shifts();
  return shifts && std::ranges::all_of(*shifts, is_zero);
}

// The region in this form, or why not.
std::variant<Collapsed, std::string> in_form(const Site& site, const LinearRegion& region,
                                             const RegionRunner& runner, const RegionForm& form,
                                             bool any_price) {
  Constant constant = Constant::None;
  if (region.affine && !adds_only_zeros(runner))
    constant = is_even(runner, form).value_or(true) ? Constant::Bias : Constant::Map;
  const bool has_map = constant == Constant::Map;
  if (has_map && map_elements(form, site.machine) > kMostMapFactor * constant_elements(site))
    return "one " + text_of(form) + " would need a large constant";
  ProgramBuilder b(site.graph, site.name(region.output));
  const Value x = b.input(site.name(region.input));
  const FormSite form_site{runner, form, *site.inference.of(region.input).shape,
                           *site.inference.of(region.output).shape, constant};
  const auto y = write_form(b, form_site, x);
  if (!y) return "the weights of one " + text_of(form) + " are not found";
  auto proposal =
      propose(site, "collapse",
              fmt::format("{} nodes linear in {} are one {}{}", region.nodes.size(), site.name(region.input),
                          text_of(form), has_map ? " and a constant" : ""),
              b, {region.output}, {*y});
  if (!proposal) return "one " + text_of(form) + " is of unknown price";
  proposal->claim.facts = repeated_constants(site, region);
  if (proposal->gain <= 0 && !any_price && !is_worth_measuring(site, runner, proposal->claim))
    return "one " + text_of(form) + " would cost more";
  const bool may_cancel = region.affine || form.kind == RegionForm::Kind::Scaling;
  if (may_cancel && !keeps_digits(runner, form)) return "its constants cancel";
  if (is_refuted(site, runner, form, proposal->claim))
    return "it is not one " + text_of(form) + " everywhere";
  return Collapsed{std::move(*proposal), has_map};
}

}  // namespace

std::vector<Collapsed> collapse_region(const Site& site, const LinearRegion& region, bool any_price,
                                       std::string& why) {
  std::vector<Collapsed> out;
  why = "its sizes are not known";
  const auto& x = site.inference.of(region.input).shape;
  const auto& y = site.inference.of(region.output).shape;
  const auto runner = RegionRunner::of(site.graph, site.inference, region);
  if (!runner || !x || !y) return out;
  why = "where it looks is not understood";
  auto map = opened_map(*runner);
  if (map) map = at_real_sizes(std::move(*map), *x, *y);
  if (!map) return out;
  std::vector<std::string> reasons;
  const bool is_matrix = mixes(*runner);
  for (const RegionForm& form : forms_of(*map)) {
    if (form.kind != RegionForm::Kind::Scaling && !is_matrix) continue;
    auto made = in_form(site, region, *runner, form, any_price);
    if (auto* collapsed = std::get_if<Collapsed>(&made)) out.push_back(std::move(*collapsed));
    else reasons.push_back(std::get<std::string>(made));
  }
  why = reasons.empty() ? "it is no convolution, matrix product or scaling"
                        : fmt::format("{}", fmt::join(reasons, "; "));
  std::ranges::stable_sort(out, std::greater<>{}, [](const Collapsed& c) { return c.proposal.gain; });
  return out;
}

namespace {

Proposals propose_collapse(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  if (graph.opset("") < 11) return out;
  const Site site(graph, inference, *options.machine);
  const LinearRegions regions(graph, inference);
  std::set<NodeId> taken;
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    if (taken.contains(*at) || regions.constants().contains({*at, 0})) continue;
    std::size_t tries = 0;
    for (const LinearRegion& region : regions.ending_in({*at, 0})) {
      if (++tries > kMostTries) break;
      std::string why;
      auto found = collapse_region(site, region, options.any_price, why);
      if (found.empty()) {
        out.declined.push_back(fmt::format("{} nodes from {} to {}: {}", region.nodes.size(),
                                           graph.name_of(region.input), graph.name_of(region.output), why));
        continue;
      }
      // A form that the price rejects, if the runtime does too, leaves the parts.
      const bool is_liked = options.any_price || found[0].proposal.gain > 0;
      if (is_liked) taken.insert(region.nodes.begin(), region.nodes.end());
      // With named sizes it is not known here which of the forms runs for all of them.
      const std::size_t most = is_concrete(*inference.of(region.input).shape) ? 1 : 2;
      for (std::size_t k = 0; k < std::min(most, found.size()); ++k)
        out.list.push_back(std::move(found[k].proposal));
      // A constant of the output's size may cost more than the shift that it stands for: then the region
      // behind the shift is the better one.
      if (is_liked && !found[0].has_map) break;
    }
  }
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace

constinit const Proposer kCollapse{
    .name = "collapse",
    .title = "an affine region as one node",
    .law = "A₂(A₁x + b₁) + b₂ + Bx = (A₂A₁ + B)x + (A₂b₁ + b₂)",
    .finds =
        "Merges nodes that are together affine in one value into one convolution, matrix product "
        "or scaling, in any layout: batch norms, RepVGG, MobileOne, SESR, LoRA, YOLO's focus, "
        "patches, frames, filters and recurrences that are written out.",
    .propose = propose_collapse,
};

}  // namespace isomer
