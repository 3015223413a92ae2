#include "propose/rounded_number.h"

#include <algorithm>
#include <cmath>

#include "graph/constant.h"
#include "graph/infer.h"
#include "propose/program_builder.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNumbers = 32;

void note(std::set<float>& numbers, double value) {
  const auto number = static_cast<float>(value);
  if (std::isfinite(number) && static_cast<double>(number) == value && value != 0) numbers.insert(number);
}

void note(std::set<float>& numbers, const ExprNode& e) {
  if (e.kind == ExprNode::Kind::Number && is_float(e.type)) note(numbers, e.number);
  for (const ExprRef& a : e.args) note(numbers, *a);
  for (const ExprNode::Case& c : e.cases) note(numbers, *c.value);
}

}  // namespace

std::set<float> numbers_in(const Graph& program) {
  std::set<float> out{1};
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

std::optional<Graph> rounded_number(const Tensor& wanted, const std::set<float>& numbers,
                                    const std::map<std::string, int, std::less<>>& opsets) {
  if (wanted.type() != ElementType::Float || wanted.count() < 1 || numbers.size() > kMostNumbers)
    return std::nullopt;
  const auto values = wanted.as<float>();
  const float number = values[0];
  if (number == 0 || number == 1 || !std::ranges::all_of(values, [&](float v) { return v == number; }))
    return std::nullopt;
  for (const float s : numbers)
    for (const float t : numbers)
      for (const std::string_view op : {"Sub", "Div", "Mul"}) {
        const double x = static_cast<double>(s), y = static_cast<double>(t);
        const double result = op == "Sub" ? x - y : op == "Div" ? x / y : x * y;
        if (static_cast<float>(result) != number || result == static_cast<double>(number)) continue;
        ProgramBuilder b(opsets, "number.");
        const auto one = [&](float v) {
          return b.constant(Tensor::of(ElementType::Float, {1}, std::vector<float>{v}));
        };
        const Value made = b.op(std::string(op), {one(s), one(t)});
        b.output(wanted.rank() == 0 ? b.reshape(made, {})
                                    : b.op("Expand", {made, b.integers(wanted.extents())}));
        return b.graph();
      }
  return std::nullopt;
}

}  // namespace isomer
