// isomer run: a model's outputs for given inputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/runtime_option.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "graph/interpret.h"
#include "npz/npz.h"
#include "onnx/model.h"
#include "runtime/judge.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct RunRequest {
  fs::path model, feeds, output;
  std::string engine = "reference";
  std::string arithmetic = "native";
  RuntimeRequest runtime;
};

// "-1.25 .. 3.5" over the finite elements, and how many are not.
std::string range_text(const Tensor& tensor) {
  const auto values = tensor.doubles();
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

Reply refuse_opaque(const OpaqueNode& opaque) {
  const std::string message = fmt::format("{} is not modelled here: {}", opaque.op, opaque.reason);
  return {Exit::Undecided,
          fmt::format("node '{}': {}", opaque.node, message),
          {{"error", {{"message", message}, {"node", opaque.node}, {"attribute", ""}}},
           {"opaque", {{"node", opaque.node}, {"op", opaque.op}, {"reason", opaque.reason}}}}};
}

Reply describe(const NamedTensors& outputs, const fs::path& path) {
  auto table = Table::without_head(3);
  Json list = Json::array();
  for (const auto& [output, tensor] : outputs) {
    const TensorType type{tensor.type(), to_dims(tensor.extents())};
    table.add({printable(output), text(type), range_text(tensor)});
    list.push_back({{"name", output}, {"type", name(tensor.type())}, {"shape", tensor.extents()}});
  }
  return {Exit::Done,
          printable(path.string()) + '\n' + table.text(),
          {{"outputs", list}, {"path", path.string()}}};
}

Result<Reply> run_on_ort(const RunRequest& request, const NamedTensors& feeds) {
  ISOMER_TRY(const RuntimeOptions options, runtime_options(request.runtime));
  auto judge = Judge::start(worker_options(request.runtime, "ort"));
  if (!judge) return to_error(judge.error());
  const auto outputs = (*judge)->run(ModelSource::file(request.model.string()), feeds, options);
  if (!outputs) return to_error(outputs.error());
  ISOMER_TRY_DO(write_npz(*outputs, request.output));
  return describe(*outputs, request.output);
}

Result<Reply> run(const RunRequest& request) {
  std::error_code failure;
  for (const fs::path& input : {request.model, request.feeds})
    if (fs::equivalent(input, request.output, failure))
      return Error{fmt::format("{} is an input too; write to another file", request.output.string())};

  ISOMER_TRY(const Model model, read_model(request.model));
  NamedTensors feeds;
  if (!request.feeds.empty()) {
    ISOMER_TRY(feeds, read_npz(request.feeds));
  }
  ISOMER_TRY_DO(check_feeds(feeds, model.graph));
  if (request.engine == "ort") return run_on_ort(request, feeds);
  const Arithmetic arithmetic = request.arithmetic == "double" ? Arithmetic::Double : Arithmetic::Native;
  ISOMER_TRY(const RunOutcome outcome, interpret(model.graph, feeds, arithmetic));
  if (outcome.opaque) return refuse_opaque(*outcome.opaque);
  ISOMER_TRY_DO(write_npz(outcome.outputs, request.output));
  return describe(outcome.outputs, request.output);
}

}  // namespace

void add_run(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<RunRequest>();
  CLI::App* command = app.add_subcommand("run", "Compute a model's outputs for given inputs");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  add_feeds_option(*command, request->feeds, "The inputs", "none, for a model without inputs");
  command->add_option("-o,--output", request->output, "Where to write the outputs")
      ->type_name("O.npz")
      ->required();
  command
      ->add_option("--engine", request->engine, "reference: the operators' own formulas; ort: ONNX Runtime")
      ->check(CLI::IsMember({"reference", "ort"}))
      ->type_name("reference|ort")
      ->capture_default_str();
  command->add_option("--arithmetic", request->arithmetic, "Of floats: in their own type, or all as double")
      ->check(CLI::IsMember({"native", "double"}))
      ->type_name("native|double")
      ->capture_default_str();
  add_library_options(*command, request->runtime);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
