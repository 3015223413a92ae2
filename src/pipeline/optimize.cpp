#include "pipeline/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "certify/certificate.h"
#include "certify/digest.h"
#include "onnx/write_file.h"

namespace isomer {
namespace {

constexpr double kLeastGain = 1.02;
constexpr std::uintmax_t kFreeGrowth = 16u << 20u;
constexpr double kShareOfGuard = 0.4, kLeastGuardSeconds = 12, kMostGuardSeconds = 120;
constexpr double kShareOfAdvice = 0.05;

std::uintmax_t bytes_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto model = std::filesystem::file_size(path, error);
  return error ? 0 : model;
}

// What OUT may take of the disk.
std::uintmax_t allowed_bytes(const OptimizeRequest& request, std::uintmax_t bytes_in) {
  return std::max(static_cast<std::uintmax_t>(static_cast<double>(bytes_in) * request.max_size_growth),
                  bytes_in + kFreeGrowth);
}

// Why the new model is not taken, or "".
class Guard {
 public:
  Guard(const OptimizeRequest& request, const Model& model, Trials* trials, OptimizeReport& report)
      : request_(request), model_(model), trials_(trials), report_(report) {}

  Result<std::string> objection(const Draft& draft) {
    ISOMER_TRY(const ScratchModel candidate,
               ScratchModel::write(with_graph(model_, draft.graph), request_.out));
    report_.bytes_out = bytes_of(candidate.path());
    if (report_.bytes_out > allowed_bytes(request_, report_.bytes_in))
      return fmt::format("it would grow from {} to {} bytes", report_.bytes_in, report_.bytes_out);
    if (trials_ == nullptr) return std::string();
    const auto before = ModelSource::file(request_.in.string()), after = candidate.source();
    if (const auto loads = trials_->judge().check_loads(after, request_.runtime); !loads.ok())
      return "the runtime does not load the result: " + loads.error().what;
    request_.search.progress("comparing with float64");
    const auto errors = trials_->errors(model_.graph, before, after, request_.feeds,
                                        1e9 * std::clamp(request_.search.seconds / 10, 3.0, 30.0));
    if (!errors.ok()) return "the runtime does not run it: " + errors.error().what;
    if (*errors) {
      report_.error_before = (*errors)->before;
      report_.error_after = (*errors)->after;
      if (!(*errors)->within(request_.search.max_error_growth)) {
        is_wrong = true;
        return fmt::format("its error would be {:.1e} instead of {:.1e}", (*errors)->after,
                           (*errors)->before);
      }
    }
    const double left =
        std::max(request_.search.seconds - request_.search.spent(), request_.search.seconds * kShareOfGuard);
    const double seconds = std::clamp(left, kLeastGuardSeconds, kMostGuardSeconds);
    const auto measured =
        trials_->compare(before, after, seconds, kLeastGain, told_as(request_.search.progress, "the result"));
    if (!measured.ok()) return "it could not be measured: " + measured.error().what;
    report_.ratio = measured->ratio;
    is_slow = measured->ratio.low <= kLeastGain;
    if (is_slow)
      return fmt::format("it is not faster: {:.3f} [{:.3f}, {:.3f}]", measured->ratio.estimate,
                         measured->ratio.low, measured->ratio.high);
    return std::string();
  }
  bool is_wrong = false, is_slow = false;  // it was the error; the time

 private:
  const OptimizeRequest& request_;
  const Model& model_;
  Trials* trials_;
  OptimizeReport& report_;
};

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  return a.lexically_normal() == b.lexically_normal() || std::filesystem::equivalent(a, b, error);
}

// The runtime, if it is to judge.
Result<std::unique_ptr<Trials>> started(const OptimizeRequest& request) {
  if (!request.measure) return std::unique_ptr<Trials>();
  request.search.progress("starting the runtime");
  auto judge = Judge::start(request.worker);
  if (!judge.ok()) return to_error(judge.error());
  return std::make_unique<Trials>(std::move(*judge), Trials::Options{.runtime = request.runtime,
                                                                     .feeds = request.feeds,
                                                                     .out = request.out,
                                                                     .seed = request.search.seed});
}

