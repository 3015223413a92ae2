#include "rules/generate/lanes.h"

#include <algorithm>

namespace isomer::rules {
namespace {

int next_axis(const ExprNode& expr) {
  int out = 0;
  for (const Axis& a : expr.axes) out = std::max(out, a.id + 1);
  for (const ExprRef& a : expr.args) out = std::max(out, next_axis(*a));
  for (const ExprNode::Case& c : expr.cases) out = std::max(out, next_axis(*c.value));
  return out;
}

ExprRef with_lane(const ExprRef& expr, const Axis& lane, const std::vector<bool>& is_constant) {
  ExprNode node = *expr;
  if (node.kind == ExprNode::Kind::Read && (node.tensor.kind == TensorRef::Kind::Stage ||
                                            !is_constant[static_cast<std::size_t>(node.tensor.number)])) {
    node.at.emplace_back(lane);
    node.extents.push_back(lane.extent);
  }
  for (ExprRef& a : node.args) a = with_lane(a, lane, is_constant);
  for (ExprNode::Case& c : node.cases) c.value = with_lane(c.value, lane, is_constant);
  return std::make_shared<const ExprNode>(std::move(node));
}

}  // namespace

Formula with_lanes(const Formula& formula, const std::vector<bool>& is_constant) {
  Formula out = formula;
  for (std::size_t k = 0; k < out.inputs.size(); ++k)
    if (out.inputs[k] && !is_constant[k]) out.inputs[k]->shape.emplace_back(std::int64_t{kLanes});
  for (Stage& stage : out.stages) {
    Axis lane{.id = next_axis(*stage.value), .extent = std::int64_t{kLanes}};
    for (const Axis& a : stage.axes) lane.id = std::max(lane.id, a.id + 1);
    stage.value = with_lane(stage.value.ref(), lane, is_constant);
    stage.axes.push_back(lane);
  }
  return out;
}

}  // namespace isomer::rules
