#include "optimizer/propose/float32_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/graph_index.h"
#include "model/graph/program_builder.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(ElementType::Float);

// Attributes that name an element type: Cast's, EyeLike's and those of windows and random numbers.
constexpr std::string_view kTypeAttributes[] = {"to", "dtype", "output_datatype"};

bool is_half_number(std::int64_t type) {
  return type == static_cast<std::int64_t>(ElementType::Float16) ||
         type == static_cast<std::int64_t>(ElementType::BFloat16);
}

void widen_attributes(Node& node) {
  const Attributes given = node.attributes;
  for (const Attribute& a : given.all()) {
    const auto* tensor = std::get_if<Tensor>(&a.value);
    if (tensor != nullptr && is_half(tensor->type()))
      node.attributes.set(a.name, convert(*tensor, ElementType::Float));
    const auto* number = std::get_if<std::int64_t>(&a.value);
    if (number != nullptr && is_half_number(*number) &&
        std::ranges::find(kTypeAttributes, a.name) != std::end(kTypeAttributes))
      node.attributes.set(a.name, kFloat);
  }
}

void widen(Node& node) {
  if (node.kind == NodeKind::Initializer && is_half(node.tensor.type()))
    node.tensor = convert(node.tensor, ElementType::Float);
  if (is_half(node.declared.type)) node.declared.type = ElementType::Float;
  if (node.kind == NodeKind::Operator) widen_attributes(node);
}

// Inputs that are float32 whatever the rest is: the sizes of Resize.
bool is_float_anyway(const Node& node, std::size_t input) {
  return (node.op == "Resize" && input > 0) || (node.op == "Upsample" && input == 1);
}

std::set<Value> float_anyway(const Graph& program) {
  std::set<Value> out;
  for (const NodeId id : program.order())
    for (std::size_t k = 0; k < program.node(id).inputs.size(); ++k)
      if (is_float_anyway(program.node(id), k)) out.insert(program.node(id).inputs[k]);
  return out;
}

// The program with the float32 constants that it makes itself in another width.
Graph with_width(const Graph& program, ElementType type) {
  const std::set<Value> kept = float_anyway(program);
  std::set<std::string> kept_names;
  for (const Value& v : kept)
    if (v.exists()) kept_names.insert(program.name_of(v));
  return with_changed_nodes(program, [&](Node& node) {
    if (node.kind == NodeKind::Input || kept_names.contains(node.outputs[0])) return;
    if (node.kind == NodeKind::Initializer) {
      if (node.tensor.type() == ElementType::Float) node.tensor = convert(node.tensor, type);
      return;
    }
    const bool makes_numbers = node.op == "ConstantOfShape" || node.op == "Constant";
    const auto* value = node.attributes.find_as<Tensor>("value");
    if (makes_numbers && value != nullptr && value->type() == ElementType::Float)
      node.attributes.set("value", convert(*value, type));
    else if (node.op == "ConstantOfShape" && value == nullptr)
      node.attributes.set("value", convert(Tensor::of(ElementType::Float, {1}, std::vector<float>{0}), type));
    const auto* dtype = node.attributes.find_as<std::int64_t>("dtype");
    if (node.op == "EyeLike" && dtype != nullptr && *dtype == kFloat)
      node.attributes.set("dtype", static_cast<std::int64_t>(type));
  });
}

// Weights that are cast to float32, as they are stored.
std::optional<Tensor> cast_constant(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::Operator || node.op != "Cast" || !node.domain.empty()) return std::nullopt;
  const auto* to = node.attributes.find_as<std::int64_t>("to");
  const auto stored = known_constant(graph, node.inputs[0]);
  const bool widens = stored && is_half(stored->type()) && to != nullptr && *to == kFloat;
  return widens ? stored : std::nullopt;
}

// Values of 16 bits that no node here computes with: they lie between casts, inputs, outputs and nodes
// without a formula. They stay, so that no proposer ignores such a cast.
std::set<std::string> border_values(const Graph& graph, const Inference& inference) {
  const GraphIndex index(graph);
  const auto is_border = [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.kind != NodeKind::Operator || node.op == "Cast" || inference.opaque.contains(id);
  };
  std::set<std::string> out;
  for (const NodeId id : graph.order())
    for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k)
      if (is_half(inference.of({id, k}).type) && is_border(id) && !known_constant(graph, {id, k}) &&
          std::ranges::all_of(index.readers({id, k}), is_border))
        out.insert(graph.node(id).outputs[k]);
  return out;
}

}  // namespace

