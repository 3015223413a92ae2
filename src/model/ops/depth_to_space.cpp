// DepthToSpace: blocks of channels become blocks of pixels. With b the blocksize and C output channels, the
// input's channel is
//   DCR: (b · (h mod b) + w mod b) · C + c        CRD: c · b² + b · (h mod b) + w mod b
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_depth_to_space(const Call& call) {
  if (call.rank(0) != 4) return invalid("DepthToSpace needs a rank of 4");
  const std::int64_t b = call.integer("blocksize", 0);
  if (b < 1 || b > 1'000'000) return invalid("blocksize must be positive", "blocksize");
  const std::string mode = call.opset < 11 ? "DCR" : call.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return invalid("mode must be DCR or CRD", "mode");
  auto f = call.formula();
  const auto x = f.input(0);
  if (!call.may_equal(Dim::mod(x.extent(1), b * b), 0))
    return invalid("the channels are not a multiple of blocksize²", "blocksize");
  const Dim channels = Dim::floor(x.extent(1), b * b);
  const auto p = f.axes({x.extent(0), channels, x.extent(2) * b, x.extent(3) * b});
  const Index block = Dim(b) * Index::mod(p[2], b) + Index::mod(p[3], b);
  const Index channel = mode == "DCR" ? channels * block + p[1] : Dim(b * b) * Index(p[1]) + block;
  f.output(p, x(p[0], channel, Index::floor(p[2], b), Index::floor(p[3], b)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kDepthToSpace{
    .name = "DepthToSpace",
    .doc = "y[n, c, h, w] = x[n, channel of (c, h mod b, w mod b), h / b, w / b]",
    .define = define_depth_to_space,
    .most_inputs = 1,
};

}  // namespace isomer::ops
