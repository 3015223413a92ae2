// com.microsoft.FusedConv: activation(Conv(x, w) + b + z).
#include "model/ops/conv.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

Expr activate(const Call& call, const Expr& x) {
  const std::string kind = call.text("activation", "");
  const auto* given = call.attributes.find_as<std::vector<float>>("activation_params");
  const auto parameter = [&](std::size_t k, float otherwise) {
    return static_cast<double>(given && k < given->size() ? (*given)[k] : otherwise);
  };
  if (!call.has_attribute("activation")) return x;
  if (kind == "Relu") return apply(Fn::Relu, {x});
  if (kind == "Tanh") return apply(Fn::Tanh, {x});
  if (kind == "Sigmoid") return apply(Fn::Sigmoid, {x});
  if (kind == "LeakyRelu")
    return where(apply(Fn::Less, {x, number(x.type(), 0)}), x * parameter(0, 0.01F), x);
  if (kind == "Clip")
    return apply(Fn::Min, {apply(Fn::Max, {x, number(x.type(), parameter(0, -3.4e38F))}),
                           number(x.type(), parameter(1, 3.4e38F))});
  if (kind == "HardSigmoid") {
    const Expr line = x * parameter(0, 0.2F) + parameter(1, 0.5F);
    return apply(Fn::Max, {apply(Fn::Min, {line, number(x.type(), 1)}), number(x.type(), 0)});
  }
  throw OpaqueCall("activation " + kind);
}

Definition define_fused_conv(const Call& call) {
  require_types(call, is_float);
  auto f = call.formula();
  const auto x = f.input(0), w = f.input(1);
  const auto at = read_convolution(call, f, x.shape(), w.shape());
  Expr y = sum(at.reduced, x.at(at.at_x) * w.at(at.at_w));
  if (call.has(2)) {
    require_shape(call, 2, {w.extent(0)});
    y = y + f.input(2)(at.p[1]);
  }
  if (call.has(3)) {
    Dims shape;
    for (const Axis& axis : at.p) shape.push_back(axis.extent);
    require_shape(call, 3, shape);
    y = y + f.input(3).at(to_indices(at.p));
  }
  f.output(at.p, activate(call, y));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMicrosoftFusedConv{
    .name = "FusedConv",
    .doc = "y = activation(Conv(x, w) + b + z)",
    .define = define_fused_conv,
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 4,
};

}  // namespace isomer::ops
