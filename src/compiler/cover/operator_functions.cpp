#include "compiler/cover/operator_functions.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "runtime/engines/ort_operator.h"

namespace isomer {
namespace {

class BodyMaker {
 public:
  BodyMaker(const std::string& op, Opsets opsets)
      : out_{.domain = kOrtOperatorDomain, .name = op, .attributes = {"weights"}, .body = {}} {
    out_.body.opsets = std::move(opsets);
    out_.body.name = op;
  }

  Value input(const std::string& name) {
    Node node;
    node.kind = NodeKind::Input;
    node.outputs = {name};
    const Value made{out_.body.add(std::move(node)), 0};
    out_.body.add_input(made);
    return made;
  }
  Value constant(const std::string& name, Tensor tensor) {
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {name};
    node.tensor = std::move(tensor);
    return {out_.body.add(std::move(node)), 0};
  }
  Value node(const std::string& op, const std::vector<Value>& inputs, const std::string& output,
             const std::function<void(Attributes&)>& set = {}) {
    Node node;
    node.op = op;
    node.inputs = inputs;
    node.outputs = {output};
    if (set) set(node.attributes);
    return {out_.body.add(std::move(node)), 0};
  }
  void output(Value value) { out_.body.add_output(value); }
  LocalFunction take() { return std::move(out_); }

 private:
  LocalFunction out_;
};

}  // namespace

LocalFunction function_of(const RegionProgram& region, const std::string& op) {
  return {.domain = kOrtOperatorDomain, .name = op, .attributes = {"weights"}, .body = region.graph};
}

LocalFunction stand_in_of(const RegionProgram& region, const std::string& op) {
  BodyMaker body(op, region.graph.opsets);
  Value first = Value::none();
  for (std::size_t k = 0; k < region.inputs.size(); ++k) {
    const Value made = body.input(fmt::format("x{}", k));
    if (k == 0) first = made;
  }
  const auto ints = [](const std::vector<std::int64_t>& values) {
    return Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values);
  };
  // Extents that no one infers: what was inferred of them could contradict what is declared around.
  const Value count = body.node("ReduceMax", {body.node("Shape", {first}, "extents")}, "count");
  for (std::size_t k = 0; k < region.graph.outputs().size(); ++k) {
    const DeclaredType& type = region.graph.declared().at(region.graph.name_of(region.graph.outputs()[k]));
    const auto rank = static_cast<std::int64_t>(type.shape->size());
    const Value shape = body.node("Expand", {count, body.constant(fmt::format("rank{}", k), ints({rank}))},
                                  fmt::format("shape{}", k));
    const Value zeros = body.node("ConstantOfShape", {shape}, fmt::format("zeros{}", k));
    body.output(body.node("Cast", {zeros}, fmt::format("y{}", k), [&](Attributes& attributes) {
      attributes.set("to", static_cast<std::int64_t>(type.type));
    }));
  }
  return body.take();
}

LocalFunction no_case_of(const std::string& op, std::size_t inputs, std::size_t cases,
                         std::optional<std::size_t> sizes, const Opsets& opsets) {
  BodyMaker body(op, opsets);
  for (std::size_t k = 0; k < inputs; ++k) (void)body.input(fmt::format("x{}", k));
  for (std::size_t k = 0; k < cases; ++k)
    body.output(body.constant(fmt::format("case{}", k),
                              Tensor::of(ElementType::Bool, {}, std::vector<std::uint8_t>{0})));
  if (sizes)
    body.output(body.constant("sizes", Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(*sizes)},
                                                  std::vector<std::int64_t>(*sizes, 1))));
  return body.take();
}

}  // namespace isomer
