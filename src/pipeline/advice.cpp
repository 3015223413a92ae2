#include "pipeline/advice.h"

#include <algorithm>

namespace isomer {
namespace {

constexpr const char* kFlush = "session.set_denormal_as_zero";
constexpr double kWorthTelling = 1.1;
constexpr int kRuns = 4;
constexpr std::int64_t kWarmNs = 50'000'000;

// The fastest of some runs in a process of its own, since the option is a state of a thread; nullopt: it
// takes longer, or fails.
std::optional<double> fastest_run(const ModelSource& model, const SharedFeeds& feeds,
                                  const WorkerOptions& worker, const RuntimeOptions& options,
                                  double seconds) {
  const auto fresh = Worker::start(worker);
  if (!fresh.ok() || (*fresh)->runtime() != "ort" || !(*fresh)->load(0, model, options, &feeds).ok())
    return std::nullopt;
  const auto first = (*fresh)->warm(0, 1, 0);
  if (!first.ok() || static_cast<double>(first->fastest_ns) * kRuns > seconds * 1e9) return std::nullopt;
  const auto rest = (*fresh)->warm(0, kRuns, kWarmNs);
  if (!rest.ok()) return std::nullopt;
  return static_cast<double>(std::min(first->fastest_ns, rest->fastest_ns));
}

}  // namespace

std::vector<Advice> advice_for(const ModelSource& model, const NamedTensors& feeds,
                               const WorkerOptions& worker, const RuntimeOptions& options, double seconds) {
  if (options.config.contains(kFlush)) return {};
  const auto shared = SharedFeeds::make(feeds);
  if (!shared.ok()) return {};
  RuntimeOptions flushed = options;
  flushed.config[kFlush] = "1";
  const auto now = fastest_run(model, *shared, worker, options, seconds / 2);
  const auto then = now ? fastest_run(model, *shared, worker, flushed, seconds / 2) : std::nullopt;
  if (!then || *now < kWorthTelling * *then) return {};
  return {{.option = kFlush,
           .value = "1",
           .ratio = *now / *then,
           .why = "it computes with denormal numbers, which this takes for zero"}};
}

}  // namespace isomer
