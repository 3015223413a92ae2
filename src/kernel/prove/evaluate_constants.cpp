#include "kernel/prove/evaluate_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/hash.h"
#include "kernel/prove/float_error.h"
#include "model/analysis/analysis.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/infer.h"
#include "model/graph/last_digits.h"

namespace isomer {
namespace {

bool only_moves(const ExprNode& e) {
  if (!is_float(e.type)) return !reads_floats(e);
  if (e.kind == ExprNode::Kind::Number) return true;
  if (e.kind == ExprNode::Kind::Apply || e.kind == ExprNode::Kind::Reduce) return false;
  return std::ranges::all_of(e.args, [](const ExprRef& a) { return only_moves(*a); }) &&
         std::ranges::all_of(e.cases, [](const ExprNode::Case& c) { return only_moves(*c.value); });
}

// Applies fn to each double.
template <class Fn>
Tensor mapped(const Tensor& tensor, const Fn& fn) {
  if (tensor.type() != ElementType::Double) return tensor;
  const auto values = tensor.as<double>();
  Buffer out(values.size_bytes());
  auto* made = reinterpret_cast<double*>(out.data());
  for (std::size_t i = 0; i < values.size(); ++i) made[i] = fn(i, values[i]);
  return {ElementType::Double, tensor.extents(), std::move(out).freeze()};
}

Tensor size_of(const Tensor& value, const Tensor& error) {
  if (value.type() != ElementType::Double) return value;
  const auto errors = error.as<double>();
  return mapped(value, [&](std::size_t i, double v) { return std::abs(v) + errors[i]; });
}

// Limit of the relative loss of a folded number.
constexpr double kMostLost = 0x1p-15;

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
  Evaluation(const Graph& program, const Nudge& nudge, bool with_stored)
      : program_(program), nudge_(nudge), with_stored_(with_stored) {}
  Result<EvaluatedProgram> run();
  bool wants_stored() const { return wants_stored_; }

 private:
  Status add(const Inference& inference, NodeId id);
  Status decide(const Formula& formula, const Node& node, std::vector<EvaluatedConstant>& results);
  void add_constant(NodeId id, const Tensor& tensor) {
    Tensor value = is_float(tensor.type()) ? convert(tensor, ElementType::Double) : tensor;
    if (nudge_.symbols.contains(id))
      value = mapped(value, [&](std::size_t, double v) { return nudge_.of(v); });
    values_.insert_or_assign(Value{id, 0}, EvaluatedConstant{.value = value, .stored = tensor});
  }
  const Graph& program_;
  const Nudge& nudge_;
  bool with_stored_, wants_stored_ = false;
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
  const std::size_t count = formula->inputs.size();
  std::vector<std::optional<Tensor>> values(count);
  double before = 0;
  const bool moves =
      std::ranges::all_of(formula->stages, [](const Stage& s) { return only_moves(*s.value); });
  bool is_exact = true;
  for (std::size_t k = 0; k < count && k < node.inputs.size(); ++k) {
    if (!formula->inputs[k]) continue;
    const auto at = values_.find(node.inputs[k]);
    if (at == values_.end()) return Error{fmt::format("{} reads what is no number", label(node))};
    values[k] = at->second.value;
    is_exact = is_exact && !at->second.error;
    before = std::max(before, at->second.operations);
  }
  only_moved_ = only_moved_ && moves;
  const Formula lifted = lift(*formula, ElementType::Double);
  ISOMER_TRY(std::vector<Tensor> results, Program::compile(lifted).run(values));
  is_exact = is_exact && (moves || is_computed_exactly(lifted, values));
  std::vector<std::optional<Tensor>> errors(results.size());
  // A node that the stored types decide is exact (`decide`).
  if (!is_exact && is_continuous(*formula, node) && !narrows(*formula)) {
    const auto error = error_of(lifted);
    if (!error) return Error{fmt::format("the rounding of {} is not followed", label(node))};
    values.resize(3 * count);
    for (std::size_t k = 0; k < count; ++k) {
      if (!values[k]) continue;
      values[count + k] = values_.at(node.inputs[k]).errors();
      values[2 * count + k] = size_of(*values[k], *values[count + k]);
    }
    ISOMER_TRY(std::vector<Tensor> bounds, Program::compile(*error).run(values));
    std::ranges::move(bounds, errors.begin());
  }
  const Cost price = cost(*formula);
  std::vector<EvaluatedConstant> out;
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
bool is_near_stored(const EvaluatedConstant& e) {
  if (e.value.type() != ElementType::Double) return true;
  const auto wide = *e.stored->doubles();
  const Tensor error = e.errors();
  const auto wanted = e.value.as<double>(), errors = error.as<double>();
  const double unit = unit_roundoff(e.stored->type()).value_or(0), least = smallest_normal(e.stored->type());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!std::isfinite(wanted[i]) && !std::isfinite(wide[i])) continue;
    const double bound = kMostRoundings * unit * std::abs(wanted[i]) + least;
    if (!(std::abs(wide[i] - wanted[i]) <= bound && errors[i] * kDoubleUnit <= bound)) return false;
  }
  return true;
}

// The result in the stored types, where they decide.
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
      results[k].error.reset();
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

Tensor EvaluatedConstant::errors() const {
  return error ? *error : mapped(value, [](std::size_t, double) { return 0.0; });
}

bool EvaluatedConstant::has_digits() const {
  if (!error || value.type() != ElementType::Double) return true;
  const auto numbers = value.as<double>(), off = error->as<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double most = kMostLost * std::abs(numbers[i]) + smallest_normal(ElementType::Float);
    if (std::isfinite(numbers[i]) && !(off[i] * kDoubleUnit <= most)) return false;
  }
  return true;
}

double Nudge::of(double v) const {
  if (v == 0 || !std::isfinite(v)) return v;
  const std::uint64_t bits = mix(trial);
  const auto waves = static_cast<double>(64 + bits % 256);  // in an octave
  const double phase = static_cast<double>(bits >> 11) * 0x1p-53;
  int exponent = 0;
  const double at = waves * 2 * std::frexp(std::abs(v), &exponent) + phase;
  return v * (1 + step * (4 * std::abs(at - std::floor(at) - 0.5) - 1));
}

Result<EvaluatedProgram> evaluate_constants(const Graph& program, const Nudge& nudge) {
  Evaluation plain(program, nudge, false);
  auto evaluated = plain.run();
  return plain.wants_stored() ? Evaluation(program, nudge, true).run() : evaluated;
}

}  // namespace isomer
