#include "runtime/engines/openvino.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "runtime/engines/openvino_api.h"

namespace isomer {
namespace openvino {
namespace {

using Core = Handle<ov_core_t, decltype(&::ov_core_free)>;

Outcome<Done> set_properties(const Api& api, ov_core_t* core, const RuntimeOptions& options, bool profiled) {
  if (!options.disabled_optimizers.empty() || options.level != OptimizationLevel::All)
    return Failure{FailureKind::Unavailable,
                   "OpenVINO has no optimization levels and no optimizers to disable"};
  std::map<std::string, std::string> properties{
      {"INFERENCE_PRECISION_HINT", "f32"},  // the default is bf16 on CPUs that have it: another function
      {"PERFORMANCE_HINT", "LATENCY"},
      {"PERF_COUNT", profiled ? "YES" : "NO"}};
  if (options.threads > 0) properties["INFERENCE_NUM_THREADS"] = std::to_string(options.threads);
  for (const auto& [key, value] : options.config) properties[key] = value;
  for (const auto& [key, value] : properties)
    ISOMER_OV(api, ov_core_set_property(core, "CPU", key.c_str(), value.c_str()));
  for (const std::string& library : options.custom_op_libraries)
    ISOMER_OV(api, ov_core_add_extension(core, library.c_str()));
  return Done{};
}

class OpenVinoRuntime final : public Runtime {
 public:
  explicit OpenVinoRuntime(ApiPointer api) : api_(std::move(api)) {}
  std::string name() const override { return "openvino"; }
  std::string version() const override { return api_->version; }

  Outcome<std::unique_ptr<Session>> load(const ModelPlace& model, const RuntimeOptions& options) override {
    return load(model, options, false);
  }

  Outcome<std::vector<KernelKind>> profile(const ModelPlace& model, const RuntimeOptions& options,
                                           const NamedTensors& feeds, std::int64_t least_ns,
                                           const std::string&) override {
    ISOMER_TRY(const auto session, load(model, options, true));
    ISOMER_TRY_DO(session->bind(feeds));
    const std::int64_t start = now_ns();
    do {
      ISOMER_TRY_DO(session->run());
    } while (now_ns() - start < least_ns);  // the profile is of the last, warm run
    return read_profile(*api_, *session);
  }

 private:
  Outcome<std::unique_ptr<Session>> load(const ModelPlace& model, const RuntimeOptions& options,
                                         bool profiled) {
    ISOMER_TRY(ov_core_t * core, core_for(options, profiled));
    // A model in memory looks for its external data below the working directory.
    if (model.path.empty() && !model.folder.empty() && ::chdir(model.folder.c_str()) != 0)
      return Failure{FailureKind::Refused, fmt::format("no folder {}", model.folder)};
    return make_session(api_, core, model);
  }

  // Properties belong to a core, and a core costs milliseconds: one per set of options, kept.
  Outcome<ov_core_t*> core_for(const RuntimeOptions& options, bool profiled) {
    const std::string key = options.text() + (profiled ? " profiled" : "");
    if (const auto known = cores_.find(key); known != cores_.end()) return known->second.get();
    ov_core_t* made = nullptr;
    ISOMER_OV(*api_, ov_core_create(&made));
    Core core(made, api_->ov_core_free);
    ISOMER_TRY_DO(set_properties(*api_, made, options, profiled));
    cores_.emplace(key, std::move(core));
    return made;
  }

  ApiPointer api_;
  std::map<std::string, Core> cores_;
};

}  // namespace
}  // namespace openvino

Outcome<std::unique_ptr<Runtime>> open_openvino(const std::string& library) {
  ISOMER_TRY(openvino::ApiPointer api, openvino::Api::open(library));
  return std::unique_ptr<Runtime>(new openvino::OpenVinoRuntime(std::move(api)));
}

}  // namespace isomer
