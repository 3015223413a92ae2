// ONNX Runtime's C API, as the provider calls it: a failure throws, and no exception leaves the provider.
#pragma once

#include <onnxruntime_plugin/onnxruntime_c_api.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/entry_cache.h"

namespace isomer::provider {

constexpr char kName[] = "IsomerExecutionProvider";

// The runtime's error.
class OrtError : public std::runtime_error {
 public:
  OrtError(OrtErrorCode kind, const std::string& why) : std::runtime_error(why), code(kind) {}
  OrtErrorCode code;
};

struct Ort {
  const OrtApi& api;
  const OrtEpApi& ep;
  std::string version;  // of the runtime

  // Throws what the status says, and frees it.
  void check(OrtStatus* status) const {
    if (!status) return;
    const OrtError error(api.GetErrorCode(status), api.GetErrorMessage(status));
    api.ReleaseStatus(status);
    throw error;
  }

  // For functions that the runtime calls: an exception becomes a status. An error of an operator of the model
  // stays the error that it is without the provider.
  template <class Work>
  OrtStatus* guard(Work&& work) const noexcept try {
    work();
    return nullptr;
  } catch (const OrtError& e) {
    return api.CreateStatus(e.code, e.what());
  } catch (const std::exception& e) {
    return api.CreateStatus(ORT_EP_FAIL, e.what());
  }

  // The value that a function of the API writes to its last argument.
  template <class Value, class... Given, class... Args>
  Value ask(OrtStatus*(ORT_API_CALL* function)(Given...) noexcept, Args... args) const {
    Value value{};
    check(function(args..., &value));
    return value;
  }

  // The elements of a list: its length is one function, its elements are another.
  template <class Element, class Count, class Elements, class Of>
  std::vector<const Element*> list(Count count, Elements elements, const Of* of) const {
    std::vector<const Element*> out(ask<std::size_t>(count, of));
    if (!out.empty()) check(elements(of, out.data(), out.size()));
    return out;
  }

  // Something that the API makes, with the function that releases it.
  template <class T>
  std::unique_ptr<T, void(ORT_API_CALL*)(T*)> own(T* made, void(ORT_API_CALL* release)(T*)) const {
    return {made, release};
  }
};

template <class T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

// Why a model is left to the runtime's own providers.
class Reason : public NoEntry {
 public:
  using NoEntry::NoEntry;
};

}  // namespace isomer::provider
