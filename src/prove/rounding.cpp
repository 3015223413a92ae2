#include "prove/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "analysis/analysis.h"
#include "base/hash.h"
#include "eval/program.h"
#include "graph/constant.h"
#include "graph/infer.h"
#include "graph/last_digits.h"
#include "prove/float_error.h"

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

constexpr double kDoubleUnit = 0x1p-53;

// No rounding is worse than this, in units of the largest element: a third of a float's digits.
constexpr double kMostUnits = 4096;
// However many operations there are: products with ones and zeros count and round nothing, and of n
// roundings that are not all of one sign √n remain.
constexpr double kMostRoundings = 64;

// Directions in which the symbols are changed. Each is a lower bound of what their digits can do; that all of
// eight miss three quarters of it is rare.
constexpr std::uint64_t kTrials = 8;
// A change by which derivatives are taken: that of 64 roundings in float32.
constexpr double kMostNudge = 0x1p-18;

// An element of which cancellation has left fewer binary digits than these is taken for another number.
constexpr double kFewDigits = 0x1p-10;

// Of two that folded a batch norm (add, root, quotient, product; each of them half a unit), in units of the
// element itself: nothing says which larger numbers it is the rest of.
constexpr double kRestatedUnits = 8;

// Whether it computes nothing.
bool only_moves(const ExprNode& e) {
  if (!is_float(e.type)) return !reads_floats(e);
  if (e.kind == ExprNode::Kind::Number) return true;
  if (e.kind == ExprNode::Kind::Apply || e.kind == ExprNode::Kind::Reduce) return false;
  return std::ranges::all_of(e.args, [](const ExprRef& a) { return only_moves(*a); }) &&
         std::ranges::all_of(e.cases, [](const ExprNode::Case& c) { return only_moves(*c.value); });
}

// Of each double.
template <class Fn>
Tensor mapped(const Tensor& tensor, const Fn& fn) {
  if (tensor.type() != ElementType::Double) return tensor;
  std::vector<double> values(tensor.as<double>().begin(), tensor.as<double>().end());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = fn(i, values[i]);
  return Tensor::of(ElementType::Double, tensor.extents(), values);
}

Tensor no_error(const Tensor& tensor) {
  return mapped(tensor, [](std::size_t, double) { return 0.0; });
}

Tensor size_of(const Tensor& value, const Tensor& error) {
  if (value.type() != ElementType::Double) return value;
  const auto errors = error.as<double>();
  return mapped(value, [&](std::size_t i, double v) { return std::abs(v) + errors[i]; });
}

// Constants with other last digits. Numbers with the same leading digits, a power of 2 apart, change by the
// same factor: their difference is exact in any float, so there is no rounding that it could stand for.
struct Nudge {
  std::uint64_t trial = 0;
  double step = 0;  // the largest relative change

  double of(double v) const {
    if (v == 0 || !std::isfinite(v)) return v;
    const std::uint64_t bits = mix(trial);
    const auto waves = static_cast<double>(64 + bits % 256);  // in an octave
    const double phase = static_cast<double>(bits >> 11) * 0x1p-53;
    int exponent = 0;
    const double at = waves * 2 * std::frexp(std::abs(v), &exponent) + phase;
    return v * (1 + step * (4 * std::abs(at - std::floor(at) - 0.5) - 1));
  }
};

// A value of the program: in float64, how far that may be off (float_error.h), and how many operations led to
// an element. Where something jumps or narrows, the arithmetic of the stored types is followed, too
// (last_digits.h).
struct Evaluated {
  Tensor value, error;
  double operations = 0;
  std::optional<Tensor> stored = {};
  bool is_exact = true, is_agreed = true;  // nothing was rounded; all runtimes round it to the same number
};

class Evaluation {
 public:
  Evaluation(const Graph& program, bool with_stored, std::set<NodeId> symbols = {}, Nudge nudge = {})
      : program_(program), with_stored_(with_stored), symbols_(std::move(symbols)), nudge_(nudge) {}
  Result<Evaluated> run();
  bool only_moved() const { return only_moved_; }
  bool wants_stored() const { return wants_stored_; }

