#include "equate/rounded_number.h"

#include <algorithm>
#include <cmath>

#include "model/graph/constant.h"
#include "model/graph/infer.h"
#include "model/graph/program_builder.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNumbers = 32;
// So that all parts of a number are floats, and not subnormal ones.
constexpr double kSmallest = 0x1p-60, kLargest = 0x1p60;

void note(std::set<double>& numbers, double value) {
  if (std::isfinite(value) && std::abs(value) >= kSmallest && std::abs(value) <= kLargest)
    numbers.insert(value);
}

void note(std::set<double>& numbers, const ExprNode& e) {
  if (e.kind == ExprNode::Kind::Number && is_float(e.type)) note(numbers, e.number);
  for (const ExprRef& a : e.args) note(numbers, *a);
  for (const ExprNode::Case& c : e.cases) note(numbers, *c.value);
}

// A float64 as the sum of the at most three floats that it consists of.
Value literal(ProgramBuilder& b, double number) {
  Value sum = Value::none();
  while (number != 0) {
    const auto part = static_cast<float>(number);
    number -= static_cast<double>(part);
    const Value made = b.constant(Tensor::of(ElementType::Float, {1}, std::vector<float>{part}));
    sum = sum.exists() ? b.op("Add", {sum, made}) : made;
  }
  return sum;
}

}  // namespace

std::set<double> numbers_in(const Graph& program) {
  std::set<double> out{1};
  const auto info = infer(program);
  if (!info.ok()) return out;
  for (const NodeId id : program.order()) {
    if (const auto constant = known_constant(program, {id, 0})) {
      if (constant->type() == ElementType::Float && constant->count() == 1)
        note(out, (*constant->doubles())[0]);
      continue;
    }
    if (program.node(id).kind != NodeKind::Operator) continue;
    const Definition definition = define_node(program, *info, id);
    if (const auto* formula = std::get_if<Formula>(&definition))
      for (const Stage& s : formula->stages) note(out, *s.value);
  }
  return out;
}

std::vector<Graph> rounded_number(const Tensor& wanted, const std::set<double>& numbers,
                                  const Opsets& opsets) {
  if (wanted.type() != ElementType::Float || wanted.count() < 1 || numbers.size() > kMostNumbers) return {};
  const auto values = wanted.as<float>();
  const float number = values[0];
  if (number == 0 || numbers.contains(static_cast<double>(number)) ||
      !std::ranges::all_of(values, [&](float v) { return v == number; }))
    return {};
  std::vector<Graph> out;
  std::set<double> results;
  for (const double x : numbers)
    for (const double y : numbers)
      for (const std::string_view op : {"Sub", "Div", "Mul"}) {
        const double result = op == "Sub" ? x - y : op == "Div" ? x / y : x * y;
        if (static_cast<float>(result) != number || result == static_cast<double>(number) ||
            !results.insert(result).second)
          continue;
        ProgramBuilder b(opsets, "number.");
        const Value made = b.op(std::string(op), {literal(b, x), literal(b, y)});
        b.output(wanted.rank() == 0 ? b.reshape(made, {})
                                    : b.op("Expand", {made, b.integers(wanted.extents())}));
        out.push_back(b.graph());
      }
  return out;
}

}  // namespace isomer
