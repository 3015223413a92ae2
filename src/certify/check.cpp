#include "certify/check.h"

#include "certify/digest.h"
#include "graph/same.h"
#include "prove/widen.h"

namespace isomer {

CheckReport check_certificate(const Graph& in, const Graph& out, const Certificate& certificate,
                              std::uint64_t key) {
  CheckReport report;
  if (certificate.in_digest != model_digest(in)) {
    report.reason = "the certificate is about another original";
    return report;
  }
  if (certificate.out_digest != model_digest(out)) {
    report.reason = "the certificate is about another result";
    return report;
  }
  Graph now = in;
  const auto rejected = [&](int step, const std::string& why) {
    return CheckReport{.accepted = false, .step = step, .reason = why, .steps = report.steps};
  };
  ProofCache proofs;
  for (std::size_t at = 0; at < certificate.steps.size();) {
    // Claims that follow one another are about one graph and are applied together.
    std::vector<ProvedClaim> proved;
    const auto piece = Workpiece::of(now);
    if (!piece.ok()) return rejected(report.steps, piece.error().message);
    for (; at < certificate.steps.size(); ++at) {
      const auto* claim = std::get_if<Claim>(&certificate.steps[at]);
      if (claim == nullptr) break;
      auto answer = piece->prove(*claim, {.key = key}, &proofs);
      if (const auto* why = std::get_if<std::string>(&answer)) return rejected(report.steps, *why);
      proved.push_back(std::get<ProvedClaim>(std::move(answer)));
      ++report.steps;
    }
    if (!proved.empty()) {
      auto next = piece->with(proved);
      if (!next.ok()) return rejected(report.steps - 1, next.error().message);
      now = std::move(*next);
    }
    for (; at < certificate.steps.size(); ++at) {
      const CertifiedStep& step = certificate.steps[at];
      if (std::holds_alternative<Claim>(step)) break;
      const auto* fold = std::get_if<FoldStep>(&step);
      auto next = fold ? fold_constants(now, fold->values) : widen(now, std::get<WidenStep>(step).values);
      if (!next.ok()) return rejected(report.steps, next.error().message);
      if (!fold) report.widened += static_cast<int>(std::get<WidenStep>(step).values.size());
      now = std::move(*next);
      ++report.steps;
    }
  }
  if (certificate.pairing) {
    const PairedReport paired = check_pairing(now, out, *certificate.pairing, key);
    const int before = report.steps;
    report.steps += paired.equations;
    if (paired.refusal) return rejected(before + paired.equation.value_or(paired.equations), *paired.refusal);
    report.paired = paired;
  } else if (const auto difference = first_difference(now, out)) {
    report.reason = *difference;
    return report;
  }
  report.accepted = true;
  return report;
}

}  // namespace isomer
