// MatMul as numpy's: y[..., m, n] = Σ_k a[..., m, k] · b[..., k, n]. Axes in front broadcast; an operand of
// rank 1 has no m, or no n.
#include "ops/define.h"

namespace isomer::ops {
namespace {

Dims batch_of(const Dims& shape) { return shape.size() < 2 ? Dims{} : Dims(shape.begin(), shape.end() - 2); }

// Where an operand is read for a position of the broadcast batch.
std::vector<Index> batch_at(const Dims& batch, const std::vector<Axis>& p) {
  std::vector<Index> at;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Axis& axis = p[p.size() - batch.size() + i];
    // An extent that is not known to be the axis' own is that or 1: either way the axis mod it.
    at.push_back(batch[i].is(1)            ? Index(0)
                 : batch[i] == axis.extent ? Index(axis)
                                           : Index::mod(axis, batch[i]));
  }
  return at;
}

Definition define_matmul(const Call& call) {
  require_types(call, is_number);
  if (call.rank(0) == 0 || call.rank(1) == 0) return invalid("MatMul needs operands of rank >= 1");
  auto f = call.formula();
  const auto a = f.input(0), b = f.input(1);
  const bool has_m = a.rank() > 1, has_n = b.rank() > 1;
  const Dim inner = a.extent(a.rank() - 1), other = b.extent(has_n ? b.rank() - 2 : 0);
  if (inner.equals(other) == false) return invalid("the inner extents differ");
  const Dims batch_a = batch_of(a.shape()), batch_b = batch_of(b.shape());
  const auto batch = broadcast_shape({batch_a, batch_b});
  if (!batch) return invalid("the operands' leading extents do not broadcast");

  auto p = f.axes(*batch);
  auto at_a = batch_at(batch_a, p), at_b = batch_at(batch_b, p);
  const Axis k = f.axis(inner.is_concrete() ? inner : other);
  if (has_m) at_a.emplace_back(p.emplace_back(f.axis(a.extent(a.rank() - 2))));
  at_a.emplace_back(k);
  at_b.emplace_back(k);
  if (has_n) at_b.emplace_back(p.emplace_back(f.axis(b.extent(b.rank() - 1))));
  f.output(p, sum({k}, a.at(at_a) * b.at(at_b)));
  return std::move(f).finish();
}

void sample_matmul(Sampler& s) {
  const Extents batch = s.shape(0, 2, 3);
  Extents a = batch, b = s.broadcastable(batch);
  const auto type = s.opset() < 9 ? s.pick(kFloats) : s.pick(kWideNumbers);
  const std::int64_t inner = s.between(is_float(type) && s.chance(0.05) ? 0 : 1,
                                       5);  // onnxruntime fails on an empty sum of integers
  if (s.chance(0.15)) a = {inner};
  else a.insert(a.end(), {s.between(1, 5), inner});
  if (s.chance(0.15)) b = {inner};
  else b.insert(b.end(), {inner, s.between(1, 5)});
  s.input(type, a);
  s.input(type, b);
}

}  // namespace

extern const Operator kMatMul{
    .name = "MatMul",
    .doc = "y[..., m, n] = Σ a[..., m, k] · b[..., k, n]",
    .define = define_matmul,
    .sample = sample_matmul,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
