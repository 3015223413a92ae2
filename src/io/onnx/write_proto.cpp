#include "io/onnx/write_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/onnx/read_tensor.h"
#include "io/onnx/tensor_walk.h"
#include "model/ops/schemas.h"

namespace isomer::wire {
namespace {

constexpr std::int64_t kFirstIrWithoutListedInitializers = 4;
// New tensors of models with external data go there too, from the size that onnx's own savers use.
constexpr std::size_t kSmallestExternal = 1024;

// Fills a ModelOut; the steps are in the order of the wire.
class Filler {
 public:
  Filler(ModelOut& out, const Model& model, const ModelShell& shell)
      : out_(out), graph_(model.graph), ir_version_(model.ir_version), shell_(shell) {}

  Status run() {
    ISOMER_TRY_DO(add_nodes());
    add_initializers();
    add_rest();
    add_interface();
    add_head_and_tail();
    return Done{};
  }

 private:
  // Nodes are never changed in their store: the same place is the same node.
  bool is_original(NodeId id) const {
    return shell_.original.contains(id) && &shell_.original.node(id) == &graph_.node(id);
  }
  template <class Map>
  typename Map::mapped_type original(const Map& messages, NodeId id) const {
    const auto found = is_original(id) ? messages.find(id) : messages.end();
    return found == messages.end() ? nullptr : found->second;
  }
  // The message as it is, or a copy of it if its external data must be moved.
  template <class Message>
  const Message* with_movable_data(const Message& message);

  Status add_nodes();
  void add_initializers();
  void add_rest();
  void add_interface();
  void add_head_and_tail();

  ModelOut& out_;
  const Graph& graph_;
  std::int64_t ir_version_;
  const ModelShell& shell_;
};

template <class Message>
const Message* Filler::with_movable_data(const Message& message) {
  TensorWalk found;
  found.add(message);
  if (std::ranges::none_of(found.tensors, [](const auto* tensor) { return is_external(*tensor); }))
    return &message;
  auto* copy = Arena::CreateMessage<Message>(&out_.arena);
  *copy = message;
  TensorWalk copied;
  copied.add(*copy);
  for (const onnx::TensorProto* tensor : copied.tensors) {
    // Safe: the tensor is part of `copy`, which is ours and not const.
    if (is_external(*tensor)) out_.external.push_back(const_cast<onnx::TensorProto*>(tensor));
  }
  return copy;
}

Status Filler::add_nodes() {
  for (const NodeId id : graph_.order()) {
    if (graph_.node(id).kind != NodeKind::Operator || original(shell_.sparse_initializers, id) != nullptr)
      continue;
    const onnx::NodeProto* proto = original(shell_.nodes, id);
    if (proto == nullptr) {
      ISOMER_TRY(proto, make_node(graph_, graph_.node(id), out_.arena));
    }
    out_.nodes.push_back(with_movable_data(*proto));
  }
  return Done{};
}

void Filler::add_initializers() {
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::Initializer) continue;
    if (const auto* proto = original(shell_.initializers, id)) {
      out_.initializers.push_back({with_movable_data(*proto)});
      continue;
    }
    auto* proto = Arena::CreateMessage<onnx::TensorProto>(&out_.arena);
    *proto = tensor_header(node.tensor, node.outputs[0]);
    if (node.tensor.type() == ElementType::String) {
      for (const std::string& text : node.tensor.strings()) proto->add_string_data(text);
      out_.initializers.push_back({proto});
      continue;
    }
    if (node.tensor.bytes().size >= kSmallestExternal) out_.movable.push_back(out_.initializers.size());
    // An empty tensor has no bytes that could follow the message.
    if (node.tensor.bytes().size == 0) proto->set_raw_data("");
    out_.initializers.push_back({proto, node.tensor.bytes().size == 0 ? Bytes{} : node.tensor.bytes()});
  }
}

// Names of values that the graph had and no longer has: what is said of them goes too.
std::set<std::string_view> removed_names(const Graph& before, const Graph& after) {
  std::set<std::string_view> removed;
  for (const NodeId id : before.order()) {
    for (const std::string& name : before.node(id).outputs) removed.insert(name);
  }
  for (const NodeId id : after.order()) {
    for (const std::string& name : after.node(id).outputs) removed.erase(name);
  }
  return removed;
}

template <class List, class Keep>
void keep_only(List& list, const Keep& keep) {
  list.erase(std::remove_if(list.begin(), list.end(), [&](const auto& element) { return !keep(element); }),
             list.end());
}

void Filler::add_rest() {
  if (shell_.bulk->has_name()) out_.name = shell_.bulk->name();
  out_.rest = Arena::CreateMessage<onnx::GraphProto>(&out_.arena);
  *out_.rest = *shell_.graph;
  const std::set<std::string_view> removed = removed_names(shell_.original, graph_);
  if (!removed.empty()) {
    keep_only(*out_.rest->mutable_value_info(),
              [&](const auto& info) { return !removed.contains(info.name()); });
    keep_only(*out_.rest->mutable_quantization_annotation(),
              [&](const auto& annotation) { return !removed.contains(annotation.tensor_name()); });
    keep_only(*out_.rest->mutable_sparse_initializer(),
              [&](const auto& tensor) { return !removed.contains(tensor.values().name()); });
  }
  for (auto& tensor : *out_.rest->mutable_sparse_initializer()) {
    if (is_external(tensor.values())) out_.external.push_back(tensor.mutable_values());
    if (is_external(tensor.indices())) out_.external.push_back(tensor.mutable_indices());
  }
}

