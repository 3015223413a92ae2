#include "compiler/emit/compile_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/blake2b.h"
#include "base/check.h"
#include "compiler/emit/compiler.h"
#include "compiler/emit/object_cache.h"
#include "compiler/loops/open_sizes.h"
#include "io/onnx/size_arguments.h"
#include "io/onnx/write_file.h"
#include "model/graph/infer.h"
#include "runtime/engines/ort_operator.h"
#include "runtime/engines/runtime.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

struct Target {
  std::string name;
  std::vector<std::string> flags;
  // Parts of a library for several kinds of processors, which looks at run time: the name and flags of each.
  std::vector<std::pair<std::string, std::vector<std::string>>> parts = {};
  bool is_foreign = false;  // no x86-64: it needs a cross compiler, and is not run here
  bool is_wasm = false;
};

const std::vector<Target>& targets() {
  const auto wide = "-mprefer-vector-width=512";
  static const std::vector<Target> kTargets{
      {.name = "native", .flags = {"-march=native", wide}},
      {.name = "x86-64",
       .flags = {},
       .parts = {{"v3", {"-march=x86-64-v3"}}, {"v4", {"-march=x86-64-v4", wide}}}},
      {.name = "x86-64-v3", .flags = {"-march=x86-64-v3"}},
      {.name = "x86-64-v4", .flags = {"-march=x86-64-v4", wide}},
      {.name = "aarch64", .flags = {"-target", "aarch64-linux-gnu"}, .is_foreign = true},
      {.name = "wasm32",
       .flags = {"-target", "wasm32-wasi", "-msimd128"},
       .is_foreign = true,
       .is_wasm = true},
  };
  return kTargets;
}

std::string library_name(const Target& target, const std::string& name) {
  return target.is_wasm ? name + ".wasm" : "lib" + name + ".so";
}

// Zig spells the levels of x86-64 in its own way.
std::vector<std::string> spelled_for(const std::string& compiler, std::vector<std::string> flags) {
  if (compiler.find("zig") == std::string::npos) return flags;
  for (std::string& flag : flags)
    if (flag.starts_with("-march=x86-64-v")) std::ranges::replace(flag.begin() + 7, flag.end(), '-', '_');
  return flags;
}

// A file of kernels, without .cpp, and how many functions it has.
struct CodeFile {
  std::string name;
  std::size_t functions = 1;
};
// The source to compile: for a target of several kinds of processors, `code` once for each; `plain` once.
struct Sources {
  std::vector<CodeFile> code;
  std::vector<std::string> plain = {};  // files without .cpp
  bool wants_archive = true;
};

// Compilers that run side by side.
std::size_t compilers_at_once() {
  constexpr unsigned kMost = 4;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMost);
}

// The number of shares of a file (kernels/threads.h). A share costs 0.2 s for what all have in common, a
// function 0.05 s. Some take much longer than others: with more shares than compilers, none waits for the
// last.
std::size_t share_count(const CodeFile& file) {
  constexpr std::size_t kLeastFunctions = 8, kSharesOfCompiler = 3;
  return std::clamp<std::size_t>(file.functions / kLeastFunctions, 1,
                                 kSharesOfCompiler * compilers_at_once());
}

// Code that belongs to the first share alone.
std::string in_first_share(const std::string& code) { return "#if IM_SHARE == 0\n" + code + "#endif\n"; }

// Makes objects, then the archive and the library that is loaded.
class Builder {
 public:
  Builder(const Target& target, const CompileRequest& request, const std::string& compiler)
      : target_(target), request_(request), compiler_(compiler), cache_(request.objects) {}

  Status build(const Sources& sources) {
    const std::int64_t start = now_ns();
    const Status done = build_all(sources);
    seconds_ = static_cast<double>(now_ns() - start) * 1e-9;
    std::error_code failure;
    for (const std::string& object : objects_) fs::remove(object, failure);
    return done;
  }
  double seconds() const { return seconds_; }

 private:
  std::string in_folder(const std::string& file) const { return (request_.folder / file).string(); }

  struct Task {
    std::string source, part;
    std::vector<std::string> more;
  };

