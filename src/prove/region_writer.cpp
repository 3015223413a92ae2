#include "prove/region_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "prove/facts.h"

namespace isomer {
namespace {

// A region of more nodes is no small question.
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

RegionWriter::Kind RegionWriter::kind_of(Value v) const {
  const int c = sweep_.class_of(side_, v);
  if (sweep_.known(side_, v)) return sweep_.programs_.contains(c) ? Kind::Folded : Kind::Constant;
  const Node& node = model_.graph->node(v.node);
  if (node.kind != NodeKind::Operator) return Kind::Begin;
  const ValueInfo& info = model_.info->of(v);
  if (const auto extents = sweep_.extents_in(side_, v); extents && info.shape && info.shape->size() == 1 &&
                                                        info.type == ElementType::Int64 &&
                                                        std::ranges::all_of(*extents, is_plain))
    return Kind::Extents;
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
      return Dim::symbol(sweep_.symbols_.contains(std::string(s)) ? std::string(s) : "a" + std::string(s));
    }));
  const Value made{out_.add(std::move(node)), 0};
  out_.add_input(made);
  inputs_.emplace(name, made);
  return made;
}

Status RegionWriter::begin_at(Value v) {
  const int c = sweep_.class_of(side_, v);
  // Values of one class have one shape; A's spelling of it is as good as B's, and the same for both.
  const Value first = sweep_.in_a(c);
  const ValueInfo& info = first.exists() ? sweep_.a_.info->of(first) : model_.info->of(v);
  if (info.type == ElementType::Undefined || !info.shape)
    return Error{fmt::format("the shape of {} is not known", model_.graph->name_of(v))};
  made_.emplace(v, input(input_name(c), info.type, *info.shape));
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

void RegionWriter::add_constant(Value v, const Tensor& tensor) {
  constants_.insert(sweep_.class_of(side_, v));
  made_.emplace(v, initializer(tensor));
}

void RegionWriter::add_extents(Value v, const Dims& extents) {
  Node node;
  node.op = "Shape";
  node.inputs = {input("tensor of " + text(extents), ElementType::Float, extents)};
  node.outputs = {"s"};
  made_.emplace(v, Value{add_node(std::move(node)), 0});
}

Status RegionWriter::add_program(Value v, const Graph& program) {
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
  made_.emplace(v, Value{moved.at(result.node), result.output});
  replaced_.insert(sweep_.class_of(side_, v));
  return Done{};
}

Status RegionWriter::walk(Value target) {
  std::set<Value> seen{target};
  std::set<NodeId> nodes;
  std::vector<Value> open{target};
  while (!open.empty()) {
    const Value v = open.back();
    open.pop_back();
    switch (kind_of(v)) {
      case Kind::Constant: add_constant(v, *sweep_.known(side_, v)); continue;
      case Kind::Folded:
        ISOMER_TRY_DO(add_program(v, sweep_.programs_.at(sweep_.class_of(side_, v))));
        continue;
      case Kind::Extents: add_extents(v, *sweep_.extents_in(side_, v)); continue;
      case Kind::Begin: ISOMER_TRY_DO(begin_at(v)); continue;
      case Kind::Inner: break;
    }
    if (!nodes.insert(v.node).second) continue;
    const Node& node = model_.graph->node(v.node);
    if (!node.captures.empty() || !node.bodies.empty())
      return Error{fmt::format("{} has a subgraph", label(node))};
    if (nodes.size() > kMostNodes) return Error{"the region is too large"};
    for (const Value& i : node.inputs)
      if (i.exists() && seen.insert(i).second) open.push_back(i);
  }
  inner_.assign(nodes.begin(), nodes.end());
  std::ranges::sort(inner_, {}, [&](NodeId id) { return model_.position.at(id); });
  return Done{};
}

Result<Graph> RegionWriter::write(Value target) {
  out_.opsets = model_.graph->opsets;
  ISOMER_TRY_DO(walk(target));
  for (const NodeId id : inner_) {
    Node node = model_.graph->node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v = made_.at(v);
    const auto count = static_cast<std::uint32_t>(node.outputs.size());
    const NodeId made = add_node(std::move(node));
    for (std::uint32_t k = 0; k < count; ++k) made_.try_emplace(Value{id, k}, Value{made, k});
  }
  out_.add_output(made_.at(target));
  return out_;
}

}  // namespace isomer
