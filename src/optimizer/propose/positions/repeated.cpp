// repeated: computes a value that is constant along an axis once.
//
// A region consists of nodes connected by values that are constant along an axis. It is rewritten with one
// position of that axis. It ends in a node whose result is not constant there: that node broadcasts by
// itself, or the last value of the region is expanded. A region with several functions of sums is done in
// parts, each up to the next of them, so that a proved part is not proved again.
#include "optimizer/propose/positions/repeated.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/prove/step.h"
#include "model/expr/parts.h"
#include "model/graph/names.h"
#include "optimizer/facts/linear_form.h"
#include "optimizer/propose/positions/once_writer.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr const char* kKind = "repeated";
constexpr std::size_t kMostNodes = 64, kMostEnds = 64;  // of one claim
constexpr int kMostHard = 1;                            // nodes of one claim that are hard to look through

// A value that is replaced: by what broadcasts some inputs of its node, or by itself, expanded.
struct End {
  Value value;
  std::vector<AxisSet> inputs = {};  // per input of its node; empty: expanded along `axes`
  AxisSet axes = {};
  std::set<NodeId> nodes = {};  // of the region before it
};

class Repeated {
 public:
  // `least`: what a proposal has to gain.
  Repeated(const Site& site, const ConstantAxes& constants, double least, Proposals& out)
      : site_(site), constants_(constants), least_(least), out_(out) {}

  void look() {
    for (const NodeId id : site_.graph.order()) look_at(id);
    for (std::vector<End>& group : groups()) propose_together(group);
  }

