#include "runtime/engines/ort.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/engines/ort_api.h"

namespace isomer {
namespace ort {
namespace {

GraphOptimizationLevel native(OptimizationLevel level) {
  switch (level) {
    case OptimizationLevel::None: return ORT_DISABLE_ALL;
    case OptimizationLevel::Basic: return ORT_ENABLE_BASIC;
    case OptimizationLevel::Extended: return ORT_ENABLE_EXTENDED;
    case OptimizationLevel::All: return ORT_ENABLE_ALL;
  }
  ISOMER_UNREACHABLE("an optimization level");
}

// Settings that have a name among the library's own and no effect as an entry: they have functions.
bool is_function(const std::string& key) {
  return key == "session.enable_mem_pattern" || key == "session.enable_cpu_mem_arena" ||
         key == "session.execution_mode";
}

Outcome<Done> set_by_function(const Api& api, const std::string& key, const std::string& value,
                              OrtSessionOptions* native_options) {
  const bool is_on = value == "1";
  if (!is_on && value != "0")
    return Failure{FailureKind::Refused, fmt::format("{}={}: expected 0 or 1", key, value)};
  if (key == "session.execution_mode")
    ISOMER_ORT(api, SetSessionExecutionMode(native_options, is_on ? ORT_PARALLEL : ORT_SEQUENTIAL));
  else if (key == "session.enable_mem_pattern" && is_on) ISOMER_ORT(api, EnableMemPattern(native_options));
  else if (key == "session.enable_mem_pattern") ISOMER_ORT(api, DisableMemPattern(native_options));
  else if (is_on) ISOMER_ORT(api, EnableCpuMemArena(native_options));
  else ISOMER_ORT(api, DisableCpuMemArena(native_options));
  return Done{};
}

Outcome<Done> fill(const Api& api, const ModelPlace& model, const RuntimeOptions& options,
                   OrtSessionOptions* native_options) {
  ISOMER_ORT(api, SetSessionGraphOptimizationLevel(native_options, native(options.level)));
  ISOMER_ORT(api, SetIntraOpNumThreads(native_options, options.threads));
  ISOMER_ORT(api, SetInterOpNumThreads(native_options, 1));
  if (!options.disabled_optimizers.empty()) {
    const std::string list = fmt::format("{}", fmt::join(options.disabled_optimizers, ";"));
    ISOMER_ORT(api, AddSessionConfigEntry(native_options, "optimization.disable_specified_optimizers",
                                          list.c_str()));
  }
  if (model.path.empty() && !model.folder.empty())
    ISOMER_ORT(api,
               AddSessionConfigEntry(native_options, "session.model_external_initializers_file_folder_path",
                                     model.folder.c_str()));
  for (const auto& [key, value] : options.config) {
    if (is_function(key)) ISOMER_TRY_DO(set_by_function(api, key, value, native_options));
    else ISOMER_ORT(api, AddSessionConfigEntry(native_options, key.c_str(), value.c_str()));
  }
  for (const std::string& library : options.custom_op_libraries)
    ISOMER_ORT(api, RegisterCustomOpsLibrary_V2(native_options, library.c_str()));
  return Done{};
}

// Weights from this size on are in a file of their own, which the runtime maps instead of copying it.
constexpr const char* kMappedBytes = "1024";

// Options with an owner.
class Options {
 public:
  Options(const Api& api, OrtSessionOptions* options) : api_(api), options_(options) {}
  ~Options() { api_->ReleaseSessionOptions(options_); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  OrtSessionOptions* operator*() const { return options_; }

 private:
  const Api& api_;
  OrtSessionOptions* options_;
};

class OrtRuntime final : public Runtime {
 public:
  explicit OrtRuntime(ApiPointer api) : api_(std::move(api)) {}
  std::string name() const override { return "ort"; }
  std::string version() const override { return api_->version(); }

  Outcome<std::unique_ptr<Session>> load(const ModelPlace& model, const RuntimeOptions& options) override {
    ISOMER_TRY(OrtSessionOptions * made, make_options(*api_, model, options));
    const Options native_options(*api_, made);
    return make_session(api_, model, *native_options);
  }

  Outcome<std::vector<KernelKind>> profile(const ModelPlace& model, const RuntimeOptions& options,
                                           const NamedTensors& feeds, std::int64_t least_ns,
                                           const std::string& scratch) override {
    ISOMER_TRY(OrtSessionOptions * made, make_options(*api_, model, options));
    const Options native_options(*api_, made);
    ISOMER_ORT(*api_, EnableProfiling(*native_options, (scratch + "/profile").c_str()));
    ISOMER_TRY(const auto session, make_session(api_, model, *native_options));
    ISOMER_TRY_DO(session->bind(feeds));
    const std::int64_t start = now_ns();
    constexpr int kFewest = 3, kMost = 50;  // the first run is left out; a long profile says no more
    for (int i = 0; i < kFewest || (i < kMost && now_ns() - start < least_ns); ++i)
      ISOMER_TRY_DO(session->run());
    ISOMER_TRY(const std::string path, end_profiling(*api_, *session));
    return read_profile(path);
  }

  Outcome<DumpedFiles> dump(const ModelPlace& model, const RuntimeOptions& options,
                            const std::string& weights_name, const std::string& scratch) override {
    ISOMER_TRY(OrtSessionOptions * made, make_options(*api_, model, options));
    const Options native_options(*api_, made);
    DumpedFiles files{scratch + "/dumped.onnx", scratch + '/' + weights_name};
    ISOMER_ORT(*api_, SetOptimizedModelFilePath(*native_options, files.graph.c_str()));
    ISOMER_ORT(*api_, AddSessionConfigEntry(*native_options,
                                            "session.optimized_model_external_initializers_file_name",
                                            weights_name.c_str()));
    ISOMER_ORT(*api_, AddSessionConfigEntry(*native_options,
                                            "session.optimized_model_external_initializers_min_size_in_bytes",
                                            kMappedBytes));
    ISOMER_TRY_DO(make_session(api_, model, *native_options));
    return files;
  }

 private:
  ApiPointer api_;
};

}  // namespace

Outcome<OrtSessionOptions*> make_options(const Api& api, const ModelPlace& model,
                                         const RuntimeOptions& options) {
  OrtSessionOptions* native_options = nullptr;
  ISOMER_ORT(api, CreateSessionOptions(&native_options));
  const auto filled = fill(api, model, options, native_options);
  if (filled) return native_options;
  api->ReleaseSessionOptions(native_options);
  return filled.error();
}

}  // namespace ort

Outcome<std::unique_ptr<Runtime>> open_ort(const std::string& library) {
  ISOMER_TRY(ort::ApiPointer api, ort::Api::open(library));
  return std::unique_ptr<Runtime>(new ort::OrtRuntime(std::move(api)));
}

}  // namespace isomer
