#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "checker/edits.h"

namespace isomer::checker {
namespace {

// The graph once more, with nodes changed on the way: what a node reads may become any value before it.
using Change = std::function<void(Node& node, NodeId was, const Graph& so_far)>;

// In a store of its own: bodies are no content, so a node that differs in them alone would be shared.
Graph rebuilt(const Graph& graph, const Change& change) {
  Graph out;
  out.opsets = graph.opsets;
  out.functions = graph.functions;
  out.name = graph.name;
  for (const auto& [name, type] : graph.declared()) out.declare(name, type);
  std::map<NodeId, NodeId> moved;
  const auto there = [&](Value v) { return v.exists() ? Value{moved.at(v.node), v.output} : v; };
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    for (Value& v : node.inputs) v = there(v);
    for (Value& v : node.captures) v = there(v);
    change(node, id, out);
    moved.emplace(id, out.add(std::move(node)));
    if (graph.is_overridable(id)) out.mark_overridable(moved.at(id));
  }
  for (const Value& v : graph.inputs()) out.add_input(there(v));
  for (const Value& v : graph.outputs()) out.add_output(there(v));
  return out;
}

std::vector<NodeId> nodes_where(const Graph& graph, const std::function<bool(const Node&)>& holds) {
  std::vector<NodeId> out;
  for (const NodeId id : graph.order())
    if (holds(graph.node(id))) out.push_back(id);
  return out;
}

bool change_one(Random& random, Graph& graph, const std::function<bool(const Node&)>& which,
                const std::function<void(Node&, const Graph&)>& how) {
  const auto nodes = nodes_where(graph, which);
  if (nodes.empty()) return false;
  const NodeId chosen = random.one_of(nodes);
  graph = rebuilt(graph, [&](Node& node, NodeId was, const Graph& so_far) {
    if (was == chosen) how(node, so_far);
  });
  return true;
}

bool is_operator(const Node& node) { return node.kind == NodeKind::Operator; }
bool is_float_constant(const Node& node) {
  return node.kind == NodeKind::Initializer && node.tensor.type() == ElementType::Float &&
         node.tensor.count() > 0;
}

bool attribute(Random& random, const Case&, Mutant& m) {
  return change_one(
      random, m.out, [](const Node& n) { return is_operator(n) && !n.attributes.all().empty(); },
      [&](Node& node, const Graph&) {
        const Attribute chosen = random.one_of(node.attributes.all());
        Attribute::Value value = chosen.value;
        static const std::vector<std::int64_t> steps{-1, 1, 2};
        if (auto* list = std::get_if<std::vector<std::int64_t>>(&value); list && !list->empty())
          (*list)[static_cast<std::size_t>(random.below(static_cast<int>(list->size())))] +=
              random.one_of(steps);
        else if (auto* number = std::get_if<std::int64_t>(&value)) *number += random.one_of(steps);
        else if (auto* real = std::get_if<float>(&value)) *real += 0.5F;
        else if (auto* text = std::get_if<std::string>(&value)) *text += "x";
        node.attributes.set(chosen.name, value);
      });
}

bool new_attribute(Random& random, const Case&, Mutant& m) {
  return change_one(random, m.out, is_operator, [&](Node& node, const Graph&) {
    static const std::vector<std::string> names{"axis", "transB", "group", "auto_pad", "alpha"};
    node.attributes.set(random.one_of(names), std::int64_t{random.between(0, 2)});
  });
}

bool wiring(Random& random, const Case&, Mutant& m) {
  return change_one(
      random, m.out, [](const Node& n) { return is_operator(n) && !n.inputs.empty(); },
      [&](Node& node, const Graph& so_far) {
        Value& v = node.inputs[static_cast<std::size_t>(random.below(static_cast<int>(node.inputs.size())))];
        v = random.chance(5) ? Value::none() : Value{random.one_of(so_far.order()), 0};
      });
}

Tensor with_other_element(Random& random, const Tensor& tensor) {
  std::vector<float> values(tensor.as<float>().begin(), tensor.as<float>().end());
  const auto any = [&]() -> float& {
    return values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))];
  };
  float& value = any();
  switch (random.below(5)) {
    case 0: value = std::nextafter(value, 9.0F); break;
    case 1: value = -value; break;
    case 2: value += 0.5F; break;
    case 3: value = 0; break;
    default: std::swap(value, any());
  }
  return Tensor::of(ElementType::Float, tensor.extents(), values);
}

