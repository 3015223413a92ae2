// BitShift: x shifted by y bits to the left or right, with zeros coming in, or, into a negative number from
// the left, ones (signed types exist since opset 28). Shifts by the type's width or more leave nothing but
// these; before opset 28 they are undefined.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_bit_shift(const Call& call) {
  const std::string direction = call.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return invalid("direction must be LEFT or RIGHT", "direction");
  if (direction == "LEFT") return elementwise(call, Fn::ShiftLeft, is_integer);
  return elementwise(
      call,
      [](const std::vector<Expr>& x) {
        const auto shifted = [&](const Expr& a) { return apply(Fn::ShiftRight, {a, x[1]}); };
        if (!is_signed_integer(x[0].type())) return shifted(x[0]);
        const auto complement = [](const Expr& a) { return apply(Fn::BitNot, {a}); };
        return where(apply(Fn::Less, {x[0], integer(x[0].type(), 0)}), complement(shifted(complement(x[0]))),
                     shifted(x[0]));
      },
      is_integer);
}

}  // namespace

extern const Operator kBitShift{
    .name = "BitShift",
    .doc = "y = a · 2^b, or the floor of a / 2^b, as the direction says",
    .define = define_bit_shift,
    .since = 11,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
