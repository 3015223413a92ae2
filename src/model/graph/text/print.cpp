#include <fmt/format.h>

#include <map>
#include <unordered_set>

#include "model/graph/text/spelling.h"
#include "model/graph/text/tensor_text.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

// The texts of a list's elements, separated by commas.
template <class List, class ToText>
std::string joined(const List& list, const ToText& to_text) {
  std::string out;
  for (const auto& element : list) {
    if (!out.empty()) out += ", ";
    out += to_text(element);
  }
  return out;
}

// "com.microsoft" as it is; a domain that is no list of identifiers as one string.
std::string spelled_domain(std::string_view domain) {
  for (std::size_t begin = 0; begin <= domain.size();) {
    const std::size_t end = std::min(domain.find('.', begin), domain.size());
    if (!is_identifier(domain.substr(begin, end - begin))) return quote(domain);
    begin = end + 1;
  }
  return std::string(domain);
}

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

class Printer {
 public:
  Printer(const Graph& graph, const TextOptions& options) : graph_(graph), options_(options) {
    name_values();
  }
  std::string print() const;

 private:
  void name_values();
  std::string value(Value value) const;
  std::string values(const std::vector<Value>& values) const;
  std::string declaration(Value value, const DeclaredType* type) const;
  std::string tensor(const Tensor& tensor, const std::string& name) const;
  std::string attribute(const Attribute& attribute) const;
  std::string attributes(const Node& node) const;
  std::string node(NodeId id) const;
  std::string header() const;
  std::string signature() const;
  std::string initializers() const;

  const Graph& graph_;
  const TextOptions& options_;
  std::map<Value, std::string> names_;
};

// Every value that is read, or has a name, under a name that no other has.
void Printer::name_values() {
  std::unordered_set<std::string> taken;
  std::vector<Value> unnamed;
  for (const NodeId id : graph_.order()) {
    const auto& outputs = graph_.node(id).outputs;
    for (std::uint32_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].empty() && taken.insert(outputs[k]).second) names_.emplace(Value{id, k}, outputs[k]);
      else unnamed.push_back({id, k});
    }
  }
  std::unordered_set<std::uint64_t> read;
  const auto note = [&](const std::vector<Value>& values) {
    for (const Value& v : values) read.insert(std::uint64_t{v.node} << 32 | v.output);
  };
  for (const NodeId id : graph_.order()) {
    note(graph_.node(id).inputs);
    note(graph_.node(id).captures);
  }
  note(graph_.outputs());
  for (const Value& v : unnamed) {
    if (graph_.name_of(v).empty() && !read.contains(std::uint64_t{v.node} << 32 | v.output)) continue;
    std::string name =
        fmt::format("{}_{}_{}", graph_.name_of(v).empty() ? "value" : graph_.name_of(v), v.node, v.output);
    while (!taken.insert(name).second) name += '_';
    names_.emplace(v, std::move(name));
  }
}

std::string Printer::value(Value value) const {
  const auto at = names_.find(value);
  return at == names_.end() ? "\"\"" : spell(at->second);
}

std::string Printer::values(const std::vector<Value>& values) const {
  return joined(values, [&](const Value& v) { return value(v); });
}

std::string Printer::declaration(Value v, const DeclaredType* type) const {
  const bool is_typed = type != nullptr && (type->type != ElementType::Undefined || !type->is_tensor);
  return is_typed ? spell(*type) + " " + value(v) : value(v);
}

std::string Printer::tensor(const Tensor& tensor, const std::string& name) const {
  return fmt::format("{} {}{}", spell(tensor.type(), tensor.extents()), name,
                     elements_text(tensor, options_.most_elements));
}

struct ValueText {
  std::string operator()(std::int64_t x) const { return std::to_string(x); }
  std::string operator()(float x) const { return float_text(x); }
  std::string operator()(const std::string& x) const { return quote(x); }
  template <class T>
  std::string operator()(const std::vector<T>& xs) const {
    return "[" + joined(xs, *this) + "]";
  }
  std::string operator()(const RawAttribute& x) const { return quote(hexadecimal(x.bytes)); }
  std::string operator()(const Tensor&) const { return {}; }
};

