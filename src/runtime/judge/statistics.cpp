#include "runtime/judge/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/hash.h"
#include "base/uint128.h"

namespace isomer {
namespace {

// Acklam's rational approximation of the normal quantile, for the upper half.
double normal_quantile(double p) {
  constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                           1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                           6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                           -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                           3.754408661907416e+00};
  if (p > 0.97575) {
    const double q = std::sqrt(-2 * std::log(1 - p));
    return -(((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  }
  const double q = p - 0.5, r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}
  std::size_t below(std::size_t bound) {
    state_ = mix(state_);
    return static_cast<std::size_t>((static_cast<Uint128>(state_) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

double median_in_place(std::vector<double>& values) {
  ISOMER_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double median(std::vector<double> values) { return median_in_place(values); }

double student_quantile(double confidence, int degrees) {
  const double p = 0.5 + confidence / 2;
  // One and two degrees in closed form, the rest by Fisher's expansion around the normal.
  if (degrees <= 1) return std::tan(std::acos(-1.0) * (p - 0.5));
  if (degrees == 2) return (2 * p - 1) / std::sqrt(2 * p * (1 - p));
  const double z = normal_quantile(p), n = degrees;
  const double z2 = z * z, z3 = z2 * z, z5 = z3 * z2, z7 = z5 * z2, z9 = z7 * z2;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * n * n * n * n);
}

Interval median_interval(const Groups& groups, double confidence, std::uint64_t seed, int resamples) {
  Groups logs;
  std::vector<double> pool;
  for (const auto& group : groups) {
    if (group.empty()) continue;
    auto& into = logs.emplace_back();
    for (const double value : group) into.push_back(std::log(value));
    pool.insert(pool.end(), into.begin(), into.end());
  }
  ISOMER_CHECK(!pool.empty());
  const double center = median(pool);
  if (logs.size() < 2) return {std::exp(center), 0, std::numeric_limits<double>::infinity()};

  Random random(seed);
  std::vector<double> medians, drawn;
  for (int i = 0; i < resamples; ++i) {
    drawn.clear();
    for (std::size_t g = 0; g < logs.size(); ++g) {
      const auto& group = logs[random.below(logs.size())];
      for (std::size_t k = 0; k < group.size(); ++k) drawn.push_back(group[random.below(group.size())]);
    }
    medians.push_back(median_in_place(drawn));
  }
  std::ranges::sort(medians);
  const double tail = (1 - confidence) / 2;
  const auto at = [&](double share) {
    return medians[static_cast<std::size_t>(share * static_cast<double>(medians.size() - 1))];
  };
  const double widening =
      student_quantile(confidence, static_cast<int>(logs.size()) - 1) / normal_quantile(0.5 + confidence / 2);
  return {std::exp(center), std::exp(center - widening * (center - at(tail))),
          std::exp(center + widening * (at(1 - tail) - center))};
}

}  // namespace isomer
