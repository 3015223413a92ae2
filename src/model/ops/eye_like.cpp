#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_eye_like(const Call& call) {
  if (call.rank(0) != 2) return invalid("EyeLike needs a matrix");
  const std::int64_t to = call.integer("dtype", static_cast<std::int64_t>(call.type(0)));
  if (to < 1 || to > kLastOnnxType) return invalid("dtype is not an element type", "dtype");
  const auto type = static_cast<ElementType>(to);
  if (!is_computable(type)) return opaque("element type " + std::string(name(type)));
  auto f = call.formula();
  const auto p = f.axes(call.shape(0));
  const Index diagonal = Index(p[0]) + Index(call.integer("k", 0));
  f.output(p, cases({{equal_to(p[1], diagonal), integer(type, 1)}}, integer(type, 0)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kEyeLike{
    .name = "EyeLike",
    .doc = "y[i, j] = 1 where j = i + k, else 0",
    .define = define_eye_like,
    .since = 9,
    .most_inputs = 1,
};

}  // namespace isomer::ops
