#include "app/equality/equality.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ranges>
#include <thread>

#include "kernel/certify/check_files.h"
#include "kernel/certify/digest.h"
#include "kernel/certify/model_interface.h"
#include "kernel/prove/flush.h"
#include "kernel/prove/widen.h"
#include "model/ops/own_operators.h"
#include "optimizer/propose/proposer.h"
#include "optimizer/search/search.h"

namespace isomer {
namespace {

constexpr double kLeastSearch = 1;      // seconds that are left, or there is no use in it
constexpr double kShareOfSearch = 0.3;  // of the remaining time
constexpr int kMostDrafts = 3;

std::vector<ModelsVerdict::Output> outputs_of(const Graph& a, const Graph& b, Answer answer) {
  std::vector<ModelsVerdict::Output> out;
  for (std::size_t k = 0; k < std::min(a.outputs().size(), b.outputs().size()); ++k)
    out.push_back(
        {.a = a.name_of(a.outputs()[k]), .b = b.name_of(b.outputs()[k]), .answer = answer, .why = {}});
  return out;
}

// Models that differ in nothing but numbers that are far apart: an input shows it at once.
bool is_refuted_by_constants(const EqualityRequest& request, ProveAnswer& answer) {
  const Graph& a = request.a.graph;
  const Graph b = request.by_position ? request.b.graph : with_outputs_like(request.a.graph, request.b.graph);
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

ModelsVerdict paired(const EqualityRequest& request, const Graph& a) {
  return prove_models(a, request.b.graph,
                      {.by_position = request.by_position,
                       .stop = request.deadline.flag(),
                       .seconds_left = [&] { return request.deadline.seconds_left(); },
                       .progress = request.progress,
                       .trace = request.trace});
}

// The drafts of the search on the first model, by the analytic cost: the last is the farthest from it.
std::vector<Draft> searched(const EqualityRequest& request) {
  SearchOptions options;
  options.limit =
      std::make_shared<TimeLimit>(kShareOfSearch * request.deadline.seconds_left(), request.deadline.flag());
  options.progress = request.progress;
  const std::jthread clock([&limit = *options.limit](const std::stop_token& done) {
    for (; !done.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(20)))
      limit.refresh();
  });
  SearchReport report;
  auto drafts = search(options, request.a, nullptr, report);
  return drafts.ok() ? std::move(*drafts) : std::vector<Draft>{};
}

int count_of_halves(const Graph& graph) {
  const auto inference = infer(graph);
  int count = 0;
  if (!inference.ok()) return count;
  for (const NodeId id : graph.order())
    for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k) {
      const ElementType type = inference->of({id, k}).type;
      const bool is_half = type == ElementType::Float16 || type == ElementType::BFloat16;
      count += is_half && graph.node(id).kind == NodeKind::Operator ? 1 : 0;
    }
  return count;
}

// The first model with its 16-bit floats computed in float32, where the second has fewer of them.
std::optional<Draft> widened(const Graph& a, const Graph& b) {
  if (count_of_halves(a) <= count_of_halves(b)) return std::nullopt;
  const auto inference = infer(a);
  if (!inference.ok()) return std::nullopt;
  WidenStep step;
  for (const NodeId id : widenable(a, *inference))
    for (const std::string& name : a.node(id).outputs)
      if (!name.empty()) step.values.push_back(name);
  auto wide = widen(a, step.values);
  if (step.values.empty() || !wide.ok()) return std::nullopt;
  return Draft{.graph = std::move(*wide), .steps = {std::move(step)}};
}

// The first model with its denormal numbers as zero, where the second has fewer of them.
std::optional<Draft> flushed(const Graph& a, const Graph& b) {
  const auto inference_a = infer(a), inference_b = infer(b);
  if (!inference_a.ok() || !inference_b.ok()) return std::nullopt;
  const Proposals found = kDenormals(a, *inference_a);
  if (found.list.empty() || !kDenormals(b, *inference_b).list.empty()) return std::nullopt;
  FlushStep step{found.list.front().flushes};
  auto zeros = flush_denormals(a, step.constants);
  if (!zeros.ok()) return std::nullopt;
  return Draft{.graph = std::move(zeros->graph), .steps = {std::move(step)}};
}

// Whether the first model is equal to the second by these steps, and then value by value; the checker says.
bool is_proved_by(const EqualityRequest& request, Draft& draft, ProveAnswer& answer) {
  ProveAnswer found{.verdict = paired(request, draft.graph),
                    .constants = answer.constants,
                    .steps = std::move(draft.steps)};
  if (found.verdict.answer != Answer::Proved) return false;
  const CheckReport checked =
      check_models(request.a.graph, request.b.graph, certificate_of(found, request.a, request.b)).report;
  if (!checked.accepted) return false;
  found.verdict.proofs += static_cast<int>(found.steps.size());
  found.widened = checked.widened;
  found.flushed = checked.flushed;
  answer = std::move(found);
  return true;
}

// Another tool may have folded weights or rewritten a region as the search does. Its steps are proved one by
// one; the checker decides whether they prove the whole.
void prove_by_steps(const EqualityRequest& request, ProveAnswer& answer) {
  std::vector<Draft> drafts = searched(request);
  int looks = 0;
  for (Draft& draft : std::views::reverse(drafts)) {
    if (draft.steps.empty() || looks++ == kMostDrafts || *request.deadline.flag()) return;
    if (is_proved_by(request, draft, answer)) return;
  }
}

}  // namespace

