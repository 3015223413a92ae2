// GridSample: y[n, c, q] = Σ_u x[n, c, u] · Π_k weight(grid[n, q, k], u_k): x at a point with one coordinate
// in -1..1 per spatial axis, the last axis first. A weight is that of linear or cubic interpolation, or of
// the nearest element (half to even). Beyond the edge: zero, the edge's element, or the image mirrored at its
// border. Opaque: cubic interpolation with other than zeros beyond the edge.
#include "model/ops/shared/interpolation.h"

namespace isomer::ops {
namespace {

struct Sampling {
  bool nearest = false, cubic = false, corners = false;
  std::string padding;
};

// -1 and 1 are the centres of the first and last elements, or their outer borders.
Expr coordinate(const Expr& g, const Expr& extent, bool corners) {
  return corners ? (g + 1) / 2 * (extent - 1) : ((g + 1) * extent - 1) / 2;
}

// Mirrored at low and high as often as it takes.
Expr reflect(const Expr& value, const Expr& low, const Expr& high) {
  const Expr range = high - low;
  const Expr rest = apply(Fn::Fmod, {apply(Fn::Abs, {value - low}), range * 2});
  return low + range - apply(Fn::Abs, {rest - range});
}

Expr weight(const Expr& g, const Axis& u, const Sampling& s) {
  const Expr size = index_number(Index(u.extent), g.type()), first = number(g.type(), 0);
  Expr y = coordinate(g, size, s.corners);
  if (s.nearest) y = apply(Fn::Round, {y});
  if (s.padding == "reflection")
    y = s.corners ? reflect(y, first, size - 1) : reflect(y, first - 0.5, size - 0.5);
  if (s.padding != "zeros") y = clamped(y, first, size - 1);
  return s.nearest ? exact_weight(y, u) : s.cubic ? cubic_weight(y, u) : linear_weight(y, u);
}

Definition define_grid_sample(const Call& call) {
  require_types(call, is_float, 2);
  const std::string mode = call.text("mode", call.opset < 20 ? "bilinear" : "linear");
  const bool cubic = mode == "bicubic" || mode == "cubic";
  if (!cubic && mode != "bilinear" && mode != "linear" && mode != "nearest")
    return invalid("no such mode", "mode");
  const Sampling s{.nearest = mode == "nearest",
                   .cubic = cubic,
                   .corners = call.flag("align_corners", false),
                   .padding = call.text("padding_mode", "zeros")};
  if (s.padding != "zeros" && s.padding != "border" && s.padding != "reflection")
    return invalid("no such padding_mode", "padding_mode");
  // The runtime moves the point inside only where it is far outside; a spline sees the difference.
  if (cubic && s.padding != "zeros") return opaque("cubic interpolation at a border that is not zero");
  const auto spatial = static_cast<std::size_t>(std::max(call.rank(0) - 2, 0));
  if (spatial == 0 || call.rank(1) != call.rank(0)) return invalid("the ranks don't fit");
  if (!call.shape(1).back().is(static_cast<std::int64_t>(spatial)))
    return call.shape(1).back().is_concrete() ? invalid("the grid has not one coordinate per axis")
                                              : opaque("how many coordinates the grid has is not known");
  if (!call.may_equal(call.shape(1)[0], call.shape(0)[0])) return invalid("not one grid per image");
  auto f = call.formula();
  const auto x = f.input(0), grid = f.input(1);
  Dims shape{x.extent(0), x.extent(1)};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  const auto p = f.axes(shape);
  std::vector<Axis> u;
  std::vector<Index> at{Index(p[0]), Index(p[1])};
  Expr product;
  for (std::size_t k = 0; k < spatial; ++k) {
    u.push_back(f.axis(x.shape()[k + 2]));
    at.emplace_back(u.back());
    if (u.back().extent.at_least(s.padding == "reflection" && s.corners ? 2 : 1) != true)
      return opaque("an axis that may be too short to sample from");
    // The weights of all elements of an axis: a stage, since every channel takes the same.
    std::vector<Axis> q = f.axes({x.extent(0)});
    for (std::size_t i = 0; i < spatial; ++i) q.push_back(f.axis(shape[i + 2]));
    std::vector<Index> point = to_indices(q);
    point.emplace_back(static_cast<int>(spatial - 1 - k));
    q.push_back(f.axis(u.back().extent));
    const auto weights = f.stage(q, weight(grid.at(point), q.back(), s));
    std::vector<Index> here{Index(p[0])};
    for (std::size_t i = 2; i < p.size(); ++i) here.emplace_back(p[i]);
    here.emplace_back(u.back());
    product = product ? product * weights.at(here) : weights.at(here);
  }
  f.output(p, sum(u, x.at(at) * product));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kGridSample{
    .name = "GridSample",
    .doc = "y[n, c, q] = x[n, c] at the point grid[n, q], nearest or interpolated",
    .define = define_grid_sample,
    .since = 16,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
