// order: functions that keep the order of numbers, and values whose range is known.
//
// The largest of f(x) is f of the largest x, for f that never falls: f is computed for fewer elements. A node
// that only compares elements of f(x) may compare x, for f that rises. A clip that cuts off no occurring
// number is left out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <set>

#include "model/eval/program.h"
#include "optimizer/facts/order.h"
#include "optimizer/facts/ranges.h"
#include "optimizer/facts/site.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 16;  // on one way

// A node that uses nothing but the order of its first input, along some of its axes.
struct Choice {
  NodeId node = 0;
  std::vector<int> axes;
  bool is_extremum = false;  // it takes the largest or smallest; otherwise it says where it is
};

// A node before the choices: a view, or a function of one activation that each of them can be made before.
struct Step {
  NodeId node = 0;
  std::size_t input = 0;
  bool is_view = false, is_scalar = false;  // it reads nothing else, or single numbers
  std::vector<bool> falls;                  // for each choice
};

const std::map<std::string, std::string, std::less<>>& opposites() {
  static const std::map<std::string, std::string, std::less<>> list{
      {"ReduceMax", "ReduceMin"}, {"ReduceMin", "ReduceMax"}, {"ArgMax", "ArgMin"}, {"ArgMin", "ArgMax"}};
  return list;
}

// Values made again inside of a program, as far back as it takes to see there what they lie in.
class Remade {
 public:
  Remade(const Site& site, const Ranges& ranges, ProgramBuilder& b) : site_(site), ranges_(ranges), b_(b) {}

  Value of(Value v) {
    if (const auto at = made_.find(v); at != made_.end()) return at->second;
    const ValueRange range = ranges_.of(v);
    const auto formula = v.output == 0 && !site_.is_constant(v) ? site_.formula(v.node) : std::nullopt;
    if (!formula || range == ValueRange{} || made_.size() >= kMostNodes) return b_.input(site_.name(v));
    const Node& node = site_.node(v.node);
    std::vector<ValueRange> given;
    given.reserve(node.inputs.size());
    for (const Value& x : node.inputs)
      given.push_back(x.exists() && site_.is_constant(x) ? ranges_.of(x) : ValueRange{});
    const bool is_enough = range_of(node, *formula, given) == range;
    std::vector<Value> inputs;
    inputs.reserve(node.inputs.size());
    for (const Value& x : node.inputs)
      inputs.push_back(!x.exists() ? x : is_enough ? b_.input(site_.name(x)) : of(x));
    return made_.emplace(v, b_.copy(node, inputs)).first->second;
  }

  // Other readers get the replacement too.
  void add_to(std::vector<Value>& replaced, std::vector<Value>& by) const {
    const auto is_gone = [&](NodeId id) {
      return made_.contains({id, 0}) || std::ranges::find(replaced, Value{id, 0}) != replaced.end();
    };
    std::vector<std::pair<Value, Value>> others;
    for (const auto& [v, value] : made_)
      if (site_.is_output(v) || !std::ranges::all_of(site_.readers(v), is_gone))
        others.emplace_back(v, value);
    for (const auto& [v, value] : others) {
      replaced.push_back(v);
      by.push_back(value);
    }
  }

 private:
  const Site& site_;
  const Ranges& ranges_;
  ProgramBuilder& b_;
  std::map<Value, Value> made_;
};

class Orders {
 public:
  Orders(const Site& site, Proposals& out) : site_(site), ranges_(site), out_(out) {}

  // All readers of a value that use its order only are made before what makes it.
  void look_at(Value v) {
    if (site_.is_output(v) || site_.is_constant(v) || site_.readers(v).empty()) return;
    std::vector<Choice> choices;
    for (const NodeId id : site_.readers(v)) {
      auto choice = choice_at(id, v);
      if (!choice) return;
      choices.push_back(std::move(*choice));
    }
    std::vector<std::vector<int>> axes;
    axes.reserve(choices.size());
    for (const Choice& c : choices) axes.push_back(c.axes);
    std::vector<Step> way;
    std::vector<bool> falls(choices.size(), false);
    std::size_t count = 0;
    while (way.size() < kMostNodes) {
      const auto step = step_before(v, choices, axes, way);
      if (!step) break;
      way.push_back(*step);
      v = site_.node(step->node).inputs[step->input];
      for (std::size_t k = 0; k < choices.size(); ++k) falls[k] = falls[k] != step->falls[k];
      if (step->is_view) axes = axes_before(step->node, step->input, std::move(axes));
      else if (can_turn(choices, falls)) count = way.size();
      if (!site_.only_reader(v) || site_.is_output(v)) break;
    }
    way.resize(count);
    if (count > 0) propose_before(way, choices);
  }