// Graph inputs and outputs are as they were. Before IR 4 every initializer is listed as an input, too.
void Filler::add_interface() {
  std::set<std::string_view> inputs, initializers;
  for (const Value& input : graph_.inputs()) inputs.insert(graph_.name_of(input));
  for (const InitializerOut& initializer : out_.initializers) initializers.insert(initializer.proto->name());
  const bool lists_initializers = ir_version_ < kFirstIrWithoutListedInitializers;
  keep_only(*out_.rest->mutable_input(), [&](const onnx::ValueInfoProto& info) {
    return inputs.contains(info.name()) || (lists_initializers && initializers.contains(info.name()));
  });
  std::set<std::string_view> listed;
  for (const auto& input : out_.rest->input()) listed.insert(input.name());
  for (const std::string_view input : inputs)
    ISOMER_CHECK(listed.contains(input), "a graph input that the file doesn't have");
  for (const InitializerOut& initializer : out_.initializers) {
    if (!lists_initializers || listed.contains(initializer.proto->name())) continue;
    onnx::ValueInfoProto& info = *out_.rest->add_input();
    info.set_name(initializer.proto->name());
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(initializer.proto->data_type());
    type.mutable_shape();
    for (const std::int64_t extent : initializer.proto->dims())
      type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  ISOMER_CHECK(static_cast<std::size_t>(out_.rest->output_size()) == graph_.outputs().size(),
               "outputs are as they were");
  for (int k = 0; k < out_.rest->output_size(); ++k) {
    ISOMER_CHECK(out_.rest->output(k).name() == graph_.name_of(graph_.outputs()[static_cast<std::size_t>(k)]),
                 "output names are as they were");
  }
}

void Filler::add_head_and_tail() {
  out_.head = shell_.head;
  out_.tail = with_movable_data(*shell_.tail);
  std::set<std::string_view> imported;
  for (const auto& import : shell_.tail->opset_import()) imported.insert(normal_domain(import.domain()));
  if (std::ranges::all_of(graph_.opsets, [&](const auto& opset) { return imported.contains(opset.first); }))
    return;
  auto* tail = Arena::CreateMessage<onnx::ModelProto>(&out_.arena);
  *tail = *shell_.tail;
  for (const auto& [domain, version] : graph_.opsets) {
    if (imported.contains(domain)) continue;
    auto& import = *tail->add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  out_.tail = with_movable_data(*tail);
}

}  // namespace

std::shared_ptr<const ModelShell> make_shell(const Model& model) {
  auto shell = std::make_shared<ModelShell>();
  shell->arena = std::make_shared<Arena>();
  shell->head = Arena::CreateMessage<onnx::ModelProto>(shell->arena.get());
  shell->tail = Arena::CreateMessage<onnx::ModelProto>(shell->arena.get());
  shell->graph = Arena::CreateMessage<onnx::GraphProto>(shell->arena.get());
  shell->bulk = Arena::CreateMessage<onnx::GraphProto>(shell->arena.get());
  shell->files = std::make_unique<ExternalFiles>(std::filesystem::path());
  shell->head->set_ir_version(model.ir_version);
  shell->head->set_producer_name("isomer");
  shell->bulk->set_name(model.graph.name.empty() ? "graph" : model.graph.name);
  for (const Value& input : model.graph.inputs()) {
    onnx::ValueInfoProto& info = *shell->graph->add_input();
    info.set_name(model.graph.name_of(input));
    const DeclaredType& declared = model.graph.node(input.node).declared;
    if (declared.type != ElementType::Undefined) write_type(declared, *info.mutable_type());
  }
  for (const Value& output : model.graph.outputs()) {
    onnx::ValueInfoProto& info = *shell->graph->add_output();
    info.set_name(model.graph.name_of(output));
    const auto declared = model.graph.declared().find(info.name());
    if (declared != model.graph.declared().end()) write_type(declared->second, *info.mutable_type());
  }
  // Shapes of custom-domain outputs are known only from this declaration, so it is kept.
  const std::set<Value> outputs(model.graph.outputs().begin(), model.graph.outputs().end());
  for (const NodeId id : model.graph.order()) {
    const Node& node = model.graph.node(id);
    if (node.kind != NodeKind::Operator || node.domain.empty()) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const auto declared = model.graph.declared().find(node.outputs[k]);
      if (declared == model.graph.declared().end() || outputs.contains({id, k})) continue;
      onnx::ValueInfoProto& info = *shell->graph->add_value_info();
      info.set_name(node.outputs[k]);
      write_type(declared->second, *info.mutable_type());
    }
  }
  return shell;
}

Status fill(ModelOut& out, const Model& model, const ModelShell& shell) {
  return Filler(out, model, shell).run();
}

}  // namespace isomer::wire
