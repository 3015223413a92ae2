// isomer compile: a model as a library that needs nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct CompileCommand {
  std::filesystem::path model, folder;
  api::CompileOptions options;
  std::string show;
};

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.3g} MB", static_cast<double>(bytes) / 1e6); }

Result<Reply> compile(const CompileCommand& request) {
  const api::Compiled compiled = api::compile(api::load(request.model), request.folder, request.options);
  const Json json = Json::parse(compiled.json);
  std::string text = fmt::format(
      "{}: {} nests in {} functions, {} of them tiled products\n  weights {}, workspace {}, library {}\n"
      "  lowered in {:.1f} s, compiled by {} in {:.1f} s for {}\n",
      printable(request.folder.string()), grouped(json["nests"].get<std::uint64_t>()),
      grouped(json["functions"].get<std::uint64_t>()), grouped(json["tiled"].get<std::uint64_t>()),
      megabytes(json["weight_bytes"].get<std::uint64_t>()), megabytes(json["workspace_bytes"].get<std::uint64_t>()),
      megabytes(json["library_bytes"].get<std::uint64_t>()), json["lower_seconds"].get<double>(),
      printable(json["compiler"].get<std::string>()), json["compile_seconds"].get<double>(),
      json["target"].get<std::string>());
  if (!request.show.empty()) text += '\n' + compiled.nests;
  return Reply{Exit::Done, text, json};
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CompileCommand>();
  CLI::App* command =
      app.add_subcommand("compile", "Make a library of a model: kernels out of its formulas, no runtime needed");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  command->add_option("-o,--output", request->folder, "The folder to write")->type_name("DIR")->required();
  command->add_option("--name", request->options.name, "What every symbol begins with")->capture_default_str();
  command->add_option("--target", request->options.target, "The processor to compile for")
      ->check(CLI::IsMember(api::compile_targets()))
      ->type_name("TARGET")
      ->capture_default_str();
  command->add_option("--compiler", request->options.compiler, "The C++ compiler (default: $CXX, clang++ or g++)");
  command->add_option("--show", request->show, "Print the loops of all nodes (default: of none)")->type_name("all");
  add_shape_option(*command, request->options.sizes);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return compile(*request); }; });
}

}  // namespace isomer::cli
