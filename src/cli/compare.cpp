// isomer compare: how far apart are the outputs of two models, and where do they part first?
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "graph/names.h"
#include "onnx/model.h"
#include "pipeline/opened_model.h"
#include "pipeline/tensor_difference.h"
#include "runtime/feeds.h"
#include "runtime/judge.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct CompareRequest {
  fs::path a, b, feeds;
  std::vector<std::string> shapes;
  std::string engine = "ort";
  double tolerance = -1;
  std::uint64_t seed = 1;
  LiveRequest live;
  RuntimeRequest runtime;
};

// One value of each model, and how far apart they are.
struct Pair {
  std::string a, b;
  ElementType type = ElementType::Undefined;
  TensorDifference difference;
  bool is_apart(double tolerance) const {
    return !difference.misfit.empty() ||
           difference.of_scale > (tolerance < 0 ? usual_tolerance(type) : tolerance);
  }
};

// Runs models on one of the two engines.
class Runner {
 public:
  explicit Runner(const CompareRequest& request) : request_(request) {}

  Status start() {
    if (request_.engine == "reference") return Done{};
    ISOMER_TRY(options_, runtime_options(request_.runtime));
    auto started = Judge::start(worker_options(request_.runtime, "ort"));
    if (!started) return to_error(started.error());
    judge_ = std::move(*started);
    return Done{};
  }

  // The model of a file, or one with other outputs that is written beside it for the time of a run.
  Result<NamedTensors> run(const Model& model, const ModelSource& source, const NamedTensors& feeds) {
    if (judge_) {
      auto outputs = judge_->run(source, feeds, options_);
      if (!outputs) return to_error(outputs.error());
      return std::move(*outputs);
    }
    ISOMER_TRY(RunOutcome outcome, interpret(model.graph, feeds, Arithmetic::Native));
    if (outcome.opaque)
      return Error{fmt::format("{} is not modelled here: {}", outcome.opaque->op, outcome.opaque->reason)};
    return std::move(outcome.outputs);
  }

 private:
  const CompareRequest& request_;
  RuntimeOptions options_;
  std::unique_ptr<Judge> judge_;
};

Result<std::vector<Pair>> compare_outputs(const Graph& a, const Graph& b, const NamedTensors& of_a,
                                          const NamedTensors& of_b) {
  if (a.outputs().size() != b.outputs().size())
    return Error{
        fmt::format("the first model has {} outputs, the second {}", a.outputs().size(), b.outputs().size())};
  std::vector<Pair> pairs;
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const std::string &x = a.name_of(a.outputs()[k]), &y = b.name_of(b.outputs()[k]);
    const auto at = of_a.find(x), other = of_b.find(y);
    if (at == of_a.end() || other == of_b.end()) return Error{fmt::format("output '{}' is no tensor", x)};
    pairs.push_back({x, y, at->second.type(), difference(at->second, other->second)});
  }
  return pairs;
}

// The first value that both models compute under one name and that differs, in the order of the first.
Result<std::optional<Pair>> first_parting(const CompareRequest& request, Runner& runner, const Model& a,
                                          const Model& b, const NamedTensors& feeds) {
  const ValuesByName of_b = values_by_name(b.graph);
  std::set<std::string> common;
  for (const auto& [name, value] : values_by_name(a.graph))
    if (const auto at = of_b.find(name); at != of_b.end() &&
                                         a.graph.node(value.node).kind == NodeKind::Operator &&
                                         b.graph.node(at->second.node).kind == NodeKind::Operator)
      common.insert(name);
  NamedTensors values[2];
  const Model* models[] = {&a, &b};
  for (const int k : {0, 1}) {
    const auto opened = opened_model(*models[k], feeds, common);
    if (!opened) return std::optional<Pair>();
    ISOMER_TRY(const ScratchModel file, ScratchModel::write(*opened, fs::temp_directory_path() / "compare"));
    auto run = runner.run(*opened, file.source(), feeds);
    if (!run.ok()) return std::optional<Pair>();
    values[k] = std::move(*run);
  }
  for (const NodeId id : a.graph.order())
    for (const std::string& name : a.graph.node(id).outputs) {
      const auto x = values[0].find(name), y = values[1].find(name);
      if (x == values[0].end() || y == values[1].end()) continue;
      Pair pair{name, name, x->second.type(), difference(x->second, y->second)};
      if (pair.is_apart(request.tolerance)) return std::optional(std::move(pair));
    }
  return std::optional<Pair>();
}

std::string place_text(const TensorDifference& d) {
  if (!d.misfit.empty()) return d.misfit;
  if (d.differing == 0) return "";
  return fmt::format("{}: {:.6g} and {:.6g}", text(to_dims(d.first)), d.first_a, d.first_b);
}

