// isomer prove A.onnx B.onnx: are two models equal for all inputs?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>

#include "certify/check_files.h"
#include "certify/digest.h"
#include "cli/command.h"
#include "cli/contract_text.h"
#include "cli/deadline.h"
#include "cli/progress.h"
#include "onnx/model.h"
#include "onnx/write_file.h"
#include "pipeline/prove_models.h"

namespace isomer::cli {
namespace {

struct ProveRequest {
  std::filesystem::path a, b, certificate;
  std::string budget = "5m";
  bool trace = false, verbose = false;
};

std::string_view word(Answer answer) {
  return answer == Answer::Proved ? "proved" : answer == Answer::Refuted ? "refuted" : "undecided";
}

Json example_json(const Refuted& refuted) {
  return {{"position", refuted.position}, {"a", refuted.a}, {"b", refuted.b}};
}

Json to_json(const ModelsVerdict& verdict, bool by_certificate, double ms) {
  Json outputs = Json::array();
  for (std::size_t k = 0; k < verdict.outputs.size(); ++k) {
    const auto& output = verdict.outputs[k];
    const bool is_it = verdict.example && verdict.example->output == static_cast<int>(k);
    outputs.push_back({{"a", output.a},
                       {"b", output.b},
                       {"verdict", word(output.answer)},
                       {"why", output.why},
                       {"example", is_it ? example_json(*verdict.example) : Json()}});
  }
  const Json witnesses{{"sets", verdict.answer == Answer::Proved}, {"field_points", verdict.points}};
  return {{"verdict", word(verdict.answer)},
          {"outputs", outputs},
          {"why", verdict.why},
          {"first_difference", verdict.first_difference},
          {"constants_rounded", verdict.constants_rounded},
          {"constants_restated", verdict.constants_restated},
          {"constants_moved", verdict.constants_moved},
          {"worst_ulp", verdict.worst_ulp},
          {"pairs", verdict.proofs},
          {"by_certificate", by_certificate},
          {"witnesses", witnesses},
          {"witness_disagreements", verdict.witness_disagreements},
          {"ms", ms}};
}

std::string headline(const ModelsVerdict& verdict) {
  if (verdict.answer == Answer::Refuted) return "refuted: " + verdict.why;
  if (verdict.answer == Answer::Undecided) return "undecided: " + verdict.why;
  std::string kinds;
  const auto add = [&](int count, const char* what) {
    if (count > 0)
      kinds += fmt::format("{} {} constant{} {}", kinds.empty() ? "," : " and", count, count == 1 ? "" : "s",
                           what);
  };
  add(verdict.constants_rounded, "rounded");
  add(verdict.constants_restated, "with other last digits");
  if (kinds.empty()) return "equal";
  return fmt::format("equal over the reals{} (worst {:.3g} ulp)", kinds, verdict.worst_ulp);
}

std::string to_text(const ModelsVerdict& verdict) {
  std::string text = headline(verdict) + '\n';
  std::size_t wide = 6;
  for (const auto& o : verdict.outputs) wide = std::max(wide, o.a.size());
  if (!verdict.outputs.empty()) text += fmt::format("  {:{}}  {:9}  reason\n", "output", wide, "verdict");
  for (const auto& o : verdict.outputs)
    text += fmt::format("  {:{}}  {:9}  {}\n", o.a, wide, word(o.answer), o.why);
  if (!verdict.first_difference.empty())
    text += fmt::format("  the models part at {}\n", verdict.first_difference);
  if (verdict.witness_disagreements > 0)
    text += fmt::format("  the two witnesses disagree on {} question{}, a mistake of Isomer's: {}\n",
                        verdict.witness_disagreements, verdict.witness_disagreements == 1 ? "" : "s",
                        verdict.disagreement);
  if (verdict.answer == Answer::Proved)
    text += fmt::format("  {} pairs proved, {} points mod p\n", verdict.proofs, verdict.points);
  return text;
}

// The certificate that `optimize` leaves beside its result is a proof that need not be found, only checked.
std::optional<CheckedFiles> by_certificate(const ProveRequest& request) {
  std::filesystem::path beside = request.b;
  beside += ".cert";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(beside, ignored)) return std::nullopt;
  auto checked = check_files(request.a, request.b, beside);
  if (!checked.ok() || !checked->report.accepted) return std::nullopt;
  return std::move(*checked);
}

ModelsVerdict as_verdict(const CheckReport& report, const Graph& a, const Graph& b) {
  ModelsVerdict out;
  out.answer = Answer::Proved;
  out.proofs = report.steps;
  for (std::size_t k = 0; k < a.outputs().size(); ++k)
    out.outputs.push_back({.a = a.name_of(a.outputs()[k]),
                           .b = b.name_of(b.outputs()[k]),
                           .answer = Answer::Proved,
                           .why = {}});
  return out;
}

Result<Reply> prove(const ProveRequest& request) {
  ISOMER_TRY(const Model a, read_model(request.a));
  ISOMER_TRY(const Model b, read_model(request.b));
  ISOMER_TRY(const double seconds, seconds_of(request.budget));
  const auto start = std::chrono::steady_clock::now();
  const Deadline deadline(seconds);
  ProgressLine line;
  ProveModelsOptions options{.stop = deadline.flag(),
                             .seconds_left = [&] { return deadline.seconds_left(); },
                             .progress = [&](const std::string& text) { line.show(text); },
                             .trace = {}};
  if (request.trace) options.trace = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const auto checked = request.certificate.empty() ? by_certificate(request) : std::nullopt;
  const ModelsVerdict verdict =
      checked ? as_verdict(checked->report, a.graph, b.graph) : prove_models(a.graph, b.graph, options);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const Exit exit = verdict.answer == Answer::Proved    ? Exit::Done
                    : verdict.answer == Answer::Refuted ? Exit::Refuted
                                                        : Exit::Undecided;
  if (!request.certificate.empty() && verdict.answer == Answer::Proved) {
    const Certificate found{.steps = {}, .pairing = verdict.pairing, .notes = {}};
    const std::string text = to_text(with_digests(found, a.graph, b.graph));
    ISOMER_TRY(wire::OutputFile file, wire::written_output(request.certificate, text));
    ISOMER_TRY_DO(file.rename());
  }
  const std::string how = checked ? "  by the certificate beside the second model, checked again\n" : "";
  const std::string promised =
      request.verbose ? fmt::format("\nWhat \"equal\" means:\n\n{}", kContractText) : "";
  return Reply{exit, to_text(verdict) + how + promised, to_json(verdict, checked.has_value(), spent.count()),
               exit == Exit::Done ? "" : headline(verdict)};
}

}  // namespace

void add_prove(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<ProveRequest>();
  CLI::App* command = app.add_subcommand("prove", "Are two models equal for all inputs?");
  command->add_option("A", request->a, "An ONNX file")->required();
  command->add_option("B", request->b, "An ONNX file with the same inputs, by name")->required();
  command->add_option("--budget", request->budget, "How long to try: 30s, 5m, 1h")->capture_default_str();
  command->add_option("--certificate", request->certificate, "Write how they are equal, for isomer check");
  command->add_flag("-v,--verbose", request->verbose, "Also say what \"equal\" means (docs/equality.md)");
  command->add_flag("--trace", request->trace, "Say every pair that is tried");
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return prove(*request); }; });
}

}  // namespace isomer::cli
