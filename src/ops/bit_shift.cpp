// BitShift: x shifted by y bits to the left or right, with zeros coming in. Shifts by the type's width or
// more are undefined before opset 28; signed types exist only since.
#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_bit_shift(const Call& call) {
  const std::string direction = call.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return invalid("direction must be LEFT or RIGHT", "direction");
  if (is_signed_integer(call.type(0))) {
    if (call.opset < 28) return invalid("BitShift is not defined for signed integers");
    return opaque("BitShift of signed integers");  // no runtime yet computes it
  }
  return elementwise(call, direction == "LEFT" ? Fn::ShiftLeft : Fn::ShiftRight, is_integer);
}

void sample_bit_shift(Sampler& s) {
  using enum ElementType;
  const ElementType type = s.pick({Uint8, Uint32, Uint64});
  const Extents a = s.shape(0, 4), b = s.broadcastable(a);
  s.input(type, a, Sampler::Values::Wide);
  s.input(type, b, Sampler::Values::Small);
  s.attribute("direction", std::string(s.chance(0.5) ? "LEFT" : "RIGHT"));
}

}  // namespace

extern const Operator kBitShift{
    .name = "BitShift",
    .doc = "y = a · 2^b, or the floor of a / 2^b, as the direction says",
    .define = define_bit_shift,
    .sample = sample_bit_shift,
    .since = 11,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
