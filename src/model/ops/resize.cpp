// Resize: nearest, linear and cubic interpolation, where coordinates are exact fractions (see resampling.h).
// Opaque: antialiasing, cropping, and scales derived from aspect ratios.
#include "model/ops/shared/resampling.h"

namespace isomer::ops {
namespace {

// Whether an optional input is there and not the empty tensor that stands for "absent" before opset 13.
bool has_elements(const Call& call, int k) { return call.has(k) && !product(call.shape(k)).is(0); }

std::variant<std::vector<ResampledAxis>, Definition> read_axes(const Call& call) {
  const int rank = call.rank(0), scales_input = call.opset < 11 ? 1 : 2;
  const bool by_scale = has_elements(call, scales_input), by_size = call.opset >= 11 && has_elements(call, 3);
  if (by_scale == by_size) return invalid("one of scales and sizes must be given");
  std::vector<std::int64_t> all;
  for (int i = 0; i < rank; ++i) all.push_back(i);
  const auto named = normalize_axes(call.opset >= 18 ? call.integers("axes").value_or(all) : all, rank);
  if (!named) return invalid("axes are outside of the input's rank, or repeated", "axes");

  std::vector<ResampledAxis> axes;
  for (const Dim& extent : call.shape(0)) axes.push_back({.output = extent});
  const auto& scales = by_scale ? call.in(scales_input).constant : std::nullopt;
  if (by_scale && !scales) return opaque("the scales are not known");
  if (by_scale && scales->type() != ElementType::Float) return invalid("the scales are not of type float");
  if (by_size && !call.in(3).integers) return opaque("the sizes are not known");
  const std::size_t count =
      by_scale ? static_cast<std::size_t>(scales->count()) : call.in(3).integers->size();
  if (count != named->size()) return invalid("there is not one scale or size per axis");
  for (std::size_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>((*named)[k]);
    const auto axis = by_scale ? scaled_axis(call.shape(0)[i], scales->as<float>()[k])
                               : sized_axis(call.shape(0)[i], (*call.in(3).integers)[k]);
    if (const auto* refused = std::get_if<Definition>(&axis)) return *refused;
    axes[i] = std::get<ResampledAxis>(axis);
  }
  return axes;
}

Definition define_resize(const Call& call) {
  const std::string mode = call.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return invalid("mode must be nearest, linear or cubic", "mode");
  Resampling r{.is_linear = mode == "linear", .coordinates = "asymmetric", .nearest = "", .axes = {}};
  if (mode == "cubic") {
    if (call.opset < 11) return invalid("mode must be nearest or linear", "mode");
    r.cubic = finite_real(call, "cubic_coeff_a", -0.75f);
  }
  if (call.opset >= 11) {
    r.coordinates = call.text("coordinate_transformation_mode", "half_pixel");
    r.nearest = call.text("nearest_mode", "round_prefer_floor");
    if (r.coordinates == "tf_crop_and_resize") return opaque("tf_crop_and_resize");
    r.inside_only = call.flag("exclude_outside", false);
    if (r.inside_only && !r.cubic) return opaque("exclude_outside without cubic interpolation");
  }
  if (call.flag("antialias", false)) return opaque("antialiasing");
  if (call.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return opaque("keep_aspect_ratio_policy");
  const auto axes = read_axes(call);
  if (const auto* refused = std::get_if<Definition>(&axes)) return *refused;
  r.axes = std::get<std::vector<ResampledAxis>>(axes);
  return resample(call, r);
}

}  // namespace

extern const Operator kResize{
    .name = "Resize",
    .doc =
        "y[p] = x at the coordinate that p comes from, nearest or interpolated, linearly or by a cubic "
        "spline",
    .define = define_resize,
    .since = 10,
    .most_inputs = 4,
};

}  // namespace isomer::ops
