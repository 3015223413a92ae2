// isomer compare: how far apart are the outputs of two models, and where do they part first?
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/json_text.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct CompareRequest {
  fs::path a, b, feeds;
  std::vector<std::string> shapes, values;
  std::string engine = "ort";
  std::optional<double> tolerance;
  std::uint64_t seed = 1;
  LiveRequest live;
  RuntimeRequest runtime;
};

std::string place_text(const Json& value) {
  if (const std::string misfit = value["misfit"].get<std::string>(); !misfit.empty()) return misfit;
  if (value["differing"] == 0) return "";
  const Json& first = value["first"];
  return fmt::format("{}: {:.6g} and {:.6g}", shape_text(first["position"]), number_of(first["a"]),
                     number_of(first["b"]));
}

std::string line(const std::string& text) {
  return "  " + wrapped(text, columns_of(STDOUT_FILENO), 4, 2) + '\n';
}

std::string to_text(const Json& report) {
  using enum Table::Align;
  Table table({{"output", Left},
               {"type", Left},
               {"differ", Right},
               {"largest", Right},
               {"relative", Right},
               {"of largest value", Right}});
  std::string firsts;
  for (const Json& value : report["outputs"]) {
    const std::string output = shortened(printable(value["a"].get<std::string>()), 24);
    const auto type = value["type"].get<std::string>();
    if (const std::string misfit = value["misfit"].get<std::string>(); !misfit.empty()) {
      table.add({output, type, "-", "-", "-", "-"});
      firsts += fmt::format("  {}: {}\n", output, misfit);
      continue;
    }
    const auto cell = [&](const char* field) { return fmt::format("{:.2g}", number_of(value[field])); };
    table.add({output, type,
               fmt::format("{} of {}", count_text(value["differing"].get<double>()),
                           count_text(value["elements"].get<double>())),
               cell("largest_absolute"), cell("largest_relative"), cell("of_scale")});
    if (value["differing"] == 0) continue;
    const Json& worst = value["worst"];
    firsts +=
        line(fmt::format("{} differs first at {}, most at {}: {:.6g} and {:.6g}", output, place_text(value),
                         shape_text(worst["position"]), number_of(worst["a"]), number_of(worst["b"])));
  }
  std::string out = (report["differ"].get<bool>() ? paint("the models differ", Colour::Red)
                                                  : paint("no difference beyond rounding", Colour::Green)) +
                    '\n' + table.text(columns_of(STDOUT_FILENO)) + firsts;
  if (const Json& parting = report["first_parting"]; !parting.is_null())
    out += line(fmt::format("the first value that differs is {}, at {}",
                            printable(parting["a"].get<std::string>()), place_text(parting)));
  return out + line(fmt::format("engine {}, inputs {}", report["engine"].get<std::string>(),
                                printable(report["inputs"].get<std::string>())));
}

Result<Reply> compare(const CompareRequest& request) {
  const api::ModelPair models = api::load_pair(request.a, request.b);
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  ISOMER_TRY(const auto live, Live::start(request.live));
  const api::Comparison found = api::compare(
      models.a, models.b,
      {.engine = request.engine == "reference" ? api::Engine::Reference : api::Engine::Runtime,
       .tolerance = request.tolerance,
       .inputs =
           {.file = request.feeds, .sizes = request.shapes, .values = request.values, .seed = request.seed},
       .run = {.runtime = runtimes.front(), .progress = [&live](std::string_view now) { live->show(now); }}});
  Json json = Json::parse(found.json);
  Reply reply{.exit = Exit::Done, .text = to_text(json), .json = json};
  if (found.differ && request.tolerance) {
    reply.exit = Exit::Refuted;
    reply.complaint = fmt::format("the models differ by more than --tolerance {:g}", *request.tolerance);
  }
  return reply;
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CompareRequest>();
  CLI::App* command = app.add_subcommand(
      "compare", "Run two models on the same inputs and measure how far apart their outputs are");
  command->add_option("A", request->a, "An ONNX file")->type_name("")->required();
  command->add_option("B", request->b, "An ONNX file with the same inputs, by name, and outputs, by position")
      ->type_name("")
      ->required();
  add_feeds_option(*command, request->feeds, "The inputs", "generated ones");
  add_shape_option(*command, request->shapes);
  add_value_option(*command, request->values);
  command
      ->add_option("--engine", request->engine,
                   "ort: ONNX Runtime; reference: the operators' own formulas, in their own types")
      ->check(CLI::IsMember({"ort", "reference"}))
      ->type_name("ort|reference")
      ->capture_default_str();
  command
      ->add_option("--tolerance", request->tolerance,
                   "Exit with 1 if an output differs by more, relative to its largest value (default: "
                   "differences that are usual for its type do not count, and the exit code is 0 either way)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("T");
  command->add_option("--seed", request->seed, "Seed of generated inputs")
      ->type_name("N")
      ->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_library_options(*command, request->runtime);
  command->callback([&chosen, request] { chosen.run = [request] { return compare(*request); }; });
}

}  // namespace isomer::cli
