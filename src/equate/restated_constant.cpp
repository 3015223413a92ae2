#include "equate/restated_constant.h"

#include <cmath>

#include "model/graph/program_builder.h"

namespace isomer {
namespace {

constexpr double kClose = 1e-6;  // of an element; the proof has a stricter limit

// The largest difference, in units of the element itself; more than kClose: too much.
double distance(std::span<const float> a, std::span<const float> b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double off = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(off <= kClose * static_cast<double>(std::abs(a[i])))) return 1;
    most = std::max(most, off / static_cast<double>(std::abs(a[i])));
  }
  return most;
}

}  // namespace

std::optional<Graph> restated_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                       const Opsets& opsets) {
  if (wanted.type() != ElementType::Float || wanted.count() == 0) return std::nullopt;
  const Tensor* nearest = nullptr;
  double least = kClose;
  for (const Tensor& source : sources) {
    if (source.type() != ElementType::Float || source.count() != wanted.count()) continue;
    const double d = distance(wanted.as<float>(), source.as<float>());
    if (d > least) continue;
    least = d;
    nearest = &source;
  }
  if (nearest == nullptr) return std::nullopt;
  ProgramBuilder b(opsets, "restated.");
  b.output(b.reshape(b.constant(*nearest), wanted.extents()));
  return b.graph();
}

}  // namespace isomer