bool weight_of(Random& random, Graph& graph) {
  return change_one(random, graph, is_float_constant,
                    [&](Node& node, const Graph&) { node.tensor = with_other_element(random, node.tensor); });
}
bool weight(Random& random, const Case&, Mutant& m) { return weight_of(random, m.out); }

bool shape_of_weight(Random& random, const Case&, Mutant& m) {
  return change_one(random, m.out, is_float_constant, [](Node& node, const Graph&) {
    Extents extents = node.tensor.extents();
    extents.insert(extents.begin(), 1);
    node.tensor = Tensor(node.tensor.type(), extents, node.tensor.bytes());
  });
}

bool op(Random& random, const Case&, Mutant& m) {
  return change_one(random, m.out, is_operator, [&](Node& node, const Graph&) {
    static const std::vector<std::string> ops{"Relu", "Neg", "Abs",    "Mul",
                                              "Add",  "Sub", "MatMul", "Identity"};
    static const std::vector<std::string> domains{"com.example", "ai.onnx.ml", "com.microsoft"};
    switch (random.below(4)) {
      case 0: node.domain = random.one_of(domains); break;
      case 1: node.overload += "1"; break;
      default: node.op = random.one_of(ops);
    }
  });
}

// One more node between a value and its reader.
bool inserted(Random& random, const Case&, Mutant& m) {
  const auto nodes = nodes_where(m.out, is_operator);
  const NodeId chosen = random.one_of(nodes);
  Graph out = m.out.without_nodes();
  std::map<NodeId, Value> moved;
  const auto there = [&](Value v) {
    return v.exists() ? (v.output == 0 ? moved.at(v.node) : Value{moved.at(v.node).node, v.output}) : v;
  };
  for (const NodeId id : m.out.order()) {
    Node node = m.out.node(id);
    for (Value& v : node.inputs) v = there(v);
    Node extra;
    extra.op = random.chance(50) ? "Neg" : "Identity";
    extra.outputs = {node.outputs[0]};
    if (id == chosen) node.outputs[0] = "hidden";
    Value made{out.add(std::move(node)), 0};
    if (id == chosen) {
      extra.inputs = {made};
      made = {out.add(std::move(extra)), 0};
    }
    moved.emplace(id, made);
  }
  for (const Value& v : m.out.inputs()) out.add_input(there(v));
  for (const Value& v : m.out.outputs()) out.add_output(there(v));
  m.out = std::move(out);
  return true;
}

// An additional node whose output is unused.
bool added(Random& random, const Case&, Mutant& m) {
  Node node;
  node.op = "Neg";
  node.inputs = {Value{random.one_of(m.out.order()), 0}};
  node.outputs = {"more"};
  const NodeId id = m.out.add(std::move(node));
  if (random.chance(50)) m.out.add_output({id, 0});
  return true;
}

bool output(Random& random, const Case&, Mutant& m) {
  const Graph& graph = m.out;
  std::vector<Value> outputs = graph.outputs();
  const auto some = [&]() -> Value& {
    return outputs[static_cast<std::size_t>(random.below(static_cast<int>(outputs.size())))];
  };
  switch (random.below(3)) {
    case 0: some() = Value{random.one_of(graph.order()), 0}; break;
    case 1: std::swap(some(), some()); break;
    default: outputs.push_back(some());
  }
  if (outputs == graph.outputs()) return false;
  Graph out = graph.without_nodes();
  for (const NodeId id : graph.order()) out.add(id);
  for (const Value& v : graph.inputs()) out.add_input(v);
  for (const Value& v : outputs) out.add_output(v);
  m.out = std::move(out);
  return true;
}

bool input(Random& random, const Case&, Mutant& m) {
  const auto inputs = nodes_where(m.out, [](const Node& n) { return n.kind == NodeKind::Input; });
  if (random.chance(40) && inputs.size() > 1) {
    Graph out = m.out.without_nodes();
    for (const NodeId id : m.out.order()) out.add(id);
    for (std::size_t k = m.out.inputs().size(); k-- > 0;) out.add_input(m.out.inputs()[k]);
    for (const Value& v : m.out.outputs()) out.add_output(v);
    m.out = std::move(out);
    return true;
  }
  return change_one(
      random, m.out, [](const Node& n) { return n.kind == NodeKind::Input; },
      [&](Node& node, const Graph&) {
        if (random.chance(50)) node.declared.type = ElementType::Double;
        else if (node.declared.shape) (*node.declared.shape)[0] = Dim(7);
      });
}

