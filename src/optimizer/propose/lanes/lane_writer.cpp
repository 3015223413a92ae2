#include "optimizer/propose/lanes/lane_writer.h"

#include <algorithm>
#include <set>

namespace isomer {
namespace {

// The cost of moving lanes, in nodes; only compared with each other.
constexpr double kReshape = 1, kTurn = 20, kStack = 5, kOtherKind = 0.5, kTwoNodes = 2;
constexpr std::size_t kMostTried = 256;  // ways to fold the lanes of one node's inputs

using Integers = std::vector<std::int64_t>;

std::int64_t normalize(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

// Axes of a value of this rank where lanes come in before the one of number `at`.
Integers shifted(Integers axes, std::size_t rank, std::size_t at) {
  for (std::int64_t& a : axes) {
    a = normalize(a, rank);
    if (a >= static_cast<std::int64_t>(at)) ++a;
  }
  return axes;
}

std::optional<std::int64_t> default_axis(const Node& node, int opset) {
  if (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Hardmax") return opset < 13 ? 1 : -1;
  if (node.op == "LayerNormalization") return -1;
  if (node.op == "Gather") return 0;
  return std::nullopt;
}

// The permutation with lanes before axis `at` of the input, which stay before what that axis becomes.
Integers permute(const Node& node, std::size_t rank, std::size_t at) {
  Integers reversed;
  for (std::size_t k = rank; k > 0; --k) reversed.push_back(static_cast<std::int64_t>(k - 1));
  Integers out;
  for (const std::int64_t from : attribute(node, "perm", reversed)) {
    if (from == static_cast<std::int64_t>(at)) out.push_back(from);
    out.push_back(from >= static_cast<std::int64_t>(at) ? from + 1 : from);
  }
  if (at == rank) out.push_back(static_cast<std::int64_t>(rank));
  return out;
}

// The axes of an Unsqueeze are those of the output.
Integers unsqueezed(Integers axes, std::size_t rank, std::size_t at) {
  const std::size_t made = rank + axes.size();
  for (std::int64_t& a : axes) a = normalize(a, made);
  std::size_t seen = 0, lane = made;
  for (std::size_t k = 0; k < made && lane == made; ++k)
    if (std::ranges::find(axes, static_cast<std::int64_t>(k)) == axes.end() && seen++ == at) lane = k;
  return shifted(std::move(axes), made, lane);
}

// Where `longer` has axes of one element that `shorter` has not; nullopt: that is not all.
std::optional<Integers> ones_between(const Dims& shorter, const Dims& longer) {
  Integers out;
  std::size_t at = 0;
  for (std::size_t d = 0; d < longer.size(); ++d) {
    if (at < shorter.size() && shorter[at] == longer[d]) ++at;
    else if (longer[d].is(1)) out.push_back(static_cast<std::int64_t>(d));
    else return std::nullopt;
  }
  return at == shorter.size() ? std::optional(out) : std::nullopt;
}

bool reads_shapes(const std::string& op) {
  static const std::set<std::string, std::less<>> kOperators{"Gather",  "Squeeze", "Unsqueeze", "Slice",
                                                             "Reshape", "Expand",  "Tile",      "Pad"};
  return kOperators.contains(op) || op.starts_with("Reduce");
}

}  // namespace

Dims LaneWriter::stacked(const Dims& shape, LaneLayout layout) const {
  Dims out = shape;
  if (layout.is_folded) out[layout.axis] = Dim(lanes_) * shape[layout.axis];
  else out.insert(out.begin() + static_cast<std::ptrdiff_t>(layout.axis), Dim(lanes_));
  return out;
}

// Whether lanes move past axes of one element only.
bool LaneWriter::is_turn_free(const LaneOperand& operand, std::size_t from, std::size_t to) const {
  for (std::size_t d = std::min(from, to); d < std::max(from, to); ++d)
    if (!operand.shape[d].is(1)) return false;
  return true;
}

double LaneWriter::effort(const LaneOperand& operand, LaneLayout layout) const {
  if (operand.is_constant) return 0;
  double out = operand.separate.empty() ? 1e9 : kStack + (layout.is_folded ? 0 : kReshape);
  for (const LaneOperand::Form& form : operand.forms) {
    if (form.layout == layout) return 0;
    out = std::min(out, is_turn_free(operand, form.layout.axis, layout.axis) ? kReshape : kTurn);
  }
  return out;
}

std::optional<Value> LaneWriter::reshaped(Value value, const Dims& from, const Dims& to) {
  if (from == to) return value;
  const auto target = reshape_target(from, to);
  if (target && std::ranges::find(*target, -1) == target->end()) return b_.reshape(value, *target);
  if (const auto ones = ones_between(from, to)) return b_.unsqueeze(value, *ones);
  if (const auto ones = ones_between(to, from)) return b_.squeeze(value, *ones);
  return target ? std::optional(b_.reshape(value, *target)) : std::nullopt;
}

std::optional<Value> LaneWriter::stacked_anew(LaneOperand& operand, LaneLayout layout) {
  if (layout.axis < operand.shape.size() && operand.shape[layout.axis].is_concrete()) {
    const Value value = b_.concat(operand.separate, static_cast<std::int64_t>(layout.axis));
    operand.forms.push_back({{layout.axis, true}, value});
    return in(operand, layout);
  }
  std::vector<Value> parts;
  for (const Value& v : operand.separate)
    parts.push_back(b_.unsqueeze(v, {static_cast<std::int64_t>(layout.axis)}));
  operand.forms.push_back({layout, b_.concat(parts, static_cast<std::int64_t>(layout.axis))});
  return operand.forms.back().value;
}

std::optional<Value> LaneWriter::in(LaneOperand& operand, LaneLayout layout) {
  const LaneOperand::Form* from = nullptr;
  for (const LaneOperand::Form& form : operand.forms) {
    if (form.layout == layout) return form.value;
    if (from == nullptr || is_turn_free(operand, form.layout.axis, layout.axis)) from = &form;
  }
  if (layout.is_folded && !operand.shape[layout.axis].is_concrete()) return std::nullopt;
  const bool is_turned = from != nullptr && !is_turn_free(operand, from->layout.axis, layout.axis);
  if (from == nullptr || (is_turned && !operand.separate.empty())) return stacked_anew(operand, layout);
  const LaneLayout at = from->layout;
  std::optional<Value> value = from->value;
  Dims shape = stacked(operand.shape, at);
  if (is_turned) {
    const Dims opened = stacked(operand.shape, {at.axis, false});
    value = reshaped(*value, shape, opened);
    if (!value) return std::nullopt;
    Integers order;
    for (std::size_t d = 0; d < opened.size(); ++d)
      if (d != at.axis) order.push_back(static_cast<std::int64_t>(d));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(layout.axis),
                 static_cast<std::int64_t>(at.axis));
    value = b_.transpose(*value, order);
    shape = stacked(operand.shape, {layout.axis, false});
  }
  value = reshaped(*value, shape, stacked(operand.shape, layout));
  if (value) operand.forms.push_back({layout, *value});
  return value;
}

std::optional<std::vector<Value>> LaneWriter::lanes_of(LaneOperand& operand) {
  const LaneLayout at = operand.forms.empty() ? LaneLayout{} : operand.forms.back().layout;
  const auto axis = static_cast<std::int64_t>(at.axis);
  if (at.axis < operand.shape.size() && operand.shape[at.axis].is_concrete()) {
    const auto folded = in(operand, {at.axis, true});
    if (!folded) return std::nullopt;
    return b_.split(*folded, axis,
                    Integers(static_cast<std::size_t>(lanes_), operand.shape[at.axis].concrete()));
  }
  const auto apart = in(operand, {at.axis, false});
  if (!apart) return std::nullopt;
  std::vector<Value> out;
  for (std::int64_t k = 0; k < lanes_; ++k)
    out.push_back(b_.op("Gather", {*apart, b_.scalar_integer(k)}, with({{"axis", axis}})));
  return out;
}

// The node on values of these shapes.
std::optional<LaneWriter::Called> LaneWriter::called(const Node& node,
                                                     const std::vector<std::optional<Dims>>& shapes,
                                                     const std::vector<LaneOperand*>& inputs,
                                                     const std::vector<Input>& how) const {
  ProgramBuilder one(site_.graph.opsets, "v");
  std::vector<Value> values;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (!shapes[k]) {
      values.push_back(Value::none());
    } else if (how[k].integers) {
      values.push_back(one.integers(*how[k].integers));
    } else if (inputs[k]->known && !how[k].opened) {
      values.push_back(one.constant(*inputs[k]->known));
    } else {
      DeclaredType type{.type = inputs[k]->type};
      type.shape = std::vector<std::optional<Dim>>(shapes[k]->begin(), shapes[k]->end());
      values.push_back(one.input("x" + std::to_string(k), type));
    }
  }
  const Value y = one.copy(node, values);
  const auto inference = infer(one.graph());
  if (!inference.ok() || inference->opaque.contains(y.node)) return std::nullopt;
  const auto& info = inference->of(y);
  Definition definition = define_node(one.graph(), *inference, y.node);
  auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr || !info.shape) return std::nullopt;
  return Called{std::move(*formula), *info.shape, info.type};
}

