#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_mean(const Call& call) {
  return elementwise(
      call,
      [](const std::vector<Expr>& x) {
        Expr y = x[0];
        for (std::size_t k = 1; k < x.size(); ++k) y = y + x[k];
        return y / static_cast<double>(x.size());
      },
      is_float);
}

}  // namespace

extern const Operator kMean{
    .name = "Mean",
    .doc = "y = the mean of the inputs",
    .define = define_mean,
};

}  // namespace isomer::ops
