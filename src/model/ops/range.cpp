// Range: start, start + delta, ... up to limit, without it. The limits must be known, since they make the
// shape.
#include <cmath>

#include "model/ops/shared/define.h"

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

Definition define_range(const Call& call) {
  for (int k = 0; k < 3; ++k) {
    if (call.type(k) != call.type(0) || !is_number(call.type(0)))
      return invalid("the inputs must be numbers of one type");
    if (!call.may_equal(product(call.shape(k)), 1)) return invalid("the inputs must be scalars");
  }
  return is_float(call.type(0)) ? define_floats(call) : define_integers(call);
}

}  // namespace

extern const Operator kRange{
    .name = "Range",
    .doc = "y[i] = start + i · delta, for i < (limit - start) / delta",
    .define = define_range,
    .since = 11,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
