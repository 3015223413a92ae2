#include <unordered_map>

#include "model/eval/program.h"
#include "model/eval/scalar.h"

namespace isomer {
namespace {

class Lifter {
 public:
  explicit Lifter(ElementType to) : to_(to) {}
  ElementType type(ElementType t) const { return is_float(t) ? to_ : t; }

  ExprRef lift(const ExprRef& expr) {
    if (const auto at = done_.find(expr.get()); at != done_.end()) return at->second;
    ExprNode node = *expr;
    node.type = type(node.type);
    for (ExprRef& a : node.args) a = lift(a);
    for (ExprNode::Case& c : node.cases) c.value = lift(c.value);
    const bool is_cast = node.kind == ExprNode::Kind::Apply && node.fn == Fn::Cast;
    const bool is_idle_cast = is_cast && node.args[0]->type == node.type;
    // A cast to a narrower float rounds on purpose; a field has nothing to round.
    const bool is_rounding =
        is_idle_cast && to_ == ElementType::Double && !is_exact_cast(expr->args[0]->type, expr->type);
    if (is_rounding) {
      ExprNode narrow = node;
      narrow.type = expr->type;
      node.args[0] = std::make_shared<const ExprNode>(std::move(narrow));
    }
    ExprRef out =
        is_idle_cast && !is_rounding ? node.args[0] : std::make_shared<const ExprNode>(std::move(node));
    return done_.emplace(expr.get(), std::move(out)).first->second;
  }

 private:
  ElementType to_;
  std::unordered_map<const ExprNode*, ExprRef> done_;
};

template <class To>
Buffer converted(const Tensor& tensor, bool to_bool) {
  Buffer out(static_cast<std::size_t>(tensor.count()) * sizeof(To));
  auto* target = reinterpret_cast<To*>(out.data());
  ScalarContext context;
  const auto fill = [&](auto&& load) {
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      target[i] = scalar::cast<To>(load(static_cast<std::size_t>(i)), to_bool, context);
  };
  if (tensor.type() == ElementType::Float16) {
    fill([values = tensor.as<std::uint16_t>()](std::size_t i) { return float16_to_float(values[i]); });
  } else if (tensor.type() == ElementType::BFloat16) {
    fill([values = tensor.as<std::uint16_t>()](std::size_t i) { return bfloat16_to_float(values[i]); });
  } else {
    with_compute_type(tensor.type(), [&]<class From>(From) {
      fill([values = tensor.as<From>()](std::size_t i) { return values[i]; });
    });
  }
  return out;
}

}  // namespace

Formula lift(const Formula& formula, ElementType to) {
  ISOMER_CHECK(to == ElementType::Double || to == ElementType::Field || to == ElementType::FieldPair);
  Lifter lifter(to);
  Formula out = formula;
  for (auto& input : out.inputs)
    if (input) input->type = lifter.type(input->type);
  for (Stage& stage : out.stages) {
    stage.type = lifter.type(stage.type);
    stage.value = lifter.lift(stage.value.ref());
  }
  return out;
}

Tensor convert(const Tensor& tensor, ElementType to) {
  ISOMER_CHECK(is_computable(to) && is_computable(tensor.type()), "only numbers are converted");
  if (tensor.type() == to) return tensor;
  if (to == ElementType::Float16 || to == ElementType::BFloat16) {
    const Tensor floats = convert(tensor, ElementType::Float);
    std::vector<std::uint16_t> halves;
    halves.reserve(static_cast<std::size_t>(floats.count()));
    for (const float x : floats.as<float>())
      halves.push_back(to == ElementType::Float16 ? float_to_float16(x) : float_to_bfloat16(x));
    return Tensor::of(to, tensor.extents(), halves);
  }
  return with_compute_type(to, [&]<class To>(To) {
    return Tensor(to, tensor.extents(), converted<To>(tensor, to == ElementType::Bool).freeze());
  });
}

}  // namespace isomer
