// Upsample: Resize's forerunner, with scales of at least 1 and coordinates p / scale. The scales are an
// attribute before opset 9, an input in 9; from opset 10 on the operator does not exist.
#include "model/ops/shared/resampling.h"

namespace isomer::ops {
namespace {

Definition define_upsample(const Call& call) {
  const std::string mode = call.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear") return invalid("mode must be nearest or linear", "mode");
  std::vector<float> scales;
  if (call.opset < 9) {
    const auto* list = call.attributes.find_as<std::vector<float>>("scales");
    if (!list) return invalid("scales are missing", "scales");
    scales = *list;
  } else {
    const auto& known = call.in(1).constant;
    if (!known) return opaque("the scales are not known");
    if (known->type() != ElementType::Float) return invalid("the scales are not of type float");
    scales.assign(known->as<float>().begin(), known->as<float>().end());
  }
  if (static_cast<int>(scales.size()) != call.rank(0))
    return invalid("there is not one scale per axis", "scales");
  Resampling r{.is_linear = mode == "linear", .coordinates = "asymmetric", .nearest = "", .axes = {}};
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] >= 1)) return invalid("a scale is less than 1", "scales");
    const auto axis = scaled_axis(call.shape(0)[i], scales[i]);
    if (const auto* refused = std::get_if<Definition>(&axis)) return *refused;
    r.axes.push_back(std::get<ResampledAxis>(axis));
  }
  return resample(call, r);
}

}  // namespace

extern const Operator kUpsample{
    .name = "Upsample",
    .doc = "y[p] = x[p / scale], nearest or linearly interpolated",
    .define = define_upsample,
    .since = 7,
    .last = 9,
    .most_inputs = 2,
};

}  // namespace isomer::ops
