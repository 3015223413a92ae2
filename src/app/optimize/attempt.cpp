#include "app/optimize/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "app/optimize/size_zero.h"
#include "base/cpu_time.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

// The search's share of the time that is left, if something is measured; the rest is for looks.
constexpr double kShareOfSearch = 0.6;
// A look while the search goes on, so that there is a best so far: its share of the search's time that is
// left, and only where four such looks would fit.
constexpr double kShareOfLook = 0.1, kLeastLookSeconds = 2, kMostLookSeconds = 10, kLooksThatFit = 4;
constexpr double kMostFinalSeconds = 120;
constexpr double kShareBesideSimplified = 0.5;  // of the final looks, where --simplify needs one of its own
constexpr double kAnotherLookSeconds = 10;      // it takes to look at an earlier draft, too
constexpr double kShareOfAdvice = 0.05, kLeastAdviceSeconds = 4;
constexpr double kPeakSeconds = 2, kZeroSeconds = 2;

bool is_only_simplified(const Draft& draft) {
  return std::ranges::all_of(draft.taken,
                             [](const Draft::Taken& t) { return t.change.kind == kSimplify.name; });
}

bool is_same(const Draft& a, const Draft& b) { return a.steps.size() == b.steps.size(); }

// A library of operators that can't be loaded is the user's to mend, unlike a model that can't.
bool is_about_library(const Failure& failure, const RuntimeOptions& options) {
  return std::ranges::any_of(options.custom_op_libraries, [&](const std::string& library) {
    return failure.what.find(library) != std::string::npos;
  });
}

}  // namespace

std::shared_ptr<Attempt> Attempt::start(OptimizeRequest request, const Model& model, double seconds) {
  std::shared_ptr<Attempt> made(new Attempt(std::move(request), model, seconds));
  // The thread keeps the attempt alive, however long it takes.
  made->thread_ = std::thread([made] { made->run(); });
  return made;
}

Attempt::Attempt(OptimizeRequest request, const Model& model, double seconds)
    : request_(std::move(request)), model_(model), end_(seconds) {
  request_.worker.limit = request_.search.limit;
  request_.search.progress = [this, tell = request_.search.progress](const std::string& now) {
    const std::lock_guard lock(mutex_);
    reached_.search.cost_before = report_.cost_before;
    reached_.search.cost_after = report_.cost_after;
    if (!is_silent_) tell(now);
  };
  request_.search.on_draft = [this](const Draft& draft) { on_draft(draft); };
}

Attempt::~Attempt() {
  if (thread_.joinable()) thread_.detach();
}

template <class Change>
void Attempt::publish(const Change& change) {
  const std::lock_guard lock(mutex_);
  change(reached_);
}

bool Attempt::has_ended(double within_seconds) {
  std::unique_lock lock(mutex_);
  const bool ended =
      ended_.wait_for(lock, std::chrono::duration<double>(within_seconds), [this] { return has_ended_; });
  if (ended && thrown_) std::rethrow_exception(thrown_);
  return ended;
}

Reached Attempt::take() {
  std::unique_lock lock(mutex_);
  is_silent_ = true;
  Reached reached = reached_;
  const bool ended = has_ended_;
  lock.unlock();
  if (ended && thread_.joinable()) thread_.join();
  return reached;
}

void Attempt::run() {
  std::exception_ptr thrown;
  try {
    if (const Status done = work(); !done.ok()) publish([&](Reached& r) { r.error = done.error(); });
  } catch (...) {
    thrown = std::current_exception();
  }
  // The worker and all scratch files are removed before the end is reported.
  guard_.reset();
  trials_.reset();
  const std::lock_guard lock(mutex_);
  thrown_ = thrown;
  has_ended_ = true;
  ended_.notify_all();
}

Status Attempt::work() {
  if (request_.measure) {
    request_.search.progress("starting the runtime");
    auto judge = Judge::start(request_.worker);
    if (!judge.ok() && judge.error().kind != FailureKind::Stopped) return to_error(judge.error());
    if (!judge.ok()) return Done{};
    publish([&](Reached& r) {
      r.runtime = (*judge)->runtime();
      r.runtime_version = (*judge)->version();
    });
    request_.search.plans.target = target_text((*judge)->runtime(), (*judge)->version(), request_.runtime);
    trials_ = std::make_unique<Trials>(std::move(*judge), Trials::Options{.runtime = request_.runtime,
                                                                          .feeds = request_.feeds,
                                                                          .more_feeds = request_.more_feeds,
                                                                          .out = request_.scratch,
                                                                          .seed = request_.search.seed,
                                                                          .cache = request_.search.cache});
    ISOMER_TRY_DO(try_original());
  }
  if (reached_.reason.empty()) ISOMER_TRY_DO(search_and_look());
  return Done{};
}