// Whether lanes do not meet in a plan, and where they are then.
bool LaneWriter::settle(Plan& plan, const std::vector<LaneOperand*>& inputs, const Dims& made) const {
  std::vector<std::optional<Dims>> shapes;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Input& in = plan.inputs[k];
    if (inputs[k] == nullptr) {
      shapes.emplace_back();
      continue;
    }
    Dims shape = in.layout ? stacked(inputs[k]->shape, *in.layout) : inputs[k]->shape;
    if (in.layout)
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(in.layout->axis) + 1, in.ones, Dim(1));
    if (in.opened) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*in.opened), Dim(1));
    shapes.emplace_back(std::move(shape));
  }
  const auto call = called(plan.node, shapes, inputs, plan.inputs);
  if (!call) return false;
  const auto roles = axis_roles(call->formula, 0);
  int lane = -1;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!plan.inputs[k].layout) continue;
    const std::size_t axis = plan.inputs[k].layout->axis;
    if (k >= roles.size() || axis >= roles[k].axes.size() || roles[k].axes[axis] != AxisRole::Parallel)
      return false;
    if (lane >= 0 && roles[k].output_axis[axis] != lane) return false;
    lane = roles[k].output_axis[axis];
  }
  if (lane < 0) return false;
  for (std::size_t k = 0; k < inputs.size() && k < roles.size(); ++k)
    if (inputs[k] != nullptr && !plan.inputs[k].layout &&
        std::ranges::find(roles[k].output_axis, lane) != roles[k].output_axis.end())
      return false;
  plan.made.axis = static_cast<std::size_t>(lane);
  const std::size_t most = made.size() + (plan.made.is_folded ? 0 : 1);
  return plan.made.axis < most && stacked(made, plan.made) == call->shape;
}

