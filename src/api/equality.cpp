#include "pipeline/equality.h"

#include <chrono>

#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "certify/check_files.h"

namespace isomer::api {
namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string joined(const std::vector<std::string>& sizes) {
  std::string out;
  for (const std::string& s : sizes) out += (out.empty() ? "" : ", ") + s;
  return out;
}

Verdict verdict_of(Answer answer) {
  return answer == Answer::Proved    ? Verdict::Proved
         : answer == Answer::Refuted ? Verdict::Refuted
                                     : Verdict::Undecided;
}

}  // namespace

Proof prove_equal(const Model& a, const Model& b, const ProveOptions& options) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const Model::State &first = a.state(), &second = b.state();
    Deadline deadline(checked_seconds(options.seconds));
    const std::stop_callback on_stop(options.stop, [&] { deadline.end(); });
    std::optional<ProveAnswer> answer;
    if (!options.certificate.empty()) {
      const CheckedFiles checked = check_models(first.model.graph, second.model.graph, options.certificate);
      if (checked.report.accepted) answer = proved_by(checked.report, first.model, second.model);
    }
    if (!answer) {
      EqualityRequest request{.a = first.model, .b = second.model, .deadline = deadline};
      if (options.progress) request.progress = [&](const std::string& now) { options.progress(now); };
      answer = isomer::prove_equal(request);
    }
    answer->sizes = joined(first.fixed);
    Proof out{.verdict = verdict_of(answer->verdict.answer),
              .why = answer->verdict.why,
              .json = json_text(to_json(*answer, ms_since(start)))};
    if (out.verdict == Verdict::Proved)
      out.certificate = answer->is_by_certificate ? options.certificate
                                                  : certificate_of(*answer, first.model, second.model);
    if (answer->verdict.example) out.counterexample = to_public(answer->verdict.example->feeds);
    return out;
  });
}

Checked check(const Model& in, const Model& out, std::string_view certificate) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const CheckedFiles checked = check_models(in.state().model.graph, out.state().model.graph, certificate);
    return Checked{.accepted = checked.report.accepted,
                   .reason = checked.report.reason,
                   .json = checked.json(ms_since(start))};
  });
}

}  // namespace isomer::api
