// The C API of ONNX Runtime, loaded from the library that the user deploys.
//
// Only ort*.cpp include this. The header is of an old release, so that any library from that release on has
// every function we call.
#pragma once

#include <onnxruntime/onnxruntime_c_api.h>

#include <memory>
#include <string>

#include "runtime/engines/runtime.h"

namespace isomer::ort {

class Api {
 public:
  static Outcome<std::shared_ptr<const Api>> open(const std::string& library);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  const OrtApi* operator->() const { return table_; }
  const std::string& version() const { return version_; }
  OrtEnv* env() const { return env_; }
  OrtAllocator* allocator() const { return allocator_; }
  const OrtMemoryInfo* memory() const { return memory_; }
  // Done, or what the status says; frees it.
  Outcome<Done> check(OrtStatus* status) const;
  // A string that the library allocated, as ours.
  std::string take(char* text) const;

 private:
  Api() = default;
  const OrtApi* table_ = nullptr;
  std::string version_;
  OrtEnv* env_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
};

using ApiPointer = std::shared_ptr<const Api>;

// ONNX Runtime's session options for the engine-neutral ones; the caller releases them.
Outcome<OrtSessionOptions*> make_options(const Api& api, const ModelPlace& model,
                                         const RuntimeOptions& options);
Outcome<std::unique_ptr<Session>> make_session(const ApiPointer& api, const ModelPlace& model,
                                               const OrtSessionOptions* options);
// Reads a profile written by the library, without the first run if there is more than one.
Outcome<std::vector<KernelKind>> read_profile(const std::string& path);

Outcome<NamedTensors> copy_outputs(const Api& api, const std::vector<std::string>& names,
                                   const std::vector<OrtValue*>& values);
Outcome<OrtValue*> make_value(const Api& api, const Tensor& tensor);

// Ends the profile of a session made by make_session; the path of the file that was written.
Outcome<std::string> end_profiling(const Api& api, Session& session);

}  // namespace isomer::ort

#define ISOMER_ORT(api, call) ISOMER_TRY_DO((api).check((api)->call))
