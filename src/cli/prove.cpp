// isomer prove A.onnx B.onnx: are two models equal for all inputs?
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/contract_text.h"
#include "cli/deadline.h"
#include "cli/live.h"
#include "cli/npz.h"
#include "cli/prove_report.h"
#include "cli/shape_option.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "onnx/model.h"
#include "pipeline/total.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

// Of the budget, for the models as they were given; the rest is for the other order.
constexpr double kShareOfFirst = 0.75;

struct ProveRequest {
  fs::path a, b, save_input;
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

class Proving {
 public:
  Proving(const Models& models, double seconds, Live& live, bool trace)
      : models_(models), seconds_(seconds), live_(live), trace_(trace) {}

  ProveAnswer run() {
    ProveAnswer answer;
    answer.constants = differing_constants(models_.a.graph, models_.b.graph);
    if (!answer.constants.empty() && refuted_by_constants(answer)) return answer;
    say(answer);
    answer.verdict = prove(models_.a.graph, models_.b.graph, seconds_ * kShareOfFirst);
    if (answer.verdict.answer == Answer::Undecided && answer.verdict.bug.empty()) try_other_order(answer);
    return answer;
  }

 private:
  double left() const { return seconds_ - spent(); }
  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // What was seen so far is told before minutes of proving begin.
  void say(ProveAnswer& answer) {
    constexpr std::size_t kMost = 5;
    for (std::size_t k = 0; k < std::min(answer.constants.size(), kMost); ++k)
      answer.is_said = live_.say(text(answer.constants[k]));
  }

  ModelsVerdict prove(const Graph& a, const Graph& b, double seconds) {
    const Deadline deadline(seconds);
    ProveModelsOptions options{.stop = deadline.flag(),
                               .seconds_left = [&] { return deadline.seconds_left(); },
                               .progress = [&](const std::string& now) { live_.show(now); },
                               .trace = {}};
    if (trace_) options.trace = [](const std::string& now) { fmt::print(stderr, "{}\n", now); };
    return prove_models(a, b, options);
  }

  // Models that differ in nothing but numbers that are far apart: an input shows it at once.
  bool refuted_by_constants(ProveAnswer& answer) {
    live_.show("the same graph but for constants: looking for an input that shows it");
    const Deadline deadline(left() / 2);
    const auto found =
        differing_by_constants(models_.a.graph, models_.b.graph, answer.constants, deadline.flag());
    if (!found) return false;
    const Graph &a = models_.a.graph, &b = models_.b.graph;
    ModelsVerdict& v = answer.verdict;
    v.answer = Answer::Refuted;
    v.example = *found;
    for (std::size_t k = 0; k < a.outputs().size(); ++k)
      v.outputs.push_back({.a = a.name_of(a.outputs()[k]), .b = b.name_of(b.outputs()[k]), .why = {}});
    auto& output = v.outputs[static_cast<std::size_t>(found->output)];
    output.answer = Answer::Refuted;
    v.why = output.why = fmt::format("output {} at {} is {} and {}", output.a, text(to_dims(found->position)),
                                     found->a, found->b);
    return true;
  }

  // What only goes from the second model to the first. It answers the question that was asked if the second
  // is defined everywhere.
  void try_other_order(ProveAnswer& answer) {
    // Where no value was compared, the other order would not be either.
    if (answer.verdict.outputs.empty() || left() < 0.05 * seconds_) return;
    live_.show("the other order");
    ModelsVerdict swapped = prove(models_.b.graph, models_.a.graph, left());
    if (swapped.answer == Answer::Undecided || !swapped.bug.empty()) return;
    for (auto& output : swapped.outputs) std::swap(output.a, output.b);
    if (swapped.answer == Answer::Refuted) {
      if (!swapped.example) return;
      std::swap(swapped.example->a, swapped.example->b);
      auto& output = swapped.outputs[static_cast<std::size_t>(swapped.example->output)];
      swapped.why = output.why =
          fmt::format("output {} at {} is {} and {}", output.a, text(to_dims(swapped.example->position)),
                      swapped.example->a, swapped.example->b);
    } else if (!is_total(models_.b.graph)) {
      answer.is_proved_backwards = true;
      answer.verdict.why =
          "proved in the other order only: wherever the second model is defined, the first gives the same; "
          "that the second is defined wherever the first is was not proved";
      return;
    }
    answer.verdict = std::move(swapped);
    answer.is_other_order = true;
  }

  const Models& models_;
  double seconds_;
  Live& live_;
  bool trace_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<Reply> prove(const ProveRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  ISOMER_TRY(const double seconds, seconds_of(request.budget));
  ISOMER_TRY(const Models models, read_models(request));
  ISOMER_TRY(auto live, Live::start(request.live, seconds));
  ProveAnswer answer = Proving(models, seconds, *live, request.trace).run();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  if (!answer.verdict.bug.empty())
    return Error{"internal error: the two witnesses disagree: " + answer.verdict.bug};
  answer.sizes = models.sizes;
  if (!request.save_input.empty() && answer.verdict.example) {
    ISOMER_TRY_DO(write_npz(answer.verdict.example->feeds, request.save_input));
    answer.saved = request.save_input.string();
  }
  const Exit exit = answer.verdict.answer == Answer::Proved    ? Exit::Done
                    : answer.verdict.answer == Answer::Refuted ? Exit::Refuted
                                                               : Exit::Undecided;
  const std::string promised =
      request.verbose ? fmt::format("\nWhat \"equal\" means:\n\n{}", kContractText) : "";
  const std::string text = to_text(answer, request.verbose);
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
  command->add_option("--save-input", request->save_input,
                      "If they differ: write an input that shows it, for isomer run and compare")
      ->type_name("F.npz");
  command->add_option("--shape", request->shapes,
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
