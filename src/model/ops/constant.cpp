// Constant: a tensor in an attribute. Graphs know constants by their bytes; the formula of a small one is a
// table.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

constexpr std::int64_t kLargestTable =
    64;  // elements; larger tables make formulas that are too large to read or to prove with

std::optional<Tensor> read_value(const Call& call) {
  const Attributes& a = call.attributes;
  if (const auto* tensor = a.find_as<Tensor>("value")) return *tensor;
  if (const auto* one = a.find_as<float>("value_float"))
    return Tensor::of<float>(ElementType::Float, {}, {*one});
  if (const auto* one = a.find_as<std::int64_t>("value_int"))
    return Tensor::of<std::int64_t>(ElementType::Int64, {}, {*one});
  if (const auto* many = a.find_as<std::vector<float>>("value_floats"))
    return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(many->size())}, *many);
  if (const auto* many = a.find_as<std::vector<std::int64_t>>("value_ints"))
    return Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(many->size())}, *many);
  return std::nullopt;
}

Definition define_constant(const Call& call) {
  if (call.attributes.all().size() != 1) return invalid("Constant has one attribute, its value");
  const auto value = read_value(call);
  if (!value) return opaque("a constant of strings or a sparse one");
  if (!is_computable(value->type())) return opaque("element type " + std::string(name(value->type())));
  if (value->count() > kLargestTable) return opaque("a large constant");
  auto f = call.formula();
  const Dims shape = to_dims(value->extents());
  const auto p = f.axes(shape);
  std::vector<Expr> elements{integer(value->type(), 0)};  // for a tensor without elements
  if (value->count() > 0) elements.clear();
  for (std::int64_t k = 0; k < value->count(); ++k) elements.push_back(constant_element(*value, k));
  f.output(p, tabulate(linearize(to_indices(p), shape), elements));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kConstant{
    .name = "Constant",
    .doc = "y = the attribute's value",
    .define = define_constant,
    .least_inputs = 0,
    .most_inputs = 0,
};

}  // namespace isomer::ops
