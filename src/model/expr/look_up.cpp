#include "model/expr/look_up.h"

namespace isomer {

std::optional<LookUp> as_look_up(const ExprNode& expr) {
  if (expr.kind != ExprNode::Kind::Reduce || expr.reduction != Reduction::Sum || expr.axes.size() != 1 ||
      !expr.domain.empty())
    return std::nullopt;
  const ExprNode& where = *expr.args[0];
  if (where.kind != ExprNode::Kind::Apply || where.fn != Fn::Where) return std::nullopt;
  const ExprNode &condition = *where.args[0], &zero = *where.args[2];
  if (zero.kind != ExprNode::Kind::Number || zero.number != 0 || zero.integer != 0) return std::nullopt;
  if (condition.kind != ExprNode::Kind::Apply || condition.fn != Fn::Equal) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const ExprNode& index = *condition.args[side];
    const ExprRef& at = condition.args[1 - side];
    if (index.kind != ExprNode::Kind::IndexNumber || !is_integer(at->type)) continue;
    const auto axis = index.index.as_axis();
    if (axis && *axis == expr.axes[0] && !mentions(*at, *axis)) return LookUp{*axis, at, where.args[1]};
  }
  return std::nullopt;
}

}  // namespace isomer
