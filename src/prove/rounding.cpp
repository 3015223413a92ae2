#include "prove/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/analysis.h"
#include "eval/program.h"
#include "expr/parts.h"
#include "graph/constant.h"
#include "graph/infer.h"
#include "graph/last_digits.h"

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

bool reads_floats(const ExprNode& e) {
  return any_part(
      e, [](const ExprNode& part) { return part.kind == ExprNode::Kind::Read && is_float(part.type); });
}

// The expression without cancellation; nullptr: it has functions for which that means nothing.
ExprRef without_signs(const ExprRef& expr) {
  if (!is_float(expr->type)) return reads_floats(*expr) ? nullptr : expr;
  ExprNode node = *expr;
  if (node.kind == ExprNode::Kind::Number) node.number = std::abs(node.number);
  if (node.kind == ExprNode::Kind::Reduce && node.reduction != Reduction::Sum) return nullptr;
  for (ExprRef& a : node.args)
    if ((a = without_signs(a)) == nullptr) return nullptr;
  for (ExprNode::Case& c : node.cases)
    if ((c.value = without_signs(c.value)) == nullptr) return nullptr;
  if (node.kind == ExprNode::Kind::Apply) {
    switch (node.fn) {
      case Fn::Add:
      case Fn::Mul:
      case Fn::Div:
      case Fn::Sqrt:
      case Fn::Where: break;
      case Fn::Sub: node.fn = Fn::Add; break;
      case Fn::Neg: return node.args[0];
      case Fn::Cast:
        if (!is_float(node.args[0]->type)) {
          const auto cast = std::make_shared<const ExprNode>(node);
          node.fn = Fn::Abs;
          node.args = {cast};
        }
        break;
      default: return nullptr;
    }
  }
  return std::make_shared<const ExprNode>(std::move(node));
}

std::optional<Formula> without_signs(const Formula& formula) {
  Formula out = formula;
  for (Stage& s : out.stages) {
    const ExprRef value = without_signs(s.value.ref());
    if (value == nullptr) return std::nullopt;
    s.value = value;
  }
  return out;
}

bool only_moves(const ExprNode& e) {
  if (!is_float(e.type)) return !reads_floats(e);
  if (e.kind == ExprNode::Kind::Number) return true;
  if (e.kind == ExprNode::Kind::Apply || e.kind == ExprNode::Kind::Reduce) return false;
  return std::ranges::all_of(e.args, [](const ExprRef& a) { return only_moves(*a); }) &&
         std::ranges::all_of(e.cases, [](const ExprNode::Case& c) { return only_moves(*c.value); });
}

Tensor absolute(const Tensor& tensor) {
  if (tensor.type() != ElementType::Double) return tensor;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(tensor.count()));
  for (const double v : tensor.as<double>()) values.push_back(std::abs(v));
  return Tensor::of(ElementType::Double, tensor.extents(), values);
}

// A value of the program: in float64, without cancellation, and how many operations led to an element. Where
// something jumps or narrows, the arithmetic of the stored types is followed, too (last_digits.h).
struct Evaluated {
  Tensor value, magnitude;
  double operations = 0;
  std::optional<Tensor> stored = {};
  bool is_exact = true, is_agreed = true;  // nothing was rounded; all runtimes round it to the same number
};

class Evaluation {
 public:
  Evaluation(const Graph& program, bool with_stored) : program_(program), with_stored_(with_stored) {}
  Result<Evaluated> run();
  bool only_moved() const { return only_moved_; }
  bool wants_stored() const { return wants_stored_; }

 private:
  Status add(const Inference& inference, NodeId id);
  Status decide(const Formula& formula, const Node& node, std::vector<Evaluated>& results);
  void add_constant(NodeId id, const Tensor& tensor) {
    const Tensor value = is_float(tensor.type()) ? convert(tensor, ElementType::Double) : tensor;
    values_.insert_or_assign(Value{id, 0}, Evaluated{value, absolute(value), 0, tensor});
  }
  const Graph& program_;
  bool with_stored_, wants_stored_ = false;
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
  std::vector<std::optional<Tensor>> values(formula->inputs.size()), magnitudes(formula->inputs.size());
  double before = 0;
  for (std::size_t k = 0; k < values.size() && k < node.inputs.size(); ++k) {
    const auto at = values_.find(node.inputs[k]);
    if (!formula->inputs[k] || at == values_.end()) continue;
    values[k] = at->second.value;
    magnitudes[k] = at->second.magnitude;
    before = std::max(before, at->second.operations);
  }
  const Formula lifted = lift(*formula, ElementType::Double);
  ISOMER_TRY(std::vector<Tensor> results, Program::compile(lifted).run(values));
  std::vector<Tensor> sizes;
  if (const auto unsigned_formula = without_signs(lifted)) {
    ISOMER_TRY(sizes, Program::compile(*unsigned_formula).run(magnitudes));
  } else {
    for (const Tensor& t : results) sizes.push_back(absolute(t));
  }
  only_moved_ = only_moved_ &&
                std::ranges::all_of(formula->stages, [](const Stage& s) { return only_moves(*s.value); });
  const Cost price = cost(*formula);
  std::vector<Evaluated> out;
  for (std::uint32_t k = 0; k < results.size(); ++k) {
    const auto count = static_cast<double>(std::max<std::int64_t>(results[k].count(), 1));
    const double own = std::ceil(static_cast<double>(price.operations.concrete()) / count);
    out.push_back({std::move(results[k]), std::move(sizes[k]), before + own});
  }
  ISOMER_TRY_DO(decide(*formula, node, out));
  for (std::uint32_t k = 0; k < out.size(); ++k) values_.insert_or_assign(Value{id, k}, std::move(out[k]));
  return Done{};
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
      results[k].magnitude = absolute(wide);
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

}  // namespace

Result<Rounding> compare_folded(const Tensor& stored, const Graph& program) {
  const auto unit = unit_roundoff(stored.type());
  if (!unit) return Error{"only floats are rounded"};
  Evaluation plain(program, false), careful(program, true);
  auto evaluated = plain.run();
  const bool is_careful = plain.wants_stored();
  if (is_careful) evaluated = careful.run();
  ISOMER_TRY(const Evaluated exact, std::move(evaluated));
  if (exact.value.extents() != stored.extents() || exact.value.type() != ElementType::Double)
    return Error{"the program computes another shape or type"};
  const auto numbers = *stored.doubles();
  const auto wanted = exact.value.as<double>(), sizes = exact.magnitude.as<double>();
  Rounding out{.is_exact = (is_careful ? careful : plain).only_moved()};
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
