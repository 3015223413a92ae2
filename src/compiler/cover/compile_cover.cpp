#include "compiler/cover/compile_cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isomer {
namespace {

// A pass that reads and writes a tensor that is not in the caches, nanoseconds a byte: 20 GB/s.
constexpr double kPassNs = 2.0 / 20;
// A node of the runtime, or a call of an operator.
constexpr double kCallNs = 1000;

// Whether a node of ours has, in order, what its plan wants.
Status check_ports(const CutModel& cut, const lower::Plan& plan, const std::vector<lower::Port>& ports,
                   const std::vector<Value>& values) {
  bool is_right = ports.size() == values.size();
  for (std::size_t k = 0; is_right && k < ports.size(); ++k) {
    const lower::Storage& storage = plan.buffer(ports[k].buffer);
    const ValueInfo& info = cut.inference.of(values[k]);
    is_right = ports[k].name == cut.model.graph.name_of(values[k]) && storage.type == info.type &&
               info.shape && storage.extents == *info.shape;
  }
  if (is_right) return Done{};
  return Error{"an operator's inputs and outputs are not those of its region: please report this"};
}

}  // namespace

Outcome<Done> CoverMaker::time(RegionTimer& timer, const NamedTensors& feeds, const Progress& progress) {
  progress("observing the values between regions");
  ISOMER_TRY_DO(timer.observe(cut_, feeds));
  times_.clear();
  failures_.clear();
  for (std::size_t k = 0; k < cut_.segments.size(); ++k) {
    progress(fmt::format("timing regions, {} of {}", k + 1, cut_.segments.size()));
    const Segment& segment = cut_.segments[k];
    const double border = static_cast<double>(segment.entering_bytes) * kPassNs + kCallNs;
    times_.push_back({.layer = segment.layer, .saved_ours_ns = border, .saved_runtime_ns = border});
    const auto region = region_program(cut_, segment.nodes);
    failures_.push_back(region.ok() ? "" : region.error().message);
    if (!region.ok()) continue;
    const auto time = timer.time(cut_, *region);
    if (!time && time.error().kind == FailureKind::Stopped) return time.error();
    failures_.back() = time ? time->failure : time.error().what;
    if (!time) continue;
    times_.back().ours_ns = time->ours_ns;
    times_.back().runtime_ns = time->runtime_ns;
  }
  return Done{};
}

void CoverMaker::set_times(std::vector<SegmentTimes> times) {
  times_ = std::move(times);
  failures_.assign(times_.size(), "");
}

void CoverMaker::calibrate(double runtime_ns, std::optional<double> ours_ns) {
  double runtime = 0, ours = 0, weight = 0;
  for (std::size_t k = 0; k < times_.size(); ++k) {
    runtime += times_[k].runtime_ns;
    ours += times_[k].ours_ns.value_or(0);
    if (k > 0 && times_[k].layer == times_[k - 1].layer) weight += times_[k].saved_ours_ns;
    if (!times_[k].ours_ns) ours_ns.reset();
  }
  if (weight <= 0) return;
  const double of_runtime = cut_.closed == 0 ? std::max(0.0, runtime - runtime_ns) / weight : 1,
               of_ours = ours_ns ? std::max(0.0, ours - *ours_ns) / weight : 1;
  for (SegmentTimes& t : times_) {
    t.saved_runtime_ns *= of_runtime;
    t.saved_ours_ns *= of_ours;
  }
}

Outcome<Cover> CoverMaker::best_of_measured(RegionTimer& timer, int most, const Progress& progress) {
  for (;;) {
    Cover cover = best();
    const std::vector<CoverRegion> all = regions(cover);
    const auto is_open = [&](const CoverRegion& r) {
      return r.count > 1 && r.count < cut_.segments.size() &&
             std::ranges::none_of(
                 runs_, [&](const RunTime& t) { return t.first == r.first && t.count == r.count; });
    };
    const auto next = std::ranges::find_if(all, is_open);
    if (next == all.end() || most-- <= 0) return cover;
    progress(
        fmt::format("timing segments {} to {} as one region", next->first + 1, next->first + next->count));
    const auto region = region_program(cut_, nodes_of(cut_, next->first, next->count));
    double ours = HUGE_VAL;
    if (region.ok()) {
      const auto time = timer.time(cut_, *region);
      if (!time && time.error().kind == FailureKind::Stopped) return time.error();
      if (time && time->ours_ns) ours = *time->ours_ns;
    }
    runs_.push_back({next->first, next->count, ours});
  }
}

