// isomer prove A.onnx B.onnx: are two models equal for all inputs?
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <sstream>

#include "cli/budget.h"
#include "cli/certificate_beside.h"
#include "cli/command.h"
#include "cli/contract_text.h"
#include "cli/live.h"
#include "cli/operators_option.h"
#include "cli/prove_report.h"
#include "cli/shape_option.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct ProveRequest {
  fs::path a, b, save_input, certificate;
  std::string budget = "5m", operators;
  std::vector<std::string> shapes, values;
  int sizes_from = 1;
  bool trace = false, verbose = false, by_position = false, exact_constants = false;
  LiveRequest live;
};

// The section of docs/concepts/equality.md in lines that fit: paragraphs and points are broken anew.
std::string contract_text() {
  std::string out = "\nWhat \"equal\" means\n\n", block;
  const auto end_block = [&] {
    const std::size_t indent = block.starts_with("- ") ? 4 : 2;
    if (!block.empty()) out += "  " + wrapped(block, columns_of(STDOUT_FILENO), indent, 2) + '\n';
    block.clear();
  };
  std::istringstream lines{std::string(kContractText)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("- ")) end_block();
    if (line.empty()) out += '\n';
    else block += (block.empty() ? "" : " ") + line;
  }
  end_block();
  return out;
}

Result<Reply> prove(const ProveRequest& request) {
  constexpr int kMostNotices = 5;
  ISOMER_TRY(const double seconds, seconds_of(request.budget));
  const api::ModelPair models = api::load_pair(request.a, request.b,
                                               {.sizes = request.shapes,
                                                .values = request.values,
                                                .sizes_from = request.sizes_from,
                                                .operators = request.operators});
  ISOMER_TRY(auto live, Live::start(request.live, seconds));
  int notices = 0;
  bool is_said = false;
  api::ProveOptions options{
      .seconds = seconds, .by_position = request.by_position, .exact_constants = request.exact_constants};
  if (request.certificate.empty()) options.certificate = certificate_beside(request.b);
  options.progress = [&](std::string_view now) { live->show(now); };
  options.notice = [&](std::string_view what) {
    if (notices++ < kMostNotices) is_said = live->say(what);
  };
  if (request.trace)
    options.trace = [](std::string_view now) { fmt::print(stderr, "{}\n", printable_lines(now)); };
  live->show("reading");
  const api::Proof proof = api::prove_equal(models.a, models.b, options);
  Json json = Json::parse(proof.json);
  if (!request.certificate.empty() && proof.verdict == api::Verdict::Proved)
    api::save_certificate(proof.certificate, request.certificate);
  if (!request.save_input.empty() && has_example(json)) {
    api::save_tensors(proof.counterexample, request.save_input);
    json["input"] = request.save_input.string();
  }
  const Exit exit = proof.verdict == api::Verdict::Proved    ? Exit::Done
                    : proof.verdict == api::Verdict::Refuted ? Exit::Refuted
                                                             : Exit::Undecided;
  const std::string promised = request.verbose ? contract_text() : "";
  const std::string text = prove_text(json, request.verbose, is_said);
  live->log(text);
  live.reset();
  return Reply{exit, text + promised, json, exit == Exit::Done ? "" : plain_headline(json)};
}

}  // namespace

void add_prove(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<ProveRequest>();
  CLI::App* command = app.add_subcommand("prove", "Decide whether two models are equal for all inputs");
  command->add_option("A", request->a, "An ONNX file")->type_name("")->required();
  command
      ->add_option("B", request->b,
                   "An ONNX file with the same inputs and outputs, by name; outputs of other names are "
                   "compared by position")
      ->type_name("")
      ->required();
  command->add_option("--budget", request->budget, "Time for the proof: 30s, 5m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--certificate", request->certificate,
                   "If they are equal: write a certificate for isomer check (default: none)")
      ->type_name("FILE");
  command
      ->add_option("--save-input", request->save_input,
                   "If they differ: write an input that shows it, for isomer run and compare (default: none)")
      ->type_name("F.npz");
  command
      ->add_option("--shape", request->shapes,
                   "Compare the models at this size only: of an input (x=1x3x224x224) or of a dimension "
                   "(batch=1); may be given several times (default: all sizes)")
      ->type_name("NAME=SHAPE")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--value", request->values,
                   "Compare the models with this input fixed (sr=16000), as models without it; may be given "
                   "several times (default: all values)")
      ->type_name("NAME=NUMBER")
      ->expected(1)
      ->take_all();
  add_sizes_from_option(*command, request->sizes_from);
  command->add_flag("--by-position", request->by_position,
                    "Compare outputs by position, even if both models have the same names of outputs");
  command->add_flag(
      "--exact-constants", request->exact_constants,
      "Constants must be equal to the last digit: undecided if they are equal except for rounding");
  command->add_flag("-v,--verbose", request->verbose,
                    "Also print what was proved, and what \"equal\" means (docs/concepts/equality.md)");
  add_live_options(*command, request->live);
  command->add_flag("--trace", request->trace, "Print every pair of values that is tried");
  add_operators_option(*command, request->operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return prove(*request); }; });
}

}  // namespace isomer::cli
