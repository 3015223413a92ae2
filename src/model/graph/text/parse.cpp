#include <fmt/format.h>

#include <unordered_map>

#include "base/nearest_word.h"
#include "model/graph/text/attribute_parser.h"
#include "model/graph/text/scanner.h"
#include "model/graph/text/spelling.h"
#include "model/graph/text/tensor_text.h"
#include "model/graph/text/text.h"
#include "model/graph/text/type_parser.h"
#include "model/ops/operator.h"
#include "model/ops/schemas.h"

namespace isomer {
namespace {

class Parser {
 public:
  Parser(std::string_view text, TextCalls calls) : scanner_(text), calls_(calls) {}
  Result<Graph> parse();

 private:
  // A typed name in the lists of inputs, outputs and initializers, maybe with elements.
  struct Declaration {
    std::size_t place = 0;
    std::string name;
    DeclaredType type;
    std::optional<Tensor> tensor;
  };
  using Declarations = std::vector<Declaration>;
  using Names = std::vector<std::string>;

  Status header();
  Status opset_imports();
  Status skip_header_value();
  Result<Declaration> declaration();
  Result<Declarations> declarations(char open, char close);
  Result<Names> names();
  Status node();
  Status operator_name(Node& node);
  Status attributes(Node& node);
  Status check(const Node& node, std::size_t place) const;
  Status define(const std::string& name, Value value, std::size_t place);
  Result<Value> find(const std::string& name, std::size_t place) const;
  Status add_inputs(const Declarations& inputs, Declarations& given);