// Error, or a reason, if there is no use in going on.
Status Attempt::try_original() {
  request_.search.progress("running the original");
  const ModelSource original = ModelSource::file(request_.in.string());
  auto runs = trials_->judge().run(original, request_.feeds, request_.runtime);
  for (std::size_t k = 1; k < trials_->sizes() && runs.ok(); ++k)
    runs = trials_->judge().run(original, trials_->feeds_of(k), request_.runtime);
  if (runs.ok()) return Done{};
  const Failure& failure = runs.error();
  if (failure.kind == FailureKind::Stopped) {
    publish([](Reached& r) {
      r.reason = "time ran out before the original had run once";
      r.is_out_of_time = true;
    });
    return Done{};
  }
  if (is_about_library(failure, request_.runtime)) return to_error(failure);
  if (request_.own_feeds && failure.kind == FailureKind::Refused)
    return Error{"the original does not run on the given inputs: " + failure.what};
  publish([&](Reached& r) { r.reason = "the runtime does not run the original: " + failure.what; });
  return Done{};
}

Status Attempt::search_and_look() {
  TimeLimit& limit = *request_.search.limit;
  std::error_code no_size;
  const auto file = std::filesystem::file_size(request_.in, no_size);
  guard_ =
      std::make_unique<Guard>(request_, model_, trials_.get(), (no_size ? 0 : file) + external_bytes(model_));
  if (trials_) limit.end_at(limit.spent() + kShareOfSearch * (end_ - limit.spent()));
  ISOMER_TRY(std::vector<Draft> history, search(request_.search, model_, trials_.get(), report_));
  publish([&](Reached& r) { r.search = report_; });
  limit.end_at(end_);
  const bool found_nothing = history.size() == 1;
  if (found_nothing)
    publish([&](Reached& r) {
      r.reason = report_.refused.empty()
                     ? "no faster rewrite was found"
                     : "none of the rewrites that were found could be used: " + report_.refused.front();
    });
  if (!trials_) return Done{};  // on_draft has seen them all
  const std::vector<Draft> all = history;
  ISOMER_TRY_DO(look_at_last(std::move(history)));
  if (request_.simplify) keep_simplified(all);
  if (limit.is_over()) return Done{};
  find_peaks();
  try_size_zero();
  find_advice();
  return Done{};
}

// From the last draft backwards, past what makes the error grow, and while there is time past what is not
// faster.
Status Attempt::look_at_last(std::vector<Draft> history) {
  const TimeLimit& limit = *request_.search.limit;
  for (; history.size() > 1; history.pop_back()) {
    const Draft& draft = history.back();
    if (limit.is_over()) {
      publish([](Reached& r) {
        if (r.best || !r.reason.empty()) return;
        r.reason = "time ran out before the result was measured";
        r.is_out_of_time = true;
      });
      return Done{};
    }
    // A simplified graph is checked, too.
    const double share = request_.simplify && !is_only_simplified(draft) ? kShareBesideSimplified : 1;
    ISOMER_TRY(Look look, guard_->look_at(draft, std::min(share * limit.seconds_left(), kMostFinalSeconds)));
    if (look.kind == Look::Kind::Accepted) {
      accept(draft, std::move(look));
      return Done{};
    }
    const Look::Kind kind = look.kind;
    reject(draft, std::move(look));
    const bool has_time = limit.seconds_left() > kAnotherLookSeconds;
    if (kind != Look::Kind::Inexact && !(kind == Look::Kind::NotFaster && has_time)) return Done{};
  }
  return Done{};
}

// The draft is the best so far.
void Attempt::accept(const Draft& draft, Look look, bool is_simplified) {
  const double ratio = look.time ? look.time->ratio.estimate : 0;
  const std::lock_guard lock(mutex_);
  reached_.best = Reached::Best{draft, std::move(look), is_simplified};
  reached_.reason.clear();
  reached_.is_out_of_time = false;
  reached_.error.reset();
  if (ratio > 0 && !report_.told.empty()) {
    // A draft measured after the search was reported before; this is when it was known to be faster.
    SearchReport::Told now = report_.told.back();
    now.seconds = request_.search.limit->spent();
    now.cpu_seconds = cpu_seconds();
    now.ratio = ratio;
    report_.told.push_back(now);
    reached_.search.told = report_.told;
  }
  if (!is_silent_ && ratio > 0 && !is_simplified) request_.on_best(ratio);
}

