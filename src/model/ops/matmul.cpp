// MatMul as numpy's: y[..., m, n] = Σ_k a[..., m, k] · b[..., k, n]. Axes in front broadcast; an operand of
// rank 1 has no m, or no n.
#include "model/ops/matmul.h"

#include <algorithm>

namespace isomer {
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

// The runtime's behaviour on empty tensors. It multiplies matrices with no rows or columns, and any number of
// them, also none, unless the second operand has its own batch. It rejects vectors, and an empty batch that
// is broadcast. Empty sums are 0 for floats, and nothing is broadcast.
void need_to_run(const Call& call, const Dims& a, const Dims& b, const Dims& batch_a, const Dims& batch_b) {
  const bool has_vector = a.size() < 2 || b.size() < 2;
  const bool is_plain = !has_vector && (batch_a == batch_b ||
                                        std::ranges::all_of(batch_b, [](const Dim& d) { return d.is(1); }));
  const bool is_usual = call.type(0) == ElementType::Float || call.type(0) == ElementType::Double;
  if (!is_plain || !is_usual) call.runs_if(a.back() - Dim(1));
  if (is_plain) return;
  for (const Dims* extents : {has_vector ? &a : &batch_a, has_vector ? &b : &batch_b})
    for (const Dim& extent : *extents) call.runs_if(extent - Dim(1));
}

}  // namespace

MatrixProduct matrix_product(const Call& call, FormulaBuilder& f, const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) throw IllegalCall("a matrix product needs operands of rank >= 1");
  const bool has_m = a.size() > 1, has_n = b.size() > 1;
  const Dim &inner = a.back(), &other = b[has_n ? b.size() - 2 : 0];
  if (!call.may_equal(inner, other)) throw IllegalCall("the inner extents differ");
  const Dims batch_a = batch_of(a), batch_b = batch_of(b);
  const auto batch = call.broadcast({batch_a, batch_b});
  if (!batch) throw IllegalCall("the operands' leading extents do not broadcast");
  need_to_run(call, a, b, batch_a, batch_b);

  MatrixProduct y;
  y.p = f.axes(*batch);
  y.at_a = batch_at(batch_a, y.p);
  y.at_b = batch_at(batch_b, y.p);
  y.k = f.axis(inner.is_concrete() ? inner : other);
  if (has_m) y.at_a.emplace_back(y.p.emplace_back(f.axis(a[a.size() - 2])));
  y.at_a.emplace_back(y.k);
  y.at_b.emplace_back(y.k);
  if (has_n) y.at_b.emplace_back(y.p.emplace_back(f.axis(b.back())));
  return y;
}

namespace ops {
namespace {

Definition define_matmul(const Call& call) {
  require_types(call, is_number);
  auto f = call.formula();
  const auto a = f.input(0), b = f.input(1);
  const auto y = matrix_product(call, f, a.shape(), b.shape());
  f.output(y.p, sum({y.k}, a.at(y.at_a) * b.at(y.at_b)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMatMul{
    .name = "MatMul",
    .doc = "y[..., m, n] = Σ a[..., m, k] · b[..., k, n]",
    .define = define_matmul,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace ops
}  // namespace isomer
