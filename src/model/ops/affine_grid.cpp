// AffineGrid: grid[n, p] = theta[n] · (coordinates of p, last axis first, then 1); pixel centres of an axis
// lie evenly in -1..1, or its first and last ones are -1 and 1 (align_corners).
#include "model/ops/shared/define.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

Definition define_affine_grid(const Call& call) {
  require_types(call, is_float, 1);
  const auto& size = call.in(1).integers;
  if (!size) return opaque("the size is not known");
  if (size->size() != 4 && size->size() != 5) return invalid("the size must be of 2 or 3 spatial dimensions");
  const std::size_t d = size->size() - 2;
  if (call.rank(0) != 3) return invalid("theta must be of rank 3");
  require_shape(call, 0, {(*size)[0], static_cast<std::int64_t>(d), static_cast<std::int64_t>(d + 1)});
  auto f = call.formula();
  const auto theta = f.input(0);
  const bool corners = call.flag("align_corners", false);
  Dims shape{(*size)[0]};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.emplace_back(static_cast<std::int64_t>(d));
  const auto p = f.axes(shape);
  Expr y = theta(p[0], p.back(), static_cast<int>(d));
  for (std::size_t k = 0; k < d; ++k) {
    const Axis& axis = p[d - k];
    const Expr i = index_number(axis, theta.type());
    if (corners && axis.extent.at_least(2) != true)
      return opaque("corners of an axis that may have one element");
    const Expr x = corners ? i * 2 / index_number(Index(axis.extent - Dim(1)), theta.type()) - 1
                           : (i * 2 + 1) / index_number(Index(axis.extent), theta.type()) - 1;
    y = y + theta(p[0], p.back(), static_cast<int>(k)) * x;
  }
  f.output(p, y);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kAffineGrid{
    .name = "AffineGrid",
    .doc = "grid[n, p] = theta[n] · (coordinates of p, 1)",
    .define = define_affine_grid,
    .since = 20,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
