#include "pipeline/compile_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/infer.h"
#include "onnx/size_arguments.h"
#include "onnx/write_file.h"
#include "runtime/compiler.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

struct Target {
  std::string name;
  std::vector<std::string> flags;
};

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets{
      {"native", {"-march=native", "-mprefer-vector-width=512"}},
      {"x86-64-v3", {"-march=x86-64-v3"}},
      {"x86-64-v4", {"-march=x86-64-v4", "-mprefer-vector-width=512"}},
  };
  return kTargets;
}

Status write_weights(const fs::path& path, const lower::Plan& plan) {
  ISOMER_TRY(wire::OutputFile file, wire::OutputFile::create(path));
  {
    std::ofstream out(file.temporary(), std::ios::binary | std::ios::trunc);
    lower::for_each_weight(plan, [&](const void* bytes, std::size_t size) {
      out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    });
    out.flush();
    if (!out) return Error{fmt::format("can't write {}", path.string())};
  }
  ISOMER_TRY_DO(file.sync());
  return file.rename();
}

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && !is_digit(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

Status need_sizes(const Graph& graph, const InferOptions& sizes) {
  ISOMER_TRY(const Inference inference, infer(graph, sizes));
  for (const Value input : graph.inputs()) {
    const ValueInfo& info = inference.of(input);
    if (graph.node(input.node).kind != NodeKind::Input || concrete_shape(info)) continue;
    const std::string& name = graph.name_of(input);
    return Error{fmt::format("a module is for one size, and that of input '{}'{} is open: "
                             "give it by --shape NAME=NUMBER, or --shape {}=1x2x3",
                             name, info.shape ? ' ' + text(*info.shape) : "", name),
                 name};
  }
  return Done{};
}

}  // namespace

std::vector<std::string> compile_targets() {
  std::vector<std::string> names;
  for (const Target& t : targets()) names.push_back(t.name);
  return names;
}

std::string interface_json(const lower::Plan& plan, const CompileRequest& request) {
  using Json = nlohmann::ordered_json;
  const auto ports = [&](const std::vector<lower::Port>& list) {
    Json out = Json::array();
    for (const lower::Port& p : list) {
      const lower::Storage& s = plan.buffers[static_cast<std::size_t>(p.buffer)];
      out.push_back({{"name", p.name}, {"type", std::string(name(s.type))}, {"shape", s.extents}});
    }
    return out;
  };
  const Json json{{"name", request.name},
                  {"target", request.target},
                  {"library", "lib" + request.name + ".so"},
                  {"weights", request.name + ".weights"},
                  {"workspace_bytes", plan.workspace},
                  {"weight_bytes", plan.weights},
                  {"inputs", ports(plan.inputs)},
                  {"outputs", ports(plan.outputs)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<CompiledModule> compile_module(const Graph& graph, const CompileRequest& request) {
  const auto target = std::ranges::find(targets(), request.target, &Target::name);
  if (target == targets().end()) return Error{fmt::format("no target is named {}", request.target)};
  if (!is_identifier(request.name))
    return Error{
        fmt::format("--name {}: not an identifier of C, which every symbol begins with", request.name)};
  CompiledModule out;
  out.compiler = request.compiler.empty() ? find_compiler() : request.compiler;
  if (out.compiler.empty())
    return Error{"there is no C++ compiler in $PATH; install clang or g++, or name one by --compiler"};
  ISOMER_TRY(const InferOptions sizes, parse_sizes(request.sizes, graph));
  ISOMER_TRY_DO(need_sizes(graph, sizes));
  ISOMER_TRY(out.texts, lower::module_of(graph, sizes, request.name, request.schedules));
  std::error_code failure;
  fs::create_directories(request.folder, failure);
  if (failure)
    return Error{fmt::format("can't make the folder {}: {}", request.folder.string(), failure.message())};
  const auto in = [&](const std::string& file) { return request.folder / file; };
  fs::remove(in("interface.json"), failure);  // of another model: there is one only where all of a module is
  ISOMER_TRY_DO(wire::write_text(in(request.name + ".cpp"), out.texts.code));
  ISOMER_TRY_DO(wire::write_text(in(request.name + ".h"), out.texts.header));
  ISOMER_TRY_DO(write_weights(in(request.name + ".weights"), out.texts.plan));
  std::vector<std::string> flags{"-x",
                                 "c++",
                                 "-std=c++17",
                                 "-O3",
                                 "-fPIC",
                                 "-fvisibility=hidden",
                                 "-fno-math-errno",
                                 "-fno-trapping-math",
                                 "-ffp-contract=fast",
                                 "-fno-exceptions",
                                 "-fno-rtti",
                                 "-w"};
  flags.insert(flags.end(), target->flags.begin(), target->flags.end());
  std::vector<std::string> object = flags;
  const std::string object_file = in(request.name + ".o").string(),
                    library = in("lib" + request.name + ".so").string();
  object.insert(object.end(), {"-c", in(request.name + ".cpp").string(), "-o", object_file});
  ISOMER_TRY_DO(run_compiler(out.compiler, object));
  ISOMER_TRY_DO(
      run_compiler(out.compiler, {"-shared", "-Wl,--as-needed", "-o", library, object_file, "-lm"}));
  fs::remove(object_file, failure);
  out.library_bytes = fs::file_size(library, failure);
  ISOMER_TRY_DO(wire::write_text(in("interface.json"), interface_json(out.texts.plan, request)));
  return out;
}

}  // namespace isomer
