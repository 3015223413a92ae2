#include "provider/inner_session.h"

#include <algorithm>
#include <cstring>

namespace isomer::provider {
namespace {

// The options of the session around, but for what would write files twice or call the provider again.
Owned<OrtSessionOptions> options_like(const Ort& ort, const OrtSessionOptions* like,
                                      const std::filesystem::path& library) {
  auto options =
      ort.own(ort.ask<OrtSessionOptions*>(ort.api.CloneSessionOptions, like), ort.api.ReleaseSessionOptions);
  ort.check(ort.api.SetOptimizedModelFilePath(options.get(), ""));
  ort.check(ort.api.DisableProfiling(options.get()));
  for (const auto& [key, value] : {std::pair{kOwnSession, "1"}, {"ep.context_enable", "0"}})
    ort.check(ort.api.AddSessionConfigEntry(options.get(), key, value));
  if (!library.empty()) ort.check(ort.api.RegisterCustomOpsLibrary_V2(options.get(), library.c_str()));
  return options;
}

bool contains(const std::vector<std::string>& all, const std::string& name) {
  return std::ranges::find(all, name) != all.end();
}

}  // namespace

InnerSession::InnerSession(const Ort& ort, const OrtSessionOptions* like, const std::filesystem::path& model,
                           const std::filesystem::path& library)
    : ort_(ort), session_(nullptr, ort.api.ReleaseSession) {
  const OrtApi& api = ort.api;
  // A process has one environment.
  const auto environment =
      ort.own(ort.ask<OrtEnv*>(api.CreateEnv, ORT_LOGGING_LEVEL_WARNING, "isomer"), api.ReleaseEnv);
  const auto options = options_like(ort, like, library);
  session_.reset(ort.ask<OrtSession*>(api.CreateSession, environment.get(), model.c_str(), options.get()));
  const auto count = [&](auto function) { return ort.ask<std::size_t>(function, session_.get()); };
  required_ = names(count(api.SessionGetInputCount), api.SessionGetInputName);
  optional_ =
      names(count(api.SessionGetOverridableInitializerCount), api.SessionGetOverridableInitializerName);
  made_ = outputs_of(session_.get());
}

std::vector<std::string> InnerSession::names(std::size_t count,
                                             OrtStatus*(ORT_API_CALL* name)(const OrtSession*, std::size_t,
                                                                            OrtAllocator*,
                                                                            char**) noexcept) const {
  auto* allocator = ort_.ask<OrtAllocator*>(ort_.api.GetAllocatorWithDefaultOptions);
  std::vector<std::string> out;
  for (std::size_t k = 0; k < count; ++k) {
    auto* text = ort_.ask<char*>(name, session_.get(), k, allocator);
    out.emplace_back(text);
    ort_.check(ort_.api.AllocatorFree(allocator, text));
  }
  return out;
}

std::vector<InnerSession::Output> InnerSession::outputs_of(const OrtSession* session) const {
  const OrtApi& api = ort_.api;
  std::vector<Output> out;
  for (const std::string& name :
       names(ort_.ask<std::size_t>(api.SessionGetOutputCount, session), api.SessionGetOutputName)) {
    Output output;
    output.name = name;
    const auto type = ort_.own(ort_.ask<OrtTypeInfo*>(api.SessionGetOutputTypeInfo, session, out.size()),
                               api.ReleaseTypeInfo);
    const auto* shape = ort_.ask<const OrtTensorTypeAndShapeInfo*>(api.CastTypeInfoToTensorInfo, type.get());
    output.is_tensor = shape && ort_.ask<ONNXTensorElementDataType>(api.GetTensorElementType, shape) !=
                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    if (output.is_tensor) {
      output.sizes.resize(ort_.ask<std::size_t>(api.GetDimensionsCount, shape));
      ort_.check(api.GetDimensions(shape, output.sizes.data(), output.sizes.size()));
    }
    out.push_back(std::move(output));
  }
  return out;
}

void InnerSession::check_ports(const Fingerprint& graph) const {
  const auto refuse = [](const std::string& name, const char* why) { throw Reason("'" + name + "' " + why); };
  for (const std::string& name : graph.used_inputs)
    if (!contains(required_, name) && !contains(optional_, name))
      refuse(name, "is no input of the prepared model");
  for (const std::string& name : required_)
    if (!graph.used_inputs.contains(name)) refuse(name, "is an input of the prepared model alone");
  for (const std::string& name : graph.outputs) {
    const auto output = std::ranges::find(made_, name, &Output::name);
    if (output == made_.end()) refuse(name, "is no output of the prepared model");
    if (!output->is_tensor) refuse(name, "is no tensor of numbers");
  }
}

void InnerSession::bind(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (const std::vector<std::string>* known : {&required_, &optional_})
    for (const std::string& name : *known)
      if (const auto at = std::ranges::find(inputs, name); at != inputs.end()) {
        input_names_.push_back(name.c_str());
        input_places_.push_back(static_cast<std::size_t>(at - inputs.begin()));
      }
  for (const std::string& name : outputs) {
    const auto output = std::ranges::find(made_, name, &Output::name);
    if (output == made_.end()) throw Reason("'" + name + "' is no output of the prepared model");
    output_names_.push_back(output->name.c_str());
    bound_.push_back(&*output);
  }
  has_declared_size_ = std::make_unique<std::atomic<bool>[]>(bound_.size());
}

std::vector<OrtValue*> InnerSession::places_of_outputs(OrtKernelContext* context) const {
  std::vector<OrtValue*> out;
  for (const Output* output : bound_) {
    const std::size_t place = out.size();
    out.push_back(has_declared_size_[place]
                      ? ort_.ask<OrtValue*>(ort_.api.KernelContext_GetOutput, context, place,
                                            output->sizes.data(), output->sizes.size())
                      : nullptr);
  }
  return out;
}

void InnerSession::run(OrtKernelContext* context) const {
  const OrtApi& api = ort_.api;
  std::vector<const OrtValue*> inputs;
  for (const std::size_t place : input_places_)
    inputs.push_back(ort_.ask<const OrtValue*>(api.KernelContext_GetInput, context, place));
  const std::vector<OrtValue*> given = places_of_outputs(context);
  std::vector<OrtValue*> outputs = given;
  OrtStatus* status = api.Run(session_.get(), nullptr, input_names_.data(), inputs.data(), inputs.size(),
                              output_names_.data(), outputs.size(), outputs.data());
  std::vector<Owned<OrtValue>> made;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    made.push_back(ort_.own(given[k] ? nullptr : outputs[k], api.ReleaseValue));
  ort_.check(status);
  for (std::size_t k = 0; k < made.size(); ++k)
    if (made[k]) copy(made[k].get(), context, k);
}

void InnerSession::copy(const OrtValue* from, OrtKernelContext* context, std::size_t place) const {
  const OrtApi& api = ort_.api;
  const auto shape = ort_.own(ort_.ask<OrtTensorTypeAndShapeInfo*>(api.GetTensorTypeAndShape, from),
                              api.ReleaseTensorTypeAndShapeInfo);
  std::vector<std::int64_t> sizes(ort_.ask<std::size_t>(api.GetDimensionsCount, shape.get()));
  ort_.check(api.GetDimensions(shape.get(), sizes.data(), sizes.size()));
  has_declared_size_[place] = sizes == bound_[place]->sizes;
  auto* to = ort_.ask<OrtValue*>(api.KernelContext_GetOutput, context, place, sizes.data(), sizes.size());
  const auto bytes = ort_.ask<std::size_t>(api.GetTensorSizeInBytes, from);
  if (bytes > 0)
    std::memcpy(ort_.ask<void*>(api.GetTensorMutableData, to), ort_.ask<const void*>(api.GetTensorData, from),
                bytes);
}

}  // namespace isomer::provider