std::string Printer::attribute(const Attribute& attribute) const {
  // A type is written where the value doesn't show it.
  std::string type;
  if (const auto* raw = std::get_if<RawAttribute>(&attribute.value))
    type = raw->is_graph ? ": raw_graph" : ": raw";
  if (const auto* xs = std::get_if<std::vector<std::int64_t>>(&attribute.value); xs && xs->empty())
    type = ": ints";
  if (const auto* xs = std::get_if<std::vector<float>>(&attribute.value); xs && xs->empty())
    type = ": floats";
  if (const auto* xs = std::get_if<std::vector<std::string>>(&attribute.value); xs && xs->empty())
    type = ": strings";
  const auto* constant = std::get_if<Tensor>(&attribute.value);
  return fmt::format("{}{} = {}", is_identifier(attribute.name) ? attribute.name : quote(attribute.name),
                     type, constant ? tensor(*constant, "") : std::visit(ValueText{}, attribute.value));
}

std::string Printer::attributes(const Node& node) const {
  std::string out = joined(node.attributes.all(), [&](const Attribute& a) { return attribute(a); });
  if (!node.captures.empty())
    out += fmt::format("{}captures: values = [{}]", out.empty() ? "" : ", ", values(node.captures));
  return out.empty() ? "" : "<" + out + "> ";
}

std::string Printer::node(NodeId id) const {
  const Node& node = graph_.node(id);
  std::vector<Value> outputs(node.outputs.size());
  for (std::uint32_t k = 0; k < outputs.size(); ++k) outputs[k] = {id, k};
  std::string out = "  ";
  if (!node.name.empty()) out += fmt::format("[{}] ", spell(node.name));
  out += values(outputs) + (outputs.empty() ? "= " : " = ");
  if (!node.domain.empty()) out += spelled_domain(node.domain) + ".";
  out += is_identifier(node.op) ? node.op : quote(node.op);
  if (!node.overload.empty()) out += ":" + spell(node.overload);
  return out + fmt::format(" {}({})\n", attributes(node), values(node.inputs));
}

std::string Printer::header() const {
  const std::string imports = joined(graph_.opsets, [](const auto& opset) {
    return fmt::format("{} : {}", quote(opset.first), opset.second);
  });
  return fmt::format("<ir_version: {}, opset_import: [{}]>\n", options_.ir_version, imports);
}

std::string Printer::signature() const {
  std::vector<std::string> inputs, outputs;
  for (const Value& input : graph_.inputs()) {
    const Node& node = graph_.node(input.node);
    DeclaredType type = node.declared;
    if (type.is_tensor && type.type == ElementType::Undefined && node.kind == NodeKind::Initializer) {
      type.type = node.tensor.type();
      type.shape.emplace(node.tensor.extents().begin(), node.tensor.extents().end());
    }
    inputs.push_back(declaration(input, &type));
  }
  for (const Value& output : graph_.outputs()) {
    const auto at = graph_.declared().find(graph_.name_of(output));
    outputs.push_back(declaration(output, at == graph_.declared().end() ? nullptr : &at->second));
  }
  return fmt::format("{} ({}) => ({})", spell(graph_.name), fmt::join(inputs, ", "),
                     fmt::join(outputs, ", "));
}

// Initializers, and the types that are declared for inner values.
std::string Printer::initializers() const {
  std::vector<std::string> parts;
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::Initializer) parts.push_back(tensor(node.tensor, value({id, 0}) + " = "));
  }
  std::map<std::string_view, Value> inner;
  for (const auto& [v, name] : names_)
    if (graph_.node(v.node).kind == NodeKind::Operator) inner.emplace(name, v);
  for (const Value& output : graph_.outputs()) inner.erase(names_.at(output));
  for (const auto& [name, type] : graph_.declared())
    if (const auto at = inner.find(name); at != inner.end()) parts.push_back(declaration(at->second, &type));
  return parts.empty() ? "" : fmt::format("\n<\n  {}\n>", fmt::join(parts, ",\n  "));
}

std::string Printer::print() const {
  const std::string given = initializers();
  std::string out = header() + signature() + given + (given.empty() ? " {\n" : "\n{\n");
  for (const NodeId id : graph_.order())
    if (graph_.node(id).kind == NodeKind::Operator) out += node(id);
  return out + "}\n";
}

}  // namespace

std::string value_text(const Attribute& attribute) {
  if (const auto* tensor = std::get_if<Tensor>(&attribute.value))
    return spell(tensor->type(), tensor->extents());
  if (std::holds_alternative<RawAttribute>(attribute.value)) return "{...}";
  return std::visit(ValueText{}, attribute.value);
}

std::string text(const Graph& graph, const TextOptions& options) { return Printer(graph, options).print(); }

}  // namespace isomer
