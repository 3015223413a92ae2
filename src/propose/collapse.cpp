// collapse: a region that is affine in one activation is what it does to impulses and to zeros.
//
// How an output looks at the input (channels, groups, windows, strides, in whatever layout) is read off the
// composed formulas (facts/region_reads.h). The weights are the region's own nodes applied to impulses, so no
// block has to be known by name: the new program is Conv(x, K) with K computed from the old weights by the
// old operators. Whether that is true at every position, borders included, is for the prover to say. Folding
// K afterwards computes it in float64 and rounds once.
#include "propose/collapse.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/region_form.h"
#include "propose/collapse_form.h"
#include "prove/refute.h"
#include "prove/shrink.h"
#include "rewrite/region_runner.h"

namespace isomer {
namespace {

constexpr std::size_t kMostTries = 12;  // regions that end in one value

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

// Whether both programs differ on some input, at small sizes.
bool is_refuted(const Site& site, const LinearRegion& region, const Claim& claim) {
  auto before = region_of(site.graph, site.inference, {region.input}, {region.output});
  if (!before.ok()) return false;
  Sizes sizes;
  for (const std::string& s : symbols_of(*before)) sizes[s] = sizes.empty() ? 2 : 24;
  return find_counterexample(at_sizes(*before, sizes), at_sizes(with_constants(site, claim.after), sizes), {},
                             1)
      .has_value();
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

struct Form {
  std::optional<Proposal> proposal;
  std::string why;
};

Form in_form(const Site& site, const LinearRegion& region, const RegionRunner& runner, const RegionForm& form,
             bool any_price) {
  std::string why;
  for (const Constant constant : {Constant::None, Constant::Bias, Constant::Map}) {
    if ((constant == Constant::None) == region.affine) continue;
    if (constant == Constant::Map && form.kind != RegionForm::Kind::Convolution) continue;
    ProgramBuilder b(site.graph, site.name(region.output));
    const Value x = b.input(site.name(region.input));
    const auto y = write_form(b,
                              {runner, form, *site.inference.of(region.input).shape,
                               *site.inference.of(region.output).shape, constant},
                              x);
    if (!y) return {std::nullopt, "the weights of one " + text_of(form) + " are not found"};
    auto proposal = propose(
        site, "collapse",
        fmt::format("{} nodes linear in {} are one {}{}", region.nodes.size(), site.name(region.input),
                    text_of(form), constant == Constant::Map ? " and a constant" : ""),
        b, {region.output}, {*y});
    if (!proposal) return {std::nullopt, "one " + text_of(form) + " is of unknown price"};
    if (proposal->gain <= 0 && !any_price) return {std::nullopt, "one " + text_of(form) + " would cost more"};
    if (!is_refuted(site, region, proposal->claim)) return {std::move(proposal), ""};
    why = "it is not one " + text_of(form) + " everywhere";
  }
  return {std::nullopt, why};
}

}  // namespace

std::vector<Proposal> collapse_region(const Site& site, const LinearRegion& region, bool any_price,
                                      std::string& why) {
  std::vector<Proposal> out;
  why = "its sizes are not known";
  const auto& x = site.inference.of(region.input).shape;
  const auto& y = site.inference.of(region.output).shape;
  const auto runner = RegionRunner::of(site.graph, site.inference, region);
  if (!runner || !x || !y) return out;
  why = "where it looks is not understood";
  auto map = opened_map(*runner);
  if (map) map = at_real_sizes(std::move(*map), *x, *y);
  if (!map) return out;
  why = "it is neither a convolution nor a matrix product";
  for (const RegionForm& form : forms_of(*map)) {
    Form made = in_form(site, region, *runner, form, any_price);
    if (made.proposal) out.push_back(std::move(*made.proposal));
    else why = made.why;
  }
  std::ranges::stable_sort(out, std::greater<>{}, &Proposal::gain);
  return out;
}

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
      auto proposals = collapse_region(site, region, options.any_price, why);
      if (!proposals.empty()) {
        taken.insert(region.nodes.begin(), region.nodes.end());
        // With named sizes it is not known here which of the forms runs for all of them.
        const std::size_t most = is_concrete(*inference.of(region.input).shape) ? 1 : 2;
        for (std::size_t k = 0; k < std::min(most, proposals.size()); ++k)
          out.list.push_back(std::move(proposals[k]));
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