  Status build_all(const Sources& sources) {
    std::vector<Task> tasks;
    for (const CodeFile& file : sources.code) {
      for (const auto& [part, flags] : target_.parts) {
        tasks.push_back({file.name, "_" + part, flags});
        tasks.back().more.push_back(fmt::format("-DIM_PART={}_{}", file.name, part));
      }
      if (target_.parts.empty()) {
        add_shares(file, tasks);
      } else {
        tasks.push_back({file.name, "", {"-DIM_DISPATCH"}});
      }
    }
    for (const std::string& source : sources.plain) tasks.push_back({source, "", {}});
    for (const Task& task : tasks) objects_.push_back(object_of(task));
    ISOMER_TRY_DO(compile_all(tasks));
    const std::string archive = in_folder("lib" + request_.name + ".a");
    std::error_code failure;
    fs::remove(archive, failure);
    if (sources.wants_archive) {
      std::vector<std::string> words{"rcs", archive};
      words.insert(words.end(), objects_.begin(), objects_.end());
      ISOMER_TRY_DO(run_compiler(archiver_of(compiler_), words, request_.limit.get()));
    }
    return link();
  }

  static void add_shares(const CodeFile& file, std::vector<Task>& tasks) {
    const std::size_t count = share_count(file);
    for (std::size_t k = 0; k < count; ++k) {
      tasks.push_back({file.name, k == 0 ? "" : fmt::format("_share{}", k), {}});
      if (count > 1)
        tasks.back().more = {fmt::format("-DIM_SHARES={}", count), fmt::format("-DIM_SHARE={}", k)};
    }
  }

  std::string object_of(const Task& task) const { return in_folder(task.source + task.part + ".o"); }

  // Several at a time, each a process of its own.
  Status compile_all(const std::vector<Task>& tasks) const {
    const std::size_t at_once = std::min(tasks.size(), compilers_at_once());
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> has_failed = false;
    std::vector<Status> ended(tasks.size(), Done{});
    {
      std::vector<std::jthread> workers;
      for (std::size_t k = 0; k < at_once; ++k)
        workers.emplace_back([&] {
          for (std::size_t t = next++; t < tasks.size() && !has_failed; t = next++) {
            ended[t] = compile(tasks[t]);
            if (!ended[t].ok()) has_failed = true;
          }
        });
    }
    cache_.shrink();
    for (Status& status : ended) ISOMER_TRY_DO(std::move(status));
    return Done{};
  }

  Status compile(const Task& task) const {
    std::vector<std::string> words{"-x",
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
    for (const auto* flags : {&target_.flags, &task.more})
      words.insert(words.end(), flags->begin(), flags->end());
    const std::string source = in_folder(task.source + ".cpp"), object = object_of(task);
    const std::string key = cache_.key(compiler_, words, source);
    if (cache_.take(key, object)) return Done{};
    words.insert(words.end(), {"-c", source, "-o", object});
    ISOMER_TRY_DO(run_compiler(compiler_, spelled_for(compiler_, words), request_.limit.get()));
    cache_.keep(key, object);
    return Done{};
  }

  Status link() const {
    std::vector<std::string> words{"-o", in_folder(library_name(target_, request_.name))};
    if (target_.is_foreign) words.insert(words.end(), target_.flags.begin(), target_.flags.end());
    if (target_.is_wasm) {
      words.insert(words.end(), {"-mexec-model=reactor", "-Wl,--export=malloc", "-Wl,--export=free"});
      for (const char* function : {"create", "create_with_threads", "run", "destroy", "workspace_size"})
        words.push_back(fmt::format("-Wl,--export={}_{}", request_.name, function));
      for (const char* function : {"input_shape", "output_shape"})  // of modules with open sizes
        words.push_back(fmt::format("-Wl,--export-if-defined={}_{}", request_.name, function));
    } else {
      words.insert(words.end(), {"-shared", "-Wl,--as-needed"});
    }
    words.insert(words.end(), objects_.begin(), objects_.end());
    if (!target_.is_wasm) words.insert(words.end(), {"-lm", "-ldl", "-lpthread"});
    return run_compiler(compiler_, words, request_.limit.get());
  }

  const Target& target_;
  const CompileRequest& request_;
  const std::string& compiler_;
  ObjectCache cache_;
  std::vector<std::string> objects_;
  double seconds_ = 0;
};

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

// The weights of several programs in one file, each content once, behind a line that no other such file
// begins with.
class WeightFile {
 public:
  explicit WeightFile(fs::path path) : path_(std::move(path)) {}

