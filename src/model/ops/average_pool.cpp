// AveragePool: y[n,c,p] = Σ_k x[n, c, stride·p + dilation·k - pad] / count[p]. The count is of the taps
// inside of x; with count_include_pad of those inside of the padded x, which ceil_mode's last window may
// leave.
#include "model/ops/shared/pool.h"

namespace isomer::ops {
namespace {

Definition define_average_pool(const Call& call) {
  require_types(call, is_float);
  auto f = call.formula();
  const Pool pool = read_pool(call, f);
  const Window& w = pool.window;
  const bool include_pad = call.flag("count_include_pad", false);
  const Expr total = sum(pool.k, pool.tap);
  if (pool.inside.empty() || (include_pad && !w.overhangs)) {
    f.output(pool.p, total / integer(total.type(), product(w.kernel).concrete()));
    return std::move(f).finish();
  }
  const Dims& shape = call.shape(0);
  const auto q = f.axes(w.output), k = f.axes(w.kernel);
  Domain counted;
  for (std::size_t i = 0; i < q.size(); ++i) {
    const Index at = w.position(i, q[i], k[i]);
    counted = both(
        counted, include_pad ? between(Index(Dim(0) - w.pad_begin[i]), at, Index(shape[i + 2] + w.pad_end[i]))
                             : between(0, at, shape[i + 2]));
  }
  const auto count = f.stage(q, sum(k, number(total.type(), 1), counted));
  std::vector<Index> at(to_indices(pool.p));
  at.erase(at.begin(), at.begin() + 2);
  f.output(pool.p, total / count.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kAveragePool{
    .name = "AveragePool",
    .doc = "y[n,c,p] = Σ x[n, c, stride·p + dilation·k - pad] / count of taps",
    .define = define_average_pool,
    .most_inputs = 1,
};

}  // namespace isomer::ops
