#include "model/graph/constant.h"

#include <fmt/format.h>

namespace isomer {
namespace {

struct ToTensor {
  std::optional<Tensor> operator()(const Tensor& x) const { return x; }
  std::optional<Tensor> operator()(std::int64_t x) const {
    return Tensor::of<std::int64_t>(ElementType::Int64, {}, {x});
  }
  std::optional<Tensor> operator()(float x) const { return Tensor::of<float>(ElementType::Float, {}, {x}); }
  std::optional<Tensor> operator()(const std::string& x) const { return Tensor({}, {x}); }
  std::optional<Tensor> operator()(const std::vector<std::int64_t>& x) const {
    return Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(x.size())}, x);
  }
  std::optional<Tensor> operator()(const std::vector<float>& x) const {
    return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(x.size())}, x);
  }
  std::optional<Tensor> operator()(const std::vector<std::string>& x) const {
    return Tensor({static_cast<std::int64_t>(x.size())}, x);
  }
  std::optional<Tensor> operator()(const RawAttribute&) const { return std::nullopt; }
};

// Attribute name -> the alternative of Attribute::Value that it must hold.
struct Form {
  std::string_view name;
  std::size_t alternative;
};
constexpr Form kForms[] = {{"value", 3},        {"value_int", 0},    {"value_ints", 4},   {"value_float", 1},
                           {"value_floats", 5}, {"value_string", 2}, {"value_strings", 6}};
static_assert(std::is_same_v<std::variant_alternative_t<3, Attribute::Value>, Tensor>);
static_assert(std::is_same_v<std::variant_alternative_t<5, Attribute::Value>, std::vector<float>>);

}  // namespace

bool is_constant_node(const Node& node) {
  return node.kind == NodeKind::Operator && node.op == "Constant" && node.domain.empty();
}

std::variant<Tensor, Opaque, Invalid> constant_of(const Node& node) {
  if (node.attributes.all().size() != 1)
    return Invalid{
        fmt::format("Constant needs exactly one value, here are {}", node.attributes.all().size())};
  const Attribute& given = node.attributes.all().front();
  if (given.name == "sparse_value") return Opaque{"sparse constant"};
  for (const Form& form : kForms) {
    if (form.name != given.name) continue;
    if (given.value.index() != form.alternative) break;
    return *std::visit(ToTensor{}, given.value);
  }
  return Invalid{"Constant has no such value", given.name};
}

std::optional<Tensor> known_constant(const Graph& graph, Value value) {
  if (!value.exists()) return std::nullopt;
  const Node& node = graph.node(value.node);
  if (node.kind == NodeKind::Initializer)
    return graph.is_overridable(value.node) ? std::nullopt : std::optional(node.tensor);
  if (!is_constant_node(node)) return std::nullopt;
  auto constant = constant_of(node);
  if (Tensor* tensor = std::get_if<Tensor>(&constant)) return std::move(*tensor);
  return std::nullopt;
}

}  // namespace isomer