  struct Part {
    std::int64_t begin = 0;
    std::string digest;
  };
  Result<Part> add(const lower::Plan& plan) {
    if (plan.weights == 0) return Part{};
    Blake2b content;
    lower::for_each_weight(plan, [&](const void* bytes, std::size_t size) { content.add(bytes, size); });
    const std::string digest = content.hex();
    if (const auto known = begins_.find(digest); known != begins_.end()) return Part{known->second, digest};
    if (!out_.is_open()) out_.open(path_, std::ios::binary | std::ios::trunc);
    end_ = (end_ + kAlignment - 1) / kAlignment * kAlignment;
    begins_.emplace(digest, end_);
    all_.add(digest.data(), digest.size());
    const Part made{end_, digest};
    out_.seekp(end_);
    lower::for_each_weight(plan, [&](const void* bytes, std::size_t size) {
      out_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    });
    end_ += plan.weights;
    if (!out_) return Error{fmt::format("can't write {}", path_.string())};
    return made;
  }
  Result<OrtWeights> finish() {
    if (begins_.empty()) return OrtWeights{};
    OrtWeights made{.bytes = static_cast<std::uint64_t>(end_), .begin = "isomer weights " + all_.hex()};
    out_.seekp(0);
    out_.write(made.begin.data(), static_cast<std::streamsize>(made.begin.size()));
    out_.close();
    if (!out_) return Error{fmt::format("can't write {}", path_.string())};
    return made;
  }