void Attempt::reject(const Draft& draft, Look look) {
  publish([&](Reached& r) {
    // A look that was cut short does not undo an earlier one that was not.
    if (look.kind == Look::Kind::NoTime && r.best) return;
    if (r.best && is_same(r.best->draft, draft)) r.best.reset();
    if (!r.best) {
      r.reason = look.objection;
      r.is_out_of_time = look.kind == Look::Kind::NoTime;
    }
    r.last = std::move(look);
  });
}

void Attempt::on_draft(const Draft& draft) {
  publish([&](Reached& r) { r.search = report_; });
  double seconds = 0;
  if (trials_) {
    if (is_only_simplified(draft)) return;
    const double left = request_.search.seconds_left();
    seconds = std::clamp(left * kShareOfLook, kLeastLookSeconds, kMostLookSeconds);
    if (left < kLooksThatFit * seconds) return;
  }
  auto look = guard_->look_at(draft, seconds);
  if (!look.ok()) {
    // For example, the disk is full. If the runtime decides, the last look reports it.
    if (!trials_) publish([&](Reached& r) { r.error = look.error(); });
    return;
  }
  if (look->kind == Look::Kind::Accepted) accept(draft, std::move(*look));
  else if (!trials_) reject(draft, std::move(*look));
}

// If no draft is faster: the simplified graph, if it is smaller and not slower with 95 % confidence.
void Attempt::keep_simplified(const std::vector<Draft>& history) {
  TimeLimit& limit = *request_.search.limit;
  if (reached_.best || history.size() < 2 || !is_only_simplified(history[1])) return;
  const Draft& draft = history[1];
  if (draft.graph.operator_count() >= model_.graph.operator_count()) return;
  std::optional<Look> look;
  if (history.size() == 2) look = reached_.last;  // it was the one that was looked at
  if (!look || !look->time) {
    if (limit.is_over()) return;
    auto fresh = guard_->look_at(draft, std::min(limit.seconds_left(), kMostFinalSeconds));
    if (!fresh.ok()) return;
    look = std::move(*fresh);
  }
  const std::string reason = reached_.reason;
  const bool is_out_of_time = reached_.is_out_of_time;
  if (look->kind == Look::Kind::Accepted) accept(draft, std::move(*look));
  else if (look->kind == Look::Kind::NotFaster && Guard::is_no_slower(*look, request_.min_gain)) {
    accept(draft, std::move(*look), true);
    publish([&](Reached& r) {
      r.reason = reason;
      r.is_out_of_time = is_out_of_time;
    });
  }
}

void Attempt::find_peaks() {
  const TimeLimit& limit = *request_.search.limit;
  if (!reached_.best || limit.seconds_left() < kPeakSeconds) return;
  request_.search.progress("measuring memory");
  const auto feeds = SharedFeeds::make(request_.feeds);
  if (!feeds.ok()) return;
  const auto candidate =
      ScratchModel::write(with_graph(model_, reached_.best->draft.graph), request_.scratch);
  if (!candidate.ok()) return;
  const auto before =
      trials_->judge().peak_bytes(ModelSource::file(request_.in.string()), *feeds, request_.runtime);
  const auto after = trials_->judge().peak_bytes(candidate->source(), *feeds, request_.runtime);
  if (!before.ok() || !after.ok()) return;
  publish([&](Reached& r) {
    r.peak_before = *before;
    r.peak_after = *after;
  });
}

// The proof is about sizes of at least 1 then.
void Attempt::try_size_zero() {
  if (!reached_.best || model_.graph.sizes_from == 0 || request_.search.limit->seconds_left() < kZeroSeconds)
    return;
  request_.search.progress("running at size 0");
  const auto candidate =
      ScratchModel::write(with_graph(model_, reached_.best->draft.graph), request_.scratch);
  if (!candidate.ok()) return;
  auto found = compare_at_zero(trials_->judge(), {.graph = model_.graph,
                                                  .before = ModelSource::file(request_.in.string()),
                                                  .after = candidate->source(),
                                                  .feeds = request_.feeds,
                                                  .runtime = request_.runtime});
  publish([&](Reached& r) { r.at_zero = std::move(found); });
}

void Attempt::find_advice() {
  const TimeLimit& limit = *request_.search.limit;
  const double seconds =
      std::min(limit.seconds_left(), std::max(request_.seconds * kShareOfAdvice, kLeastAdviceSeconds));
  if (seconds < 1) return;
  request_.search.progress("looking for advice");
  auto advice = advice_for({.model = model_,
                            .in = request_.in,
                            .out = request_.scratch,
                            .feeds = request_.feeds,
                            .worker = request_.worker,
                            .runtime = request_.runtime,
                            .seconds = seconds});
  publish([&](Reached& r) { r.advice = std::move(advice); });
}

}  // namespace isomer