// Lanes folded into axes that the node has.
void LaneWriter::consider_folded(const Node& node, const std::vector<LaneOperand*>& inputs, const Dims& made,
                                 std::optional<Plan>& best) const {
  std::vector<Plan> plans{{.node = node, .inputs = std::vector<Input>(inputs.size()), .made = {0, true}}};
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == nullptr || !inputs[k]->has_lanes) continue;
    std::vector<Plan> more;
    for (const Plan& plan : plans)
      for (std::size_t axis = 0; axis < inputs[k]->shape.size(); ++axis) {
        // Lanes of a named extent could not be separated again by affine positions.
        if (!inputs[k]->shape[axis].is_concrete()) continue;
        more.push_back(plan);
        more.back().inputs[k].layout = {axis, true};
        more.back().effort += effort(*inputs[k], {axis, true});
      }
    plans = std::move(more);
    if (plans.size() > kMostTried) return;
  }
  if (node.op == "Reshape" && inputs[1]->known)
    for (Plan& plan : plans) {
      auto sizes = *inputs[1]->known->integers();
      if (!sizes.empty() && sizes[0] > 0) sizes[0] *= lanes_;
      plan.inputs[1].integers = std::move(sizes);
    }
  std::ranges::stable_sort(plans, {}, &Plan::effort);
  for (Plan& plan : plans) {
    if (stacks_) plan.effort += 2 * kOtherKind;
    if (best && best->effort <= plan.effort) return;
    if (!settle(plan, inputs, made)) continue;
    best = std::move(plan);
    return;
  }
}