 private:
  static constexpr std::int64_t kAlignment = 4096;  // the first part begins here, too
  fs::path path_;
  std::ofstream out_;
  std::int64_t end_ = 1;
  Blake2b all_;
  std::map<std::string, std::int64_t> begins_;  // by the digest of the content
};

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && !is_digit(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

std::vector<OrtPort> ort_ports(const lower::Plan& plan, const std::vector<lower::Port>& ports) {
  std::vector<OrtPort> out;
  for (const lower::Port& p : ports) {
    const lower::Storage& s = plan.buffer(p.buffer);
    Extents extents;
    for (const Dim& e : s.extents) extents.push_back(e.value().value_or(-1));
    out.push_back({s.type, std::move(extents), p.by_sample});
  }
  return out;
}

struct Tools {
  const Target* target = nullptr;
  std::string compiler;
};
Result<Tools> tools_of(const CompileRequest& request) {
  const auto target = std::ranges::find(targets(), request.target, &Target::name);
  if (target == targets().end()) return Error{fmt::format("no target is named {}", request.target)};
  if (!is_identifier(request.name))
    return Error{
        fmt::format("--name {}: not an identifier of C, which every symbol begins with", request.name)};
  Tools out{&*target, !request.compiler.empty() ? request.compiler
                      : target->is_foreign      ? find_cross_compiler()
                                                : find_compiler()};
  if (out.compiler.empty())
    return Error{
        target->is_foreign
            ? fmt::format("--target {} needs Zig's compiler: pip install ziglang, or name one by --compiler",
                          target->name)
            : "there is no C++ compiler in $PATH; install clang or g++, or name one by --compiler"};
  return out;
}

Status make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return Error{fmt::format("can't make the folder {}: {}", folder.string(), failure.message())};
  return Done{};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Without the lines that only name nodes.
std::string without_titles(const std::string& code) {
  std::string out;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size() - 1) + 1;
    if (code.compare(at, 3, "// ") != 0) out.append(code, at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

Status need_sizes(const Graph& graph, const InferOptions& sizes) {
  ISOMER_TRY(const Inference inference, infer(graph, sizes));
  for (const Value input : graph.inputs()) {
    const ValueInfo& info = inference.of(input);
    if (graph.node(input.node).kind != NodeKind::Input || concrete_shape(info)) continue;
    const std::string& name = graph.name_of(input);
    return Error{
        fmt::format("a module is for one size, and that of input '{}'{} is open: give it by {}, with "
                    "numbers in the place of names",
                    name, info.shape ? ' ' + text(*info.shape) : "", lower::shape_option(name, info.shape)),
        name};
  }
  return Done{};
}

std::vector<std::string> compile_targets() {
  std::vector<std::string> names;
  for (const Target& t : targets()) names.push_back(t.name);
  return names;
}

bool runs_here(const std::string& target) {
  const auto found = std::ranges::find(targets(), target, &Target::name);
  return found != targets().end() && !found->is_foreign;
}

Result<Model> operator_model(const lower::Plan& plan, const std::string& name,
                             std::optional<std::int64_t> weights) {
  constexpr int kOpset = 13, kIrVersion = 8;
  Model model;
  model.ir_version = kIrVersion;
  Graph& graph = model.graph;
  graph.name = name;
  graph.opsets = {{"", kOpset}, {kOrtOperatorDomain, 1}};
  const auto declared = [&](const lower::Port& port) {
    const lower::Storage& s = plan.buffer(port.buffer);
    DeclaredType type{.type = s.type, .shape = std::vector<std::optional<Dim>>{}};
    for (const Dim& e : s.extents) type.shape->push_back(e);
    if (port.by_sample) type.shape->front() = Dim::symbol(plan.batch_name());
    return type;
  };
  Node node;
  node.op = node.name = name;
  node.domain = kOrtOperatorDomain;
  if (weights) node.attributes.set("weights", *weights);
  for (const lower::Port& port : plan.inputs) {
    Node port_node;
    port_node.kind = NodeKind::Input;
    port_node.outputs = {port.name};
    port_node.declared = declared(port);
    const Value input{.node = graph.add(std::move(port_node))};
    graph.add_input(input);
    node.inputs.push_back(input);
  }
  for (const lower::Port& port : plan.outputs) {
    node.outputs.push_back(port.name);
    graph.declare(port.name, declared(port));
  }
  const NodeId id = graph.add(std::move(node));
  for (std::uint32_t k = 0; k < plan.outputs.size(); ++k) graph.add_output({id, k});
  return model;
}

Result<fs::path> compile_timing(const std::string& code, const Extents& extents,
                                const CompileRequest& request) {
  ISOMER_TRY(const Tools tools, tools_of(request));
  if (tools.target->is_foreign || !tools.target->parts.empty())
    return Error{fmt::format("schedules for {} can't be timed here", request.target)};
  ISOMER_TRY_DO(make_folder(request.folder));
  const std::string text =
      code + ort_operator_text(request.name, {{.type = ElementType::Float, .extents = {1}}},
                               {{.type = ElementType::Double, .extents = extents}});
  ISOMER_TRY_DO(wire::write_text(request.folder / (request.name + ".cpp"), text));
  ISOMER_TRY_DO(Builder(*tools.target, request, tools.compiler)
                    .build({.code = {{request.name}}, .wants_archive = false}));
  return request.folder / library_name(*tools.target, request.name);
}

Result<Model> timing_model(const std::string& name, const Extents& extents) {
  lower::Plan plan;
  plan.buffers = {
      {.kind = lower::Storage::Kind::Input, .type = ElementType::Float, .extents = {Dim(1)}},
      {.kind = lower::Storage::Kind::Output, .type = ElementType::Double, .extents = to_dims(extents)}};
  plan.inputs = {{"seconds", 0}};
  plan.outputs = {{"times", 1}};
  return operator_model(plan, name);
}

std::string interface_json(const lower::Plan& plan, const CompileRequest& request) {
  using Json = nlohmann::ordered_json;
  const auto ports = [&](const std::vector<lower::Port>& list) {
    Json out = Json::array();
    for (const lower::Port& p : list) {
      const lower::Storage& s = plan.buffer(p.buffer);
      Json shape = Json::array();
      for (const Dim& e : s.extents)
        shape.push_back(e.is_concrete() ? Json(e.concrete()) : Json(lower::as_given(e, plan.sizes).text()));
      if (p.by_sample) shape[0] = plan.batch_name();
      out.push_back({{"name", p.name}, {"type", std::string(name(s.type))}, {"shape", shape}});
    }
    return out;
  };
  Json sizes = Json::array();
  for (const lower::OpenSize& size : plan.sizes.open)
    sizes.push_back({{"name", size.name},
                     {"least", size.least * size.step},
                     {"most", size.most ? Json(*size.most * size.step) : Json(nullptr)},
                     {"step", size.step}});
  const Json json{
      {"name", request.name},
      {"target", request.target},
      {"library", library_name(*std::ranges::find(targets(), request.target, &Target::name), request.name)},
      {"weights", request.name + ".weights"},
      {"batch", plan.batch.empty() ? Json(nullptr) : Json(plan.batch)},
      {"sizes", sizes},
      {"threads", request.threads},
      {"workspace_bytes", plan.workspace + (request.threads - 1) * lower::thread_bytes(plan)},
      {"thread_workspace_bytes", lower::thread_bytes(plan)},
      {"weight_bytes", plan.weights},
      {"inputs", ports(plan.inputs)},
      {"outputs", ports(plan.outputs)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

namespace {

// Sizes known only when the module runs: a batch whose samples are computed one by one, or any sizes.
struct OpenParts {
  std::optional<lower::Batch> batch = {};
  lower::Sizes sizes = {};
};
Result<OpenParts> open_parts(const Graph& graph, const InferOptions& sizes) {
  auto batch = lower::open_batch(graph, sizes);
  if (batch) return OpenParts{.batch = std::move(*batch)};
  auto open = lower::open_sizes(graph, sizes);
  if (!open) return Error{fmt::format("{}; {}", batch.error().message, open.error().message)};
  return OpenParts{.sizes = std::move(*open)};
}

// Where an operator finds each of the sizes.
std::vector<OrtSize> ort_sizes(const lower::Plan& plan) {
  std::vector<OrtSize> out;
  for (const lower::OpenSize& size : plan.sizes.open)
    for (std::size_t k = 0; k < plan.inputs.size(); ++k) {
      Dims shape = plan.buffer(plan.inputs[k].buffer).extents;
      if (plan.inputs[k].by_sample) shape[0] = Dim::symbol(plan.batch_name());
      const auto at = std::ranges::find(shape, Dim(size.step) * Dim::symbol(size.name));
      if (at == shape.end()) continue;
      out.push_back({.input = k, .axis = static_cast<std::size_t>(at - shape.begin())});
      break;
    }
  ISOMER_CHECK(out.size() == plan.sizes.open.size(), "every open size is an extent of an input");
  return out;
}

}  // namespace

Result<CompiledModule> compile_module(const Graph& graph, const CompileRequest& request) {
  ISOMER_TRY(const Tools tools, tools_of(request));
  CompiledModule out;
  out.compiler = tools.compiler;
  ISOMER_TRY(const InferOptions sizes, parse_sizes(request.sizes, graph));
  ISOMER_TRY(const OpenParts open, open_parts(graph, sizes));
  ISOMER_TRY(out.texts, lower::module_of(graph, sizes, request.name, request.schedules, request.exactness,
                                         request.threads, open.batch, request.tuned, open.sizes));
  out.texts.code += in_first_share(
      ort_operator_text(request.name, ort_ports(out.texts.plan, out.texts.plan.inputs),
                        ort_ports(out.texts.plan, out.texts.plan.outputs), ort_sizes(out.texts.plan)));
  ISOMER_TRY_DO(make_folder(request.folder));
  const auto in = [&](const std::string& file) { return request.folder / file; };
  std::error_code failure;
  fs::remove(in("interface.json"), failure);  // of another model: there is one only where all of a module is
  ISOMER_TRY_DO(wire::write_text(in(request.name + ".cpp"), out.texts.code));
  ISOMER_TRY_DO(wire::write_text(in(request.name + ".h"), out.texts.header));
  ISOMER_TRY_DO(wire::write_text(in(request.name + ".hpp"), out.texts.wrapper));
  ISOMER_TRY_DO(write_weights(in(request.name + ".weights"), out.texts.plan));
  Builder builder(*tools.target, request, out.compiler);
  ISOMER_TRY_DO(builder.build({.code = {{request.name, out.texts.functions}}}));
  out.compiler_seconds = builder.seconds();
  out.library = in(library_name(*tools.target, request.name));
  out.library_bytes = fs::file_size(out.library, failure);
  ISOMER_TRY_DO(wire::write_text(in("interface.json"), interface_json(out.texts.plan, request)));
  return out;
}

namespace {

// Operators of several programs: files of code, each once.
class RegionWriter {
 public:
  RegionWriter(const CompileRequest& request, CompiledRegions& out)
      : request_(request), out_(out), weights_(request.folder / (request.name + ".weights")) {}

  Status add(const RegionSource& source) {
    auto texts = texts_of(source);
    if (!texts && source.sizes.empty()) return texts.error();
    if (!texts) {
      out_.regions.push_back({.failure = texts.error().message});
      return Done{};
    }
    const std::string code = replaced(texts->code, fmt::format("#include \"{}.h\"\n", any_), texts->header) +
                             in_first_share(operator_text(*texts, source.sizes));
    const auto [file, is_new] =
        known_.try_emplace(without_titles(code), fmt::format("{}_{}", request_.name, out_.regions.size()));
    if (is_new) {
      ISOMER_TRY_DO(
          wire::write_text(request_.folder / (file->second + ".cpp"), replaced(code, any_, file->second)));
      files_.push_back({file->second, texts->functions});
      out_.functions += texts->functions;
    }
    ISOMER_TRY(const WeightFile::Part part, weights_.add(texts->plan));
    for (const std::string* words : {&file->first, &part.digest}) identity_.add(words->data(), words->size());
    codes_.push_back(file->second);
    out_.regions.push_back({{}, std::move(texts->plan), part.begin});
    return Done{};
  }
  // Names for all operators, which no library has whose operators compute something else; and the file that
  // registers them.
  Status finish(const std::string& choice) {
    identity_.add(choice.data(), choice.size());
    constexpr std::size_t kDigits = 12;
    const std::string name = fmt::format("{}_{}", request_.name, identity_.hex().substr(0, kDigits));
    std::vector<OrtNamedOperator> operators;
    auto code = codes_.begin();
    for (std::size_t k = 0; k < out_.regions.size(); ++k) {
      if (!out_.regions[k].failure.empty()) continue;
      out_.regions[k].op = fmt::format("{}_{}", name, k);
      operators.push_back({out_.regions[k].op, *code++});
    }
    if (!choice.empty()) {
      out_.choice = name + "_choice";
      operators.push_back({out_.choice, request_.name + "_choice"});
    }
    ISOMER_TRY(const OrtWeights weights, weights_.finish());
    return wire::write_text(request_.folder / (request_.name + "_operators.cpp"),
                            ort_registration_text(operators, request_.name, weights));
  }
  const std::vector<CodeFile>& files() const { return files_; }

 private:
  Result<lower::ModuleTexts> texts_of(const RegionSource& source) const {
    lower::Sizes open;
    if (!source.sizes.empty()) {
      ISOMER_TRY(open, lower::open_sizes(*source.program, {}));
    }
    return lower::module_of(*source.program, {}, any_, "", request_.exactness, 1, {}, request_.tuned, open);
  }
  std::string operator_text(const lower::ModuleTexts& texts, const std::string& sizes) const {
    std::vector<OrtPort> inputs = ort_ports(texts.plan, texts.plan.inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      inputs[k].is_shape_only = !sizes.empty() && texts.plan.inputs[k].name == sizes;
    return ort_region_text(any_, request_.name, inputs, ort_ports(texts.plan, texts.plan.outputs),
                           ort_sizes(texts.plan));
  }

  const CompileRequest& request_;
  CompiledRegions& out_;
  WeightFile weights_;
  Blake2b identity_;
  const std::string any_ = request_.name + "_region";  // until it has a number
  std::map<std::string, std::string> known_;           // files by their code
  std::vector<CodeFile> files_;                        // each once
  std::vector<std::string> codes_;                     // of each region that has one
};

}  // namespace

Result<CompiledRegions> compile_regions(const std::vector<RegionSource>& programs,
                                        const CompileRequest& request, const ChoiceOfRegions& choice) {
  ISOMER_TRY(const Tools tools, tools_of(request));
  if (tools.target->is_foreign)
    return Error{fmt::format("operators of ONNX Runtime are not made for {}", request.target)};
  CompiledRegions out;
  out.compiler = tools.compiler;
  ISOMER_TRY_DO(make_folder(request.folder));
  const auto in = [&](const std::string& file) { return request.folder / file; };
  RegionWriter writer(request, out);
  for (const RegionSource& source : programs) ISOMER_TRY_DO(writer.add(source));
  Sources sources{.code = writer.files(), .plain = {request.name + "_operators"}, .wants_archive = false};
  std::string choice_text;
  if (const auto chosen = choice ? choice(out) : std::nullopt) {
    sources.plain.push_back(request.name + "_choice");
    choice_text = ort_choice_text(sources.plain.back(), *chosen);
    ISOMER_TRY_DO(wire::write_text(in(sources.plain.back() + ".cpp"), choice_text));
  }
  ISOMER_TRY_DO(writer.finish(choice_text));
  Builder builder(*tools.target, request, out.compiler);
  ISOMER_TRY_DO(builder.build(sources));
  out.compiler_seconds = builder.seconds();
  out.library = in(library_name(*tools.target, request.name));
  std::error_code failure;
  out.library_bytes = fs::file_size(out.library, failure);
  return out;
}

}  // namespace isomer
