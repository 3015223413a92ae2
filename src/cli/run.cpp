// isomer run: a model's outputs for given inputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/json_text.h"
#include "cli/operators_option.h"
#include "cli/runtime_option.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct RunRequest {
  fs::path model, feeds, output;
  std::string engine = "reference";
  std::string arithmetic = "native", operators;
  RuntimeRequest runtime;
};

// "-1.25 .. 3.5" over the finite elements, and how many are not.
std::string range_text(const api::Tensor& tensor) {
  const auto values = api::numbers(tensor);
  if (!values || values->empty()) return "";
  double low = INFINITY, high = -INFINITY;
  std::uint64_t odd = 0;
  for (const double value : *values) {
    if (!std::isfinite(value)) ++odd;
    else low = std::min(low, value), high = std::max(high, value);
  }
  std::string text = low <= high ? fmt::format("{:.6g} .. {:.6g}", low, high) : "";
  if (odd > 0) text += fmt::format("{}{} not finite", text.empty() ? "" : ", ", grouped(odd));
  return text;
}

Reply refuse_opaque(const api::NotModelledError& opaque) {
  return {Exit::Undecided,
          fmt::format("node '{}': {}", opaque.node(), opaque.what()),
          {{"error", {{"message", opaque.what()}, {"node", opaque.node()}, {"attribute", ""}}},
           {"opaque", {{"node", opaque.node()}, {"op", opaque.op()}, {"reason", opaque.reason()}}}}};
}

Reply describe(const api::Tensors& outputs, const fs::path& path) {
  auto table = Table::without_head(3);
  Json list = Json::array();
  for (const auto& [output, tensor] : outputs) {
    const std::string type(api::name(tensor.type));
    table.add({printable(output), type + shape_text(tensor.shape), range_text(tensor)});
    list.push_back({{"name", output}, {"type", type}, {"shape", tensor.shape}});
  }
  return {Exit::Done,
          printable(path.string()) + '\n' + table.text(),
          {{"outputs", list}, {"path", path.string()}}};
}

Result<Reply> run(const RunRequest& request) {
  std::error_code failure;
  for (const fs::path& input : {request.model, request.feeds})
    if (fs::equivalent(input, request.output, failure))
      return Error{fmt::format("{} is an input too; write to another file", request.output.string())};

  const api::Model model = api::load(request.model, {.operators = request.operators});
  api::Tensors feeds;
  if (!request.feeds.empty()) feeds = api::load_tensors(request.feeds);
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  const api::RunOptions options{.engine = request.engine == "ort"          ? api::Engine::Runtime
                                          : request.arithmetic == "double" ? api::Engine::ReferenceInDouble
                                                                           : api::Engine::Reference,
                                .runtime = runtimes.front()};
  try {
    const api::Tensors outputs = api::run(model, feeds, options);
    api::save_tensors(outputs, request.output);
    return describe(outputs, request.output);
  } catch (const api::NotModelledError& opaque) {
    return refuse_opaque(opaque);
  }
}

}  // namespace

void add_run(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<RunRequest>();
  CLI::App* command = app.add_subcommand("run", "Compute a model's outputs for given inputs");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  add_feeds_option(*command, request->feeds, "The inputs", "none, for a model without inputs");
  command->add_option("-o,--output", request->output, "The file for the outputs")
      ->type_name("O.npz")
      ->required();
  command
      ->add_option("--engine", request->engine, "reference: the operators' own formulas; ort: ONNX Runtime")
      ->check(CLI::IsMember({"reference", "ort"}))
      ->type_name("reference|ort")
      ->capture_default_str();
  command
      ->add_option("--arithmetic", request->arithmetic,
                   "How to compute floats: in their own type, or all as double")
      ->check(CLI::IsMember({"native", "double"}))
      ->type_name("native|double")
      ->capture_default_str();
  add_library_options(*command, request->runtime);
  add_operators_option(*command, request->operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
