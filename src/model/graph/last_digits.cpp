#include "model/graph/last_digits.h"
#include "model/expr/parts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isomer {
namespace {

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

// Their formulas distinguish cases by a comparison with zero, and both cases agree there.
constexpr std::array<std::string_view, 4> kContinuous = {"LeakyRelu", "PRelu", "Elu", "Selu"};

bool is_narrowing(const ExprNode& e) {
  if (e.kind != ExprNode::Kind::Apply || e.fn != Fn::Cast) return false;
  const ElementType from = e.args[0]->type;
  return is_float(from) && is_float(e.type) && !is_exact_cast(from, e.type);
}

bool narrows(const ExprNode& e) { return any_part(e, is_narrowing); }

// The roundings on the way to an element; nullopt: no standard says how they are done.
std::optional<int> roundings(const ExprNode& e) {
  const bool is_half = e.type == ElementType::Float16 || e.type == ElementType::BFloat16;
  int count = 0;
  const auto add = [&](const ExprNode& inner) {
    const auto more = roundings(inner);
    if (more) count += *more;
    return more.has_value();
  };
  if (!std::ranges::all_of(e.args, [&](const ExprRef& a) { return add(*a); }) ||
      !std::ranges::all_of(e.cases, [&](const ExprNode::Case& c) { return add(*c.value); }))
    return std::nullopt;
  const bool is_sum = e.kind == ExprNode::Kind::Reduce &&
                      (e.reduction == Reduction::Sum || e.reduction == Reduction::Product);
  if (is_sum && is_float(e.type)) return std::nullopt;
  if (e.kind != ExprNode::Kind::Apply || !is_float(e.type)) return count;
  switch (e.fn) {
    case Fn::Add:
    case Fn::Sub:
    case Fn::Mul:
    case Fn::Div:
    case Fn::Sqrt: return is_half ? std::nullopt : std::optional(count + 1);
    case Fn::Cast: return count + (is_exact_cast(e.args[0]->type, e.type) ? 0 : 1);
    case Fn::Neg:
    case Fn::Abs:
    case Fn::Relu:
    case Fn::Sign:
    case Fn::Max:
    case Fn::Min:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
    case Fn::Fmod:
    case Fn::Where: return count;
    default: return std::nullopt;
  }
}

// Far more than one operation rounds, or a few of them: of each element, and a little of the largest, since
// terms may have cancelled.
double digits(ElementType type) {
  switch (type) {
    case ElementType::Double: return 0x1p-47;
    case ElementType::Float16: return 0x1p-8;
    case ElementType::BFloat16: return 0x1p-5;
    default: return 0x1p-18;
  }
}
constexpr double kCancelled = 0x1p-6;
// The result of a function that does not jump there.
constexpr double kSteepest = 64;

Tensor moved(const Tensor& tensor, double sign) {
  std::vector<double> values = *tensor.doubles();
  double largest = 0;
  for (const double v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (double& v : values)
    if (std::isfinite(v)) v += sign * digits(tensor.type()) * (std::abs(v) + kCancelled * largest);
  return convert(Tensor::of(ElementType::Double, tensor.extents(), values), tensor.type());
}

bool is_near(const Tensor& a, const Tensor& b) {
  if (a.same_bits(b)) return true;
  if (a.type() != b.type() || a.extents() != b.extents() || !is_float(a.type())) return false;
  const auto x = *a.doubles(), y = *b.doubles();
  // Whole numbers were made by a jump, and are other numbers however large they are.
  if (std::ranges::all_of(x, [](double v) { return v == std::trunc(v); })) return false;
  double largest = 0;
  for (const double v : x)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  return std::ranges::equal(x, y, [&](double u, double v) {
    return u == v || std::abs(u - v) <= kSteepest * digits(a.type()) * (std::abs(u) + kCancelled * largest);
  });
}

}  // namespace

Dependence::Dependence(const Formula& formula, std::vector<bool> inputs) : inputs_(std::move(inputs)) {
  inputs_.resize(std::max(inputs_.size(), formula.inputs.size()), false);
  for (const Stage& s : formula.stages) stages_.push_back(of(*s.value));  // reads only stages before it
}

bool Dependence::of(const ExprNode& part) const {
  return any_part(part, [&](const ExprNode& e) {
    if (e.kind != ExprNode::Kind::Read) return false;
    const auto number = static_cast<std::size_t>(e.tensor.number);
    if (e.tensor.kind == TensorRef::Kind::Input) return static_cast<bool>(inputs_[number]);
    return number < stages_.size() && stages_[number];
  });
}

// Whether a function that is applied somewhere has it.
template <class Has>
static bool any_function(const Formula& formula, const Has& has) {
  return std::ranges::any_of(formula.stages, [&](const Stage& s) {
    return any_part(*s.value, [&](const ExprNode& e) { return e.kind == ExprNode::Kind::Apply && has(e); });
  });
}

bool is_continuous(const Formula& formula, const Node& node, const std::vector<bool>& changed) {
  if (node.domain.empty() && std::ranges::find(kContinuous, node.op) != kContinuous.end()) return true;
  const Dependence dependence(formula, changed);
  return !any_function(formula,
                       [&](const ExprNode& e) { return has_jumps(e.fn, e.type) && dependence.of(e); });
}

bool is_steep_near_zero(const Formula& formula, const std::vector<bool>& changed) {
  const Dependence dependence(formula, changed);
  return any_function(formula, [&](const ExprNode& e) {
    const bool is_steep = e.fn == Fn::Sqrt || e.fn == Fn::Log || e.fn == Fn::Pow;
    return (e.fn == Fn::Div && dependence.of(*e.args[1])) || (is_steep && dependence.of(e));
  });
}

bool is_continuous(const Formula& formula, const Node& node) {
  std::vector<bool> floats;
  for (const auto& input : formula.inputs) floats.push_back(input && is_float(input->type));
  return is_continuous(formula, node, floats);
}

bool narrows(const Formula& formula) {
  return std::ranges::any_of(formula.stages, [](const Stage& s) { return narrows(*s.value); });
}

bool has_agreed_digits(const Formula& formula) {
  int count = 0;
  for (const Stage& s : formula.stages) {
    const auto more = roundings(*s.value);
    if (!more) return false;
    count += *more;
  }
  return count <= 1;
}

bool last_digits_decide(const Program& program, const std::vector<std::optional<Tensor>>& inputs,
                        const std::vector<bool>& flagged, const std::vector<Tensor>& outputs) {
  for (std::size_t k = 0; k < inputs.size() && k < flagged.size(); ++k) {
    if (!flagged[k] || !inputs[k] || !is_float(inputs[k]->type())) continue;
    for (const double sign : {-1.0, 1.0}) {
      auto others = inputs;
      others[k] = moved(*inputs[k], sign);
      const auto results = program.run(others);
      if (!results.ok() || !std::ranges::equal(*results, outputs, is_near)) return true;
    }
  }
  return false;
}

}  // namespace isomer
