#include "runtime/engines/ort_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace isomer::ort {
namespace {

void stay_silent(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

}  // namespace

Outcome<std::shared_ptr<const Api>> Api::open(const std::string& library) {
  // Never closed: threads and static objects of the library may outlive any point we could close it at.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Failure{
        FailureKind::Unavailable,
        fmt::format("can't load ONNX Runtime: {}; --runtime-library says where it is", ::dlerror())};
  using Base = const OrtApiBase* (*)();
  const auto base = reinterpret_cast<Base>(::dlsym(handle, "OrtGetApiBase"));
  if (!base)
    return Failure{FailureKind::Unavailable, fmt::format("{} has no C API of ONNX Runtime", library)};
  std::shared_ptr<Api> api(new Api);
  api->version_ = base()->GetVersionString();
  api->table_ = base()->GetApi(ORT_API_VERSION);
  if (!api->table_)
    return Failure{FailureKind::Unavailable,
                   fmt::format("{} is ONNX Runtime {}; the oldest that works is 1.{}", library, api->version_,
                               ORT_API_VERSION)};
  ISOMER_ORT(*api,
             CreateEnvWithCustomLogger(stay_silent, nullptr, ORT_LOGGING_LEVEL_FATAL, "isomer", &api->env_));
  ISOMER_ORT(*api, DisableTelemetryEvents(api->env_));
  ISOMER_ORT(*api, GetAllocatorWithDefaultOptions(&api->allocator_));
  ISOMER_ORT(*api, CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &api->memory_));
  return std::shared_ptr<const Api>(std::move(api));
}

Api::~Api() {
  if (!table_) return;
  if (memory_) table_->ReleaseMemoryInfo(memory_);
  if (env_) table_->ReleaseEnv(env_);
}

Outcome<Done> Api::check(OrtStatus* status) const {
  if (!status) return Done{};
  Failure failure{FailureKind::Refused, table_->GetErrorMessage(status)};
  // The exception that a failed allocation becomes inside the library.
  if (failure.what.find("bad_alloc") != std::string::npos ||
      failure.what.find("Failed to allocate memory") != std::string::npos)
    failure.kind = FailureKind::OutOfMemory;
  table_->ReleaseStatus(status);
  return failure;
}

std::string Api::take(char* text) const {
  std::string copy(text);
  if (OrtStatus* status = table_->AllocatorFree(allocator_, text)) table_->ReleaseStatus(status);
  return copy;
}

}  // namespace isomer::ort