// Why there is no use in going on, or "".
std::string refusal(Trials& trials, const OptimizeRequest& request) {
  const auto runs =
      trials.judge().run(ModelSource::file(request.in.string()), request.feeds, request.runtime);
  return runs.ok() ? "" : "the runtime does not run the original: " + runs.error().what;
}

bool has_time_for_another(const SearchOptions& search) {
  return !search.is_interrupted() && search.seconds - search.spent() > kLeastGuardSeconds;
}

void tell(OptimizeReport& report, const Draft& best) {
  std::map<std::string, OptimizeReport::Kind> kinds;
  std::map<std::string, OptimizeReport::Group> groups;
  for (const Draft::Taken& t : best.taken) {
    report.told.push_back(t.what);
    OptimizeReport::Kind& kind = kinds[t.kind];
    kind = {t.kind, kind.count + 1, kind.nodes + t.fewer};
    OptimizeReport::Group& group = groups[t.label];
    group = {t.label, group.places + 1, std::max(group.ratio, t.ratio)};
  }
  for (const auto& [name, kind] : kinds) report.steps.push_back(kind);
  for (const auto& [label, group] : groups) report.groups.push_back(group);
  std::ranges::stable_sort(report.groups, std::greater<>{}, &OptimizeReport::Group::places);
}

// What was done, as a certificate tells it.
Certificate certificate_of(const Draft& draft) {
  Certificate out{.steps = draft.steps, .notes = {}};
  for (const Draft::Taken& t : draft.taken) out.notes.push_back({t.kind, t.what, t.ratio});
  return out;
}

}  // namespace

Result<OptimizeReport> optimize(OptimizeRequest request, const Model& model) {
  OptimizeReport report;
  const auto start = std::chrono::steady_clock::now();
  request.search.out = request.out;
  request.search.spent = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  if (is_same_file(request.in, request.out)) return Error{"the output is the input's own file"};
  if (is_same_file(request.in, request.certificate) || is_same_file(request.out, request.certificate))
    return Error{"the certificate needs a file of its own"};
  wire::remove_stale_outputs(request.out.parent_path());
  report.bytes_in = bytes_of(request.in);
  request.search.more_bytes = allowed_bytes(request, report.bytes_in) - report.bytes_in;

  ISOMER_TRY(std::unique_ptr<Trials> trials, started(request));
  if (trials) report.reason = refusal(*trials, request);
  Draft best{.graph = model.graph};
  if (report.reason.empty()) {
    ISOMER_TRY(std::vector<Draft> history, search(request.search, model, trials.get(), report.search));
    if (history.size() == 1)
      report.reason = report.search.refused.empty()
                          ? "nothing to improve was found"
                          : "nothing of what was found could be taken: " + report.search.refused.front();
    // From the best backwards, past what makes the error grow, and while there is time past what is not
    // faster.
    while (history.size() > 1) {
      Guard guard(request, model, trials.get(), report);
      ISOMER_TRY(report.reason, guard.objection(history.back()));
      if (report.reason.empty()) best = history.back();
      if (!guard.is_wrong && !(guard.is_slow && has_time_for_another(request.search))) break;
      history.pop_back();
    }
    report.improved = history.size() > 1 && report.reason.empty();
    if (trials && !request.search.is_interrupted())
      report.advice = advice_for(ModelSource::file(request.in.string()), request.feeds, request.worker,
                                 request.runtime, request.search.seconds * kShareOfAdvice);
  }
  Certificate certificate = certificate_of(best);
  tell(report, best);
  if (report.ratio && report.improved)
    certificate.notes.push_back({"measured", "the whole model", report.ratio->estimate});
  report.certificate = request.certificate;
  certificate = with_digests(std::move(certificate), model.graph, best.graph);
  // The certificate is on the disk before OUT is, so that a full one leaves neither.
  ISOMER_TRY(wire::OutputFile proof, wire::written_output(request.certificate, to_text(certificate)));
  ISOMER_TRY_DO(report.improved ? write_model(with_graph(model, best.graph), request.out)
                                : copy_model(model, request.in, request.out));
  ISOMER_TRY_DO(proof.rename());
  report.bytes_out = bytes_of(request.out);
  return report;
}

}  // namespace isomer