  Scanner scanner_;
  const TextCalls calls_;
  Graph graph_;
  std::unordered_map<std::string, Value> values_;
};

Status Parser::opset_imports() {
  ISOMER_TRY_DO(scanner_.expect('['));
  if (scanner_.matches(']')) return Done{};
  do {
    const std::size_t place = scanner_.position();
    ISOMER_TRY(std::string domain, scanner_.string());
    ISOMER_TRY_DO(scanner_.expect(':'));
    ISOMER_TRY(const std::int64_t version, scanner_.integer());
    if (version < 1 || version > 1'000'000) return scanner_.error_at(place, "no such version of an opset");
    graph_.opsets[domain == "ai.onnx" ? "" : std::move(domain)] = static_cast<int>(version);
  } while (scanner_.matches(','));
  return scanner_.expect(']');
}

// The parts of a model beyond its graph: read and dropped.
Status Parser::skip_header_value() {
  if (scanner_.peek() == '"') {
    ISOMER_TRY_DO(scanner_.string());
  } else if (scanner_.matches('[')) {
    if (scanner_.matches(']')) return Done{};
    do {
      ISOMER_TRY_DO(scanner_.string());
      ISOMER_TRY_DO(scanner_.expect(':'));
      ISOMER_TRY_DO(scanner_.string());
    } while (scanner_.matches(','));
    ISOMER_TRY_DO(scanner_.expect(']'));
  } else {
    ISOMER_TRY_DO(scanner_.integer());
  }
  return Done{};
}

Status Parser::header() {
  if (!scanner_.matches('<')) return Done{};
  do {
    const std::string key(scanner_.identifier());
    if (key.empty()) return scanner_.error("expected a key such as opset_import");
    ISOMER_TRY_DO(scanner_.expect(':'));
    if (key == "opset_import") ISOMER_TRY_DO(opset_imports());
    else ISOMER_TRY_DO(skip_header_value());
  } while (scanner_.matches(','));
  return scanner_.expect('>');
}

Result<Parser::Declaration> Parser::declaration() {
  Declaration found;
  if (is_type_word(scanner_.peek_identifier())) {
    ISOMER_TRY(found.type, parse_type(scanner_));
  }
  found.place = scanner_.position();
  ISOMER_TRY(found.name, scanner_.name());
  if (found.name.empty()) return scanner_.error_at(found.place, "a value needs a name");
  if (scanner_.matches('=')) {
    ISOMER_TRY(found.tensor, parse_tensor(scanner_, found.type));
  }
  return found;
}

Result<Parser::Declarations> Parser::declarations(char open, char close) {
  Declarations all;
  ISOMER_TRY_DO(scanner_.expect(open));
  if (scanner_.matches(close)) return all;
  do {
    ISOMER_TRY(Declaration one, declaration());
    all.push_back(std::move(one));
  } while (scanner_.matches(','));
  ISOMER_TRY_DO(scanner_.expect(close));
  return all;
}

// Names of inputs or outputs; an absent one is "" or nothing before a comma, a trailing comma says nothing.
Result<Parser::Names> Parser::names() {
  Names all;
  while (true) {
    const char next = scanner_.peek();
    const bool is_given = next == '"' || !scanner_.peek_identifier().empty();
    if (is_given) {
      ISOMER_TRY(std::string name, scanner_.name());
      all.push_back(std::move(name));
    } else if (next == ',') {
      all.emplace_back();
    }
    if (!scanner_.matches(',')) return all;
  }
}

Status Parser::define(const std::string& name, Value value, std::size_t place) {
  if (name.empty()) return Done{};
  if (values_.emplace(name, value).second) return Done{};
  return scanner_.error_at(place, fmt::format("{} is defined twice", name));
}

Result<Value> Parser::find(const std::string& name, std::size_t place) const {
  if (name.empty()) return Value::none();
  const auto at = values_.find(name);
  if (at == values_.end())
    return scanner_.error_at(place, fmt::format("{} is not defined before this", name));
  return at->second;
}

Status Parser::operator_name(Node& node) {
  ISOMER_TRY(node.op, scanner_.name());
  while (scanner_.matches('.')) {
    node.domain += (node.domain.empty() ? "" : ".") + node.op;
    ISOMER_TRY(node.op, scanner_.name());
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  if (scanner_.matches(':')) {
    ISOMER_TRY(node.overload, scanner_.name());
  }
  return Done{};
}

Status Parser::attributes(Node& node) {
  if (!scanner_.matches('<')) return Done{};
  do {
    const std::size_t place = scanner_.position();
    ISOMER_TRY(ParsedAttribute parsed, parse_attribute(scanner_));
    if (parsed.captures) {
      for (const std::string& name : *parsed.captures) {
        ISOMER_TRY(const Value value, find(name, place));
        node.captures.push_back(value);
      }
      continue;
    }
    if (node.attributes.find(parsed.name)) return scanner_.error_at(place, parsed.name + " is given twice");
    node.attributes.set(std::move(parsed.name), std::move(parsed.value));
  } while (scanner_.matches(','));
  return scanner_.expect('>');
}

// The same checks of a node as in the reader of files, by the same code: no operator may ignore a part of the
// text.
Status Parser::check(const Node& node, std::size_t place) const {
  CallForm form{.domain = node.domain,
                .op = node.op,
                .version = graph_.opset(node.domain),
                .inputs = {},
                .outputs = static_cast<int>(node.outputs.size()),
                .attributes = given_attributes(node.attributes)};
  for (const Value& input : node.inputs) form.inputs.push_back(input.exists());
  const auto fault = find_fault(form);
  if (!fault) return Done{};
  const std::string where = fault->attribute.empty() ? "" : fmt::format("attribute {} ", fault->attribute);
  std::string meant;
  if (!is_standard_operator(node.domain, node.op)) {
    std::vector<std::string> known;
    for (const Operator* op : all_operators()) known.emplace_back(op->name);
    meant = nearest(node.op, known);
  }
  return scanner_.error_at(place, fmt::format("{}: {}{}{}", node.op, where, fault->message,
                                              meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
}

Status Parser::node() {
  const std::size_t place = scanner_.position();
  Node node;
  if (scanner_.matches('[')) {
    ISOMER_TRY(node.name, scanner_.name());
    ISOMER_TRY_DO(scanner_.expect(']'));
  }
  ISOMER_TRY(node.outputs, names());
  ISOMER_TRY_DO(scanner_.expect('='));
  ISOMER_TRY_DO(operator_name(node));
  ISOMER_TRY_DO(attributes(node));
  ISOMER_TRY_DO(scanner_.expect('('));
  const std::size_t inputs_place = scanner_.position();
  ISOMER_TRY(const Names inputs, names());
  for (const std::string& input : inputs) {
    ISOMER_TRY(const Value value, find(input, inputs_place));
    node.inputs.push_back(value);
  }
  ISOMER_TRY_DO(scanner_.expect(')'));
  if (node.attributes.all().empty() && node.captures.empty()) ISOMER_TRY_DO(attributes(node));
  const Names outputs = node.outputs;
  const NodeId id = graph_.add(std::move(node));
  for (std::uint32_t k = 0; k < outputs.size(); ++k) ISOMER_TRY_DO(define(outputs[k], {id, k}, place));
  return calls_ == TextCalls::Any ? Status(Done{}) : check(graph_.node(id), place);
}

// Inputs, then initializers; one that is both is an initializer that the caller may override.
Status Parser::add_inputs(const Declarations& inputs, Declarations& given) {
  std::unordered_map<std::string_view, const DeclaredType*> declared;
  for (const Declaration& input : inputs) {
    if (!declared.emplace(input.name, &input.type).second)
      return scanner_.error_at(input.place, input.name + " is defined twice");
    if (input.tensor) given.push_back(input);
  }
  std::unordered_map<std::string_view, const Declaration*> initialized;
  for (const Declaration& one : given)
    if (one.tensor) initialized.emplace(one.name, &one);
  for (const Declaration& input : inputs) {
    if (initialized.contains(input.name)) continue;
    Node node;
    node.kind = NodeKind::Input;
    node.outputs = {input.name};
    node.declared = input.type;
    ISOMER_TRY_DO(define(input.name, {graph_.add(std::move(node)), 0}, input.place));
  }
  for (const Declaration& one : given) {
    if (!one.tensor) {
      graph_.declare(one.name, one.type);
      continue;
    }
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {one.name};
    node.tensor = *one.tensor;
    const auto input = declared.find(one.name);
    if (input != declared.end()) node.declared = *input->second;
    const NodeId id = graph_.add(std::move(node));
    ISOMER_TRY_DO(define(one.name, {id, 0}, one.place));
    if (input != declared.end()) graph_.mark_overridable(id);
  }
  for (const Declaration& input : inputs) graph_.add_input(values_.at(input.name));
  return Done{};
}

Result<Graph> Parser::parse() {
  ISOMER_TRY_DO(header());
  ISOMER_TRY(graph_.name, scanner_.name());
  ISOMER_TRY(const Declarations inputs, declarations('(', ')'));
  ISOMER_TRY_DO(scanner_.expect("=>"));
  ISOMER_TRY(const Declarations outputs, declarations('(', ')'));
  Declarations given;
  if (scanner_.peek() == '<') {
    ISOMER_TRY(given, declarations('<', '>'));
  }
  ISOMER_TRY_DO(add_inputs(inputs, given));
  ISOMER_TRY_DO(scanner_.expect('{'));
  while (!scanner_.matches('}')) ISOMER_TRY_DO(node());
  for (const Declaration& output : outputs) {
    ISOMER_TRY(const Value value, find(output.name, output.place));
    graph_.add_output(value);
    if (output.type != DeclaredType{}) graph_.declare(output.name, output.type);
  }
  if (!scanner_.at_end()) return scanner_.error("local functions are not read; expected the end");
  return std::move(graph_);
}

}  // namespace

Result<Graph> parse_graph(std::string_view text, TextCalls calls) { return Parser(text, calls).parse(); }

}  // namespace isomer