 private:
  void look_at(NodeId id) {
    const Node& node = site_.node(id);
    if (node.kind != NodeKind::Operator || node.outputs.size() != 1) return;
    if (std::ranges::none_of(node.inputs, [&](Value v) { return is_repeated(v); })) return;
    const auto formula = site_.formula(id);
    if (!formula) return;
    const Value y{id, 0};
    End end{.value = y, .inputs = std::vector<AxisSet>(node.inputs.size())};
    const auto roles = axis_roles(*formula, 0);
    const bool broadcasts = is_pointwise(site_, id) || site_.is(id, "MatMul");
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Value x = node.inputs[k];
      if (!is_repeated(x)) continue;
      AxisSet axes = constants_.of(x);
      bool is_all_reduced = true;
      for (std::size_t d = 0; d < axes.size(); ++d) {
        axes[d] = axes[d] && ends_here(roles[k], d, y);
        is_all_reduced = is_all_reduced && (!axes[d] || roles[k].axes[d] == AxisRole::Reduced);
      }
      if (is_all_reduced) continue;
      const bool is_batch = !site_.is(id, "MatMul") || !(axes.back() || axes[axes.size() - 2]);
      if (broadcasts && is_batch) end.inputs[k] = axes;
      else expand(x);
    }
    if (std::ranges::all_of(end.inputs, is_empty)) return;
    note(std::move(end));
  }

  bool is_repeated(Value v) const {
    return v.exists() && !site_.is_constant(v) && is_float(site_.inference.of(v).type) &&
           !constants_.of(v).empty();
  }

  // Whether the output of a reader is not constant along the axis that reads this one.
  bool ends_here(const InputRoles& roles, std::size_t axis, Value y) const {
    if (roles.axes[axis] != AxisRole::Parallel) return true;
    const AxisSet& own = constants_.of(y);
    const auto at = static_cast<std::size_t>(roles.output_axis[axis]);
    return at >= own.size() || !own[at];
  }

  void expand(Value v) { note({.value = v, .inputs = {}, .axes = constants_.of(v)}); }

  // Functions of sums, and products of values that are computed.
  bool is_hard(NodeId id) const {
    const auto formula = site_.formula(id);
    if (!formula) return true;
    if (formula->stages.size() > 1) return true;
    return site_.activations(id).size() > 1 && has_reductions(*formula);
  }

  // The last of a region's values before it gets too hard.
  void expand_first_hard(const End& end) {
    for (const NodeId id : end.nodes) {
      const Value v{id, 0};
      if (!is_hard(id) || site_.node(id).outputs.size() != 1 || constants_.of(v).empty()) continue;
      ProgramBuilder b(site_.graph, site_.name(v));
      OnceWriter writer(site_, constants_, b);
      if (!writer.of(v, constants_.of(v))) continue;
      if (std::ranges::count_if(writer.nodes(), [&](NodeId n) { return is_hard(n); }) <= kMostHard) expand(v);
    }
  }

  // An end with something before it that is computed.
  void note(End end) {
    if (std::ranges::any_of(ends_, [&](const End& e) { return e.value == end.value; })) return;
    ProgramBuilder b(site_.graph, site_.name(end.value));
    OnceWriter writer(site_, constants_, b);
    if (!written(end, b, writer)) return;
    end.nodes = writer.nodes();
    if (std::ranges::count_if(end.nodes, [&](NodeId id) { return is_hard(id); }) > kMostHard)
      return expand_first_hard(end);
    const bool is_moved = std::ranges::none_of(end.nodes, [&](NodeId id) { return computes(id); });
    // Numbers that fill a tensor are cheap.
    const auto reads_nothing = [&](NodeId id) {
      return std::ranges::none_of(
          site_.node(id).inputs, [&](Value v) { return v.exists() && is_float(site_.inference.of(v).type); });
    };
    if (is_moved && std::ranges::all_of(end.nodes, reads_nothing)) return;
    const auto is_looked_at = [&](NodeId id) { return is_linear({id, 0}); };
    if (is_moved &&
        (end.inputs.empty() || (is_linear(end.value) && std::ranges::all_of(end.nodes, is_looked_at))))
      return;
    ends_.push_back(std::move(end));
  }

  bool computes(NodeId id) const {
    const auto formula = site_.formula(id);
    if (!formula) return true;
    return any_part(*formula->output(0).value, [](const ExprNode& e) {
      return e.kind == ExprNode::Kind::Apply || e.kind == ExprNode::Kind::Reduce;
    });
  }

  // Sums of products are looked at elsewhere, broadcasts and all.
  bool is_linear(Value v) const {
    const auto form = linear_form(site_, v);
    const auto own = form ? expanded(site_, *form, v) : std::nullopt;
    // A divisor is left as it is there.
    return own && std::ranges::none_of(own->terms, [](const LinearTerm& t) {
             return std::ranges::any_of(t.factors, &LinearFactor::is_inverse);
           });
  }

  std::optional<Value> written(const End& end, ProgramBuilder& b, OnceWriter& writer) const {
    if (end.inputs.empty()) {
      const auto once = writer.of(end.value, end.axes);
      const auto shape = once ? writer.as_value(*site_.inference.of(end.value).shape) : std::nullopt;
      return shape ? std::optional(b.op("Expand", {*once, *shape})) : std::nullopt;
    }
    const Node& node = site_.node(end.value.node);
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto x =
          node.inputs[k].exists() ? writer.of(node.inputs[k], end.inputs[k]) : std::optional(Value::none());
      if (!x) return std::nullopt;
      inputs.push_back(*x);
    }
    return b.copy(node, inputs);
  }

  // Ends of the same region are proposed together.
  std::vector<std::vector<End>> groups() const {
    std::vector<std::vector<End>> out;
    for (const End& end : ends_) {
      std::vector<End> group{end};
      for (auto other = out.begin(); other != out.end();) {
        const bool meet = std::ranges::any_of(*other, [&](const End& e) {
          return std::ranges::any_of(e.nodes, [&](NodeId id) { return end.nodes.contains(id); });
        });
        if (!meet) {
          ++other;
          continue;
        }
        group.insert(group.begin(), other->begin(), other->end());
        other = out.erase(other);
      }
      out.push_back(std::move(group));
    }
    return out;
  }

  void propose_together(const std::vector<End>& ends) {
    ProgramBuilder b(site_.graph, site_.name(ends[0].value));
    OnceWriter writer(site_, constants_, b);
    std::vector<Value> replaced, by;
    for (const End& end : ends) {
      const auto value = written(end, b, writer);
      if (!value) return;
      replaced.push_back(end.value);
      by.push_back(*value);
    }
    if (ends.size() > kMostEnds || writer.nodes().size() > kMostNodes) return;
    auto proposal = propose(site_, kKind,
                            fmt::format("{} nodes before {} compute what is repeated once",
                                        writer.nodes().size(), site_.name(ends[0].value)),
                            b, replaced, by);
    if (!proposal || proposal->gain <= least_) return;
    keep_folds(*proposal);
    out_.list.push_back(std::move(*proposal));
  }

  // A value with too few digits to be folded here is left to the runtime; its inputs are folded.
  void keep_folds(Proposal& proposal) const {
    const Graph program = with_constants(site_, proposal.claim.after);
    if (proposal.folds.empty() || fold_constants(program, proposal.folds).ok()) return;
    std::vector<std::string> open = std::move(proposal.folds), folds;
    const ValuesByName names = values_by_name(program);
    for (std::size_t k = 0; k < open.size() && k < kMostNodes; ++k) {
      if (fold_constants(program, {open[k]}).ok()) {
        folds.push_back(open[k]);
        continue;
      }
      for (const Value& v : program.node(names.at(open[k]).node).inputs)
        if (v.exists() && program.node(v.node).kind == NodeKind::Operator &&
            std::ranges::find(open, program.name_of(v)) == open.end())
          open.push_back(program.name_of(v));
    }
    proposal.folds = std::move(folds);
  }

  const Site& site_;
  const ConstantAxes& constants_;
  double least_;
  Proposals& out_;
  std::vector<End> ends_;
};

Proposals propose_repeated(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  const ConstantAxes constants(site);
  if (constants.are_none()) return out;
  const double least = options.any_price ? -1e30 : site.machine.prices.node;
  Repeated(site, constants, least, out).look();
  propose_repeated_windows(site, constants, out);
  std::erase_if(out.list, [&](const Proposal& p) { return p.gain <= least; });
  return out;
}

}  // namespace

constinit const Proposer kRepeated{
    .name = "repeated",
    .title = "values that are constant along an axis, once",
    .law = "x[i] = x[0] for all i   ⟹   f(x)[i] = f(x[0])",
    .finds =
        "Computes a value that is the same along an axis (expanded, tiled, broadcast, "
        "concatenated with itself, zero) once and broadcasts it where it is read, at any batch "
        "and size, through convolutions with their borders (label maps, coordinates, speakers "
        "beside frames, zero states).",
    .propose = propose_repeated,
    .remark = "repeated values once",
};

}  // namespace isomer