  // A clip of a value inside its range; an added zero, a factor of one.
  void drop(NodeId id) {
    const Node& node = site_.node(id);
    const auto formula = site_.formula(id);
    if (!formula || formula->output(0).value->kind != ExprNode::Kind::Apply) return;
    const auto same = same_as_input(*formula, ranges_.inputs_of(node));
    const Value v = same ? node.inputs[static_cast<std::size_t>(*same)] : Value::none();
    if (!v.exists() || site_.is_constant(v) || !has_same_shape(v, {id, 0})) return;
    ProgramBuilder b(site_.graph, site_.name({id, 0}));
    Remade remade(site_, ranges_, b);
    std::vector<Value> replaced{{id, 0}}, by;
    const auto other = std::ranges::find_if(node.inputs, [&](Value x) { return is_number(x); });
    // A zero that the model has for a constant may be there for the sign of another one: -0 + 0 is 0.
    if (is_arithmetic(*formula) && other == node.inputs.end()) return;
    if (other != node.inputs.end()) {
      by.push_back(b.input(site_.name(v)));
      std::set<Value> seen;
      read_before(*other, b, seen);
    } else {
      by.push_back(remade.of(v));
      remade.add_to(replaced, by);
    }
    out_.add(propose(site_, "order",
                     fmt::format("{} changes nothing, {}", label(node),
                                 other == node.inputs.end() ? "all of " + site_.name(v) + " lies inside"
                                                            : site_.name(*other) + " is one number"),
                     b, replaced, by));
  }

  // A value that is computed, and is one number whatever is fed.
  bool is_number(Value v) const { return v.exists() && !site_.is_constant(v) && ranges_.of(v).is_point(); }
  // The inputs of such a value, where a claim's region begins.
  void read_before(Value number, ProgramBuilder& b, std::set<Value>& seen) const {
    if (!seen.insert(number).second) return;
    for (const Value& x : site_.node(number.node).inputs) {
      if (!x.exists() || site_.is_constant(x) || !is_float(site_.inference.of(x).type)) continue;
      if (is_number(x) && seen.size() < kMostNodes) read_before(x, b, seen);
      else b.input(site_.name(x));
    }
  }

  // f(x) < f(0) is x < 0.
  void compare_earlier(NodeId id) {
    const Node& node = site_.node(id);
    const auto formula = site_.formula(id);
    if (!formula || node.inputs.size() != 2) return;
    const ExprNode& e = *formula->output(0).value;
    if (e.kind != ExprNode::Kind::Apply || (e.fn != Fn::Less && e.fn != Fn::LessOrEqual)) return;
    for (std::size_t k = 0; k < 2; ++k) {
      const Value v = node.inputs[k], bound = node.inputs[1 - k];
      const std::vector<Value> from = site_.activations(v.node);
      if (!site_.is_constant(bound) || from.size() != 1 || !has_same_shape(from[0], v)) continue;
      const auto f = site_.formula(v.node);
      std::vector<ValueRange> inputs = ranges_.inputs_of(site_.node(v.node));
      const std::size_t at = static_cast<std::size_t>(std::ranges::find(site_.node(v.node).inputs, from[0]) -
                                                      site_.node(v.node).inputs.begin());
      std::vector<int> axes(site_.rank(v));
      std::iota(axes.begin(), axes.end(), 0);
      if (!f || following_along(*f, static_cast<int>(at), axes, inputs).direction != Direction::Up) continue;
      inputs[at] = ValueRange::of(0);
      const ValueRange at_zero = range_of(site_.node(v.node), *f, inputs);
      if (!at_zero.is_point() || at_zero != ranges_.of(bound)) continue;
      ProgramBuilder b(site_.graph, site_.name({id, 0}));
      const Value zero = b.constant(
          convert(Tensor::of(ElementType::Double, {}, std::vector<double>{0}), site_.inference.of(v).type));
      const Value x = b.input(site_.name(from[0]));
      const Value y = b.copy(node, k == 0 ? std::vector<Value>{x, zero} : std::vector<Value>{zero, x});
      out_.add(propose(site_, "order", fmt::format("{} of {} with 0", label(node), site_.name(from[0])), b,
                       {{id, 0}}, {y}));
    }
  }

