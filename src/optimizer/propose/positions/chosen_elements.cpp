#include "optimizer/propose/positions/chosen_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "optimizer/facts/copied_nodes.h"

namespace isomer {
namespace {

// A function of one value and numbers, element by element.
std::optional<Value> argument_of(const Site& site, Value v) {
  const Node& node = site.node(v.node);
  if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || !is_pointwise(site, v.node))
    return std::nullopt;
  std::optional<Value> out;
  for (const Value& x : node.inputs) {
    const auto sizes = x.exists() ? site.concrete_sizes(x) : std::nullopt;
    const bool is_number =
        x.exists() && site.is_constant(x) && sizes && element_count(*sizes) == 1 && sizes->size() <= 1;
    if (is_number || !x.exists()) continue;
    if (out || site.rank(x) != site.rank(v)) return std::nullopt;
    out = x;
  }
  return out;
}

std::int64_t axis_of(const Site& site, NodeId id, Value of, std::int64_t otherwise) {
  const auto rank = static_cast<std::int64_t>(site.rank(of));
  return (attribute(site.node(id), "axis", otherwise) + rank) % std::max<std::int64_t>(rank, 1);
}

class Chosen {
 public:
  Chosen(const Site& site, NodeId gather)
      : site_(site),
        gather_(gather),
        data_(site.node(gather).inputs[0]),
        axis_(axis_of(site, gather, data_, 0)),
        b_(site.graph, site.name({gather, 0})) {}

  std::optional<Proposal> proposal() {
    std::vector<NodeId> chain;  // the last function first
    Value x = data_;
    while (site_.only_reader(x)) {
      const auto before = argument_of(site_, x);
      if (!before) break;
      chain.push_back(x.node);
      x = *before;
    }
    const bool is_log = is_log_softmax(x);
    if (chain.empty() && !is_log) return std::nullopt;
    std::map<Value, Value> made{{x, is_log ? chosen_log(x) : chosen(x)}};
    std::ranges::reverse(chain);
    copy_nodes(b_, site_, chain, made);
    const std::size_t functions = chain.size() + (is_log ? 1 : 0);
    return propose(
        site_, "needed",
        fmt::format("{} nodes before {} compute only what is read", functions, site_.name({gather_, 0})), b_,
        {{gather_, 0}}, {made.at(data_)});
  }

 private:
  bool is_log_softmax(Value x) const {
    return site_.made_by(x, "LogSoftmax") && site_.only_reader(x) && site_.graph.opset("") >= 13 &&
           axis_of(site_, x.node, x, -1) == axis_;
  }
  // Includes the node that makes it, if that node determines its sign: the functions may need the sign.
  Value with_sign(Value x) {
    for (const char* op : {"Softmax", "Exp", "Sigmoid"})
      if (site_.made_by(x, op) && site_.only_reader(x))
        return b_.copy(site_.node(x.node), {b_.input(site_.name(site_.node(x.node).inputs[0]))});
    return b_.input(site_.name(x));
  }
  Value chosen(Value x) {
    const Value index = b_.input(site_.name(site_.node(gather_).inputs[1]));
    return b_.op("GatherElements", {with_sign(x), index}, with({{"axis", axis_}}));
  }
  // x - log Σ exp x, of the chosen ones.
  Value chosen_log(Value x) {
    const Value from = site_.node(x.node).inputs[0];
    const bool by_input = site_.graph.opset("") >= 18;
    std::vector<Value> inputs{b_.input(site_.name(from))};
    if (by_input) inputs.push_back(b_.integers({axis_}));
    const Value all = b_.op("ReduceLogSumExp", inputs,
                            by_input ? Attributes{} : with({{"axes", std::vector<std::int64_t>{axis_}}}));
    return b_.op("Sub", {chosen(from), all});
  }

  const Site& site_;
  NodeId gather_;
  Value data_;
  std::int64_t axis_;
  ProgramBuilder b_;
};

}  // namespace

void propose_chosen_elements(const Site& site, bool any_price, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "GatherElements") || site.is_constant(site.node(id).inputs[0])) continue;
    auto found = Chosen(site, id).proposal();
    if (found && (any_price || found->gain > 0)) out.list.push_back(std::move(*found));
  }
}

}  // namespace isomer
