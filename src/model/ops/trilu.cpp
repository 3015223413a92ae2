// Trilu: the upper (or lower) triangle of the last two axes, zero elsewhere; the k-th diagonal is the
// triangle's edge.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_trilu(const Call& call) {
  if (call.rank(0) < 2) return invalid("Trilu needs an input of rank >= 2");
  Dim edge = 0;
  if (call.has(1)) {
    const auto& known = call.in(1).integers;
    if (!known || known->size() != 1) return opaque("the diagonal is not known");
    edge = known->front();
  }
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  const Index above =
      Index(p[p.size() - 1]) - Index(p[p.size() - 2]) - Index(edge);  // how far above the edge
  const Domain kept{call.flag("upper", true) ? above : Dim(-1) * above};
  f.output(p, cases({{kept, x.at(to_indices(p))}}, integer(x.type(), 0)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kTrilu{
    .name = "Trilu",
    .doc = "y = the upper or lower triangle of x, zero elsewhere",
    .define = define_trilu,
    .since = 14,
    .most_inputs = 2,
};

}  // namespace isomer::ops
