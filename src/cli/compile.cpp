// isomer compile: a model as a library that needs nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct CompileCommand {
  std::filesystem::path model, folder, schedule;
  api::CompileOptions options;
  std::string show;
};

std::string megabytes(const Json& bytes) { return fmt::format("{:.3g} MB", bytes.get<double>() / 1e6); }

Result<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in && !in.eof()) return Error{fmt::format("can't read {}", path.string())};
  return text;
}

Result<Reply> compile(const CompileCommand& request) {
  api::CompileOptions options = request.options;
  if (!request.schedule.empty()) {
    ISOMER_TRY(options.schedules, text_of(request.schedule));
  }
  const api::Compiled compiled = api::compile(api::load(request.model), request.folder, options);
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
  for (const api::Compiled::Nest& nest : compiled.nests)
    if (request.show == "all" || (!request.show.empty() && nest.name.find(request.show) != std::string::npos))
      text += '\n' + nest.text;
  return Reply{Exit::Done, text, json};
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand(
      "compile", "Make a library of a model: kernels out of its formulas, no runtime needed");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  command->add_option("-o,--output", request->folder, "The folder to write")->type_name("DIR")->required();
  command->add_option("--name", request->options.name, "What every symbol begins with")
      ->capture_default_str();
  command->add_option("--target", request->options.target, "The processor to compile for")
      ->check(CLI::IsMember(api::compile_targets()))
      ->type_name("TARGET")
      ->capture_default_str();
  command->add_option("--compiler", request->options.compiler,
                      "The C++ compiler (default: $CXX, clang++ or g++)");
  command
      ->add_option("--show", request->show,
                   "Print the loops of nodes whose names have this in them (default: of none)")
      ->type_name("NODE|all");
  command
      ->add_option("--schedule", request->schedule,
                   "How loops of some nodes run (default: as Isomer chooses)")
      ->type_name("FILE");
  add_shape_option(*command, request->options.sizes);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return compile(*request); }; });
}

}  // namespace isomer::cli
