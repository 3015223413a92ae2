// MaxPool: y[n,c,p] = max_k x[n, c, stride·p + dilation·k - pad] over taps inside of x. storage_order is
// about Indices only.
#include "ops/pool.h"

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

void sample_max_pool(Sampler& s) {
  const WindowSample window{.ceil_mode = s.opset() >= 10, .dilations = s.opset() >= 10};
  if (s.opset() < 8) sample_pool(s, {ElementType::Float}, window);
  else if (s.opset() < 12) sample_pool(s, kFloats, window);
  else
    sample_pool(s, {ElementType::Float, ElementType::Double, ElementType::Int8, ElementType::Uint8}, window);
  if (s.opset() >= 8 && s.chance(0.2)) s.attribute("storage_order", s.between(0, 1));
}

}  // namespace

extern const Operator kMaxPool{
    .name = "MaxPool",
    .doc = "y[n,c,p] = max over k of x[n, c, stride·p + dilation·k - pad]",
    .define = define_max_pool,
    .sample = sample_max_pool,
    .most_inputs = 1,
};

}  // namespace isomer::ops