ProveAnswer proved_by(const CheckReport& accepted, const Model& a, const Model& b) {
  ISOMER_CHECK(accepted.accepted);
  ProveAnswer answer;
  answer.is_by_certificate = true;
  answer.widened = accepted.widened;
  answer.flushed = accepted.flushed;
  answer.assumed = accepted.assumed;
  answer.sizes_from = accepted.sizes_from;
  ModelsVerdict& verdict = answer.verdict;
  verdict.answer = Answer::Proved;
  verdict.proofs = accepted.steps;
  verdict.constants_rounded = accepted.last_bits;
  if (const auto& paired = accepted.paired) {
    verdict.by_position = !paired->renamed.empty();
    verdict.constants_rounded += paired->constants_rounded;
    verdict.constants_restated = paired->constants_restated;
    verdict.constants_moved = paired->constants_moved;
    verdict.worst_ulp = paired->worst_ulp;
    verdict.points = paired->points;
  }
  const Graph second = verdict.by_position ? b.graph : with_outputs_like(a.graph, b.graph);
  verdict.outputs = outputs_of(a.graph, second, Answer::Proved);
  return answer;
}

namespace {

ProveAnswer proved_or_not(const EqualityRequest& request) {
  const Graph &a = request.a.graph, &b = request.b.graph;
  ProveAnswer answer;
  answer.constants = differing_constants(a, b);
  // First: a denormal number and zero are far apart as they are compared below.
  if (auto zeros = flushed(a, b); zeros && is_proved_by(request, *zeros, answer)) return answer;
  if (!answer.constants.empty() && is_refuted_by_constants(request, answer)) return answer;
  request.on_constants(answer.constants);
  // Before anything else: in float64 a cast to 16 bits is all that differs, and would be taken for a
  // difference.
  if (auto wide = widened(a, b); wide && is_proved_by(request, *wide, answer)) return answer;
  answer.verdict = paired(request, a);
  if (answer.verdict.answer == Answer::Undecided && request.deadline.seconds_left() > kLeastSearch)
    prove_by_steps(request, answer);
  return answer;
}

}  // namespace

ProveAnswer prove_equal(const EqualityRequest& request) {
  ProveAnswer answer = proved_or_not(request);
  if (const auto& own = request.a.graph.opsets.own) answer.assumed = own->texts();
  return answer;
}

std::string certificate_of(const ProveAnswer& answer, const Model& a, const Model& b) {
  ISOMER_CHECK(answer.verdict.answer == Answer::Proved && !answer.is_by_certificate);
  const Certificate found{.steps = answer.steps, .pairing = answer.verdict.pairing, .notes = {}};
  return to_text(with_digests(found, a.graph, b.graph));
}

}  // namespace isomer
