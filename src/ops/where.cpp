#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_where(const Call& call) {
  if (call.type(0) != ElementType::Bool) return invalid("the condition is not of type bool");
  if (call.type(1) != call.type(2)) return invalid("the inputs have different types");
  return broadcasting(call, [](const std::vector<Expr>& x) { return where(x[0], x[1], x[2]); });
}

void sample_where(Sampler& s) {
  using enum ElementType;
  const ElementType type = s.pick({Float, Double, Int32, Int64, Int8, Uint32, Uint8});
  const Extents shape = s.shape(0, 4);
  Extents parts[3] = {shape, shape, shape};
  for (Extents& part : parts) {
    part.erase(part.begin(), part.begin() + s.between(0, static_cast<std::int64_t>(part.size())));
    for (std::int64_t& e : part)
      if (s.chance(0.2)) e = 1;
  }
  s.input(Bool, parts[0]);
  s.input(type, parts[1]);
  s.input(type, parts[2]);
}

}  // namespace

extern const Operator kWhere{
    .name = "Where",
    .doc = "y = a where the condition holds, else b",
    .define = define_where,
    .sample = sample_where,
    .since = 9,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
