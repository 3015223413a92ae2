#include "compiler/cover/time_regions.h"

#include <fmt/format.h>

#include <set>

#include "runtime/judge/scratch_model.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

// Limit for float64, for one region: some seconds.
constexpr double kMostOperations = 3e10;

Failure refused(const std::string& words) { return {FailureKind::Refused, words}; }

}  // namespace

RegionTimer::RegionTimer(Judge& judge, Options options) : judge_(judge), options_(std::move(options)) {
  options_.compile.folder /= ".regions";
  std::error_code failure;
  fs::create_directories(options_.compile.folder, failure);
}

RegionTimer::~RegionTimer() {
  std::error_code failure;
  fs::remove_all(options_.compile.folder, failure);
}

RuntimeOptions RegionTimer::with(const fs::path& library) const {
  RuntimeOptions out = options_.runtime;
  out.custom_op_libraries.push_back(fs::absolute(library).string());
  return out;
}

Outcome<Done> RegionTimer::observe(const CutModel& cut, const NamedTensors& feeds) {
  const Graph& graph = cut.model.graph;
  Model open = cut.model;
  std::set<Value> asked(graph.outputs().begin(), graph.outputs().end());
  for (const Segment& segment : cut.segments) {
    const std::set<NodeId> inside(segment.nodes.begin(), segment.nodes.end());
    for (const NodeId id : segment.nodes)
      for (const Value& v : graph.node(id).inputs) {
        if (!v.exists() || inside.contains(v.node) || cut.constants.contains(v.node)) continue;
        if (graph.node(v.node).kind != NodeKind::Operator || !asked.insert(v).second) continue;
        const ValueInfo& info = cut.inference.of(v);
        DeclaredType type{.type = info.type};
        if (info.shape) type.shape = std::vector<std::optional<Dim>>(info.shape->begin(), info.shape->end());
        open.graph.declare(graph.name_of(v), type);
        open.graph.add_output(v);
      }
  }
  const auto file = ScratchModel::write(open, scratch());
  if (!file.ok()) return refused(file.error().message);
  ISOMER_TRY(NamedTensors values, judge_.run(file->source(), feeds, options_.runtime));
  values.insert(feeds.begin(), feeds.end());
  values.merge(observed_);  // of models that were looked at before
  observed_ = std::move(values);
  return Done{};
}

Outcome<NamedTensors> RegionTimer::feeds_of(const CutModel& cut, const RegionProgram& region) const {
  NamedTensors feeds;
  for (const Value& v : region.inputs) {
    const std::string& name = cut.model.graph.name_of(v);
    if (const auto at = observed_.find(name); at != observed_.end()) feeds.emplace(name, at->second);
    else if (const Node& node = cut.model.graph.node(v.node); node.kind == NodeKind::Initializer)
      feeds.emplace(name, node.tensor);  // a default that is not overridden here
    else return refused(name + " was not observed");
  }
  return feeds;
}

Outcome<RegionTime> RegionTimer::compare(const Model& theirs, const Model* ours, const fs::path& library,
                                         const NamedTensors& feeds) {
  ISOMER_TRY(const SharedFeeds shared, SharedFeeds::make(feeds));
  const auto file = ScratchModel::write(theirs, scratch());
  if (!file.ok()) return refused(file.error().message);
  MeasureOptions measure{
      .runtime = options_.runtime, .seconds = options_.seconds, .precision = 0.02, .confirm = false};
  RegionTime out;
  if (ours == nullptr) {
    ISOMER_TRY(const Latency alone, judge_.measure(file->source(), shared, measure));
    out.runtime_ns = alone.cpu_ns.estimate;
    return out;
  }
  const auto own = ScratchModel::write(*ours, scratch());
  if (!own.ok()) return refused(own.error().message);
  measure.runtime = with(library);
  ISOMER_TRY(const PairMeasurement pair, judge_.measure_pair(file->source(), own->source(), shared, measure));
  out.runtime_ns = pair.a_cpu_ns.estimate;
  out.ours_ns = pair.b_cpu_ns.estimate;
  return out;
}

Outcome<RegionTime> RegionTimer::time_whole(const CutModel& cut, const NamedTensors& feeds, const Model* ours,
                                            const fs::path& library) {
  return compare(cut.model, ours, library, feeds);
}

Outcome<RegionTime> RegionTimer::time(const CutModel& cut, const RegionProgram& region) {
  const Digest digest = structure_of(region.graph);
  if (const auto known = known_.find(digest); known != known_.end()) return known->second;
  ISOMER_TRY(const NamedTensors feeds, feeds_of(cut, region));
  CompileRequest request = options_.compile;
  request.name = "region";
  request.folder /= fmt::format("{}", known_.size());
  // Segments that can't be compiled stay with the runtime.
  const auto made = compile_regions({{.program = &region.graph}}, request);
  const auto ours = made.ok()
                        ? operator_model(made->regions[0].plan, made->regions[0].op, made->regions[0].weights)
                        : Result<Model>(made.error());
  ISOMER_TRY(RegionTime out, compare(as_model(region.graph), ours.ok() ? &*ours : nullptr,
                                     ours.ok() ? made->library : fs::path(), feeds));
  if (!ours.ok()) out.failure = ours.error().message;
  std::error_code failure;
  fs::remove_all(request.folder, failure);
  known_.emplace(digest, out);
  return out;
}

Outcome<std::optional<Errors>> RegionTimer::errors(const CutModel& cut, const RegionProgram& region,
                                                   const CompiledRegions::Region& ours,
                                                   const fs::path& library) {
  ISOMER_TRY(const NamedTensors feeds, feeds_of(cut, region));
  const auto exact = exact_outputs(region.graph, feeds, kMostOperations);
  if (!exact) return std::optional<Errors>{};
  const auto model = operator_model(ours.plan, ours.op, ours.weights);
  if (!model.ok()) return refused(model.error().message);
  const auto theirs = ScratchModel::write(as_model(region.graph), scratch()),
             mine = ScratchModel::write(*model, scratch());
  if (!theirs.ok() || !mine.ok()) return refused((theirs.ok() ? mine : theirs).error().message);
  ISOMER_TRY(const NamedTensors before, judge_.run(theirs->source(), feeds, options_.runtime));
  ISOMER_TRY(const NamedTensors after, judge_.run(mine->source(), feeds, with(library)));
  const auto was = error_of(before, *exact), is = error_of(after, *exact);
  if (!was || !is) return refused("outputs that can't be compared");
  return std::optional(Errors{*was, *is});
}

}  // namespace isomer
