#include "propose/program_builder.h"

namespace isomer {

Value ProgramBuilder::input(const std::string& name, const DeclaredType& type) {
  for (const Value& v : graph_.inputs())
    if (graph_.name_of(v) == name) return v;
  Node node;
  node.kind = NodeKind::Input;
  node.outputs = {name};
  node.declared = type;
  const Value v{graph_.add(std::move(node)), 0};
  graph_.add_input(v);
  return v;
}

Value ProgramBuilder::constant(Tensor tensor) {
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {fresh()};
  node.tensor = std::move(tensor);
  return {graph_.add(std::move(node)), 0};
}

Value ProgramBuilder::integers(const std::vector<std::int64_t>& values) {
  return constant(Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values));
}

Value ProgramBuilder::scalar_integer(std::int64_t value) {
  return constant(Tensor::of(ElementType::Int64, {}, std::vector<std::int64_t>{value}));
}

Value ProgramBuilder::op(const std::string& op, const std::vector<Value>& inputs,
                         const Attributes& attributes) {
  Node node;
  node.op = op;
  node.attributes = attributes;
  return copy(std::move(node), inputs);
}

Value ProgramBuilder::copy(Node node, const std::vector<Value>& inputs) {
  node.inputs = inputs;
  if (node.outputs.empty()) node.outputs = {""};
  for (std::string& output : node.outputs) output = fresh();
  node.name = node.outputs[0];
  node.extras.clear();
  return {graph_.add(std::move(node)), 0};
}

Attributes with(std::vector<std::pair<std::string, Attribute::Value>> list) {
  Attributes out;
  for (auto& [name, value] : list) out.set(std::move(name), std::move(value));
  return out;
}

}  // namespace isomer
