// isomer prove A.onnx B.onnx: are two models equal for all inputs?
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "api/report_json.h"
#include "certify/check_files.h"
#include "cli/budget.h"
#include "cli/command.h"
#include "cli/contract_text.h"
#include "cli/live.h"
#include "cli/prove_report.h"
#include "cli/shape_option.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "npz/npz.h"
#include "onnx/model.h"
#include "onnx/write_file.h"
#include "pipeline/equality.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct ProveRequest {
  fs::path a, b, save_input, certificate;
  std::string budget = "5m";
  std::vector<std::string> shapes;
  bool trace = false, verbose = false;
  LiveRequest live;
};

// The models, at the sizes that the user gave, if any.
struct Models {
  Model a, b;
  std::string sizes;  // "batch=1, x=1x3"
};

Result<Models> read_models(const ProveRequest& request) {
  Models out;
  ISOMER_TRY(out.a, read_model(request.a));
  ISOMER_TRY(out.b, read_model(request.b));
  if (request.shapes.empty()) return out;
  ISOMER_TRY(const auto sizes, parse_sizes(request.shapes, {&out.a.graph, &out.b.graph}));
  ISOMER_TRY(out.a, read_model_at(request.a, sizes[0]));
  ISOMER_TRY(out.b, read_model_at(request.b, sizes[1]));
  for (const std::string& s : request.shapes) out.sizes += (out.sizes.empty() ? "" : ", ") + s;
  return out;
}

// The certificate that `optimize` leaves beside its result is a proof that need not be found, only checked.
std::optional<CheckReport> by_certificate(const ProveRequest& request) {
  fs::path beside = request.b;
  beside += ".cert";
  std::error_code ignored;
  if (!fs::is_regular_file(beside, ignored)) return std::nullopt;
  const auto checked = check_files(request.a, request.b, beside, request.shapes);
  if (!checked.ok() || !checked->report.accepted) return std::nullopt;
  return checked->report;
}

ProveAnswer answer_of(const ProveRequest& request, const Models& models, const Deadline& deadline, Live& live,
                      bool& is_said) {
  constexpr std::size_t kMost = 5;
  live.show("reading");
  if (const auto report = request.certificate.empty() ? by_certificate(request) : std::nullopt)
    return proved_by(*report, models.a, models.b);
  EqualityRequest question{.a = models.a, .b = models.b, .deadline = deadline};
  question.progress = [&](const std::string& now) { live.show(now); };
  if (request.trace) question.trace = [](const std::string& now) { fmt::print(stderr, "{}\n", now); };
  question.on_constants = [&](const std::vector<ConstantDifference>& constants) {
    for (std::size_t k = 0; k < std::min(constants.size(), kMost); ++k)
      is_said = live.say(text(constants[k]));
  };
  return prove_equal(question);
}

Status write_certificate(const fs::path& path, const std::string& text) {
  ISOMER_TRY(wire::OutputFile file, wire::written_output(path, text));
  return file.rename();
}

// The section of docs/equality.md in lines that fit: paragraphs and points are broken anew.
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
  const auto start = std::chrono::steady_clock::now();
  ISOMER_TRY(const double seconds, seconds_of(request.budget));
  ISOMER_TRY(const Models models, read_models(request));
  ISOMER_TRY(auto live, Live::start(request.live, seconds));
  const Deadline deadline(seconds);
  bool is_said = false;
  ProveAnswer answer = answer_of(request, models, deadline, *live, is_said);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  answer.sizes = models.sizes;
  if (!request.certificate.empty() && answer.verdict.answer == Answer::Proved)
    ISOMER_TRY_DO(write_certificate(request.certificate, certificate_of(answer, models.a, models.b)));
  if (!request.save_input.empty() && answer.verdict.example) {
    ISOMER_TRY_DO(write_npz(answer.verdict.example->feeds, request.save_input));
    answer.saved = request.save_input.string();
  }
  const Exit exit = answer.verdict.answer == Answer::Proved    ? Exit::Done
                    : answer.verdict.answer == Answer::Refuted ? Exit::Refuted
                                                               : Exit::Undecided;
  const std::string promised = request.verbose ? contract_text() : "";
  const std::string text = to_text(answer, request.verbose, is_said);
  live->log(text);
  live.reset();
  return Reply{exit, text + promised, to_json(answer, spent.count()),
               exit == Exit::Done ? "" : plain_headline(answer)};
}

}  // namespace

void add_prove(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<ProveRequest>();
  CLI::App* command = app.add_subcommand("prove", "Are two models equal for all inputs?");
  command->add_option("A", request->a, "An ONNX file")->type_name("")->required();
  command->add_option("B", request->b, "An ONNX file with the same inputs, by name, and outputs, by position")
      ->type_name("")
      ->required();
  command->add_option("--budget", request->budget, "How long to try: 30s, 5m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--certificate", request->certificate,
                   "If they are equal: write how, for isomer check (default: nothing is written)")
      ->type_name("FILE");
  command
      ->add_option(
          "--save-input", request->save_input,
          "If they differ: write an input that shows it, for isomer run and compare (default: nothing is "
          "written)")
      ->type_name("F.npz");
  command
      ->add_option("--shape", request->shapes,
                   "Compare the models at this size only: of an input (x=1x3x224x224) or of a dimension "
                   "(batch=1); may be given several times (default: all sizes)")
      ->type_name("NAME=SHAPE")
      ->expected(1)
      ->take_all();
  command->add_flag("-v,--verbose", request->verbose,
                    "Also say what was proved, and what \"equal\" means (docs/equality.md)");
  add_live_options(*command, request->live);
  command->add_flag("--trace", request->trace, "Say every pair of values that is tried");
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return prove(*request); }; });
}

}  // namespace isomer::cli
