#include "propose/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "facts/order.h"
#include "facts/ranges.h"
#include "rewrite/site.h"

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

  // Of a view's input the axes that are these of its output, or that nothing is known of.
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

  Value rebuilt(ProgramBuilder& b, const Node& node, std::size_t changed, Value by) const {
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Value v = node.inputs[k];
      inputs.push_back(!v.exists() ? v : k == changed ? by : b.input(site_.name(v)));
    }
    return b.copy(node, inputs);
  }

  // Views as they were, then the choices, then of each extremum the functions.
  void propose_before(const std::vector<Step>& way, const std::vector<Choice>& choices) {
    const Value first = site_.node(way.back().node).inputs[way.back().input];
    ProgramBuilder b(site_.graph, site_.name({choices[0].node, 0}));
    Value x = b.input(site_.name(first));
    std::vector<Step> functions;
    for (auto step = way.rbegin(); step != way.rend(); ++step) {
      if (step->is_view) x = rebuilt(b, site_.node(step->node), step->input, x);
      else functions.push_back(*step);
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
      Value value = rebuilt(b, node, 0, x);
      if (choice.is_extremum)
        for (const Step& s : functions) value = rebuilt(b, site_.node(s.node), s.input, value);
      if (keeps_for_functions) value = b.squeeze(value, {choice.axes.begin(), choice.axes.end()});
      replaced.push_back({choice.node, 0});
      by.push_back(value);
    }
    out_.add(propose(site_, "order",
                     fmt::format("{} before {}, which keeps the order", label(site_.node(choices[0].node)),
                                 label(site_.node(way.back().node))),
                     b, replaced, by));
  }

  const Site& site_;
  const Ranges ranges_;
  Proposals& out_;
};

}  // namespace

Proposals propose_order(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  Orders orders(site, out);
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) orders.look_at({id, 0});
  if (!options.any_price) std::erase_if(out.list, [](const Proposal& p) { return p.gain <= 0; });
  return out;
}

}  // namespace isomer
