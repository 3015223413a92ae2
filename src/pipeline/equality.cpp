#include "pipeline/equality.h"

#include <fmt/format.h>

#include <algorithm>

#include "certify/digest.h"

namespace isomer {
namespace {

std::vector<ModelsVerdict::Output> outputs_of(const Graph& a, const Graph& b, Answer answer) {
  std::vector<ModelsVerdict::Output> out;
  for (std::size_t k = 0; k < std::min(a.outputs().size(), b.outputs().size()); ++k)
    out.push_back(
        {.a = a.name_of(a.outputs()[k]), .b = b.name_of(b.outputs()[k]), .answer = answer, .why = {}});
  return out;
}

// Models that differ in nothing but numbers that are far apart: an input shows it at once.
bool is_refuted_by_constants(const EqualityRequest& request, ProveAnswer& answer) {
  const Graph &a = request.a.graph, &b = request.b.graph;
  const auto found = differing_by_constants(a, b, answer.constants, request.deadline.flag());
  if (!found) return false;
  ModelsVerdict& v = answer.verdict;
  v.answer = Answer::Refuted;
  v.example = *found;
  v.outputs = outputs_of(a, b, Answer::Undecided);
  auto& output = v.outputs[static_cast<std::size_t>(found->output)];
  output.answer = Answer::Refuted;
  v.why = output.why = fmt::format("output {} at {} is {} and {}", output.a, text(to_dims(found->position)),
                                   found->a, found->b);
  return true;
}

}  // namespace

ProveAnswer proved_by(const CheckReport& accepted, const Model& a, const Model& b) {
  ISOMER_CHECK(accepted.accepted);
  ProveAnswer answer;
  answer.is_by_certificate = true;
  answer.verdict.answer = Answer::Proved;
  answer.verdict.proofs = accepted.steps;
  answer.verdict.outputs = outputs_of(a.graph, b.graph, Answer::Proved);
  return answer;
}

ProveAnswer prove_equal(const EqualityRequest& request) {
  const Graph &a = request.a.graph, &b = request.b.graph;
  ProveAnswer answer;
  answer.constants = differing_constants(a, b);
  if (!answer.constants.empty() && is_refuted_by_constants(request, answer)) return answer;
  request.on_constants(answer.constants);
  answer.verdict = prove_models(a, b,
                                {.stop = request.deadline.flag(),
                                 .seconds_left = [&] { return request.deadline.seconds_left(); },
                                 .progress = request.progress,
                                 .trace = request.trace});
  return answer;
}

std::string certificate_of(const ProveAnswer& answer, const Model& a, const Model& b) {
  ISOMER_CHECK(answer.verdict.answer == Answer::Proved && !answer.is_by_certificate);
  const Certificate found{.steps = {}, .pairing = answer.verdict.pairing, .notes = {}};
  return to_text(with_digests(found, a.graph, b.graph));
}

}  // namespace isomer
