#include "optimizer/propose/by_rule/rule_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/convolution.h"

namespace isomer {
namespace {

using rules::kLiteral;
using rules::PatternInput;
using rules::PatternNode;
using rules::PatternSide;
using rules::PatternValue;

constexpr std::size_t kSpatialAxes = 2;  // of the convolutions that rules speak of

class RuleWriter {
 public:
  RuleWriter(const Site& site, const RuleMatch& match)
      : site_(site), match_(match), to_(match.pattern->to), b_(site.graph, site.name(match.outputs[0])) {}

  std::optional<Proposal> run(const std::string& kind, std::int64_t axis) {
    for (const PatternNode& node : to_.nodes) {
      const auto value =
          node.is_variable ? std::optional(read(match_.variables.at(node.number))) : written(node);
      if (!value) return std::nullopt;
      made_.push_back(*value);
    }
    std::vector<Value> by;
    if (match_.pattern->is_divided) {
      const auto sizes = sizes_along(match_.outputs, axis);
      if (!sizes) return std::nullopt;
      by = b_.split(value(to_.outputs[0]), axis, *sizes);
    } else {
      by.reserve(to_.outputs.size());
      for (const PatternValue& v : to_.outputs) by.push_back(value(v));
    }
    auto out =
        propose(site_, kind,
                fmt::format("{} by rule {}", label(site_.node(match_.outputs[0].node)), match_.pattern->rule),
                b_, match_.outputs, by);
    return out && has_the_same_shapes(*out) ? std::move(out) : std::nullopt;
  }

 private:
  // A rule that was proved at other attributes may give another shape here.
  bool has_the_same_shapes(const Proposal& proposal) const {
    const Graph program = with_constants(site_, proposal.claim.after);
    const auto inference = infer(program);
    if (!inference.ok()) return false;
    for (std::size_t k = 0; k < match_.outputs.size(); ++k)
      if (inference->of(program.outputs()[k]).shape != site_.inference.of(match_.outputs[k]).shape)
        return false;
    return true;
  }

  Value read(Value v) { return b_.input(site_.name(v)); }
  Value value(PatternValue v) const { return {made_[v.node].node, v.output}; }

  std::optional<Value> written(const PatternNode& node) {
    if (node.number == kLiteral) return written_literally(node);
    const Node& here = site_.node(match_.words.at(node.number));
    Node copy = here;
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < std::max(node.inputs.size(), here.inputs.size()); ++i) {
      const bool is_operand = i < node.inputs.size() && node.inputs[i].kind == PatternInput::Kind::Operand;
      const Value parameter = i < here.inputs.size() ? here.inputs[i] : Value::none();
      if (is_operand) inputs.push_back(value(node.inputs[i].operand));
      else if (node.op == "Conv" && i == 2) break;
      else inputs.push_back(parameter.exists() ? read(parameter) : Value::none());
    }
    if (node.op == "Concat") inputs.resize(node.inputs.size());
    fit_axis(node, here, copy);
    return finished(node, std::move(copy), std::move(inputs));
  }

  std::optional<Value> written_literally(const PatternNode& node) {
    Node made;
    made.op = node.op;
    made.attributes = node.op == "Conv" ? changed_here(node) : node.attributes;
    made.outputs.resize(node.outputs);
    std::vector<Value> inputs;
    for (const PatternInput& input : node.inputs) {
      if (input.kind == PatternInput::Kind::Operand) inputs.push_back(value(input.operand));
      else if (input.kind == PatternInput::Kind::Absent) inputs.push_back(Value::none());
      else inputs.push_back(b_.constant(input.constant));
    }
    if (node.op == "Split" && !divide(node, made, inputs)) return std::nullopt;
    const int opset = site_.graph.opset("");
    // Axes are an input since then.
    const int since = node.op == "ReduceSum" ? 13 : 18;
    if (node.op.starts_with("Reduce") && opset < since && inputs.size() == 2) {
      made.attributes.set("axes", *node.inputs[1].constant.integers());
      inputs.pop_back();
    }
    return finished(node, std::move(made), std::move(inputs));
  }

  // The attributes of a convolution that a rule changes, changed alike in the graph's: one more pad around
  // the image is one more than it has there, and what the rule leaves as it is stays.
  Attributes changed_here(const PatternNode& to) const {
    const auto is_known = [&](const PatternNode& n) {
      return n.op == "Conv" && match_.words.contains(n.number);
    };
    const auto from = std::ranges::find_if(match_.pattern->from.nodes, is_known);
    if (from == match_.pattern->from.nodes.end()) return to.attributes;
    const auto here = convolution_at(site_, match_.words.at(from->number));
    if (!here || here->kernel.size() != kSpatialAxes) return to.attributes;
    const auto of = [](const PatternNode& n, const char* name, std::size_t size, std::int64_t value) {
      const auto* found = n.attributes.find_as<Extents>(name);
      return found ? *found : Extents(size, value);
    };
    Convolution out = *here;
    const auto keep_or_take = [&](const char* name, Extents& kept) {
      const Extents now = of(to, name, kSpatialAxes, 1);
      if (now != of(*from, name, kSpatialAxes, 1)) kept = now;
    };
    keep_or_take("strides", out.strides);
    keep_or_take("dilations", out.dilations);
    const auto *groups = to.attributes.find_as<std::int64_t>("group"),
               *groups_before = from->attributes.find_as<std::int64_t>("group");
    if ((groups ? *groups : 1) != (groups_before ? *groups_before : 1)) out.groups = groups ? *groups : 1;
    const Extents now = of(to, "pads", 2 * kSpatialAxes, 0), before = of(*from, "pads", 2 * kSpatialAxes, 0);
    for (std::size_t k = 0; k < now.size(); ++k)
      out.pads[k] += (now[k] - before[k]) * out.dilations[k % kSpatialAxes];
    return std::ranges::all_of(out.pads, [](std::int64_t p) { return p >= 0; }) ? attributes_of(out)
                                                                                : to.attributes;
  }

