#include "app/api/try_inputs.h"

#include <algorithm>

#include "app/api/model_state.h"
#include "app/api/stoppable_limit.h"
#include "runtime/judge/judge.h"

namespace isomer::api {
namespace {

constexpr double kLongestRun = 30;  // of one trial: what takes longer does run

class Trial {
 public:
  Trial(const Model& model, const RuntimeOptions& runtime, const std::filesystem::path& scratch,
        const std::stop_token& stop, double seconds)
      : model_(model), request_(request_of(runtime)), scratch_(scratch), limit_(stop, seconds) {
    options_ = api::take(runtime_options(request_));
    worker_ = worker_options(request_, runtime.name);
    worker_.call_seconds = std::min(worker_.call_seconds, kLongestRun);
    worker_.limit = limit_.limit();
  }

  Tried run(const NamedTensors& feeds) {
    if (!judge_) {
      auto judge = isomer::Judge::start(worker_);
      if (!judge.ok()) return {};
      judge_ = std::move(*judge);
      file_.emplace(model_.state(), scratch_);
    }
    const auto outputs = judge_->run(file_->source(), feeds, options_);
    if (outputs.ok()) return {.kind = Tried::Kind::Runs};
    if (outputs.error().kind != FailureKind::Refused || !loads()) return {};
    return {.kind = Tried::Kind::Refused, .why = outputs.error().what};
  }

 private:
  // Whether it is the inputs that the runtime refuses.
  bool loads() {
    if (loads_) return *loads_;
    const auto worker = judge_->worker();
    loads_ = worker.ok() && (*worker)->load(0, file_->source(), options_, nullptr).ok();
    if (*loads_) loads_ = (*worker)->unload(0).ok();
    return *loads_;
  }

  const Model model_;
  RuntimeRequest request_;
  std::filesystem::path scratch_;
  StoppableLimit limit_;
  isomer::RuntimeOptions options_;
  WorkerOptions worker_;
  std::unique_ptr<isomer::Judge> judge_;
  std::optional<RunnableFile> file_;
  std::optional<bool> loads_;
};

}  // namespace

TryInputs try_in_runtime(const Model& model, const RuntimeOptions& runtime,
                         const std::filesystem::path& scratch, const std::stop_token& stop, double seconds,
                         const Progress& progress) {
  const auto trial = std::make_shared<Trial>(model, runtime, scratch, stop, seconds);
  return [trial, progress](const NamedTensors& feeds) {
    if (progress) progress("looking for inputs that run");
    return trial->run(feeds);
  };
}

}  // namespace isomer::api