double CoverMaker::least_of_one_engine() const {
  double runtime = 0, ours = 0;
  bool can_be_ours = cut_.closed == 0;
  for (std::size_t k = 0; k < times_.size(); ++k) {
    const SegmentTimes& t = times_[k];
    const bool is_neighbour = k > 0 && times_[k - 1].layer == t.layer;
    runtime += t.runtime_ns - (is_neighbour ? t.saved_runtime_ns : 0);
    ours += t.ours_ns.value_or(0) - (is_neighbour ? t.saved_ours_ns : 0);
    can_be_ours = can_be_ours && t.ours_ns.has_value();
  }
  return can_be_ours ? std::min(runtime, ours) : runtime;
}

Cover CoverMaker::all() const {
  Cover out{.ours = std::vector<bool>(cut_.segments.size(), true)};
  for (std::size_t k = 0; k < times_.size(); ++k) out.ours[k] = times_[k].ours_ns.has_value();
  return out;
}

double CoverMaker::gain(const CoverRegion& region) const {
  double ns = 0;
  for (std::size_t k = region.first; k < region.first + region.count; ++k)
    ns += times_[k].runtime_ns - times_[k].ours_ns.value_or(0);
  return ns;
}

std::vector<CoverRegion> CoverMaker::regions(const Cover& cover) const {
  std::vector<std::size_t> layers;
  for (const Segment& segment : cut_.segments) layers.push_back(segment.layer);
  return regions_of(cover, layers);
}

Cover CoverMaker::fewer(const Cover& cover) const {
  std::vector<CoverRegion> all = regions(cover);
  std::ranges::sort(all, std::greater{}, [&](const CoverRegion& r) { return gain(r); });
  all.resize(all.size() / 2);
  Cover out{.ours = std::vector<bool>(cover.ours.size()), .begins = cover.begins};
  for (const CoverRegion& r : all)
    for (std::size_t k = r.first; k < r.first + r.count; ++k) out.ours[k] = true;
  return out;
}

Result<std::vector<RegionProgram>> CoverMaker::programs(const Cover& cover) const {
  std::vector<RegionProgram> out;
  for (const CoverRegion& r : regions(cover)) {
    ISOMER_TRY(RegionProgram program, region_program(cut_, nodes_of(cut_, r.first, r.count)));
    out.push_back(std::move(program));
  }
  return out;
}

Result<CoverMaker::Built> CoverMaker::build(const Cover& cover, const CompileRequest& request) const {
  Built out;
  ISOMER_TRY(out.programs, programs(cover));
  std::vector<RegionSource> graphs;
  for (const RegionProgram& p : out.programs) graphs.push_back({.program = &p.graph});
  ISOMER_TRY(out.library, compile_regions(graphs, request));
  std::vector<OperatorPlace> places;
  for (std::size_t k = 0; k < out.programs.size(); ++k) {
    const CompiledRegions::Region& region = out.library.regions[k];
    ISOMER_TRY_DO(check_ports(cut_, region.plan, region.plan.inputs, out.programs[k].inputs));
    ISOMER_TRY_DO(check_ports(cut_, region.plan, region.plan.outputs, out.programs[k].outputs));
    places.push_back({&out.programs[k], region.op, region.weights});
  }
  ISOMER_TRY(out.model, with_operators(cut_, places));
  return out;
}

std::vector<CoverMaker::Row> CoverMaker::rows(const Cover& cover) const {
  std::vector<Row> out;
  for (std::size_t k = 0; k < cut_.segments.size(); ++k) {
    const Segment& segment = cut_.segments[k];
    Row row{.first = label(cut_.model.graph.node(segment.nodes.front())),
            .last = label(cut_.model.graph.node(segment.nodes.back())),
            .nodes = segment.nodes.size()};
    if (k < times_.size()) {
      row.ours_ns = times_[k].ours_ns;
      row.runtime_ns = times_[k].runtime_ns;
      row.failure = failures_[k];
    }
    out.push_back(std::move(row));
  }
  const std::vector<CoverRegion> all = regions(cover);
  for (std::size_t r = 0; r < all.size(); ++r)
    for (std::size_t k = all[r].first; k < all[r].first + all[r].count; ++k) out[k].region = r;
  return out;
}

}  // namespace isomer
