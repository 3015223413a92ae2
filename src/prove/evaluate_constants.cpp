#include "prove/evaluate_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/analysis.h"
#include "eval/program.h"
#include "graph/constant.h"
#include "graph/infer.h"
#include "graph/last_digits.h"

namespace isomer {
namespace {

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

// Beyond this, a single tensor does not fit the machines that this is for.
constexpr std::size_t kMostTensorBytes = std::size_t{8} << 30;

bool can_be_computed(const Formula& formula) {
  return std::ranges::all_of(formula.stages, [](const Stage& s) {
    const auto extents = concrete(s.shape());
    const auto bytes = extents ? byte_size(s.type, *extents) : std::nullopt;
    return bytes && *bytes <= kMostTensorBytes;
  });
}

class Evaluation {
 public:
  Evaluation(const Graph& program, bool with_magnitudes, bool with_stored)
      : program_(program), with_magnitudes_(with_magnitudes), with_stored_(with_stored) {}
  Result<EvaluatedProgram> run();
  bool wants_stored() const { return wants_stored_; }

 private:
  Status add(const Inference& inference, NodeId id);
  Status decide(const Formula& formula, const Node& node, std::vector<EvaluatedConstant>& results);
  void add_constant(NodeId id, const Tensor& tensor) {
    const Tensor value = is_float(tensor.type()) ? convert(tensor, ElementType::Double) : tensor;
    values_.insert_or_assign(Value{id, 0}, EvaluatedConstant{value, magnitude(value), 0, tensor});
  }
  Tensor magnitude(const Tensor& value) const { return with_magnitudes_ ? absolute(value) : value; }
  const Graph& program_;
  bool with_magnitudes_, with_stored_, wants_stored_ = false;
  std::map<Value, EvaluatedConstant> values_;  // until they are read for the last time
  std::map<Value, int> reads_;                 // to come
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
  if (!can_be_computed(*formula))
    return Error{fmt::format("{} is too large, or its size is not known", label(node))};
  std::vector<std::optional<Tensor>> values(formula->inputs.size()), magnitudes(formula->inputs.size());
  double before = 0;
  for (std::size_t k = 0; k < values.size() && k < node.inputs.size(); ++k) {
    if (!formula->inputs[k]) continue;
    const auto at = values_.find(node.inputs[k]);
    if (at == values_.end()) return Error{fmt::format("{} reads what is no number", label(node))};
    values[k] = at->second.value;
    magnitudes[k] = at->second.magnitude;
    before = std::max(before, at->second.operations);
  }
  const Formula lifted = lift(*formula, ElementType::Double);
  ISOMER_TRY(std::vector<Tensor> results, Program::compile(lifted).run(values));
  std::vector<Tensor> sizes;
  const auto unsigned_formula = with_magnitudes_ ? without_signs(lifted) : std::nullopt;
  if (unsigned_formula) {
    ISOMER_TRY(sizes, Program::compile(*unsigned_formula).run(magnitudes));
  } else {
    for (const Tensor& t : results) sizes.push_back(magnitude(t));
  }
  only_moved_ = only_moved_ &&
                std::ranges::all_of(formula->stages, [](const Stage& s) { return only_moves(*s.value); });
  const Cost price = cost(*formula);
  std::vector<EvaluatedConstant> out;
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
Status Evaluation::decide(const Formula& formula, const Node& node, std::vector<EvaluatedConstant>& results) {
  const bool jumps = !is_continuous(formula, node), is_decided = jumps || narrows(formula);
  wants_stored_ = wants_stored_ || is_decided;
  if (!with_stored_)
    return is_decided ? Status(Error{"it needs the arithmetic of the stored types"}) : Done{};
  const bool has_agreed = has_agreed_digits(formula);
  std::vector<std::optional<Tensor>> inputs(formula.inputs.size());
  std::vector<bool> is_open(inputs.size(), false);
  bool is_exact = true, is_agreed = has_agreed;
  for (std::size_t k = 0; k < inputs.size() && k < node.inputs.size(); ++k) {
    if (!formula.inputs[k]) continue;
    const auto at = values_.find(node.inputs[k]);  // `add` has found it
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
      results[k].magnitude = magnitude(wide);
      results[k].operations = 0;
    }
    results[k].stored = std::move(stored[k]);
  }
  return Done{};
}

Result<EvaluatedProgram> Evaluation::run() {
  ISOMER_TRY(const Inference inference, infer(program_));
  for (const NodeId id : program_.order())
    for (const Value& v : program_.node(id).inputs) ++reads_[v];
  for (const Value& v : program_.outputs()) ++reads_[v];
  for (const NodeId id : program_.order()) {
    if (program_.node(id).kind == NodeKind::Input || program_.is_overridable(id))
      return Error{"the program of a constant has an input"};
    ISOMER_TRY_DO(add(inference, id));
    for (const Value& v : program_.node(id).inputs)
      if (--reads_[v] == 0) values_.erase(v);
  }
  EvaluatedProgram out{.outputs = {}, .only_moves = only_moved_};
  for (const Value& v : program_.outputs()) {
    const auto at = values_.find(v);
    if (at == values_.end()) return Error{fmt::format("{} has no number", program_.name_of(v))};
    out.outputs.push_back(at->second);
  }
  return out;
}

}  // namespace

Result<EvaluatedProgram> evaluate_constants(const Graph& program, bool with_magnitudes) {
  Evaluation plain(program, with_magnitudes, false);
  auto evaluated = plain.run();
  return plain.wants_stored() ? Evaluation(program, with_magnitudes, true).run() : evaluated;
}

}  // namespace isomer