// Lanes along an axis of their own: what the node says of axes is shifted.
void LaneWriter::consider_stacked(const Node& node, const std::vector<LaneOperand*>& inputs, const Dims& made,
                                  std::optional<Plan>& best) const {
  std::size_t rank = 0;
  for (const LaneOperand* in : inputs)
    if (in != nullptr && (in->has_lanes || !reads_shapes(node.op))) rank = std::max(rank, in->shape.size());
  std::set<std::size_t> places{0};
  for (const LaneOperand* in : inputs)
    if (in != nullptr && in->has_lanes)
      for (const LaneOperand::Form& form : in->forms)
        places.insert(form.layout.axis + rank - in->shape.size());
  for (const std::size_t at : places) {
    Plan plan{.node = node, .inputs = std::vector<Input>(inputs.size()), .effort = kOtherKind};
    if (node.op == "Transpose") {
      plan.node.attributes.set("perm", permute(node, rank, at));
    } else if (node.op == "Reshape") {
      if (at != 0 || !inputs[1]->known || attribute(node, "allowzero", std::int64_t{0}) != 0) continue;
      plan.inputs[1].integers = joined({lanes_}, *inputs[1]->known->integers());
    } else if (node.op == "Slice" || node.op == "Squeeze" || node.op == "Unsqueeze" ||
               node.op.starts_with("Reduce")) {
      const auto shift = node.op == "Unsqueeze" ? unsqueezed : shifted;
      const std::size_t slot = node.op == "Slice" ? 3 : 1;
      if (const auto* axes = node.attributes.find_as<Integers>("axes"))
        plan.node.attributes.set("axes", shift(*axes, rank, at));
      else if (inputs.size() > slot && inputs[slot] != nullptr && inputs[slot]->known)
        plan.inputs[slot].integers = shift(*inputs[slot]->known->integers(), rank, at);
      else continue;
    } else if (node.attributes.find("axis") != nullptr || default_axis(node, site_.graph.opset(""))) {
      const std::int64_t axis =
          attribute(node, "axis", default_axis(node, site_.graph.opset("")).value_or(0));
      plan.node.attributes.set("axis", shifted({axis}, rank, at)[0]);
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] == nullptr) continue;
      const std::size_t missing = rank - std::min(rank, inputs[k]->shape.size()), behind = rank - at;
      if (inputs[k]->has_lanes) {
        plan.inputs[k].layout = {at > missing ? at - missing : 0, false};
        plan.inputs[k].ones = missing > at ? missing - at : 0;
        plan.effort += effort(*inputs[k], *plan.inputs[k].layout) +
                       (plan.inputs[k].ones > 0 && !inputs[k]->is_constant ? kReshape : 0);
      } else if (!reads_shapes(node.op) && inputs[k]->shape.size() > behind &&
                 (node.op != "MatMul" || inputs[k]->shape.size() > 2)) {
        plan.inputs[k].opened = inputs[k]->shape.size() - behind;
        plan.effort += inputs[k]->is_constant ? 0 : kReshape;
      }
    }
    if ((!best || plan.effort < best->effort) && settle(plan, inputs, made)) best = std::move(plan);
  }
}

