// SpaceToDepth: blocks of pixels become blocks of channels. With b the blocksize and C input channels, output
// channel k is
//   DCR: k = (b · i + j) · C + c        CRD (since opset 28): k = c · b² + b · i + j
// and holds the pixels (b · h + i, b · w + j) of channel c.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_space_to_depth(const Call& call) {
  if (call.rank(0) != 4) return invalid("SpaceToDepth needs a rank of 4");
  const std::int64_t b = call.integer("blocksize", 0);
  if (b < 1 || b > 1'000'000) return invalid("blocksize must be positive", "blocksize");
  const std::string mode = call.opset < 28 ? "DCR" : call.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return invalid("mode must be DCR or CRD", "mode");
  auto f = call.formula();
  const auto x = f.input(0);
  for (int i = 2; i < 4; ++i)
    if (!call.may_equal(Dim::mod(x.extent(i), b), 0))
      return invalid("height or width is not a multiple of blocksize", "blocksize");
  const Dim& channels = x.extent(1);
  const auto p =
      f.axes({x.extent(0), channels * Dim(b * b), Dim::floor(x.extent(2), b), Dim::floor(x.extent(3), b)});
  if (channels.is(0)) return opaque("no channels");
  const bool dcr = mode == "DCR";
  const Index block = dcr ? Index::floor(p[1], channels) : Index::mod(p[1], b * b);
  const Index channel = dcr ? Index::mod(p[1], channels) : Index::floor(p[1], b * b);
  f.output(p, x(p[0], channel, Dim(b) * Index(p[2]) + Index::floor(block, b),
                Dim(b) * Index(p[3]) + Index::mod(block, b)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSpaceToDepth{
    .name = "SpaceToDepth",
    .doc = "y[n, channel of (c, i, j), h, w] = x[n, c, b · h + i, b · w + j]",
    .define = define_space_to_depth,
    .most_inputs = 1,
};

}  // namespace isomer::ops
