#include "app/equality/tensor_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/prove/refute.h"
#include "model/expr/formula.h"

namespace isomer {
namespace {

TensorDifference of_strings(const Tensor& a, const Tensor& b) {
  TensorDifference out{.of = a.strings().size(), .first = {}, .worst = {}};
  for (std::size_t i = 0; i < a.strings().size(); ++i) {
    if (a.strings()[i] == b.strings()[i]) continue;
    if (out.differing++ == 0) out.first = out.worst = position_of(static_cast<std::int64_t>(i), a.extents());
    out.largest_absolute = out.largest_relative = out.of_scale = HUGE_VAL;
  }
  return out;
}

}  // namespace

TensorDifference difference(const Tensor& a, const Tensor& b) {
  TensorDifference out;
  if (a.type() != b.type()) {
    out.misfit = fmt::format("{} and {}", name(a.type()), name(b.type()));
    return out;
  }
  if (a.extents() != b.extents()) {
    out.misfit = fmt::format("{} and {}", text(to_dims(a.extents())), text(to_dims(b.extents())));
    return out;
  }
  if (a.type() == ElementType::String) return of_strings(a, b);
  const auto x = a.doubles(), y = b.doubles();
  if (!x || !y) {
    out.misfit = fmt::format("elements of type {} can't be compared", name(a.type()));
    return out;
  }
  out.of = x->size();
  double scale = 0;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double u = (*x)[i], v = (*y)[i];
    if (std::isfinite(u)) scale = std::max(scale, std::abs(u));
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    const double gap = std::isfinite(u) && std::isfinite(v) ? std::abs(u - v) : HUGE_VAL;
    const double relative = gap / std::max(std::abs(u), std::abs(v));
    const auto place = [&] { return position_of(static_cast<std::int64_t>(i), a.extents()); };
    if (out.differing++ == 0) {
      out.first = place();
      out.first_a = u, out.first_b = v;
    }
    if (gap > out.largest_absolute || out.worst.empty()) {
      out.worst = place();
      out.worst_a = u, out.worst_b = v;
    }
    out.largest_absolute = std::max(out.largest_absolute, gap);
    out.largest_relative = std::max(out.largest_relative, std::isnan(relative) ? HUGE_VAL : relative);
  }
  if (scale > 0) out.of_scale = out.largest_absolute / scale;
  else if (out.differing > 0) out.of_scale = HUGE_VAL;
  return out;
}

double usual_tolerance(ElementType type) {
  switch (type) {
    case ElementType::Double: return 1e-10;
    case ElementType::Float: return 1e-4;
    case ElementType::Float16: return 1e-2;
    case ElementType::BFloat16: return 5e-2;
    default: return is_float(type) ? 0.25 : 0;
  }
}

}  // namespace isomer