std::string to_text(const CompareRequest& request, const std::vector<Pair>& pairs,
                    const std::optional<Pair>& parting, const std::string& inputs) {
  using enum Table::Align;
  bool is_apart = false;
  Table table({{"output", Left},
               {"type", Left},
               {"differ", Right},
               {"largest", Right},
               {"relative", Right},
               {"of largest value", Right}});
  std::string firsts;
  for (const Pair& p : pairs) {
    const TensorDifference& d = p.difference;
    is_apart |= p.is_apart(request.tolerance);
    const std::string output = shortened(printable(p.a), 24);
    if (!d.misfit.empty()) {
      table.add({output, std::string(name(p.type)), "-", "-", "-", "-"});
      firsts += fmt::format("  {}: {}\n", output, d.misfit);
      continue;
    }
    table.add({output, std::string(name(p.type)),
               fmt::format("{} of {}", count_text(static_cast<double>(d.differing)),
                           count_text(static_cast<double>(d.of))),
               fmt::format("{:.2g}", d.largest_absolute), fmt::format("{:.2g}", d.largest_relative),
               fmt::format("{:.2g}", d.of_scale)});
    if (d.differing > 0)
      firsts += "  " +
                wrapped(fmt::format("{} differs first at {}, most at {}: {:.6g} and {:.6g}", output,
                                    place_text(d), text(to_dims(d.worst)), d.worst_a, d.worst_b),
                        columns_of(STDOUT_FILENO), 4, 2) +
                '\n';
  }
  std::string out = (is_apart ? painted("the models differ", Colour::Red)
                              : painted("no difference beyond rounding", Colour::Green)) +
                    '\n' + table.text(columns_of(STDOUT_FILENO)) + firsts;
  if (parting)
    out += "  " +
           wrapped(fmt::format("the first value where they part is {}, at {}", printable(parting->a),
                               place_text(parting->difference)),
                   columns_of(STDOUT_FILENO), 4, 2) +
           '\n';
  return out + "  " +
         wrapped(fmt::format("engine {}, inputs {}", request.engine, printable(inputs)),
                 columns_of(STDOUT_FILENO), 4, 2) +
         '\n';
}

Json to_json(const Pair& p) {
  const TensorDifference& d = p.difference;
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(fmt::format("{}", v)); };
  Json json{{"a", p.a}, {"b", p.b}, {"type", name(p.type)}, {"misfit", d.misfit}};
  if (!d.misfit.empty()) return json;
  json.update(Json{{"differing", d.differing},
                   {"elements", d.of},
                   {"largest_absolute", number(d.largest_absolute)},
                   {"largest_relative", number(d.largest_relative)},
                   {"of_scale", number(d.of_scale)}});
  if (d.differing > 0) {
    json["first"] = {{"position", d.first}, {"a", number(d.first_a)}, {"b", number(d.first_b)}};
    json["worst"] = {{"position", d.worst}, {"a", number(d.worst_a)}, {"b", number(d.worst_b)}};
  }
  return json;
}

Result<Reply> compare(const CompareRequest& request) {
  ISOMER_TRY(const Model a, read_model(request.a));
  ISOMER_TRY(const Model b, read_model(request.b));
  ISOMER_TRY(const FeedsForModels made,
             feeds_for({&a.graph, &b.graph}, request.feeds, request.shapes, request.seed));
  ISOMER_TRY(const auto live, Live::start(request.live));
  Runner runner(request);
  ISOMER_TRY_DO(runner.start());
  live->show("running the first model");
  ISOMER_TRY(const NamedTensors of_a, runner.run(a, ModelSource::file(request.a.string()), made.tensors));
  live->show("running the second model");
  ISOMER_TRY(const NamedTensors of_b, runner.run(b, ModelSource::file(request.b.string()), made.tensors));
  ISOMER_TRY(const std::vector<Pair> pairs, compare_outputs(a.graph, b.graph, of_a, of_b));
  const bool is_apart =
      std::ranges::any_of(pairs, [&](const Pair& p) { return p.is_apart(request.tolerance); });
  std::optional<Pair> parting;
  if (is_apart) {
    live->show("looking for the first value where they part");
    ISOMER_TRY(parting, first_parting(request, runner, a, b, made.tensors));
  }
  Json outputs = Json::array();
  for (const Pair& p : pairs) outputs.push_back(to_json(p));
  Reply reply{.exit = Exit::Done,
              .text = to_text(request, pairs, parting, made.words),
              .json = {{"differ", is_apart},
                       {"outputs", outputs},
                       {"first_parting", parting ? to_json(*parting) : Json()},
                       {"engine", request.engine},
                       {"inputs", made.words}}};
  if (is_apart && request.tolerance >= 0) {
    reply.exit = Exit::Refuted;
    reply.complaint = fmt::format("the models differ by more than --tolerance {:g}", request.tolerance);
  }
  return reply;
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CompareRequest>();
  CLI::App* command =
      app.add_subcommand("compare", "Run two models on the same inputs: how far apart are their outputs?");
  command->add_option("A", request->a, "An ONNX file")->type_name("")->required();
  command->add_option("B", request->b, "An ONNX file with the same inputs, by name, and outputs, by position")
      ->type_name("")
      ->required();
  add_feeds_option(*command, request->feeds, "The inputs", "made-up ones");
  add_shape_option(*command, request->shapes);
  command
      ->add_option("--engine", request->engine,
                   "ort: ONNX Runtime; reference: the operators' own formulas, in their own types")
      ->check(CLI::IsMember({"ort", "reference"}))
      ->type_name("ort|reference")
      ->capture_default_str();
  command
      ->add_option("--tolerance", request->tolerance,
                   "Exit with 1 if an output differs by more, relative to its largest value (default: what "
                   "is usual for its type counts as no difference, and the exit code is 0 either way)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("T");
  command->add_option("--seed", request->seed, "Of made-up inputs")->type_name("N")->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_library_options(*command, request->runtime);
  command->callback([&chosen, request] { chosen.run = [request] { return compare(*request); }; });
}

}  // namespace isomer::cli
