// The C API of OpenVINO, loaded from the library that the user deploys. Only openvino*.cpp include this.
#pragma once

#include <openvino/c/openvino.h>

#include <memory>
#include <optional>
#include <string>

#include "runtime/engines/runtime.h"

namespace isomer::openvino {

// The functions we call, by their own names.
#define ISOMER_OPENVINO_FUNCTIONS(X)             \
  X(ov_get_openvino_version)                     \
  X(ov_version_free)                             \
  X(ov_get_error_info)                           \
  X(ov_get_last_err_msg)                         \
  X(ov_free)                                     \
  X(ov_core_create)                              \
  X(ov_core_free)                                \
  X(ov_core_set_property)                        \
  X(ov_core_add_extension)                       \
  X(ov_core_read_model)                          \
  X(ov_core_read_model_from_memory_buffer)       \
  X(ov_model_free)                               \
  X(ov_core_compile_model)                       \
  X(ov_compiled_model_free)                      \
  X(ov_compiled_model_inputs_size)               \
  X(ov_compiled_model_input_by_index)            \
  X(ov_compiled_model_outputs_size)              \
  X(ov_compiled_model_output_by_index)           \
  X(ov_compiled_model_create_infer_request)      \
  X(ov_port_get_any_name)                        \
  X(ov_port_get_element_type)                    \
  X(ov_port_get_partial_shape)                   \
  X(ov_partial_shape_free)                       \
  X(ov_output_const_port_free)                   \
  X(ov_infer_request_free)                       \
  X(ov_infer_request_set_tensor)                 \
  X(ov_infer_request_infer)                      \
  X(ov_infer_request_get_output_tensor_by_index) \
  X(ov_infer_request_get_profiling_info)         \
  X(ov_profiling_info_list_free)                 \
  X(ov_tensor_create_from_host_ptr)              \
  X(ov_tensor_get_shape)                         \
  X(ov_tensor_get_element_type)                  \
  X(ov_tensor_get_byte_size)                     \
  X(ov_tensor_data)                              \
  X(ov_tensor_free)                              \
  X(ov_shape_free)

struct Api {
#define ISOMER_OPENVINO_MEMBER(function) decltype(&::function) function = nullptr;
  ISOMER_OPENVINO_FUNCTIONS(ISOMER_OPENVINO_MEMBER)
#undef ISOMER_OPENVINO_MEMBER
  std::string version;

  static Outcome<std::shared_ptr<const Api>> open(const std::string& library);
  // Done, or what the library says of the status.
  Outcome<Done> check(ov_status_e status) const;
};

using ApiPointer = std::shared_ptr<const Api>;

// Something of the library's and the function that frees it.
template <class T, class Free>
class Handle {
 public:
  Handle(T* thing, Free free) : thing_(thing), free_(free) {}
  ~Handle() {
    if (thing_) free_(thing_);
  }
  Handle(Handle&& other) noexcept : thing_(std::exchange(other.thing_, nullptr)), free_(other.free_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  T* get() const { return thing_; }

 private:
  T* thing_;
  Free free_;
};

std::optional<ov_element_type_e> native(ElementType type);
ElementType from_native(ov_element_type_e type);

Outcome<Tensor> copy_tensor(const Api& api, const ov_tensor_t* tensor);
Outcome<ov_tensor_t*> make_tensor(const Api& api, const Tensor& tensor);  // over the same bytes

Outcome<std::unique_ptr<Session>> make_session(const ApiPointer& api, ov_core_t* core,
                                               const ModelPlace& model);
// The profile of the last run of a session made by make_session.
Outcome<std::vector<KernelKind>> read_profile(const Api& api, Session& session);

}  // namespace isomer::openvino

#define ISOMER_OV(api, call) ISOMER_TRY_DO((api).check((api).call))
