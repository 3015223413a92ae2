// LpPool: y[n,c,p] = (Σ_k |x[n, c, stride·p + dilation·k - pad]|^p)^(1/p); the padding is zero.
#include "model/ops/shared/lp_norm.h"
#include "model/ops/shared/pool.h"

namespace isomer::ops {
namespace {

Definition define_lp_pool(const Call& call) {
  require_types(call, is_float);
  const std::int64_t norm = read_norm(call);
  auto f = call.formula();
  const Pool pool = read_pool(call, f);
  f.output(pool.p, norm_root(sum(pool.k, norm_term(pool.tap, norm)), norm));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kLpPool{
    .name = "LpPool",
    .doc = "y[n,c,p] = (Σ |x[n, c, stride·p + dilation·k - pad]|^p)^(1/p)",
    .define = define_lp_pool,
    .most_inputs = 1,
};

}  // namespace isomer::ops
