#include <algorithm>

#include "model/analysis/analysis.h"

namespace isomer {
namespace {

// Operations to compute one value; a case distinction costs its dearest case. Casts and choices count as
// nothing, like moves.
Dim operations(const ExprNode& e) {
  Dim own = 0;
  for (const ExprRef& a : e.args) own = own + operations(*a);
  switch (e.kind) {
    case ExprNode::Kind::Apply: return e.fn == Fn::Cast || e.fn == Fn::Where ? own : own + Dim(1);
    case ExprNode::Kind::Cases:
      for (const ExprNode::Case& c : e.cases) own = Dim::max(own, operations(*c.value));
      return own;
    case ExprNode::Kind::Reduce: {
      // A sum that an equality pins to one point is a look-up: no arithmetic.
      const ExprNode& body = *e.args[0];
      const bool is_lookup = body.kind == ExprNode::Kind::Apply && body.fn == Fn::Where &&
                             body.args[0]->kind == ExprNode::Kind::Apply && body.args[0]->fn == Fn::Equal;
      if (is_lookup) return 0;
      Dim points = 1;
      for (const Axis& a : e.axes) points = points * a.extent;
      return points * (own + Dim(1));
    }
    default: return own;
  }
}

Dim bytes_of(ElementType type, const Dims& shape) { return Dim::ceil(product(shape) * Dim(bits(type)), 8); }

}  // namespace

Cost cost(const Formula& formula) {
  Cost out{.operations = 0, .bytes = 0};
  for (const Stage& s : formula.stages)
    out.operations = out.operations + product(s.shape()) * operations(*s.value);
  for (const auto& input : formula.inputs)
    if (input) out.bytes = out.bytes + bytes_of(input->type, input->shape);
  for (const int o : formula.outputs) {
    const Stage& s = formula.stages[static_cast<std::size_t>(o)];
    out.bytes = out.bytes + bytes_of(s.type, s.shape());
  }
  return out;
}

bool moves_data(const ExprNode& e) {
  switch (e.kind) {
    case ExprNode::Kind::Read: return e.tensor.kind == TensorRef::Kind::Input;
    case ExprNode::Kind::Reduce:
      return e.domain.empty() && std::ranges::all_of(e.axes, [](const Axis& a) { return a.extent.is(1); }) &&
             moves_data(*e.args[0]);
    case ExprNode::Kind::Cases:
      return moves_data(*e.args[0]) &&
             std::ranges::all_of(e.cases, [](const ExprNode::Case& c) { return moves_data(*c.value); });
    default: return false;
  }
}

}  // namespace isomer
