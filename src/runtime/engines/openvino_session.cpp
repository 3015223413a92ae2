#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/engines/openvino_api.h"

namespace isomer::openvino {
namespace {

using Compiled = Handle<ov_compiled_model_t, decltype(&::ov_compiled_model_free)>;
using Request = Handle<ov_infer_request_t, decltype(&::ov_infer_request_free)>;

Outcome<PortInfo> port_info(const Api& api, ov_output_const_port_t* port) {
  const Handle owner(port, api.ov_output_const_port_free);
  char* name = nullptr;
  ISOMER_OV(api, ov_port_get_any_name(port, &name));
  PortInfo info{name};
  api.ov_free(name);
  ov_element_type_e type = DYNAMIC;
  ISOMER_OV(api, ov_port_get_element_type(port, &type));
  info.type = from_native(type);
  ov_partial_shape_t shape{};
  ISOMER_OV(api, ov_port_get_partial_shape(port, &shape));
  if (shape.rank.min == shape.rank.max)
    for (std::int64_t i = 0; i < shape.rank.max; ++i)
      info.extents.push_back(shape.dims[i].min == shape.dims[i].max ? shape.dims[i].min : -1);
  api.ov_partial_shape_free(&shape);
  return info;
}

Outcome<Signature> read_signature(const Api& api, const ov_compiled_model_t* model) {
  Signature signature;
  std::size_t inputs = 0, outputs = 0;
  ISOMER_OV(api, ov_compiled_model_inputs_size(model, &inputs));
  ISOMER_OV(api, ov_compiled_model_outputs_size(model, &outputs));
  ov_output_const_port_t* port = nullptr;
  for (std::size_t i = 0; i < inputs; ++i) {
    ISOMER_OV(api, ov_compiled_model_input_by_index(model, i, &port));
    ISOMER_TRY(PortInfo info, port_info(api, port));
    signature.inputs.push_back(std::move(info));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    ISOMER_OV(api, ov_compiled_model_output_by_index(model, i, &port));
    ISOMER_TRY(PortInfo info, port_info(api, port));
    signature.outputs.push_back(std::move(info));
  }
  return signature;
}

class OpenVinoModel final : public Session {
 public:
  OpenVinoModel(ApiPointer api, Compiled compiled, Request request, Signature signature)
      : api_(std::move(api)),
        compiled_(std::move(compiled)),
        request_(std::move(request)),
        signature_(std::move(signature)) {}
  ~OpenVinoModel() override { release(); }

  const Signature& signature() const override { return signature_; }

  Outcome<Done> bind(const NamedTensors& feeds) override {
    release();
    feeds_ = feeds;
    for (const PortInfo& port : signature_.inputs) {
      const auto feed = feeds_.find(port.name);
      if (feed == feeds_.end())
        return Failure{FailureKind::Refused, fmt::format("no feed for the input '{}'", port.name)};
      ISOMER_TRY(ov_tensor_t * tensor, make_tensor(*api_, feed->second));
      tensors_.push_back(tensor);
      ISOMER_OV(*api_, ov_infer_request_set_tensor(request_.get(), port.name.c_str(), tensor));
    }
    return Done{};
  }

  Outcome<Done> run() override { return api_->check(api_->ov_infer_request_infer(request_.get())); }

  Outcome<NamedTensors> outputs() override {
    NamedTensors outputs;
    for (std::size_t i = 0; i < signature_.outputs.size(); ++i) {
      ov_tensor_t* tensor = nullptr;
      ISOMER_OV(*api_, ov_infer_request_get_output_tensor_by_index(request_.get(), i, &tensor));
      const Handle owner(tensor, api_->ov_tensor_free);
      ISOMER_TRY(Tensor copy, copy_tensor(*api_, tensor));
      outputs.insert_or_assign(signature_.outputs[i].name, std::move(copy));
    }
    return outputs;
  }

  const ov_infer_request_t* request() const { return request_.get(); }

 private:
  void release() {
    for (ov_tensor_t* tensor : tensors_) api_->ov_tensor_free(tensor);
    tensors_.clear();
  }

  ApiPointer api_;
  Compiled compiled_;
  Request request_;
  Signature signature_;
  NamedTensors feeds_;  // keeps the bytes alive that tensors_ point to
  std::vector<ov_tensor_t*> tensors_;
};

}  // namespace

Outcome<std::unique_ptr<Session>> make_session(const ApiPointer& api, ov_core_t* core,
                                               const ModelPlace& place) {
  ov_model_t* model = nullptr;
  if (place.path.empty())
    ISOMER_OV(*api, ov_core_read_model_from_memory_buffer(core, static_cast<const char*>(place.data),
                                                          place.size, nullptr, &model));
  else ISOMER_OV(*api, ov_core_read_model(core, place.path.c_str(), nullptr, &model));
  const Handle model_owner(model, api->ov_model_free);
  ov_compiled_model_t* compiled_model = nullptr;
  ISOMER_OV(*api, ov_core_compile_model(core, model, "CPU", 0, &compiled_model));
  Compiled compiled(compiled_model, api->ov_compiled_model_free);
  ov_infer_request_t* infer_request = nullptr;
  ISOMER_OV(*api, ov_compiled_model_create_infer_request(compiled_model, &infer_request));
  Request request(infer_request, api->ov_infer_request_free);
  ISOMER_TRY(Signature signature, read_signature(*api, compiled_model));
  return std::unique_ptr<Session>(
      new OpenVinoModel(api, std::move(compiled), std::move(request), std::move(signature)));
}

Outcome<std::vector<KernelKind>> read_profile(const Api& api, Session& session) {
  ov_profiling_info_list_t list{};
  ISOMER_OV(api, ov_infer_request_get_profiling_info(static_cast<OpenVinoModel&>(session).request(), &list));
  std::map<std::string, KernelKind> kinds;
  for (std::size_t i = 0; i < list.size; ++i) {
    const ov_profiling_info_t& node = list.profiling_infos[i];
    if (node.status != ov_profiling_info_t::EXECUTED) continue;
    KernelKind& kind = kinds[node.node_type];
    kind.op = node.node_type;
    ++kind.nodes;
    kind.each.push_back(
        {node.node_name, 1000.0 * static_cast<double>(node.real_time), static_cast<std::int64_t>(i)});
    kind.time_ns += kind.each.back().time_ns;
  }
  api.ov_profiling_info_list_free(&list);
  std::vector<KernelKind> result;
  for (auto& [op, kind] : kinds) result.push_back(std::move(kind));
  std::ranges::sort(result, std::greater{}, &KernelKind::time_ns);
  return result;
}

}  // namespace isomer::openvino
