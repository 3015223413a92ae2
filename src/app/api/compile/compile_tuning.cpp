#include "app/api/compile/compile_tuning.h"

#include <algorithm>
#include <cmath>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "io/onnx/size_arguments.h"

namespace isomer::api {
namespace {

// Comparisons of the whole, of each of the two, by turns; and what is not faster than this is not taken.
constexpr int kTurns = 2;
constexpr double kWorth = 1.005;

}  // namespace

Outcome<TuneResult> CompileTuning::search(isomer::Judge& judge, const std::vector<const Graph*>& programs,
                                          const std::vector<std::string>& sizes) {
  std::vector<lower::Unit> units;
  for (const Graph* program : programs) {
    const InferOptions of = take(parse_sizes(sizes, *program));
    const auto batch = take(lower::open_batch(*program, of));
    auto more = take(lower::units_of(*program, of, batch, maker_.request().exactness));
    std::ranges::move(more, std::back_inserter(units));
  }
  RuntimeOptions runtime = options_.run.runtime;
  runtime.threads = 1;
  TuneOptions tuning{.compile = maker_.request(),
                     .runtime = take(runtime_options(request_of(runtime))),
                     .seconds = options_.tune_seconds,
                     .search = take(tune_search(options_.tune_search)),
                     .records = options_.tuning};
  tuning.compile.folder /= ".tuning";
  if (options_.run.progress) tuning.progress = [this](const std::string& now) { options_.run.progress(now); };
  auto found = tune(judge, units, tuning);
  std::error_code failure;
  std::filesystem::remove_all(tuning.compile.folder, failure);
  return found;
}

void CompileTuning::tell(const TuneResult& found) {
  ReportJson curve = ReportJson::array(), taken = ReportJson::array();
  for (const TuneResult::Point& p : found.curve)
    curve.push_back({{"seconds", p.seconds}, {"tried", p.tried}, {"expected", p.expected}});
  for (const TuneResult::Of& of : found.taken)
    taken.push_back({{"unit", of.key},
                     {"places", of.places},
                     {"us", of.ns / 1000},
                     {"ratio", 1 / of.ratio},
                     {"lines", of.lines}});
  json_ = {{"search", options_.tune_search},
           {"units", found.units},
           {"tried", found.tried},
           {"refused", found.refused},
           {"remembered", found.remembered},
           {"seconds", found.seconds},
           {"expected", found.expected},
           {"ratio", nullptr},
           {"is_taken", false},
           {"why", ""},
           {"curve", std::move(curve)},
           {"taken", std::move(taken)}};
}

std::optional<Candidate> CompileTuning::faster(const Candidate& made,
                                               const std::vector<const Graph*>& programs,
                                               const std::vector<std::string>& sizes,
                                               const std::function<Candidate()>& again) {
  if (options_.tune_seconds <= 0) return std::nullopt;
  tell({});
  const lower::Exactness exactness = maker_.request().exactness;
  if (!maker_.can_compare() || exactness == lower::Exactness::Bfloat16) {
    json_["why"] = maker_.can_compare() ? "there is nothing to choose for products of bfloat16"
                                        : "the model can't be measured: " + maker_.not_compared();
    return std::nullopt;
  }
  const StoppableLimit limit(options_.run.stop);
  RuntimeOptions runtime = options_.run.runtime;
  runtime.threads = 1;
  WorkerOptions worker = worker_options(request_of(runtime), runtime.name);
  worker.limit = limit.limit();
  const auto judge = limit.take(isomer::Judge::start(worker));
  const auto found = search(*judge, programs, sizes);
  if (!found) {
    if (found.error().kind == FailureKind::Stopped) (void)limit.take(found);
    json_["why"] = found.error().what;
    return std::nullopt;
  }
  tell(*found);
  if (found->lines.empty()) {
    json_["why"] = "no schedule is faster than the chosen one";
    return std::nullopt;
  }
  maker_.take_tuned(found->lines);
  try {
    Candidate tuned = again();
    if (is_faster(tuned, made)) {
      json_["is_taken"] = true;
      maker_.measure(tuned);
      return tuned;
    }
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::BadInput) throw;
    json_["why"] = e.what();
  }
  maker_.take_tuned({});
  maker_.take_exactness(exactness);
  return std::nullopt;
}

bool CompileTuning::is_faster(const Candidate& tuned, const Candidate& made) {
  std::vector<double> before, after;
  for (int turn = 0; turn < kTurns; ++turn)
    maker_.ask([&](AgainstRuntime& against) {
      after.push_back(against.ratio(*tuned.model, tuned.library, options_.seconds).estimate);
      before.push_back(against.ratio(*made.model, made.library, options_.seconds).estimate);
    });
  double gain = 1;
  for (std::size_t k = 0; k < before.size(); ++k)
    gain *= std::pow(after[k] / before[k], 1.0 / static_cast<double>(before.size()));
  json_["ratio"] = gain;
  const bool is_kept = !tuned.errors || tuned.errors->kept || !made.errors || !made.errors->kept;
  if (before.empty()) json_["why"] = "the model can't be measured: " + maker_.not_compared();
  else if (gain < kWorth) json_["why"] = "the whole model is not faster with the new schedules";
  else if (!is_kept) json_["why"] = "its rounding errors exceed the limit";
  else return true;
  return false;
}

}  // namespace isomer::api
