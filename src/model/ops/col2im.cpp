// Col2Im: y[n, c, h] = Σ x[n, K·c + k, l] over taps k and blocks l with stride·l + dilation·k = h + pad,
// where K is how many taps a block has; per spatial dimension.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_col2im(const Call& call) {
  const auto &image = call.in(1).integers, &block = call.in(2).integers;
  if (!image || !block) return opaque("the image's or the block's shape is not known");
  if (call.rank(0) != 3 || image->size() != block->size()) return invalid("shapes of different lengths");
  const std::size_t d = image->size();
  const auto list = [&](std::string_view name, std::size_t length, std::int64_t otherwise) {
    auto given = call.integers(name).value_or(std::vector<std::int64_t>(length, otherwise));
    if (given.size() != length) throw IllegalCall("has another length", std::string(name));
    return given;
  };
  const auto strides = list("strides", d, 1), dilations = list("dilations", d, 1),
             pads = list("pads", 2 * d, 0);
  Dims blocks;
  for (std::size_t i = 0; i < d; ++i) {
    if (strides[i] < 1 || dilations[i] < 1)
      return invalid("strides and dilations must be positive", "strides");
    const Dim covered = Dim(dilations[i]) * ((*block)[i] - Dim(1)) + Dim(1);
    blocks.push_back(Dim::floor((*image)[i] + Dim(pads[i]) + Dim(pads[d + i]) - covered, strides[i]) +
                     Dim(1));
  }
  auto f = call.formula();
  const auto x = f.input(0);
  const Dim taps = product(*block);
  if (taps.at_least(1) != true) return opaque("a block that may have no elements");
  if (!call.may_equal(x.extent(2), product(blocks)))
    return invalid("there are other blocks than the image has");
  if (!call.may_equal(Dim::mod(x.extent(1), taps), 0))
    return invalid("the taps of a block do not divide the rows");
  Dims shape{x.extent(0), Dim::floor(x.extent(1), taps)};
  shape.insert(shape.end(), image->begin(), image->end());
  const auto p = f.axes(shape), k = f.axes(*block), l = f.axes(blocks);
  Domain meets;
  std::vector<Axis> reduced = k;
  reduced.insert(reduced.end(), l.begin(), l.end());
  for (std::size_t i = 0; i < d; ++i)
    meets = both(std::move(meets), equal_to(Dim(strides[i]) * Index(l[i]) + Dim(dilations[i]) * Index(k[i]),
                                            Index(p[i + 2]) + Index(pads[i])));
  const Index row = taps * Index(p[1]) + linearize(to_indices(k), *block);
  f.output(p, sum(reduced, x(p[0], row, linearize(to_indices(l), blocks)), meets));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kCol2Im{
    .name = "Col2Im",
    .doc = "y[n, c, h] = Σ x[n, K·c + k, l] over stride·l + dilation·k = h + pad",
    .define = define_col2im,
    .since = 18,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
