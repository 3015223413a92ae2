// The library's two functions, and the factory that they make and free: a provider for each session, on the
// CPU.
#include <array>
#include <mutex>
#include <span>

#include "provider/ep.h"

namespace isomer::provider {
namespace {

class Factory : public OrtEpFactory, private Probe {
 public:
  Factory(const OrtApi& api, const char* runtime_version)
      : OrtEpFactory{}, ort_{api, *api.GetEpApi(), runtime_version} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept { return kName; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "Isomer"; };
    GetVendorId = [](const OrtEpFactory*) noexcept { return std::uint32_t{0}; };
    GetVersion = [](const OrtEpFactory*) noexcept { return ISOMER_VERSION; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, std::size_t count,
                             OrtEpDevice** out, std::size_t most, std::size_t* found) noexcept {
      auto* factory = static_cast<Factory*>(self);
      return factory->ort_.guard([&] { *found = factory->list_devices({devices, count}, out, most); });
    };
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*,
                  std::size_t, const OrtSessionOptions* options, const OrtLogger* logger,
                  OrtEp** out) noexcept {
      auto* factory = static_cast<Factory*>(self);
      return factory->ort_.guard([&] {
        *out = std::make_unique<Ep>(factory->ort_, static_cast<Probe&>(*factory), options, logger).release();
      });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** out) noexcept -> OrtStatus* {
      *out = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** out) noexcept -> OrtStatus* {
      *out = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }

 private:
  std::size_t list_devices(std::span<const OrtHardwareDevice* const> devices, OrtEpDevice** out,
                           std::size_t most) {
    std::size_t count = 0;
    for (const OrtHardwareDevice* device : devices)
      if (count < most && ort_.api.HardwareDevice_Type(device) == OrtHardwareDeviceType_CPU)
        out[count++] = ort_.ask<OrtEpDevice*>(ort_.ep.CreateEpDevice, this, device, nullptr, nullptr);
    return count;
  }

  std::string fingerprint_of_file(const std::filesystem::path& model, GraphOptimizationLevel level) override {
    const std::lock_guard lock(probing_);
    const OrtApi& api = ort_.api;
    const auto environment =
        ort_.own(ort_.ask<OrtEnv*>(api.CreateEnv, ORT_LOGGING_LEVEL_WARNING, "isomer"), api.ReleaseEnv);
    const auto options =
        ort_.own(ort_.ask<OrtSessionOptions*>(api.CreateSessionOptions), api.ReleaseSessionOptions);
    ort_.check(api.SetSessionGraphOptimizationLevel(options.get(), level));
    const OrtEpDevice* const* devices = nullptr;
    std::size_t count = 0;
    ort_.check(api.GetEpDevices(environment.get(), &devices, &count));
    for (const OrtEpDevice* device : std::span(devices, count))
      if (api.EpDevice_EpName(device) == std::string(kName)) {
        const std::array<const char*, 1> keys{"probe"}, values{"1"};
        ort_.check(api.SessionOptionsAppendExecutionProvider_V2(options.get(), environment.get(), &device, 1,
                                                                keys.data(), values.data(), keys.size()));
        break;
      }
    told_.clear();
    (void)ort_.own(ort_.ask<OrtSession*>(api.CreateSession, environment.get(), model.c_str(), options.get()),
                   api.ReleaseSession);
    return told_;
  }

  void tell(const std::string& fingerprint) override { told_ = fingerprint; }

  const Ort ort_;
  std::mutex probing_;
  std::string told_;  // by the session that probes
};

}  // namespace
}  // namespace isomer::provider

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the runtime looks for these names.
[[gnu::visibility("default")]] OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                            const OrtLogger*, OrtEpFactory** factories,
                                                            std::size_t most, std::size_t* count) {
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (!api) {
    const OrtApi* any = base->GetApi(1);
    return any->CreateStatus(ORT_NOT_IMPLEMENTED, "Isomer's provider needs ONNX Runtime 1.24 or later");
  }
  if (most < 1) return api->CreateStatus(ORT_INVALID_ARGUMENT, "there is no place for a factory");
  factories[0] = new isomer::provider::Factory(*api, base->GetVersionString());
  *count = 1;
  return nullptr;
}

[[gnu::visibility("default")]] OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<isomer::provider::Factory*>(factory);
  return nullptr;
}

// NOLINTEND(readability-identifier-naming)

}  // extern "C"
