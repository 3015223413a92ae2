#include "kernel/prove/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernel/prove/evaluate_constants.h"
#include "kernel/prove/float_error.h"

namespace isomer {
namespace {

// No rounding is worse than this, in units of the largest element: a third of a float's digits.
constexpr double kMostUnits = 4096;

// Directions in which the symbols are changed. Each gives a lower bound of the digits' effect; that all of
// eight miss three quarters of it is rare.
constexpr std::uint64_t kTrials = 8;
// A change by which derivatives are taken: that of 64 roundings in float32.
constexpr double kMostNudge = 0x1p-18;

// An element of which cancellation has left fewer binary digits than these is taken for another number.
constexpr double kFewDigits = 0x1p-10;

// The error of two folds of a batch norm (add, root, quotient, product; half a unit each), in units of the
// element itself: it is unknown of which larger numbers the element is the rest.
constexpr double kRestatedUnits = 8;

// The stored elements beside the wanted ones, and by how much each may be off.
class Comparison {
 public:
  Comparison(const Tensor& stored, const EvaluatedConstant& exact, double unit, bool is_moved)
      : numbers_(*stored.doubles()),
        wanted_(exact.value.as<double>()),
        error_(exact.errors()),
        errors_(error_.as<double>()),
        reach_(numbers_.size(), 0),
        unit_(unit),
        least_(smallest_normal(stored.type())),
        is_moved_(is_moved) {
    double largest = 0;
    for (const double v : numbers_)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    // However long the program is: the leading digits of the constant are right.
    most_ = kMostUnits * unit * largest;
    // One more operation: the result is stored. For doubles there is no finer arithmetic here.
    const bool is_double = stored.type() == ElementType::Double;
    units_ = is_moved    ? kRestatedUnits
             : is_double ? kMostRoundings
                         : std::min(exact.operations + 1, kMostRoundings);
  }

  // The first element that is off by more.
  std::optional<std::size_t> wrong() const {
    return first([&](std::size_t i) { return bound(i); });
  }
  bool is_hopeless() const {
    return first([&](std::size_t) { return most_ + least_; }).has_value();
  }
  double step() const { return std::min(units_ * unit_, kMostNudge); }

  // The result for constants with other last digits.
  void widen(const EvaluatedConstant& nudged) {
    const Tensor error = nudged.errors();
    const auto moved = nudged.value.as<double>(), noise = error.as<double>();
    for (std::size_t i = 0; i < reach_.size(); ++i) {
      const double change = std::abs(moved[i] - wanted_[i]) - kDoubleUnit * (errors_[i] + noise[i]);
      if (std::isfinite(change)) reach_[i] = std::max(reach_[i], change * (units_ * unit_ / step()));
    }
  }

  std::string text(std::size_t i) const {
    return fmt::format("element {} is {}, not {} within {}", i, numbers_[i], wanted_[i], bound(i));
  }

  void measure(Rounding& out) const {
    out.is_exact = is_moved_;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (numbers_[i] == wanted_[i] || is_same(i)) continue;
      const double off = std::abs(numbers_[i] - wanted_[i]);
      out.has_cancelled = out.has_cancelled || !(off <= kFewDigits * std::abs(wanted_[i]));
      out.is_exact = false;
      out.is_restated = is_moved_;
      const double scale = std::max({std::abs(numbers_[i]), std::abs(wanted_[i]), least_});
      const double ulp = 2 * unit_ * std::exp2(std::floor(std::log2(scale)));
      out.worst_ulp = std::max(out.worst_ulp, off / ulp);
    }
  }

 private:
  // A number that is not finite only has to be the same.
  bool is_same(std::size_t i) const {
    return (numbers_[i] == wanted_[i] && (is_moved_ || !std::isfinite(wanted_[i]))) ||
           (std::isnan(numbers_[i]) && std::isnan(wanted_[i]));
  }
  double bound(std::size_t i) const {
    const double own = units_ * unit_ * std::abs(wanted_[i]);
    return is_moved_ ? own : std::min(std::max(own, reach_[i]), most_) + least_;
  }
  template <class Bound>
  std::optional<std::size_t> first(const Bound& bound_of) const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const double off = std::abs(numbers_[i] - wanted_[i]), most = bound_of(i);
      if (!is_same(i) && !(std::isfinite(off) && off <= most && errors_[i] * kDoubleUnit <= most)) return i;
    }
    return std::nullopt;
  }

  std::vector<double> numbers_;
  std::span<const double> wanted_;
  Tensor error_;
  std::span<const double> errors_;
  std::vector<double> reach_;
  double unit_, least_, most_ = 0, units_ = 0;
  bool is_moved_;
};

}  // namespace

Result<Rounding> compare_folded(const Tensor& stored, const Graph& program, const std::set<NodeId>& symbols) {
  const auto unit = unit_roundoff(stored.type());
  if (!unit) return Error{"only floats are rounded"};
  if (program.outputs().size() != 1) return Error{"the program of a constant has one output"};
  ISOMER_TRY(const EvaluatedProgram evaluated, evaluate_constants(program));
  const EvaluatedConstant& exact = evaluated.outputs[0];
  if (exact.value.extents() != stored.extents() || exact.value.type() != ElementType::Double)
    return Error{"the program computes another shape or type"};
  const bool is_moved = evaluated.only_moves;
  Comparison comparison(stored, exact, *unit, is_moved);
  Rounding out;
  const bool may_lean = !is_moved && stored.type() != ElementType::Double && !symbols.empty();
  for (std::uint64_t trial = 0; comparison.wrong(); ++trial) {
    if (!may_lean || trial == kTrials || comparison.is_hopeless())
      return Error{comparison.text(*comparison.wrong())};
    ISOMER_TRY(const EvaluatedProgram nudged,
               evaluate_constants(program, {symbols, trial, comparison.step()}));
    comparison.widen(nudged.outputs[0]);
    out.leans_on_symbols = true;
  }
  comparison.measure(out);
  return out;
}

}  // namespace isomer