 private:
  std::optional<Choice> choice_at(NodeId id, Value v) const {
    const Node& node = site_.node(id);
    const auto formula = site_.formula(id);
    if (!formula || node.inputs[0] != v || std::ranges::count(node.inputs, v) != 1) return std::nullopt;
    Choice out{.node = id, .axes = {}, .is_extremum = extremum_of(*formula).has_value()};
    if (!out.is_extremum && !reads_order_only(*formula, 0)) return std::nullopt;
    const InputRoles roles = axis_roles(*formula, 0)[0];
    for (std::size_t d = 0; d < roles.axes.size(); ++d)
      if (roles.axes[d] != AxisRole::Parallel) out.axes.push_back(static_cast<int>(d));
    return out;
  }

  bool can_turn(const std::vector<Choice>& choices, const std::vector<bool>& falls) const {
    for (std::size_t k = 0; k < choices.size(); ++k)
      if (falls[k] && !opposites().contains(site_.node(choices[k].node).op)) return false;
    return true;
  }

  // The axes of a view's input that correspond to these of its output, or that are unknown.
  std::vector<std::vector<int>> axes_before(NodeId view, std::size_t input,
                                            std::vector<std::vector<int>> axes) const {
    const InputRoles roles = axis_roles(*site_.formula(view), 0)[input];
    for (std::vector<int>& list : axes) {
      const std::vector<int> after = std::exchange(list, {});
      for (std::size_t d = 0; d < roles.axes.size(); ++d)
        if (roles.axes[d] != AxisRole::Parallel ||
            std::ranges::find(after, roles.output_axis[d]) != after.end())
          list.push_back(static_cast<int>(d));
    }
    return axes;
  }

  std::optional<Step> step_before(Value v, const std::vector<Choice>& choices,
                                  const std::vector<std::vector<int>>& axes,
                                  const std::vector<Step>& way) const {
    const auto formula = v.output == 0 ? site_.formula(v.node) : std::nullopt;
    if (!formula || !is_float(formula->output(0).type)) return std::nullopt;
    const Node& node = site_.node(v.node);
    if (const auto viewed = view_of(*formula))
      return Step{v.node, static_cast<std::size_t>(*viewed), true, true,
                  std::vector<bool>(choices.size(), false)};
    const bool has_view = std::ranges::any_of(way, &Step::is_view);
    for (std::size_t at = 0; at < node.inputs.size(); ++at) {
      const Value x = node.inputs[at];
      if (!x.exists() || site_.is_constant(x) || std::ranges::count(node.inputs, x) != 1) continue;
      Step step{.node = v.node, .input = at, .is_scalar = reads_numbers_beside(node, at), .falls = {}};
      for (std::size_t k = 0; k < choices.size(); ++k) {
        const Following f = following_along(*formula, static_cast<int>(at), axes[k], ranges_.inputs_of(node));
        const bool is_moved = choices[k].is_extremum
                                  ? is_pointwise(site_, v.node) && (step.is_scalar || !has_view)
                                  : f.keeps_apart;
        if (!is_moved || (f.direction != Direction::Up && f.direction != Direction::Down)) break;
        step.falls.push_back(f.direction == Direction::Down);
      }
      if (step.falls.size() == choices.size() && has_same_shape(x, v)) return step;
    }
    return std::nullopt;
  }