  // The parts of a literal Split are as large as what they replace, where they replace something.
  bool divide(const PatternNode& node, Node& made, std::vector<Value>& inputs) {
    const auto number = static_cast<std::uint32_t>(made_.size());
    std::vector<Value> parts(node.outputs, Value::none());
    for (std::size_t k = 0; k < to_.outputs.size(); ++k)
      if (to_.outputs[k].node == number) parts[to_.outputs[k].output] = match_.outputs[k];
    const auto* axis = node.attributes.find_as<std::int64_t>("axis");
    if (std::ranges::all_of(parts, &Value::exists) && inputs.size() == 1 && axis != nullptr) {
      const auto sizes = sizes_along(parts, *axis);
      if (!sizes) return false;
      inputs.push_back(b_.integers(*sizes));
      made.attributes = with({{"axis", *axis}});
    } else if (site_.graph.opset("") < 18) {
      made.attributes = with({{"axis", axis ? *axis : std::int64_t{0}}});  // as many equal parts as outputs
    }
    return true;
  }

  std::optional<Value> finished(const PatternNode& node, Node made, std::vector<Value> inputs) {
    if (node.op == "Conv") {
      // The weights say it, and they may be larger now.
      Attributes rest;
      for (const Attribute& a : made.attributes.all())
        if (a.name != "kernel_shape") rest.set(a.name, a.value);
      made.attributes = std::move(rest);
      if (!match_.biases.empty()) {
        const auto bias = bias_of(node.operands()[1]);
        if (!bias) return std::nullopt;
        inputs.resize(2);
        inputs.push_back(*bias);
      }
    }
    while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
    return b_.copy(std::move(made), inputs);
  }

  // An axis that was counted from the front of a value of another rank is counted from the back.
  void fit_axis(const PatternNode& node, const Node& here, Node& copy) const {
    const auto* axis = here.attributes.find_as<std::int64_t>("axis");
    if (axis == nullptr || *axis < 0 || here.inputs.empty() || node.operands().empty()) return;
    const PatternNode& operand = to_.nodes[node.operands()[0].node];
    if (!operand.is_variable) return;
    const auto rank = static_cast<std::int64_t>(site_.rank(here.inputs[0]));
    const auto rank_now = static_cast<std::int64_t>(site_.rank(match_.variables.at(operand.number)));
    if (rank > 0 && rank_now > 0 && rank != rank_now && *axis - rank >= -rank_now)
      copy.attributes.set("axis", *axis - rank);
  }

  // The companion of weights that are computed from others: a bias changes per output channel as they do.
  std::optional<Value> bias_of(PatternValue weights) {
    const PatternNode& node = to_.nodes[weights.node];
    if (node.is_variable) {
      const Value w = match_.variables.at(node.number);
      if (const auto at = match_.biases.find(w); at != match_.biases.end()) return read(at->second);
      const auto sizes = site_.concrete_sizes(w);
      return sizes && !sizes->empty() ? std::optional(b_.zeros({(*sizes)[0]})) : std::nullopt;
    }
    std::vector<Value> parts;
    for (const PatternValue& v : node.operands()) {
      const auto part = bias_of(v);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    if (node.op == "Pad") return parts[0];
    if (node.op == "Add" || node.op == "Sub" || node.op == "Neg") return b_.op(node.op, parts);
    if (node.op == "Mul" && parts.size() == 1)
      return b_.copy(site_or_own(node), {parts[0], constant_of(node)});
    if (node.op != "Concat") return std::nullopt;
    const auto* axis = node.attributes.find_as<std::int64_t>("axis");
    if (axis != nullptr && *axis == 0) return b_.concat(parts, 0);
    Value sum = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) sum = b_.op("Add", {sum, parts[k]});
    return sum;
  }
  Node site_or_own(const PatternNode& node) const {
    Node out;
    out.op = node.op;
    return out;
  }
  Value constant_of(const PatternNode& node) {
    if (node.number == kLiteral) return b_.constant(node.inputs[1].constant);
    return read(site_.node(match_.words.at(node.number)).inputs[1]);
  }

  std::optional<std::vector<std::int64_t>> sizes_along(const std::vector<Value>& values,
                                                       std::int64_t axis) const {
    std::vector<std::int64_t> out;
    for (const Value& v : values) {
      const auto& shape = site_.inference.of(v).shape;
      if (!shape) return std::nullopt;
      const std::int64_t at = axis < 0 ? axis + std::ssize(*shape) : axis;
      if (at < 0 || at >= std::ssize(*shape) || !(*shape)[static_cast<std::size_t>(at)].is_concrete())
        return std::nullopt;
      out.push_back((*shape)[static_cast<std::size_t>(at)].concrete());
    }
    return out;
  }

  const Site& site_;
  const RuleMatch& match_;
  const PatternSide& to_;
  ProgramBuilder b_;
  std::vector<Value> made_;  // for the nodes of `to_`, their first outputs
};

}  // namespace

std::vector<Proposal> written(const Site& site, const RuleMatch& match, const std::string& kind) {
  std::vector<Proposal> out;
  std::vector<std::int64_t> axes{match.pattern->axis};
  if (match.pattern->is_divided) {
    const auto rank = static_cast<std::int64_t>(site.rank(match.outputs[0]));
    if (match.pattern->axis != rank - 1) axes.push_back(rank - 1);
  }
  for (const std::int64_t axis : axes)
    if (auto p = RuleWriter(site, match).run(kind, axis)) out.push_back(std::move(*p));
  return out;
}

}  // namespace isomer
