#include "kernel/certify/check.h"

#include <fmt/format.h>

#include "kernel/certify/digest.h"
#include "kernel/certify/last_bits.h"
#include "kernel/prove/flush.h"
#include "kernel/prove/widen.h"
#include "model/graph/same.h"
#include "model/graph/text/operator_text.h"

namespace isomer {
namespace {

// The model with the operators that its user and the certificate state.
Result<Graph> with_operators(Graph graph, const std::vector<std::string>& assumed) {
  OwnOperators own = graph.opsets.own ? *graph.opsets.own : OwnOperators();
  for (const std::string& text : assumed)
    if (const Status added = add_operators(text, own); !added.ok())
      return Error{fmt::format("an assumption: {}", added.error().message)};
  graph.opsets.own = std::make_shared<const OwnOperators>(std::move(own));
  return graph;
}

class Checker {
 public:
  Checker(const Certificate& certificate, std::uint64_t key) : certificate_(certificate), key_(key) {}

  CheckReport run(const Graph& in, const Graph& out) {
    if (certificate_.in_digest != model_digest(in))
      return refused("the certificate is about another original");
    if (certificate_.out_digest != model_digest(out))
      return refused("the certificate is about another result");
    if (certificate_.sizes_from > in.sizes_from)
      return refused("the certificate holds only for sizes of at least 1, but size 0 is required, too");
    auto start = with_operators(in, certificate_.assumed);
    if (!start.ok()) return refused(start.error().message);
    now_ = *std::move(start);
    now_.sizes_from = report_.sizes_from = certificate_.sizes_from;
    report_.assumed = now_.opsets.own->texts();
    while (at_ < certificate_.steps.size() && report_.reason.empty()) {
      take_claims();
      while (report_.reason.empty() && at_ < certificate_.steps.size() &&
             !std::holds_alternative<Claim>(certificate_.steps[at_]))
        take_constants();
    }
    if (report_.reason.empty()) compare_with(out);
    report_.accepted = report_.reason.empty();
    return std::move(report_);
  }

 private:
  CheckReport refused(const std::string& why) {
    report_.reason = why;
    return std::move(report_);
  }
  void reject(int step, const std::string& why) {
    report_.step = step;
    report_.reason = why;
  }

  // Claims that follow one another are about one graph and are applied together.
  void take_claims() {
    std::vector<ProvedClaim> proved;
    const auto piece = Workpiece::of(now_);
    if (!piece.ok()) return reject(report_.steps, piece.error().message);
    for (; at_ < certificate_.steps.size(); ++at_) {
      const auto* claim = std::get_if<Claim>(&certificate_.steps[at_]);
      if (claim == nullptr) break;
      auto answer = piece->prove(*claim, {.key = key_});
      if (const auto* why = std::get_if<std::string>(&answer)) return reject(report_.steps, *why);
      proved.push_back(std::get<ProvedClaim>(std::move(answer)));
      ++report_.steps;
    }
    if (proved.empty()) return;
    auto next = piece->with(proved);
    if (!next.ok()) return reject(report_.steps - 1, next.error().message);
    now_ = std::move(*next);
  }

  // A step that is no claim.
  void take_constants() {
    auto next = std::visit([this](const auto& step) { return taken(step); }, certificate_.steps[at_++]);
    if (!next.ok()) return reject(report_.steps, next.error().message);
    now_ = std::move(*next);
    ++report_.steps;
  }
  Result<Graph> taken(const Claim&) { return Error{"a claim is proved"}; }  // by take_claims
  Result<Graph> taken(const FoldStep& step) {
    for (const std::string& value : step.values) folded_.insert(value + std::string(kFoldedSuffix));
    return fold_constants(now_, step.values);
  }
  Result<Graph> taken(const WidenStep& step) {
    report_.widened += static_cast<int>(step.values.size());
    return widen(now_, step.values);
  }
  // First of all: so the answer is about IN's own numbers, and none that was computed of them.
  Result<Graph> taken(const FlushStep& step) {
    if (report_.steps > 0) return Error{"denormal numbers are flushed before all other steps"};
    ISOMER_TRY(Flushed next, flush_denormals(now_, step.constants));
    report_.flushed += next.numbers;
    return std::move(next.graph);
  }

  void compare_with(const Graph& out) {
    if (certificate_.pairing) {
      auto end = with_operators(out, certificate_.assumed);
      if (!end.ok()) return (void)(report_.reason = end.error().message);
      const PairedReport paired = check_pairing(now_, *end, *certificate_.pairing, key_);
      const int before = report_.steps;
      report_.steps += paired.equations;
      if (paired.refusal) return reject(before + paired.equation.value_or(paired.equations), *paired.refusal);
      report_.paired = paired;
      return;
    }
    auto taken = with_last_bits_of(now_, out, folded_);
    if (!taken.ok()) return (void)(report_.reason = taken.error().message);
    report_.last_bits = taken->constants;
    if (const auto difference = first_difference(taken->graph, out)) report_.reason = *difference;
  }

  const Certificate& certificate_;
  std::uint64_t key_;
  Graph now_;
  std::size_t at_ = 0;
  std::set<std::string> folded_;  // names of constants
  CheckReport report_;
};

}  // namespace

CheckReport check_certificate(const Graph& in, const Graph& out, const Certificate& certificate,
                              std::uint64_t key) {
  return Checker(certificate, key).run(in, out);
}

}  // namespace isomer
