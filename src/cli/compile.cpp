// isomer compile: a model as a library that needs nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/live.h"
#include "cli/operators_option.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct CompileCommand {
  std::filesystem::path model, folder, schedule;
  api::CompileOptions options;
  std::string show, as = "module", precision = "f32", tune = "0", tuning, optimize = "0", operators;
  LiveRequest live;
};

std::string megabytes(const Json& bytes) { return fmt::format("{:.3g} MB", bytes.get<double>() / 1e6); }

Result<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in && !in.eof()) return Error{fmt::format("can't read {}", path.string())};
  return text;
}

// Asked for by --precision: not equal to the model.
bool is_rounded(const api::Compiled& compiled) { return compiled.sums == "bf16"; }

std::string speed_of(const api::Compiled& compiled, int threads) {
  if (!compiled.ratio) return "not compared with a runtime: " + printable(compiled.not_compared);
  const api::Interval& r = *compiled.ratio;
  const std::string_view verdict = r.low > 1    ? "faster than ONNX Runtime"
                                   : r.high < 1 ? "SLOWER than ONNX Runtime"
                                                : "no difference seen to ONNX Runtime";
  return fmt::format("{}: {:.2f}x (95 % interval {:.2f} to {:.2f}), on {}; {}", verdict, r.estimate, r.low,
                     r.high, threads == 1 ? "one thread" : fmt::format("{} threads each", threads),
                     is_rounded(compiled) ? "NOT EQUAL: products are of bfloat16" : "outputs agree");
}

// How far it is from float64, and what was done about it; "": not measured.
std::string error_of(const api::Compiled& compiled) {
  if (!compiled.errors) return "";
  return fmt::format(
      "  rounding error {:.1e}, ONNX Runtime's {:.1e}, against float64; sums: {}{}\n",
      compiled.errors->module, compiled.errors->runtime, compiled.sums,
      compiled.errors->kept || is_rounded(compiled) ? "" : "; MORE than --max-error-growth allows");
}

std::string counted(std::uint64_t operators) {
  return operators == 0   ? "no operator"
         : operators == 1 ? "one operator"
                          : fmt::format("{} operators", operators);
}

// Which of several equal models; "": the given one.
std::string of_graph(const Json& graph) {
  const auto name = graph.get<std::string>();
  return name.empty() ? "" : ", of " + printable(name);
}

// Regions with both times, and which of them are operators of ours.
std::string regions_of(const Json& regions) {
  if (regions.empty()) return "";
  const auto name = [](const Json& region) {
    constexpr std::size_t kMost = 28;
    const auto cut = [](const std::string& text) {
      return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost + 3);
    };
    return cut(printable(region["first"].get<std::string>())) + " to " +
           cut(printable(region["last"].get<std::string>()));
  };
  const auto ms = [](const Json& time) {
    return time.is_null() ? "-" : fmt::format("{:.3f}", time.get<double>());
  };
  std::string text =
      fmt::format("  {:<60} {:>5} {:>9} {:>10}  {}\n", "region", "nodes", "ours ms", "runtime ms", "taken");
  for (const Json& r : regions)
    text +=
        fmt::format("  {:<60} {:>5} {:>9} {:>10}  {}\n", name(r), r["nodes"].get<std::uint64_t>(),
                    ms(r["ours_ms"]), ms(r["runtime_ms"]),
                    r["operator"].is_null() ? "no" : fmt::format("operator {}", r["operator"].get<int>()));
  return text;
}

// What tuning came to; "": --tune was not given.
std::string tuning_of(const Json& tuning) {
  if (tuning.is_null()) return "";
  const std::string what =
      fmt::format("{} schedules of {} units timed in {:.0f} s, {} remembered",
                  grouped(tuning["tried"].get<std::uint64_t>()), tuning["units"].get<std::uint64_t>(),
                  tuning["seconds"].get<double>(), grouped(tuning["remembered"].get<std::uint64_t>()));
  if (tuning["is_taken"].get<bool>())
    return fmt::format("  tuned: {:.3f}x as fast as untuned; {} units have other schedules ({})\n",
                       tuning["ratio"].get<double>(), tuning["taken"].size(), what);
  return fmt::format("  not tuned: {} ({})\n", printable(tuning["why"].get<std::string>()), what);
}

