#include "runtime/ort.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ort_api.h"

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
  for (const auto& [key, value] : options.config)
    ISOMER_ORT(api, AddSessionConfigEntry(native_options, key.c_str(), value.c_str()));
  for (const std::string& library : options.custom_op_libraries)
    ISOMER_ORT(api, RegisterCustomOpsLibrary_V2(native_options, library.c_str()));
  return Done{};
}

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
