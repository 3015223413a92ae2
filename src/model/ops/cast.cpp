// Cast: the same number in another type. Floats become integers by truncation, anything but zero becomes
// true, integers that do not fit lose their high bits; a float that does not fit an integer type is
// undefined. `saturate` and `round_mode` speak of 8-bit floats only, which are not modelled.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_cast(const Call& call) {
  const std::int64_t to = call.integer("to", 0);
  if (to < 1 || to > kLastOnnxType) return invalid("to is not an element type", "to");
  const auto type = static_cast<ElementType>(to);
  if (!is_computable(type)) return opaque("element type " + std::string(name(type)));
  return elementwise(call, [&](const std::vector<Expr>& x) { return cast(x[0], type); }, is_computable);
}

}  // namespace

extern const Operator kCast{
    .name = "Cast",
    .doc = "y = x in another type",
    .define = define_cast,
    .most_inputs = 1,
};

}  // namespace isomer::ops