bool is_half(ElementType type) { return type == ElementType::Float16 || type == ElementType::BFloat16; }

std::optional<Float32View> Float32View::of(const Graph& graph, const Inference& inference) {
  Float32View out;
  for (const NodeId id : graph.order())
    for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k)
      if (const ElementType type = inference.of({id, k}).type; is_half(type))
        out.halves_.emplace(graph.node(id).outputs[k], type);
  if (out.halves_.empty()) return std::nullopt;
  out.given_ = graph;
  const std::set<std::string> borders = border_values(graph, inference);
  out.graph_ = with_changed_nodes(graph, [&](Node& node) {
    if (const auto constant = cast_constant(graph, node)) {
      out.casts_.emplace(node.outputs[0], graph.name_of(node.inputs[0]));
      Node made;
      made.kind = NodeKind::Initializer;
      made.outputs = node.outputs;
      made.tensor = convert(*constant, ElementType::Float);
      node = std::move(made);
    } else if (!borders.contains(node.outputs[0])) {
      widen(node);
    }
  });
  for (const auto& [name, type] : graph.declared()) {
    if (!is_half(type.type) || borders.contains(name)) continue;
    DeclaredType wide = type;
    wide.type = ElementType::Float;
    out.graph_.declare(name, wide);
  }
  auto inferred = infer(out.graph_);
  if (!inferred.ok()) return std::nullopt;
  out.inference_ = std::move(*inferred);
  return out;
}

// The one width of all 16-bit floats that a program reads or is to give; nullopt: there is none, or two.
std::optional<ElementType> Float32View::width_of(const std::vector<std::string>& names,
                                                 const Graph& program) const {
  std::set<ElementType> found;
  const auto note = [&](const std::string& name) {
    if (const auto at = halves_.find(name); at != halves_.end()) found.insert(at->second);
  };
  for (const std::string& name : names) note(name);
  for (const Value& v : program.inputs()) note(program.name_of(v));
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

// The program with casts of the values that it uses as constants.
Graph Float32View::with_casts(const Graph& program, const std::string& output) const {
  const auto is_cast = [&](const Value& v) { return casts_.contains(program.name_of(v)); };
  if (std::ranges::none_of(program.inputs(), is_cast)) return program;
  ProgramBuilder names(given_, output + ".cast");
  Graph out = program.without_nodes();
  std::map<NodeId, NodeId> moved;
  std::map<std::string, NodeId> stored;
  const auto input = [&](Node node) {
    const NodeId id = out.add(std::move(node));
    out.add_input({id, 0});
    return id;
  };
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    for (Value& v : node.inputs)
      if (v.exists()) v = {moved.at(v.node), v.output};
    const auto cast = node.kind == NodeKind::Input ? casts_.find(node.outputs[0]) : casts_.end();
    if (cast == casts_.end()) {
      moved.emplace(id, node.kind == NodeKind::Input ? input(std::move(node)) : out.add(std::move(node)));
      continue;
    }
    node.outputs = {cast->second};
    node.declared = {};
    if (!stored.contains(cast->second)) stored.emplace(cast->second, input(std::move(node)));
    const Value named = names.op("Cast", {names.input(cast->second)}, with({{"to", kFloat}}));
    Node wide = names.graph().node(named.node);
    wide.inputs = {{stored.at(cast->second), 0}};
    moved.emplace(id, out.add(std::move(wide)));
  }
  for (const Value& v : program.outputs()) out.add_output({moved.at(v.node), v.output});
  return out;
}

Proposal Float32View::translate(Proposal proposal) const {
  Claim& claim = proposal.claim;
  if (const auto type = width_of(claim.outputs, claim.after)) claim.after = with_width(claim.after, *type);
  if (!casts_.empty() && !claim.outputs.empty()) claim.after = with_casts(claim.after, claim.outputs[0]);
  for (ConstantFact& fact : claim.facts) {
    // A fact is about what is stored: moved and multiplied, it is the same in 16 bits.
    const auto stored = [&](const std::string& name) {
      const auto at = casts_.find(name);
      return at == casts_.end() ? name : at->second;
    };
    fact.constant = stored(fact.constant);
    fact.program = with_changed_nodes(fact.program, [&](Node& node) {
      if (node.kind == NodeKind::Input) node.outputs[0] = stored(node.outputs[0]);
    });
    if (const auto type = width_of({fact.constant}, fact.program))
      fact.program = with_width(fact.program, *type);
  }
  return proposal;
}

}  // namespace isomer
