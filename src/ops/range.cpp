// Range: start, start + delta, ... up to limit, without it. The limits must be known, since they make the
// shape.
#include <cmath>

#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_integers(const Call& call) {
  Dims known;
  for (int k = 0; k < 3; ++k) {
    const auto& value = call.in(k).integers;
    if (!value || value->size() != 1) return opaque("start, limit or delta is not known");
    known.push_back(value->front());
  }
  const Dim &start = known[0], &limit = known[1], &delta = known[2];
  if (!delta.is_concrete()) return opaque("delta is symbolic");
  if (delta.is(0)) return invalid("delta is zero");
  const bool rises = delta.concrete() > 0;
  const Dim length = Dim::max(rises ? limit - start : start - limit, 0);
  auto f = call.formula();
  const auto p = f.axis(Dim::ceil(length, rises ? delta : Dim(0) - delta));
  f.output({p}, index_number(Index(start) + delta * Index(p), call.type(0)));
  return std::move(f).finish();
}

Definition define_floats(const Call& call) {
  double known[3] = {0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    const auto& value = call.in(k).constant;
    if (!value || value->count() != 1) return opaque("start, limit or delta is not known");
    known[k] = value->doubles()->front();
  }
  const auto [start, limit, delta] = known;
  const double count = std::ceil((limit - start) / delta);
  if (!(count < 0x1p53)) return invalid("the number of elements is not finite");
  auto f = call.formula();
  const auto p = f.axis(static_cast<std::int64_t>(std::max(count, 0.0)));
  f.output({p}, index_number(p, call.type(0)) * delta + start);
  return std::move(f).finish();
}

template <class T>
void sample_limits(Sampler& s, ElementType type, T unit) {
  const std::int64_t start = s.between(-5, 5), delta = s.pick({1, 2, 3, -1, -2});
  const std::int64_t limit = start + delta * s.between(0, 6) + s.between(-1, 1);
  for (const std::int64_t value : {start, limit, delta})
    s.constant(Tensor::of<T>(type, {}, {static_cast<T>(static_cast<T>(value) * unit)}));
}

Definition define_range(const Call& call) {
  for (int k = 0; k < 3; ++k) {
    if (call.type(k) != call.type(0) || !is_number(call.type(0)))
      return invalid("the inputs must be numbers of one type");
    if (!call.may_equal(product(call.shape(k)), 1)) return invalid("the inputs must be scalars");
  }
  return is_float(call.type(0)) ? define_floats(call) : define_integers(call);
}

void sample_range(Sampler& s) {
  using enum ElementType;
  switch (s.between(0, 4)) {
    case 0: return sample_limits<float>(s, Float, 0.25f);
    case 1: return sample_limits<double>(s, Double, 0.5);
    case 2: return sample_limits<std::int16_t>(s, Int16, 1);
    case 3: return sample_limits<std::int32_t>(s, Int32, 1);
    default: return sample_limits<std::int64_t>(s, Int64, 1);
  }
}

}  // namespace

extern const Operator kRange{
    .name = "Range",
    .doc = "y[i] = start + i · delta, for i < (limit - start) / delta",
    .define = define_range,
    .sample = sample_range,
    .since = 11,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