bool opset(Random& random, const Case&, Mutant& m) {
  static const std::vector<int> versions{11, 13, 17, 19, 21};
  if (random.chance(70)) m.out.opsets[""] = random.one_of(versions);
  else m.out.functions.write().emplace(FunctionName{"own", "G"}, "");
  return true;
}

// An initializer that the caller may replace is no constant. Returns its name.
std::optional<std::string> make_overridable(Random& random, Graph& graph, bool as_input) {
  const auto constants = nodes_where(graph, is_float_constant);
  if (constants.empty()) return std::nullopt;
  std::string name = graph.node(random.one_of(constants)).outputs[0];
  graph = rebuilt(graph, [&](Node& node, NodeId, const Graph&) {
    if (!as_input || node.outputs[0] != name) return;
    const Dims dims = to_dims(node.tensor.extents());
    node.declared = {.type = node.tensor.type(),
                     .shape = std::vector<std::optional<Dim>>(dims.begin(), dims.end())};
  });
  for (const NodeId id : nodes_where(graph, [&](const Node& n) { return n.outputs[0] == name; })) {
    graph.mark_overridable(id);
    if (as_input) graph.add_input({id, 0});
  }
  return name;
}

bool overridable(Random& random, const Case&, Mutant& m) {
  Graph& graph = random.chance(50) ? m.in : m.out;
  return make_overridable(random, graph, random.chance(50)).has_value();
}

// Steps that know it as an input, and then fold it.
bool overridable_and_folded(Random& random, const Case&, Mutant& m) {
  const auto name = make_overridable(random, m.in, true);
  if (!name) return false;
  m.forge = true;
  for (std::string& line : m.lines)
    if (const auto at = line.find("\"from\":["); at != std::string::npos)
      line.insert(at + 8, "\"" + *name + "\",");
  return true;
}

// Unused nodes are in the original; no step removes them.
bool missing(Random& random, const Case&, Mutant& m) {
  m.lines.resize(1);
  m.out = m.in;
  Node node;
  node.op = "Neg";
  node.inputs = {Value{random.one_of(m.in.order()), 0}};
  node.outputs = {"more"};
  m.in.add(std::move(node));
  return true;
}

bool extras(Random& random, const Case&, Mutant& m) {
  return change_one(random, m.out, is_operator, [](Node& node, const Graph&) { node.extras += "\x32\x01x"; });
}

bool body(Random&, const Case&, Mutant& m) {
  const auto with_bodies = nodes_where(m.out, [](const Node& n) { return !n.bodies.empty(); });
  if (with_bodies.empty()) return false;
  m.out = rebuilt(m.out, [&](Node& node, NodeId was, const Graph&) {
    if (was != with_bodies[0]) return;
    node.bodies[0].graph =
        std::make_shared<Graph>(rebuilt(*node.bodies[0].graph, [](Node& inner, NodeId, const Graph&) {
          if (is_operator(inner)) inner.op = "Relu";
        }));
  });
  return true;
}

// An edit of the function that a node of OUT calls. A forger keeps the function's digest, or not.
template <class EditOf>
bool inside(Random& random, const Case& original, Mutant& m, const EditOf& edit) {
  const auto calls = nodes_where(m.out, [](const Node& n) { return !n.bodies.empty(); });
  if (calls.empty()) return false;
  const NodeId chosen = random.one_of(calls);
  Mutant function{.in = {}, .out = *m.out.node(chosen).bodies[0].graph, .lines = {}};
  if (!edit(random, original, function)) return false;
  m.out = rebuilt(m.out, [&](Node& node, NodeId was, const Graph&) {
    if (was == chosen) node.bodies[0].graph = std::make_shared<Graph>(function.out);
  });
  if (random.chance(50))
    for (auto& [name, digest] : m.out.functions.write()) digest += "x";
  return true;
}
bool constant_in_function(Random& random, const Case& c, Mutant& m) { return inside(random, c, m, weight); }
bool attribute_in_function(Random& random, const Case& c, Mutant& m) {
  return inside(random, c, m, attribute);
}
bool definition_of_function(Random& random, const Case& c, Mutant& m) {
  static const std::vector<bool (*)(Random&, const Case&, Mutant&)> edits{
      wiring, op, inserted, output, new_attribute, shape_of_weight, added, opset};
  return inside(random, c, m, random.one_of(edits));
}

