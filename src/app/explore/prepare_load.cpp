#include "app/explore/prepare_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/explore/exploration_records.h"
#include "io/onnx/write_file.h"
#include "runtime/judge/measure_apart.h"

namespace isomer {
namespace {

using Json = nlohmann::json;

constexpr double kAsFast = 0.95;  // what the interval of the latency must lie above: what is not known is no
// These know the processor: what portable models leave to it.
constexpr std::array kLayouts = {"NchwcTransformer", "NhwcTransformer"};

Outcome<Done> to_outcome(const Status& status) {
  if (status) return Done{};
  return Failure{FailureKind::Unavailable, status.error().message};
}

std::string_view view(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data), bytes.size}; }

class Preparation {
 public:
  Preparation(const PrepareRequest& request, SharedFeeds feeds, std::unique_ptr<Judge> a,
              std::unique_ptr<Judge> b, ExplorationRecords records)
      : request_(request),
        base_(request.explore.measure.runtime),
        measure_(request.explore.measure),
        feeds_(std::move(feeds)),
        a_(std::move(a)),
        b_(std::move(b)),
        records_(std::move(records)) {
    measure_.seconds *= kSettling;  // all of these are last comparisons
  }

  Outcome<PreparedLoad> run() {
    out_.version = a_->version();
    ISOMER_TRY_DO(make());
    say("measuring the load time");
    ISOMER_TRY(out_.plain, loads("load", base_));
    ISOMER_TRY_DO(find_options());
    if (out_.runtime.text() != base_.text()) {
      say("measuring the load time with its options");
      ISOMER_TRY(out_.pasted, loads("load with options", out_.runtime));
    }
    say("measuring the latency");
    ISOMER_TRY(out_.latency, latency());
    ISOMER_TRY(out_.peak_before, load_peak_bytes(request_.explore.worker, {request_.explore.model, base_}));
    ISOMER_TRY(out_.peak_after, load_peak_bytes(request_.explore.worker, {prepared_, base_}));
    out_.runs_as_fast = out_.latency.low >= kAsFast;
    out_.is_better = out_.plain.load.is_above(1) && out_.plain.load.estimate >= request_.explore.min_gain &&
                     out_.runs_as_fast;
    out_.resumed = records_.known();
    return std::move(out_);
  }

 private:
  void say(const std::string& what) const { request_.explore.progress(what); }

  // The files.
  Outcome<Done> make() {
    say("the runtime's own passes");
    RuntimeOptions options = base_;
    if (!request_.this_machine) options.level = std::min(options.level, OptimizationLevel::Extended);
    ISOMER_TRY(Worker * worker, a_->worker());
    ISOMER_TRY(const DumpedModel dumped,
               worker->dump(request_.explore.model, options, request_.name + ".data"));
    out_.graph = request_.folder / request_.name;
    ISOMER_TRY_DO(to_outcome(wire::write_text(out_.graph, view(dumped.graph))));
    if (dumped.weights.size > 0) {
      out_.weights = request_.folder / (request_.name + ".data");
      ISOMER_TRY_DO(to_outcome(wire::write_text(out_.weights, view(dumped.weights))));
    }
    out_.bytes = static_cast<std::int64_t>(dumped.graph.size + dumped.weights.size);
    prepared_ = ModelSource::file(out_.graph.string());
    return Done{};
  }

  Outcome<std::string> digest(const RuntimeOptions& options) {
    ISOMER_TRY(Worker * worker, b_->worker());
    ISOMER_TRY(const DumpedModel dumped, worker->dump(prepared_, options, "weights"));
    return digest_of(dumped);
  }

  // Options that skip what is done already: no passes at all, or only those for the processor. Taken if the
  // graph that comes of them is the same.
  Outcome<Done> find_options() {
    out_.runtime = base_;
    ISOMER_TRY(const std::string wanted, digest(base_));
    RuntimeOptions nothing = base_, layouts = base_;
    nothing.level = OptimizationLevel::None;
    for (const Pass& pass : passes_of(request_.explore.worker.library, 1))
      if (pass.kind == Pass::Kind::Optimizer && std::ranges::find(kLayouts, pass.name) == kLayouts.end())
        layouts.disabled_optimizers.push_back(pass.name);
    for (const RuntimeOptions& options : {nothing, layouts}) {
      const auto made = digest(options);
      if (!made && is_deadly(made.error())) return made.error();
      if (!made || *made != wanted) continue;
      out_.runtime = options;
      return Done{};
    }
    return Done{};
  }

  Outcome<LoadFigures> loads(const std::string& key, const RuntimeOptions& options) {
    if (const Json* known = records_.find(key))
      return LoadFigures{interval_from(known->at("load")), interval_from(known->at("first")),
                         known->at("before_ns"), known->at("after_ns"), known->at("by_cpu_time")};
    ISOMER_TRY(Worker * worker, a_->worker());
    ISOMER_TRY(const LoadMeasurement measured, measure_loads(*worker, {request_.explore.model, base_},
                                                             {prepared_, options}, feeds_, measure_));
    const PairMeasurement& load = measured.load;
    const LoadFigures out{load.ratio, measured.first.ratio,
                          (load.by_cpu_time ? load.a_cpu_ns : load.a_wall_ns).estimate,
                          (load.by_cpu_time ? load.b_cpu_ns : load.b_wall_ns).estimate, load.by_cpu_time};
    ISOMER_TRY_DO(records_.add(key, {{"load", interval_record(out.load)},
                                     {"first", interval_record(out.first)},
                                     {"before_ns", out.before_ns},
                                     {"after_ns", out.after_ns},
                                     {"by_cpu_time", out.by_cpu_time}}));
    return out;
  }

  Outcome<Interval> latency() {
    if (const Json* known = records_.find("latency")) return interval_from(*known);
    ISOMER_TRY(Worker * worker_a, a_->worker());
    ISOMER_TRY(Worker * worker_b, b_->worker());
    ISOMER_TRY(const PairMeasurement measured,
               measure_sides({*worker_a, request_.explore.model, base_}, {*worker_b, prepared_, base_},
                             feeds_, measure_, 1));
    ISOMER_TRY_DO(records_.add("latency", interval_record(measured.ratio)));
    return measured.ratio;
  }

  const PrepareRequest& request_;
  const RuntimeOptions base_;
  MeasureOptions measure_;
  SharedFeeds feeds_;
  std::unique_ptr<Judge> a_, b_;
  ExplorationRecords records_;
  ModelSource prepared_;
  PreparedLoad out_;
};

}  // namespace

Outcome<PreparedLoad> prepare_load(const PrepareRequest& request) {
  ISOMER_TRY(SharedFeeds feeds, SharedFeeds::make(request.explore.feeds));
  ISOMER_TRY(auto a, Judge::start(request.explore.worker));
  ISOMER_TRY(auto b, Judge::start(request.explore.worker));
  Json question = question_of(request.explore, a->version());
  question["this_machine"] = request.this_machine;
  ISOMER_TRY(auto records, ExplorationRecords::open(request.explore.records, question));
  return Preparation(request, std::move(feeds), std::move(a), std::move(b), std::move(records)).run();
}

}  // namespace isomer
