// Squeeze: removes axes of extent 1: those that are named, or all. The names are an attribute before opset
// 13, an input since.
#include <algorithm>

#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_squeeze(const Call& call) {
  const auto list = integer_list(call, "axes", 1, 13);
  const int rank = call.rank(0);
  std::vector<int> axes;
  if (list.given) {
    const auto values = list.concrete();
    if (!values) return opaque("the axes are not known");
    if (values->empty())
      return opaque("an empty list of axes, which runtimes take for all of them or for none");
    const auto normalized = normalize_axes(*values, rank);
    if (!normalized) return invalid("axes are outside of the input's rank, or repeated", "axes");
    axes = *normalized;
  } else {
    for (int i = 0; i < rank; ++i) {
      const auto is_one = call.shape(0)[static_cast<std::size_t>(i)].equals(1);
      if (!is_one) return opaque("which axes have extent 1 is not known");
      if (*is_one) axes.push_back(i);
    }
  }
  auto f = call.formula();
  const auto x = f.input(0);
  Dims shape;
  for (int i = 0; i < rank; ++i) {
    const bool squeezed = std::ranges::find(axes, i) != axes.end();
    if (squeezed && !call.may_equal(x.extent(i), 1))
      return invalid("a squeezed axis has an extent other than 1", "axes");
    if (!squeezed) shape.push_back(x.extent(i));
  }
  const auto p = f.axes(shape);
  std::vector<Index> at;
  for (int i = 0, next = 0; i < rank; ++i)
    at.emplace_back(std::ranges::find(axes, i) != axes.end() ? Index(0)
                                                             : Index(p[static_cast<std::size_t>(next++)]));
  f.output(p, x.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSqueeze{
    .name = "Squeeze",
    .doc = "y = x without axes of extent 1",
    .define = define_squeeze,
    .most_inputs = 2,
};

}  // namespace isomer::ops