// The digest alone, of either model or of both.
bool digest_of_function(Random& random, const Case&, Mutant& m) {
  const int which = random.between(1, 3);
  bool any = false;
  for (const int k : {0, 1})
    if (Graph& graph = k == 0 ? m.in : m.out; (which >> k & 1) != 0)
      for (auto& [name, digest] : graph.functions.write()) any = true, digest += "x";
  return any;
}

// The original's constants: folds are computed from them, and facts are about them.
bool weight_of_original(Random& random, const Case&, Mutant& m) {
  m.forge = random.chance(30);
  return weight_of(random, m.in);
}

// The same constant on both sides turns negative: what rests on its sign must fall.
bool fact(Random& random, const Case&, Mutant& m) {
  m.forge = random.chance(50);
  const auto constants = nodes_where(m.in, is_float_constant);
  const std::string name = m.in.node(random.one_of(constants)).outputs[0];
  const auto at = random.bits();
  const bool negative = random.chance(50);
  for (Graph* graph : {&m.in, &m.out})
    *graph = rebuilt(*graph, [&](Node& node, NodeId, const Graph&) {
      if (!is_float_constant(node) || node.outputs[0] != name) return;
      std::vector<float> values(node.tensor.as<float>().begin(), node.tensor.as<float>().end());
      float& value = values[at % values.size()];
      value = negative ? -value : 0.0F;
      node.tensor = Tensor::of(ElementType::Float, node.tensor.extents(), values);
    });
  return true;
}

bool wiring_of_original(Random& random, const Case&, Mutant& m) {
  m.forge = random.chance(50);
  return change_one(
      random, m.in, [](const Node& n) { return is_operator(n) && !n.inputs.empty(); },
      [&](Node& node, const Graph& so_far) {
        Value& v = node.inputs[static_cast<std::size_t>(random.below(static_cast<int>(node.inputs.size())))];
        v = Value{random.one_of(so_far.order()), 0};
      });
}

bool node_name(Random& random, const Case&, Mutant& m) {
  return change_one(random, m.out, is_operator, [](Node& node, const Graph&) { node.name += "_"; });
}

bool declaration(Random& random, const Case&, Mutant& m) {
  DeclaredType type{.type = random.chance(80) ? ElementType::Float : ElementType::Int64,
                    .shape = std::nullopt};
  if (random.chance(50)) type.shape = std::vector<std::optional<Dim>>{Dim(7)};
  m.out.declare(random.one_of(names_in(m.out)), type);
  return true;
}

constexpr Edit kEdits[] = {
    {"OUT: attribute", true, attribute},
    {"OUT: new attribute", true, new_attribute},
    {"OUT: wiring", true, wiring},
    {"OUT: weight element", true, weight},
    {"OUT: weight's shape", true, shape_of_weight},
    {"OUT: operator", true, op},
    {"OUT: node inserted", true, inserted},
    {"OUT: node added", true, added},
    {"OUT: outputs", true, output},
    {"OUT: inputs", true, input},
    {"OUT: operator sets", true, opset},
    {"OUT: node missing", true, missing},
    {"overridable constant", true, overridable},
    {"overridable, then folded", true, overridable_and_folded},
    {"OUT: function body", true, body},
    {"OUT: constant in a function", true, constant_in_function},
    {"OUT: attribute in a function", true, attribute_in_function},
    {"OUT: definition of a function", true, definition_of_function},
    {"digest of a function", true, digest_of_function},
    {"IN: weight element", true, weight_of_original},
    {"IN: wiring", true, wiring_of_original},
    {"value fact", true, fact},
    {"OUT: node's other fields", false, extras},
    {"OUT: node's name", false, node_name},
    {"OUT: declared types", false, declaration},
};

}  // namespace

std::span<const Edit> edits_of_models() { return kEdits; }

std::vector<std::string> names_in(const Graph& graph) {
  std::vector<std::string> out;
  for (const NodeId id : graph.order())
    for (const std::string& name : graph.node(id).outputs)
      if (!name.empty()) out.push_back(name);
  return out;
}

Mutant honest(const Case& original) {
  Mutant out{.in = original.in, .out = original.out, .lines = {}};
  std::istringstream text(to_text(original.certificate));
  for (std::string line; std::getline(text, line);) out.lines.push_back(line);
  return out;
}

}  // namespace isomer::checker
