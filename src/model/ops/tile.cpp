#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_tile(const Call& call) {
  const auto& repeats = call.in(1).integers;
  if (!repeats) return opaque("the repeats are not known");
  if (static_cast<int>(repeats->size()) != call.rank(0)) return invalid("there is not one repeat per axis");
  auto f = call.formula();
  const auto x = f.input(0);
  Dims shape;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim& repeat = (*repeats)[static_cast<std::size_t>(i)];
    if (repeat.at_least(0) == false) return invalid("a repeat is negative");
    call.need(repeat);
    shape.push_back(x.extent(i) * repeat);
  }
  const auto p = f.axes(shape);
  std::vector<Index> at;
  for (int i = 0; i < x.rank(); ++i)
    at.push_back(x.extent(i).is(0) ? Index(0) : Index::mod(p[static_cast<std::size_t>(i)], x.extent(i)));
  f.output(p, x.at(at));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kTile{
    .name = "Tile",
    .doc = "y[p] = x[p mod extent]",
    .define = define_tile,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