Result<Reply> compile(const CompileCommand& request) {
  api::CompileOptions options = request.options;
  ISOMER_TRY(options.tune_seconds, seconds_of(request.tune, "--tune"));
  ISOMER_TRY(options.optimize_seconds, seconds_of(request.optimize, "--optimize"));
  options.tuning = request.tuning == "none" ? std::filesystem::path()
                   : request.tuning.empty() ? api::default_tuning()
                                            : std::filesystem::path(request.tuning);
  options.as_operator = request.as == "custom-op";
  if (request.precision != "f32") options.sums = request.precision;
  if (!request.schedule.empty()) {
    ISOMER_TRY(options.schedules, text_of(request.schedule));
  }
  ISOMER_TRY(const auto live, Live::start(request.live));
  options.progress = [&live](std::string_view now) { live->show(now); };
  const api::Compiled compiled =
      api::compile(api::load(request.model, {.operators = request.operators}), request.folder, options);
  Json json = Json::parse(compiled.json);
  std::string text = fmt::format(
      "{}: {} nests in {} functions; {} are tiled products, {} go by Winograd\n",
      printable(request.folder.string()), grouped(json["nests"].get<std::uint64_t>()),
      grouped(json["functions"].get<std::uint64_t>()), grouped(json["tiled"].get<std::uint64_t>()),
      grouped(json["winograd"].get<std::uint64_t>()));
  text += fmt::format("  weights {}, workspace {}, library {}; by {} for {}, in {:.1f} s\n",
                      megabytes(json["weight_bytes"]), megabytes(json["workspace_bytes"]),
                      megabytes(json["library_bytes"]), printable(json["compiler"].get<std::string>()),
                      json["target"].get<std::string>(), json["ms"].get<double>() / 1000);
  text += error_of(compiled) + "  " + speed_of(compiled, options.threads) + '\n' + tuning_of(json["tuning"]);
  if (options.as_operator) {
    const auto operators = json["operators"].get<std::uint64_t>();
    text += regions_of(json["regions"]);
    for (const Json& t : json["tried"])
      text += fmt::format("  tried: {}{}: {:.2f}x\n", counted(t["operators"].get<std::uint64_t>()),
                          of_graph(t["graph"]), t["ratio"].get<double>());
    text += compiled.is_operator
                ? fmt::format("  model.onnx: {}{}; load it with register_custom_ops_library(\"lib{}.so\")\n",
                              counted(operators), of_graph(json["graph"]), options.name)
            : json["graph"].get<std::string>().empty()
                ? "  model.onnx is the model as it was: the runtime's own kernels are faster\n"
                : fmt::format("  model.onnx has no operator{}: the runtime's own kernels are faster\n",
                              of_graph(json["graph"]));
  }
  for (const api::Compiled::Nest& nest : compiled.nests)
    if (request.show == "all" || (!request.show.empty() && nest.name.find(request.show) != std::string::npos))
      text += '\n' + nest.text;
  return Reply{Exit::Done, text, json};
}

void add_output_options(CLI::App& command, CompileCommand& request) {
  command.add_option("MODEL", request.model, "An ONNX file")->required();
  command.add_option("-o,--output", request.folder, "The folder to write")->type_name("DIR")->required();
  command.add_option("--name", request.options.name, "What every symbol begins with")->capture_default_str();
  command.add_option("--target", request.options.target, "The processor to compile for")
      ->check(CLI::IsMember(api::compile_targets()))
      ->type_name("TARGET")
      ->capture_default_str();
  command.add_option("--compiler", request.options.compiler,
                     "The C++ compiler (default: $CXX, clang++ or g++)");
}

void add_schedule_options(CLI::App& command, CompileCommand& request) {
  command
      .add_option("--show", request.show,
                  "Print the loops of nodes whose names have this in them (default: of none)")
      ->type_name("NODE|all");
  command
      .add_option("--schedule", request.schedule, "How loops of some nodes run (default: as Isomer chooses)")
      ->type_name("FILE");
  command
      .add_option("--tune", request.tune,
                  "Search for faster schedules of loops for TIME, by measuring: 1m, 10m; 0: don't")
      ->type_name("TIME")
      ->capture_default_str();
  // No check here: the compiler says which searches there are, and which one has left.
  command
      .add_option("--tune-search", request.options.tune_search,
                  "How --tune picks what it times: evolution or random")
      ->type_name("HOW")
      ->capture_default_str();
  command
      .add_option(
          "--tuning", request.tuning,
          "A folder that remembers what --tune measured (default: in the user's cache; none: nothing is "
          "remembered)")
      ->type_name("DIR|none");
}

void add_operator_options(CLI::App& command, CompileCommand& request) {
  command
      .add_option("--as", request.as,
                  "custom-op: also model.onnx, in which the regions that are faster so are operators of "
                  "ONNX Runtime, "
                  "out of the library")
      ->check(CLI::IsMember({"module", "custom-op"}))
      ->type_name("KIND")
      ->capture_default_str();
  command
      .add_option("--threads", request.options.threads,
                  "Threads of a run, unless its caller says another number; ONNX Runtime has as many")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--equal", request.options.equal,
                  "With --as custom-op: also offer the regions of this equal model, as optimize writes it")
      ->type_name("FILE");
  command
      .add_option(
          "--optimize", request.optimize,
          "With --as custom-op: also search for equal models for TIME, as optimize does, and offer their "
          "regions; 0: don't")
      ->type_name("TIME")
      ->capture_default_str();
}

void add_comparison_options(CLI::App& command, CompileCommand& request) {
  command
      .add_option("--seconds", request.options.seconds,
                  "Compare speed with ONNX Runtime for this long, at most; 0: don't")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--sums", request.options.sums,
                  "How products are added up (default: the first of these that keeps --max-error-growth)")
      ->check(CLI::IsMember(api::sums_of_products()))
      ->type_name("HOW");
  command
      .add_option(
          "--precision", request.precision,
          "bf16: matrix products of bfloat16, summed in float32; the model is NOT EQUAL to the one given, "
          "and the error is printed")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->excludes("--sums")
      ->type_name("TYPE")
      ->capture_default_str();
  command
      .add_option(
          "--max-error-growth", request.options.max_error_growth,
          "The largest rounding error against float64, as a multiple of ONNX Runtime's, before sums are "
          "added up more exactly; 0: it is not measured")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option(
          "--runtime-library", request.options.runtime.library,
          "The library of ONNX Runtime to compare with (default: $ISOMER_ORT_LIBRARY, else that of the "
          "installed Python package)")
      ->type_name("L");
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand(
      "compile", "Make a library of a model: kernels out of its formulas, no runtime needed");
  add_output_options(*command, *request);
  add_schedule_options(*command, *request);
  add_operator_options(*command, *request);
  add_comparison_options(*command, *request);
  add_feeds_option(*command, request->options.feeds_file, "Inputs to compare and to measure with",
                   "made-up ones");
  add_shape_option(*command, request->options.sizes);
  add_value_option(*command, request->options.values);
  add_live_options(*command, request->live);
  add_operators_option(*command, request->operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return compile(*request); }; });
}

}  // namespace isomer::cli