  bool has_same_shape(Value a, Value b) const {
    const auto &x = site_.inference.of(a).shape, &y = site_.inference.of(b).shape;
    return x && y && *x == *y;
  }

  bool reads_numbers_beside(const Node& node, std::size_t input) const {
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (k == input || !node.inputs[k].exists()) continue;
      const auto sizes = site_.concrete_sizes(node.inputs[k]);
      if (!sizes || element_count(*sizes) != 1) return false;
    }
    return true;
  }

  static Value rebuilt(ProgramBuilder& b, Remade& remade, const Node& node, std::size_t changed, Value by) {
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Value v = node.inputs[k];
      inputs.push_back(!v.exists() ? v : k == changed ? by : remade.of(v));
    }
    return b.copy(node, inputs);
  }

  // Views as they were, then the choices, then of each extremum the functions.
  void propose_before(const std::vector<Step>& way, const std::vector<Choice>& choices) {
    const Value first = site_.node(way.back().node).inputs[way.back().input];
    ProgramBuilder b(site_.graph, site_.name({choices[0].node, 0}));
    Remade remade(site_, ranges_, b);
    // A factor's sign is seen from what makes it.
    const bool has_factor = std::ranges::any_of(
        way, [&](const Step& s) { return !s.is_view && site_.activations(s.node).size() > 1; });
    Value x = has_factor ? remade.of(first) : b.input(site_.name(first));
    std::vector<Step> functions;
    for (const Step& step : std::views::reverse(way)) {
      if (step.is_view) x = rebuilt(b, remade, site_.node(step.node), step.input, x);
      else functions.push_back(step);
    }
    const bool is_scalar = std::ranges::all_of(functions, &Step::is_scalar);
    std::vector<Value> replaced, by;
    for (std::size_t k = 0; k < choices.size(); ++k) {
      const Choice& choice = choices[k];
      Node node = site_.node(choice.node);
      if (std::ranges::count_if(functions, [&](const Step& s) { return s.falls[k]; }) % 2 != 0)
        node.op = opposites().find(node.op)->second;
      const bool drops_axes = site_.rank({choice.node, 0}) < site_.rank(node.inputs[0]);
      const bool keeps_for_functions = choice.is_extremum && drops_axes && !is_scalar;
      if (keeps_for_functions) node.attributes.set("keepdims", std::int64_t{1});
      Value value = rebuilt(b, remade, node, 0, x);
      if (choice.is_extremum)
        for (const Step& s : functions) value = rebuilt(b, remade, site_.node(s.node), s.input, value);
      if (keeps_for_functions) value = b.squeeze(value, {choice.axes.begin(), choice.axes.end()});
      replaced.push_back({choice.node, 0});
      by.push_back(value);
    }
    // The nodes between are gone.
    for (const Step& s : way) replaced.push_back({s.node, 0});
    remade.add_to(replaced, by);
    replaced.erase(replaced.begin() + static_cast<std::ptrdiff_t>(choices.size()),
                   replaced.begin() + static_cast<std::ptrdiff_t>(choices.size() + way.size()));
    out_.add(propose(site_, "order",
                     fmt::format("{} before {}, which keeps the order", label(site_.node(choices[0].node)),
                                 label(site_.node(way.back().node))),
                     b, replaced, by));
  }

  const Site& site_;
  const Ranges ranges_;
  Proposals& out_;
};

Proposals propose_order(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  Orders orders(site, out);
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) {
      orders.look_at({id, 0});
      orders.drop(id);
      orders.compare_earlier(id);
    }
  if (!options.any_price) std::erase_if(out.list, [](const Proposal& p) { return p.gain <= 0; });
  return out;
}

}  // namespace

constinit const Proposer kOrder{
    .name = "order",
    .title = "monotone functions",
    .law = "max f(x) = f(max x)   for f that rises",
    .finds =
        "Uses functions that keep the order of numbers, and known ranges: activations after the "
        "maximum instead of before it (MaxPool of Elu), softmax that only an ArgMax reads, "
        "sigmoids that are compared with 1/2, Relu of values that are not negative, zeros that "
        "are added.",
    .propose = propose_order,
    .remark = "by order and range",
};

}  // namespace isomer