 private:
  Status add(const Inference& inference, NodeId id);
  Status decide(const Formula& formula, const Node& node, std::vector<Evaluated>& results);
  void add_constant(NodeId id, const Tensor& tensor) {
    Tensor value = is_float(tensor.type()) ? convert(tensor, ElementType::Double) : tensor;
    const Tensor error = no_error(value);
    if (symbols_.contains(id)) value = mapped(value, [&](std::size_t, double v) { return nudge_.of(v); });
    values_.insert_or_assign(Value{id, 0}, Evaluated{value, error, 0, tensor});
  }
  const Graph& program_;
  bool with_stored_, wants_stored_ = false;
  std::set<NodeId> symbols_;  // these are nudged
  Nudge nudge_;
  std::map<Value, Evaluated> values_;  // until they are read for the last time
  std::map<Value, int> reads_;         // to come
  bool only_moved_ = true;
};

Status Evaluation::add(const Inference& inference, NodeId id) {
  const Node& node = program_.node(id);
  if (const auto constant = known_constant(program_, {id, 0})) {
    if (is_computable(constant->type())) add_constant(id, *constant);
    return Done{};
  }
  const Definition definition = define_node(program_, inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return Error{fmt::format("{} has no formula", label(node))};
  const std::size_t count = formula->inputs.size();
  std::vector<std::optional<Tensor>> values(count), all(3 * count);
  double before = 0;
  for (std::size_t k = 0; k < count && k < node.inputs.size(); ++k) {
    const auto at = values_.find(node.inputs[k]);
    if (!formula->inputs[k] || at == values_.end()) continue;
    values[k] = all[k] = at->second.value;
    all[count + k] = at->second.error;
    all[2 * count + k] = size_of(at->second.value, at->second.error);
    before = std::max(before, at->second.operations);
  }
  const Formula lifted = lift(*formula, ElementType::Double);
  ISOMER_TRY(std::vector<Tensor> results, Program::compile(lifted).run(values));
  const bool is_decided = !is_continuous(*formula, node) || narrows(*formula);
  std::vector<Tensor> errors;
  if (is_decided) {
    std::ranges::transform(results, std::back_inserter(errors), no_error);
  } else {
    const auto error = error_of(lifted);
    if (!error) return Error{fmt::format("the rounding of {} is not followed", label(node))};
    ISOMER_TRY(errors, Program::compile(*error).run(all));
  }
  only_moved_ = only_moved_ &&
                std::ranges::all_of(formula->stages, [](const Stage& s) { return only_moves(*s.value); });
  const Cost price = cost(*formula);
  std::vector<Evaluated> out;
  for (std::uint32_t k = 0; k < results.size(); ++k) {
    const auto elements = static_cast<double>(std::max<std::int64_t>(results[k].count(), 1));
    const double own = std::ceil(static_cast<double>(price.operations.concrete()) / elements);
    out.push_back({std::move(results[k]), std::move(errors[k]), before + own});
  }
  ISOMER_TRY_DO(decide(*formula, node, out));
  for (std::uint32_t k = 0; k < out.size(); ++k) values_.insert_or_assign(Value{id, k}, std::move(out[k]));
  return Done{};
}

// The certificate chooses the program: (w + k) - k is w, and in floats what is left of it may be anything.
bool is_near_stored(const Evaluated& e) {
  if (e.value.type() != ElementType::Double) return true;
  const auto wide = *e.stored->doubles();
  const auto wanted = e.value.as<double>(), errors = e.error.as<double>();
  const double unit = unit_roundoff(e.stored->type()).value_or(0), least = smallest_normal(e.stored->type());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!std::isfinite(wanted[i]) && !std::isfinite(wide[i])) continue;
    const double bound = kMostRoundings * unit * std::abs(wanted[i]) + least;
    if (!(std::abs(wide[i] - wanted[i]) <= bound && errors[i] * kDoubleUnit <= bound)) return false;
  }
  return true;
}

