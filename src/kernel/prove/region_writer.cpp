#include "kernel/prove/region_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/prove/facts.h"

namespace isomer {
namespace {

// A region of more nodes is too large a question for one proof.
constexpr std::size_t kMostNodes = 400;

// An extent that is not negative whatever its symbols are.
bool is_plain(const Dim& dim) {
  return std::ranges::all_of(dim.summands(), [](const Dim::Summand& s) {
    return s.coefficient > 0 && std::ranges::all_of(s.factors, [](const Dim::Factor& f) {
             return f.kind == Dim::Factor::Kind::Symbol;
           });
  });
}

}  // namespace

std::string RegionWriter::input_name(int c) { return fmt::format("class {}", c); }

std::set<NodeId> RegionWriter::inner_of(Side side) const {
  std::set<NodeId> out;
  for (const auto& [where, id] : inner_)
    if (where == side) out.insert(id);
  return out;
}

RegionWriter::Place RegionWriter::followed(Side side, Value v) const {
  const int c = sweep_.class_of(side, v);
  const bool in_a =
      side == Side::B && one_vocabulary_ && open_.contains(c) && sweep_.followed_in_a_.contains(c);
  return in_a ? Place{Side::A, sweep_.in_a(c)} : Place{side, v};
}

RegionWriter::Kind RegionWriter::kind_of(const Place& at) const {
  const int c = class_of(at);
  if (sweep_.known(at.side, at.value)) return sweep_.folded_.contains(c) ? Kind::Folded : Kind::Constant;
  const Node& node = model(at).graph->node(at.value.node);
  if (node.kind != NodeKind::Operator) return Kind::Begin;
  const ValueInfo& info = model(at).info->of(at.value);
  if (const auto extents = sweep_.extents_in(at.side, at.value);
      extents && info.shape && info.shape->size() == 1 && info.type == ElementType::Int64 &&
      std::ranges::all_of(*extents, is_plain))
    return Kind::Sizes;
  return sweep_.is_common(c) && !open_.contains(c) && !info.integers ? Kind::Begin : Kind::Inner;
}

NodeId RegionWriter::add_node(Node node) {
  node.name.clear();
  node.extras.clear();
  for (std::string& o : node.outputs)
    if (!o.empty()) o = fmt::format("v{}", next_++);
  return out_.add(std::move(node));
}

Value RegionWriter::input(const std::string& name, ElementType type, const Dims& shape) {
  if (const auto at = inputs_.find(name); at != inputs_.end()) return at->second;
  Node node;
  node.kind = NodeKind::Input;
  node.outputs = {name};
  node.declared.type = type;
  node.declared.shape.emplace();
  // Symbols that inference made up mean something in one model only.
  for (const Dim& d : shape)
    node.declared.shape->push_back(d.substitute([&](std::string_view s) {
      return Dim::symbol(sweep_.symbols_.contains(std::string(s)) ? std::string(s)
                                                                  : sweep_.prefix_ + std::string(s));
    }));
  const Value made{out_.add(std::move(node)), 0};
  out_.add_input(made);
  inputs_.emplace(name, made);
  return made;
}

Status RegionWriter::begin_at(const Place& at) {
  const int c = class_of(at);
  // Values of one class have one shape; A's spelling of it is as good as B's, and the same for both.
  const Value first = sweep_.in_a(c);
  const ValueInfo& info = first.exists() ? sweep_.a_.info->of(first) : model(at).info->of(at.value);
  if (info.type == ElementType::Undefined || !info.shape)
    return Error{fmt::format("the shape of {} is not known", model(at).graph->name_of(at.value))};
  if (first.exists() && sweep_.a_.doubtful.contains(first.node))
    return Error{
        fmt::format("the shape of {} is not known where a size is 0", sweep_.a_.graph->name_of(first))};
  made_.emplace(at, input(input_name(c), info.type, *info.shape));
  begins_.insert(c);
  return Done{};
}

Value RegionWriter::initializer(const Tensor& tensor) {
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {"c"};
  node.tensor = tensor;
  return {add_node(std::move(node)), 0};
}

void RegionWriter::add_constant(const Place& at, const Tensor& tensor) {
  constants_.insert(class_of(at));
  made_.emplace(at, initializer(tensor));
}

void RegionWriter::add_extents(const Place& at, const Dims& extents) {
  Node node;
  node.op = "Shape";
  node.inputs = {input("tensor of " + text(extents), ElementType::Float, extents)};
  node.outputs = {"s"};
  made_.emplace(at, Value{add_node(std::move(node)), 0});
}

Status RegionWriter::add_program(const Place& at, const Graph& program) {
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    if (node.kind == NodeKind::Operator && program.opset(node.domain) != out_.opset(node.domain))
      return Error{"the program of a constant is of another operator set"};
    for (Value& i : node.inputs)
      if (i.exists()) i.node = moved.at(i.node);
    moved.emplace(id, add_node(std::move(node)));
  }
  const Value result = program.outputs()[0];
  made_.emplace(at, Value{moved.at(result.node), result.output});
  replaced_.insert(class_of(at));
  return Done{};
}

Status RegionWriter::walk(const Place& target) {
  std::set<Place> seen{target};
  std::set<std::pair<Side, NodeId>> nodes;
  std::vector<Place> open{target};
  while (!open.empty()) {
    const Place at = open.back();
    open.pop_back();
    switch (kind_of(at)) {
      case Kind::Constant: add_constant(at, *sweep_.known(at.side, at.value)); continue;
      case Kind::Folded: ISOMER_TRY_DO(add_program(at, sweep_.folded_.at(class_of(at)).program)); continue;
      case Kind::Sizes: add_extents(at, *sweep_.extents_in(at.side, at.value)); continue;
      case Kind::Begin: ISOMER_TRY_DO(begin_at(at)); continue;
      case Kind::Inner: break;
    }
    if (!nodes.emplace(at.side, at.value.node).second) continue;
    const Node& node = model(at).graph->node(at.value.node);
    if (!node.captures.empty() || !node.bodies.empty())
      return Error{fmt::format("{} has a subgraph", label(node))};
    if (nodes.size() > kMostNodes) return Error{"the region is too large"};
    for (const Value& i : node.inputs) {
      if (!i.exists()) continue;
      const Place next = followed(at.side, i);
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  inner_.assign(nodes.begin(), nodes.end());
  std::ranges::sort(inner_, {}, [&](const auto& n) {
    return std::pair(n.first, sweep_.model(n.first).position.at(n.second));
  });
  return Done{};
}

Result<Graph> RegionWriter::write(Value target) {
  out_.opsets = sweep_.model(side_).graph->opsets;
  ISOMER_TRY_DO(walk({side_, target}));
  for (const auto& [side, id] : inner_) {
    Node node = sweep_.model(side).graph->node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v = made_.at(followed(side, v));
    const auto count = static_cast<std::uint32_t>(node.outputs.size());
    const NodeId made = add_node(std::move(node));
    for (std::uint32_t k = 0; k < count; ++k) made_.try_emplace(Place{side, Value{id, k}}, Value{made, k});
  }
  out_.add_output(made_.at({side_, target}));
  return out_;
}

}  // namespace isomer
