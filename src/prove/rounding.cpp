#include "prove/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prove/evaluate_constants.h"

namespace isomer {
namespace {

// Half of the distance from 1 to the next number.
std::optional<double> unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::Float: return 0x1p-24;
    case ElementType::Float16: return 0x1p-11;
    case ElementType::BFloat16: return 0x1p-8;
    case ElementType::Double: return 0x1p-53;
    default: return std::nullopt;
  }
}

double smallest_normal(ElementType type) {
  return type == ElementType::Float16 ? 0x1p-14 : type == ElementType::Double ? 0x1p-1022 : 0x1p-126;
}

// No rounding is worse than this, in units of the largest element: a third of a float's digits.
constexpr double kMostUnits = 4096;
// Nor in units of Σ|terms|: products with ones and zeros count as operations and round nothing, and of n
// roundings that are not all of one sign √n remain.
constexpr double kMostRoundings = 64;

// An element of which cancellation has left fewer binary digits than these is taken for another number.
constexpr double kFewDigits = 0x1p-10;

// Of two that folded a batch norm (add, root, quotient, product; each of them half a unit), in units of the
// element itself: nothing says which larger numbers it is the rest of.
constexpr double kRestatedUnits = 8;

}  // namespace

Result<Rounding> compare_folded(const Tensor& stored, const Graph& program) {
  const auto unit = unit_roundoff(stored.type());
  if (!unit) return Error{"only floats are rounded"};
  if (program.outputs().size() != 1) return Error{"the program of a constant has one output"};
  ISOMER_TRY(const EvaluatedProgram evaluated, evaluate_constants(program, true));
  const EvaluatedConstant& exact = evaluated.outputs[0];
  if (exact.value.extents() != stored.extents() || exact.value.type() != ElementType::Double)
    return Error{"the program computes another shape or type"};
  const auto numbers = *stored.doubles();
  const auto wanted = exact.value.as<double>(), sizes = exact.magnitude.as<double>();
  Rounding out{.is_exact = evaluated.only_moves};
  const bool is_moved = out.is_exact;
  double largest = 0;
  for (const double v : numbers) largest = std::max(largest, std::abs(v));
  // However long the program is: the leading digits of the constant are right.
  const double most = kMostUnits * *unit * largest;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == wanted[i] || (std::isnan(numbers[i]) && std::isnan(wanted[i]))) continue;
    const double off = std::abs(numbers[i] - wanted[i]);
    // One more operation: the result is stored.
    const double bound =
        is_moved ? kRestatedUnits * *unit * sizes[i]
                 : std::min(std::min(exact.operations + 1, kMostRoundings) * *unit * sizes[i], most) +
                       smallest_normal(stored.type());
    if (!std::isfinite(off) || !(off <= bound))
      return Error{fmt::format("element {} is {}, not {} within {}", i, numbers[i], wanted[i], bound)};
    out.has_cancelled = out.has_cancelled || !(off <= kFewDigits * std::abs(wanted[i]));
    if (is_moved) {
      out.is_exact = false;
      out.is_restated = true;
    }
    const double scale =
        std::max({std::abs(numbers[i]), std::abs(wanted[i]), smallest_normal(stored.type())});
    const double ulp = 2 * *unit * std::exp2(std::floor(std::log2(scale)));
    out.worst_ulp = std::max(out.worst_ulp, off / ulp);
  }
  return out;
}

}  // namespace isomer