// Convolutions with weights of their own: groups.
void LaneWriter::consider_groups(const Node& node, const std::vector<LaneOperand*>& inputs,
                                 std::optional<Plan>& best) const {
  if ((node.op != "Conv" && node.op != "ConvTranspose") || !inputs[0]->has_lanes || !inputs[1]->has_lanes)
    return;
  Plan plan{.node = node, .inputs = std::vector<Input>(inputs.size()), .made = {1, true}};
  plan.node.attributes.set("group", attribute(node, "group", std::int64_t{1}) * lanes_);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == nullptr) continue;
    if (!inputs[k]->has_lanes) return;
    plan.inputs[k].layout = {k == 0 ? std::size_t{1} : 0, true};
    plan.effort += effort(*inputs[k], *plan.inputs[k].layout);
  }
  if (!best || plan.effort < best->effort) best = std::move(plan);
}

std::optional<LaneWriter::Plan> LaneWriter::best_plan(const Node& node,
                                                      const std::vector<LaneOperand*>& inputs,
                                                      const Dims& made) const {
  std::optional<Plan> best;
  consider_folded(node, inputs, made, best);
  consider_stacked(node, inputs, made, best);
  consider_groups(node, inputs, best);
  return best;
}

std::optional<LaneOperand> LaneWriter::carry_out(const Plan& plan, const std::vector<LaneOperand*>& inputs,
                                                 Dims shape, ElementType type) {
  std::vector<Value> values;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Input& how = plan.inputs[k];
    if (inputs[k] == nullptr) {
      values.push_back(Value::none());
    } else if (how.integers) {
      values.push_back(b_.integers(*how.integers));
    } else if (!how.layout) {
      values.push_back(how.opened ? b_.unsqueeze(inputs[k]->shared, {static_cast<std::int64_t>(*how.opened)})
                                  : inputs[k]->shared);
    } else {
      auto value = in(*inputs[k], *how.layout);
      if (!value) return std::nullopt;
      Integers ones;
      for (std::size_t d = 1; d <= how.ones; ++d)
        ones.push_back(static_cast<std::int64_t>(how.layout->axis + d));
      values.push_back(ones.empty() ? *value : b_.unsqueeze(*value, ones));
    }
  }
  const Value y = b_.copy(plan.node, values);
  return LaneOperand{.type = type, .shape = std::move(shape), .has_lanes = true, .forms = {{plan.made, y}}};
}

// A Gemm as MatMul and Add, which know values of more axes.
std::optional<LaneOperand> LaneWriter::product_and_sum(const Node& gemm,
                                                       const std::vector<LaneOperand*>& inputs) {
  LaneOperand weights = *inputs[1];
  Node node;
  if (has_transposed_weights(gemm)) {
    if (weights.has_lanes) {
      node.op = "Transpose";
      const auto turned = write(node, {&weights});
      if (!turned) return std::nullopt;
      weights = *turned;
      weights.is_constant = inputs[1]->is_constant;
    } else {
      weights.shared = b_.transpose(weights.shared, {1, 0});
      std::swap(weights.shape[0], weights.shape[1]);
    }
  }
  node.op = "MatMul";
  auto out = write(node, {inputs[0], &weights});
  if (!out || inputs.size() < 3 || inputs[2] == nullptr) return out;
  node.op = "Add";
  return write(node, {&*out, inputs[2]});
}

// The least cost of having all lanes together, anywhere.
double LaneWriter::least_effort(const std::vector<LaneOperand*>& inputs) const {
  double out = 0;
  for (const LaneOperand* in : inputs)
    if (in != nullptr && in->has_lanes && !in->is_constant && in->forms.empty()) out += kStack;
  return out;
}

std::optional<LaneOperand> LaneWriter::write(const Node& node, const std::vector<LaneOperand*>& inputs) {
  std::vector<std::optional<Dims>> shapes;
  for (const LaneOperand* in : inputs)
    shapes.push_back(in == nullptr ? std::nullopt : std::optional(in->shape));
  const auto one = called(node, shapes, inputs, std::vector<Input>(inputs.size()));
  if (!one) return std::nullopt;
  const auto best = best_plan(node, inputs, one->shape);
  if (node.op == "Gemm" && is_plain_product(node) &&
      (!best || best->effort > kTwoNodes + least_effort(inputs)))
    return product_and_sum(node, inputs);
  return best ? carry_out(*best, inputs, one->shape, one->type) : std::nullopt;
}

}  // namespace isomer
