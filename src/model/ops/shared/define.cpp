#include "model/ops/shared/define.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isomer {

std::optional<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<std::vector<int>> normalize_axes(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<int> out;
  for (const std::int64_t a : axes) {
    const auto axis = normalize_axis(a, rank);
    if (!axis || std::ranges::find(out, *axis) != out.end()) return std::nullopt;
    out.push_back(*axis);
  }
  return out;
}

std::optional<std::vector<std::int64_t>> IntegerList::concrete() const {
  return values ? isomer::concrete(*values) : std::nullopt;
}

IntegerList integer_list(const Call& call, std::string_view attribute, int input, int input_since) {
  if (call.opset >= input_since) {
    if (!call.has(input)) return {};
    if (!is_integer(call.type(input))) throw IllegalCall(fmt::format("input {} is not of integers", input));
    return {.given = true, .values = call.in(input).integers};
  }
  const auto list = call.integers(attribute);
  return {.given = list.has_value(), .values = list ? std::optional(to_dims(*list)) : std::nullopt};
}

bool is_bool(ElementType type) { return type == ElementType::Bool; }
bool is_number(ElementType type) { return is_float(type) || is_integer(type); }
bool is_signed_number(ElementType type) { return is_float(type) || is_signed_integer(type); }

void require_types(const Call& call, TypeTest accepts, int count) {
  for (int k = 0; k < std::min(count, call.input_count()); ++k) {
    if (!call.has(k)) continue;
    if (!accepts(call.type(k))) throw OpaqueCall(fmt::format("input {} of type {}", k, name(call.type(k))));
    if (call.type(k) != call.type(0))
      throw OpaqueCall(fmt::format("inputs of types {} and {}", name(call.type(0)), name(call.type(k))));
  }
}

double finite_real(const Call& call, std::string_view name, float otherwise) {
  const float value = call.real(name, otherwise);
  if (!std::isfinite(value)) throw OpaqueCall(fmt::format("attribute {} is not finite", name));
  return static_cast<double>(value);
}

Definition broadcasting(const Call& call, const std::function<Expr(const std::vector<Expr>&)>& f) {
  auto builder = call.formula();
  std::vector<FormulaBuilder::Tensor> inputs;
  std::vector<Dims> shapes;
  for (int k = 0; k < call.input_count(); ++k) {
    if (!call.has(k)) continue;
    inputs.push_back(builder.input(k));
    shapes.push_back(call.shape(k));
  }
  const auto shape = call.broadcast(shapes);
  if (!shape) {
    if (std::ranges::all_of(shapes, [](const Dims& s) { return is_concrete(s); }))
      return invalid("the inputs' shapes do not broadcast");
    return opaque("whether the inputs' shapes broadcast is not known");
  }
  const auto p = builder.axes(*shape);
  std::vector<Expr> elements;
  for (const auto& x : inputs) elements.push_back(broadcast(x, p));
  builder.output(p, f(elements));
  return std::move(builder).finish();
}

Definition elementwise(const Call& call, const std::function<Expr(const std::vector<Expr>&)>& f,
                       TypeTest accepts) {
  require_types(call, accepts);
  return broadcasting(call, f);
}

Definition elementwise(const Call& call, Fn fn, TypeTest accepts) {
  return elementwise(call, [&](const std::vector<Expr>& x) { return apply(fn, x); }, accepts);
}

void need_divisor(const Call& call) {
  const auto& known = call.in(1).integers;
  if (!is_integer(call.type(1)) || !known) return;
  const bool divides = product(call.shape(0)).at_least(1) == true;
  for (const Dim& divisor : *known) {
    if (divisor.is_concrete() ? !divisor.is(0) : divisor.at_least(1) == true) continue;
    if (divides && divisor.at_least(0) == true) call.need(divisor - Dim(1));
    else call.runs_if(-1);
  }
}

Expr constant_element(const Tensor& tensor, std::int64_t element) {
  const auto at = static_cast<std::size_t>(element);
  if (is_float(tensor.type())) return number(tensor.type(), tensor.doubles()->at(at));
  return integer(tensor.type(), tensor.integers()->at(at));
}

Expr scalar(const Call& call, const FormulaBuilder& f, int k) {
  const Call::Input& in = call.in(k);
  if (!product(in.type.shape).is(1)) throw IllegalCall(fmt::format("input {} must have one element", k));
  if (in.constant) return constant_element(*in.constant, 0);
  return f.input(k).at(std::vector<Index>(in.type.shape.size()));
}

Expr tabulate(const Index& at, const std::vector<Expr>& values) {
  std::vector<std::pair<Domain, Expr>> list;
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    list.emplace_back(equal_to(at, Index(static_cast<std::int64_t>(i))), values[i]);
  return list.empty() ? values.back() : cases(std::move(list), values.back());
}

Definition identity(const Call& call) {
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  f.output(p, x.at(to_indices(p)));
  return std::move(f).finish();
}

}  // namespace isomer
