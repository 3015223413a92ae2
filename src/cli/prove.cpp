// isomer prove A.onnx B.onnx: are two models equal for all inputs?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "onnx/read.h"
#include "prove/prove.h"

namespace isomer::cli {
namespace {

struct ProveRequest {
  std::filesystem::path a, b;
};

Json output_json(const Graph& a, const Graph& b, std::size_t k, std::string_view verdict,
                 const Refuted* refuted) {
  Json example;
  if (refuted != nullptr && refuted->output == static_cast<int>(k))
    example = {{"position", refuted->position}, {"a", refuted->a}, {"b", refuted->b}};
  return {{"a", a.name_of(a.outputs()[k])},
          {"b", b.name_of(b.outputs()[k])},
          {"verdict", verdict},
          {"example", example}};
}

Result<Reply> prove(const ProveRequest& request) {
  ISOMER_TRY(const Model a, read_model(request.a));
  ISOMER_TRY(const Model b, read_model(request.b));
  const auto start = std::chrono::steady_clock::now();
  const Verdict verdict = prove_equal(a.graph, b.graph);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  if (const auto* bug = std::get_if<WitnessesDisagree>(&verdict))
    return Error{"internal error: the two witnesses disagree: " + bug->what};

  const auto* proved = std::get_if<Proved>(&verdict);
  const auto* refuted = std::get_if<Refuted>(&verdict);
  const std::string_view word = proved ? "proved" : refuted ? "refuted" : "undecided";
  Json outputs = Json::array();
  for (std::size_t k = 0; k < std::min(a.graph.outputs().size(), b.graph.outputs().size()); ++k) {
    const bool is_it = refuted == nullptr || refuted->output == static_cast<int>(k);
    outputs.push_back(output_json(a.graph, b.graph, k, is_it ? word : "undecided", refuted));
  }
  const Json witnesses{{"sets", proved != nullptr}, {"field_points", proved ? proved->field.points : 0}};
  const Json json{{"verdict", word},        {"outputs", outputs}, {"why", proved ? "" : text(verdict)},
                  {"constants_rounded", 0}, {"worst_ulp", 0},     {"witnesses", witnesses},
                  {"ms", spent.count()}};
  const Exit exit = proved ? Exit::Done : refuted ? Exit::Refuted : Exit::Undecided;
  return Reply{exit, text(verdict) + '\n', json};
}

}  // namespace

void add_prove(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<ProveRequest>();
  CLI::App* command = app.add_subcommand("prove", "Are two models equal for all inputs?");
  command->add_option("A", request->a, "An ONNX file")->required();
  command->add_option("B", request->b, "An ONNX file with the same inputs, by name")->required();
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return prove(*request); }; });
}

}  // namespace isomer::cli
