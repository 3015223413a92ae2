#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/engines/ort_api.h"

namespace isomer::ort {
namespace {

Outcome<PortInfo> port_info(const Api& api, std::string name, OrtTypeInfo* info) {
  const auto read = [&]() -> Outcome<PortInfo> {
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    ISOMER_ORT(api, CastTypeInfoToTensorInfo(info, &tensor));
    if (!tensor) return PortInfo{std::move(name)};  // a sequence, a map
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    ISOMER_ORT(api, GetTensorElementType(tensor, &type));
    ISOMER_ORT(api, GetDimensionsCount(tensor, &rank));
    PortInfo port{std::move(name), static_cast<ElementType>(type), std::vector<std::int64_t>(rank)};
    ISOMER_ORT(api, GetDimensions(tensor, port.extents.data(), rank));
    return port;
  };
  auto port = read();
  api->ReleaseTypeInfo(info);
  return port;
}

Outcome<Signature> read_signature(const Api& api, const OrtSession* session) {
  Signature signature;
  std::size_t inputs = 0, outputs = 0;
  ISOMER_ORT(api, SessionGetInputCount(session, &inputs));
  ISOMER_ORT(api, SessionGetOutputCount(session, &outputs));
  for (std::size_t i = 0; i < inputs; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    ISOMER_ORT(api, SessionGetInputName(session, i, api.allocator(), &name));
    std::string text = api.take(name);
    ISOMER_ORT(api, SessionGetInputTypeInfo(session, i, &type));
    ISOMER_TRY(PortInfo port, port_info(api, std::move(text), type));
    signature.inputs.push_back(std::move(port));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    ISOMER_ORT(api, SessionGetOutputName(session, i, api.allocator(), &name));
    std::string text = api.take(name);
    ISOMER_ORT(api, SessionGetOutputTypeInfo(session, i, &type));
    ISOMER_TRY(PortInfo port, port_info(api, std::move(text), type));
    signature.outputs.push_back(std::move(port));
  }
  return signature;
}

Outcome<std::set<std::string>> overridable_names(const Api& api, const OrtSession* session) {
  std::set<std::string> names;
  std::size_t count = 0;
  ISOMER_ORT(api, SessionGetOverridableInitializerCount(session, &count));
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    ISOMER_ORT(api, SessionGetOverridableInitializerName(session, i, api.allocator(), &name));
    names.insert(api.take(name));
  }
  return names;
}

class OrtModel final : public Session {
 public:
  OrtModel(ApiPointer api, OrtSession* session, Signature signature)
      : api_(std::move(api)), session_(session), signature_(std::move(signature)) {
    for (const PortInfo& port : signature_.outputs) {
      output_names_.push_back(port.name);
      output_pointers_.push_back(nullptr);
    }
    results_.resize(output_names_.size(), nullptr);
    for (std::size_t i = 0; i < output_names_.size(); ++i) output_pointers_[i] = output_names_[i].c_str();
  }
  ~OrtModel() override {
    release(results_);
    release(values_);
    (*api_)->ReleaseSession(session_);
  }

  const Signature& signature() const override { return signature_; }

  Outcome<Done> bind(const NamedTensors& feeds) override {
    release(values_);
    values_.clear();
    names_.clear();
    pointers_.clear();
    for (const PortInfo& port : signature_.inputs)
      if (!feeds.contains(port.name))
        return Failure{FailureKind::Refused, fmt::format("no feed for the input '{}'", port.name)};
    feeds_ = feeds;
    ISOMER_TRY(std::set<std::string> wanted, overridable_names(*api_, session_));
    for (const PortInfo& port : signature_.inputs) wanted.insert(port.name);
    for (const auto& [name, tensor] : feeds_) {
      if (!wanted.contains(name)) continue;  // of two models with one set of feeds, one may not use all
      ISOMER_TRY(OrtValue * value, make_value(*api_, tensor));
      values_.push_back(value);
      names_.push_back(name);
    }
    for (const std::string& name : names_) pointers_.push_back(name.c_str());
    return Done{};
  }

  Outcome<Done> run() override {
    release(results_);
    std::ranges::fill(results_, nullptr);
    OrtStatus* status = (*api_)->Run(session_, nullptr, pointers_.data(), values_.data(), values_.size(),
                                     output_pointers_.data(), output_pointers_.size(), results_.data());
    return api_->check(status);
  }

  Outcome<NamedTensors> outputs() override { return copy_outputs(*api_, output_names_, results_); }

  OrtSession* handle() const { return session_; }

 private:
  void release(const std::vector<OrtValue*>& values) {
    for (OrtValue* value : values)
      if (value) (*api_)->ReleaseValue(value);
  }

  ApiPointer api_;
  OrtSession* session_;
  Signature signature_;
  NamedTensors feeds_;  // keeps the bytes alive that values_ point to
  std::vector<std::string> names_, output_names_;
  std::vector<const char*> pointers_, output_pointers_;
  std::vector<OrtValue*> values_, results_;
};

}  // namespace

Outcome<std::unique_ptr<Session>> make_session(const ApiPointer& api, const ModelPlace& model,
                                               const OrtSessionOptions* options) {
  OrtSession* session = nullptr;
  if (model.path.empty())
    ISOMER_ORT(*api, CreateSessionFromArray(api->env(), model.data, model.size, options, &session));
  else ISOMER_ORT(*api, CreateSession(api->env(), model.path.c_str(), options, &session));
  auto signature = read_signature(*api, session);
  if (!signature) {
    (*api)->ReleaseSession(session);
    return signature.error();
  }
  return std::unique_ptr<Session>(new OrtModel(api, session, std::move(*signature)));
}

Outcome<std::string> end_profiling(const Api& api, Session& session) {
  char* path = nullptr;
  ISOMER_ORT(api, SessionEndProfiling(static_cast<OrtModel&>(session).handle(), api.allocator(), &path));
  return api.take(path);
}

}  // namespace isomer::ort