// What the stored types make of it, where that decides.
Status Evaluation::decide(const Formula& formula, const Node& node, std::vector<Evaluated>& results) {
  const bool jumps = !is_continuous(formula, node), is_decided = jumps || narrows(formula);
  wants_stored_ = wants_stored_ || is_decided;
  if (!with_stored_)
    return is_decided ? Status(Error{"it needs the arithmetic of the stored types"}) : Done{};
  const bool has_agreed = has_agreed_digits(formula);
  std::vector<std::optional<Tensor>> inputs(formula.inputs.size());
  std::vector<bool> is_open(inputs.size(), false);
  bool is_exact = true, is_agreed = has_agreed;
  for (std::size_t k = 0; k < inputs.size() && k < node.inputs.size(); ++k) {
    const auto at = values_.find(node.inputs[k]);
    if (!formula.inputs[k] || at == values_.end()) continue;
    if (is_decided && !is_near_stored(at->second))
      return Error{fmt::format("what cancellation has left of a number decides {}", label(node))};
    inputs[k] = at->second.stored;
    is_open[k] = !at->second.is_agreed || !has_agreed;
    is_exact = is_exact && at->second.is_exact;
    is_agreed = is_agreed && at->second.is_agreed;
  }
  const Program native = Program::compile(formula);
  ISOMER_TRY(std::vector<Tensor> stored, native.run(inputs));
  if (jumps && last_digits_decide(native, inputs, is_open, stored))
    return Error{fmt::format("last digits that runtimes may differ in decide {}", label(node))};
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Tensor wide = is_float(stored[k].type()) ? convert(stored[k], ElementType::Double) : stored[k];
    results[k].is_exact = jumps || (is_exact && wide.same_bits(results[k].value));
    results[k].is_agreed = is_agreed || results[k].is_exact;
    if (is_decided) {
      results[k].value = wide;
      results[k].error = no_error(wide);
      results[k].operations = 0;
    }
    results[k].stored = std::move(stored[k]);
  }
  return Done{};
}

Result<Evaluated> Evaluation::run() {
  ISOMER_TRY(const Inference inference, infer(program_));
  for (const NodeId id : program_.order())
    for (const Value& v : program_.node(id).inputs) ++reads_[v];
  ++reads_[program_.outputs().at(0)];
  for (const NodeId id : program_.order()) {
    if (program_.node(id).kind == NodeKind::Input || program_.is_overridable(id))
      return Error{"the program of a constant has an input"};
    ISOMER_TRY_DO(add(inference, id));
    for (const Value& v : program_.node(id).inputs)
      if (--reads_[v] == 0) values_.erase(v);
  }
  const auto at = values_.find(program_.outputs().at(0));
  if (at == values_.end()) return Error{"the program's output has no number"};
  return at->second;
}

// The stored elements beside the wanted ones, and by how much each may be off.
class Comparison {
 public:
  Comparison(const Tensor& stored, const Evaluated& exact, double unit, bool is_moved)
      : numbers_(*stored.doubles()),
        wanted_(exact.value.as<double>()),
        errors_(exact.error.as<double>()),
        reach_(numbers_.size(), 0),
        unit_(unit),
        least_(smallest_normal(stored.type())),
        is_moved_(is_moved) {
    double largest = 0;
    for (const double v : numbers_)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    // However long the program is: the leading digits of the constant are right.
    most_ = kMostUnits * unit * largest;
    // One more operation: the result is stored. Of doubles nothing finer is computed here.
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

  // What constants with other last digits make of it.
  void widen(const Evaluated& nudged) {
    const auto moved = nudged.value.as<double>(), noise = nudged.error.as<double>();
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
  // Nothing is asked of a number that is not finite but to be the same.
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
  std::span<const double> wanted_, errors_;
  std::vector<double> reach_;
  double unit_, least_, most_ = 0, units_ = 0;
  bool is_moved_;
};

}  // namespace

Result<Rounding> compare_folded(const Tensor& stored, const Graph& program, const std::set<NodeId>& symbols) {
  const auto unit = unit_roundoff(stored.type());
  if (!unit) return Error{"only floats are rounded"};
  Evaluation plain(program, false), careful(program, true);
  auto evaluated = plain.run();
  const bool is_careful = plain.wants_stored();
  if (is_careful) evaluated = careful.run();
  ISOMER_TRY(const Evaluated exact, std::move(evaluated));
  if (exact.value.extents() != stored.extents() || exact.value.type() != ElementType::Double)
    return Error{"the program computes another shape or type"};
  const bool is_moved = (is_careful ? careful : plain).only_moved();
  Comparison comparison(stored, exact, *unit, is_moved);
  Rounding out;
  const bool may_lean = !is_moved && stored.type() != ElementType::Double && !symbols.empty();
  for (std::uint64_t trial = 0; comparison.wrong(); ++trial) {
    if (!may_lean || trial == kTrials || comparison.is_hopeless())
      return Error{comparison.text(*comparison.wrong())};
    ISOMER_TRY(const Evaluated nudged,
               Evaluation(program, is_careful, symbols, {trial, comparison.step()}).run());
    comparison.widen(nudged);
    out.leans_on_symbols = true;
  }
  comparison.measure(out);
  return out;
}

}  // namespace isomer
