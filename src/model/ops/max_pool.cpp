// MaxPool: y[n,c,p] = max_k x[n, c, stride·p + dilation·k - pad] over taps inside of x. storage_order is
// about Indices only.
#include "model/ops/shared/pool.h"

namespace isomer::ops {
namespace {

Definition define_max_pool(const Call& call) {
  require_types(call, is_number);
  if (call.output_count > 1) return opaque("the indices of the maxima are used");
  auto f = call.formula();
  const Pool pool = read_pool(call, f);
  f.output(pool.p, reduce(Reduction::Max, pool.k, pool.tap, pool.inside));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kMaxPool{
    .name = "MaxPool",
    .doc = "y[n,c,p] = max over k of x[n, c, stride·p + dilation·k - pad]",
    .define = define_max_pool,
    .most_inputs = 1,
};

}  // namespace isomer::ops
