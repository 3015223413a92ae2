// Clip: min(max(x, min), max), in this order, so that max wins where min > max. The bounds are attributes
// before opset 11 and inputs since. A bound that is not given is the type's own limit, which only infinities
// can exceed: it is written down only where neither is given.
#include "model/ops/shared/define.h"

#include <limits>

namespace isomer::ops {
namespace {

struct Bounds {
  Expr low, high;
};

Bounds read_bounds(const Call& call, const FormulaBuilder& f) {
  const ElementType type = call.type(0);
  if (call.opset >= 11) {
    for (int k = 1; k <= 2; ++k)
      if (call.has(k) && call.type(k) != type)
        throw IllegalCall("the bounds have another type than the input");
    return {.low = call.has(1) ? scalar(call, f, 1) : Expr(),
            .high = call.has(2) ? scalar(call, f, 2) : Expr()};
  }
  Bounds out;
  if (call.has_attribute("min") && call.has_attribute("max") && !(call.real("min", 0) <= call.real("max", 0)))
    throw OpaqueCall("a lower bound above the upper one, which ONNX Runtime refuses");
  if (call.has_attribute("min")) out.low = number(type, call.real("min", 0));
  if (call.has_attribute("max")) out.high = number(type, call.real("max", 0));
  return out;
}

Definition define_clip(const Call& call) {
  const ElementType type = call.type(0);
  if (!(call.opset < 12 ? is_float(type) : is_number(type)))
    return invalid("Clip is not defined for this type");
  auto f = call.formula();
  const auto x = f.input(0);
  Bounds bounds = read_bounds(call, f);
  if (!bounds.low && !bounds.high) {
    if (!is_float(type)) return identity(call);
    if (type != ElementType::Float) return opaque("no bounds, and a type other than float");
    bounds.low = number(type, std::numeric_limits<float>::lowest());
    bounds.high = number(type, std::numeric_limits<float>::max());
  }
  const auto p = f.axes(x.shape());
  Expr y = x.at(to_indices(p));
  if (bounds.low) y = apply(Fn::Max, {y, bounds.low});
  if (bounds.high) y = apply(Fn::Min, {y, bounds.high});
  f.output(p, y);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kClip{
    .name = "Clip",
    .doc = "y = min(max(x, min), max)",
    .define = define_clip,
    .most_inputs = 3,
};

}  // namespace isomer::ops
