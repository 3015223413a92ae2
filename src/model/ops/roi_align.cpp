// RoiAlign: y[r, c, p] = the mean over s × s points of x[batch_indices[r], c], evenly in cell p of the box
// rois[r] = (x1, y1, x2, y2) · spatial_scale, which is cut into output_height × output_width cells. A point
// lies on the lines between its neighbours; up to one element beyond the edge it counts as on it, then as
// zero. Opaque: as many points as the box is large (sampling_ratio 0), the maximum instead of the mean.
#include "model/ops/shared/interpolation.h"
#include "model/ops/shared/look_up.h"
#include "model/ops/shared/require_shape.h"

namespace isomer::ops {
namespace {

// Along one axis: the mean weight of element u for the points of a cell between low and high.
Expr mean_weight(FormulaBuilder& f, const Expr& low, const Expr& high, const Axis& cell, const Axis& u,
                 std::int64_t points, bool half_pixel) {
  const auto real = [&](const Index& i) { return index_number(i, low.type()); };
  const Axis point = f.axis(points);
  const Expr size = real(Index(u.extent)), zero = number(low.type(), 0);
  const Expr length = half_pixel ? high - low : apply(Fn::Max, {high - low, zero + 1});
  const Expr part = (real(point) + 0.5) / static_cast<double>(points);
  const Expr y = low + (real(cell) + part) * length / real(Index(cell.extent));
  const Expr weight = linear_weight(clamped(y, zero, size - 1), u) * is_between(zero - 1, y, size);
  return sum({point}, weight) / static_cast<double>(points);
}

Definition define_roi_align(const Call& call) {
  require_types(call, is_float, 2);
  if (call.rank(0) != 4 || call.rank(1) != 2 || call.rank(2) != 1) return invalid("the ranks don't fit");
  if (!is_index_type(call.type(2))) return invalid("batch_indices must be int32 or int64");
  if (call.text("mode", "avg") != "avg") return opaque("the maximum of points");
  const std::string mode = call.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "half_pixel" && mode != "output_half_pixel")
    return invalid("no such mode", "coordinate_transformation_mode");
  const bool half_pixel = call.opset >= 16 && mode == "half_pixel";
  const std::int64_t ratio = call.integer("sampling_ratio", 0), height = call.integer("output_height", 1),
                     width = call.integer("output_width", 1);
  if (ratio < 0 || height < 1 || width < 1) return invalid("a size is not positive", "sampling_ratio");
  if (ratio == 0) return opaque("as many points as the box is large");
  const double scale = finite_real(call, "spatial_scale", 1.0f);
  if (!call.may_equal(call.shape(1)[0], call.shape(2)[0])) return invalid("not one batch index per box");
  require_shape(call, 1, {call.shape(1)[0], 4});
  call.need_index(2, call.shape(0)[0]);
  auto f = call.formula();
  const auto x = f.input(0), rois = f.input(1), batch = f.input(2);
  if (x.extent(2).at_least(1) != true || x.extent(3).at_least(1) != true)
    return opaque("an image that may have no elements");
  const auto weights = [&](int first_corner, std::int64_t cells, const Dim& extent) {
    const auto q = f.axes({rois.extent(0), cells, extent});
    const auto corner = [&](int k) { return rois(q[0], k) * scale - (half_pixel ? 0.5 : 0.0); };
    return f.stage(
        q, mean_weight(f, corner(first_corner), corner(first_corner + 2), q[1], q[2], ratio, half_pixel));
  };
  const auto rows = weights(1, height, x.extent(2)), columns = weights(0, width, x.extent(3));
  const auto p = f.axes({rois.extent(0), x.extent(1), height, width});
  const auto u = f.axes({x.extent(2), x.extent(3)});
  const Expr image =
      look_up(f, batch(p[0]), x.extent(0), [&](const Index& b) { return x(b, p[1], u[0], u[1]); });
  f.output(p, sum(u, image * rows(p[0], p[2], u[0]) * columns(p[0], p[3], u[1])));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kRoiAlign{
    .name = "RoiAlign",
    .doc = "y[r, c, p] = the mean of x over points in cell p of the box rois[r]",
    .define = define_roi_align,
    .since = 10,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
