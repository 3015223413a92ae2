#include "prove/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "algebra/analysis.h"
#include "algebra/program.h"
#include "graph/constant.h"
#include "graph/infer.h"

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

// Of two that folded a batch norm (add, root, quotient, product; each of them half a unit), and of what is
// a bias then, in units of the largest one: the terms that cancelled are gone.
constexpr double kRestatedUnits = 8;

bool reads_floats(const ExprNode& e) {
  return (e.kind == ExprNode::Kind::Read && is_float(e.type)) ||
         std::ranges::any_of(e.args, [](const ExprRef& a) { return reads_floats(*a); }) ||
         std::ranges::any_of(e.cases, [](const ExprNode::Case& c) { return reads_floats(*c.value); });
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

// A value of the program: in float64, without cancellation, and how many operations led to an element.
struct Evaluated {
  Tensor value, magnitude;
  double operations = 0;
};

class Evaluation {
 public:
  explicit Evaluation(const Graph& program) : program_(program) {}
  Result<Evaluated> run();
  bool only_moved() const { return only_moved_; }

 private:
  Status add(const Inference& inference, NodeId id);
  void add_constant(NodeId id, const Tensor& tensor) {
    const Tensor value = is_float(tensor.type()) ? convert(tensor, ElementType::Double) : tensor;
    values_.insert_or_assign(Value{id, 0}, Evaluated{value, absolute(value), 0});
  }
  const Graph& program_;
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
  for (std::uint32_t k = 0; k < results.size(); ++k) {
    const auto count = static_cast<double>(std::max<std::int64_t>(results[k].count(), 1));
    const double own = std::ceil(static_cast<double>(price.operations.concrete()) / count);
    values_.insert_or_assign(Value{id, k},
                             Evaluated{std::move(results[k]), std::move(sizes[k]), before + own});
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

bool depends(const ExprNode& e, const std::vector<bool>& changed, const std::set<int>& changed_stages) {
  if (e.kind == ExprNode::Kind::Read)
    return e.tensor.kind == TensorRef::Kind::Input ? changed[static_cast<std::size_t>(e.tensor.number)]
                                                   : changed_stages.contains(e.tensor.number);
  const auto asks = [&](const ExprNode& inner) { return depends(inner, changed, changed_stages); };
  return std::ranges::any_of(e.args, [&](const ExprRef& a) { return asks(*a); }) ||
         std::ranges::any_of(e.cases, [&](const ExprNode::Case& c) { return asks(*c.value); });
}

bool has_jumps(Fn fn, ElementType type) {
  switch (fn) {
    case Fn::Sign:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
    case Fn::Mod:
    case Fn::Fmod:
    case Fn::Equal:
    case Fn::Less:
    case Fn::LessOrEqual:
    case Fn::IsNaN:
    case Fn::IsPositiveInf:
    case Fn::IsNegativeInf: return true;
    default: return !is_float(type);
  }
}

bool jumps(const ExprNode& e, const std::vector<bool>& changed, const std::set<int>& changed_stages) {
  if (!depends(e, changed, changed_stages)) return false;
  if (e.kind == ExprNode::Kind::Apply && has_jumps(e.fn, e.type)) return true;
  const auto asks = [&](const ExprNode& inner) { return jumps(inner, changed, changed_stages); };
  return std::ranges::any_of(e.args, [&](const ExprRef& a) { return asks(*a); }) ||
         std::ranges::any_of(e.cases, [&](const ExprNode::Case& c) { return asks(*c.value); });
}

// Their formulas distinguish cases by a comparison with zero, and both cases agree there.
constexpr std::array<std::string_view, 4> kContinuous = {"LeakyRelu", "PRelu", "Elu", "Selu"};

}  // namespace

Result<Rounding> compare_folded(const Tensor& stored, const Graph& program) {
  const auto unit = unit_roundoff(stored.type());
  if (!unit) return Error{"only floats are rounded"};
  Evaluation evaluation(program);
  ISOMER_TRY(const Evaluated exact, evaluation.run());
  if (exact.value.extents() != stored.extents() || exact.value.type() != ElementType::Double)
    return Error{"the program computes another shape or type"};
  const auto numbers = *stored.doubles();
  const auto wanted = exact.value.as<double>(), sizes = exact.magnitude.as<double>();
  Rounding out{.is_exact = evaluation.only_moved()};
  const bool is_moved = out.is_exact, is_vector = stored.extents().size() == 1;
  double largest = 0;
  for (const double v : numbers) largest = std::max(largest, std::abs(v));
  // However long the program is: the leading digits of the constant are right.
  const double most = kMostUnits * *unit * largest;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double off = std::abs(numbers[i] - wanted[i]);
    if (off == 0) continue;
    // One more operation: the result is stored.
    const double bound =
        is_moved ? kRestatedUnits * *unit * (is_vector ? largest : sizes[i])
                 : std::min(std::min(exact.operations + 1, kMostRoundings) * *unit * sizes[i], most) +
                       smallest_normal(stored.type());
    if (!(off <= bound))
      return Error{fmt::format("element {} is {}, not {} within {}", i, numbers[i], wanted[i], bound)};
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

bool is_continuous(const Formula& formula, const Node& node, const std::vector<bool>& changed) {
  if (node.domain.empty() && std::ranges::find(kContinuous, node.op) != kContinuous.end()) return true;
  std::vector<bool> flags = changed;
  flags.resize(std::max(flags.size(), formula.inputs.size()), false);
  std::set<int> stages;
  for (std::size_t s = 0; s < formula.stages.size(); ++s) {
    const ExprNode& value = *formula.stages[s].value;
    if (jumps(value, flags, stages)) return false;
    if (depends(value, flags, stages)) stages.insert(static_cast<int>(s));
  }
  return true;
}

}  // namespace isomer
