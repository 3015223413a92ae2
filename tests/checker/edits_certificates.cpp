#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/base64.h"
#include "checker/edits.h"
#include "io/onnx/program.h"
#include "model/graph/text/text.h"

namespace isomer::checker {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::size_t> lines_with(const Mutant& m, const std::string& field) {
  std::vector<std::size_t> out;
  for (std::size_t k = 1; k < m.lines.size(); ++k)
    if (Json::parse(m.lines[k]).contains(field)) out.push_back(k);
  return out;
}

std::vector<std::size_t> steps_of(const Mutant& m) {
  std::vector<std::size_t> out;
  for (std::size_t k = 1; k < m.lines.size(); ++k)
    if (!Json::parse(m.lines[k]).contains("note")) out.push_back(k);
  return out;
}

bool change_step(Random& random, Mutant& m, const std::string& field,
                 const std::function<bool(Json&)>& change) {
  const auto lines = lines_with(m, field);
  if (lines.empty()) return false;
  std::string& line = m.lines[random.one_of(lines)];
  Json json = Json::parse(line);
  if (!change(json)) return false;
  line = json.dump();
  return true;
}

// A program as a certificate holds it; one that is no program as it is.
std::string written(const std::string& program) {
  const auto graph = parse_graph(program);
  const auto bytes = graph.ok() ? write_program(*graph) : Result<std::string>(graph.error());
  return bytes.ok() ? to_base64(*bytes) : program;
}

std::string program_of(const Json& step) {
  const auto graph = read_program(from_base64(step["by"].get<std::string>()).value_or(""));
  return graph.ok() ? text(*graph) : "";
}

bool site(Random& random, const Case& original, Mutant& m) {
  m.forge = random.chance(50);
  return change_step(random, m, "by", [&](Json& step) {
    Json& names = step[random.chance(50) ? "replace" : "from"];
    const std::string other = random.one_of(names_in(original.in));
    switch (random.below(4)) {
      case 0: names[0] = other; break;
      case 1: names.push_back(other); break;
      case 2: names.clear(); break;
      default: names.push_back(names[0]);
    }
    return true;
  });
}

// A legal program out of another one, if tries suffice.
bool change_program(Random& random, Mutant& m, const std::string& pattern,
                    const std::function<std::string(const std::string&)>& other) {
  m.forge = random.chance(70);
  return change_step(random, m, "by", [&](Json& step) {
    const std::string text = program_of(step);
    const std::size_t body = std::min(text.size(), text.find(">\n") + 1);  // after the header
    const std::regex regex(pattern);
    std::vector<std::smatch> found(
        std::sregex_iterator(text.begin() + static_cast<std::ptrdiff_t>(body), text.end(), regex),
        std::sregex_iterator());
    if (found.empty()) return false;
    std::string changed;
    for (int tries = 0; tries < 8; ++tries) {
      const std::smatch& at = random.one_of(found);
      const auto begin = static_cast<std::size_t>(at.position()) + body;
      changed = text.substr(0, begin) + other(at.str()) +
                text.substr(begin + static_cast<std::size_t>(at.length()));
      if (changed != text && parse_graph(changed).ok()) break;
    }
    step["by"] = written(changed);
    return true;
  });
}

bool number_of_program(Random& random, const Case&, Mutant& m) {
  return change_program(random, m, "-?[0-9]+(?![\\w.\"])", [&](const std::string& number) {
    static const std::vector<std::int64_t> steps{-1, 1, 2};
    return std::to_string(std::atoll(number.c_str()) + random.one_of(steps));
  });
}

bool operator_of_program(Random& random, const Case&, Mutant& m) {
  return change_program(random, m, "\\b[A-Z][A-Za-z]+\\b", [&](const std::string&) {
    static const std::vector<std::string> ops{"Add",    "Mul",  "Sub",      "Relu", "Neg",
                                              "MatMul", "Conv", "Identity", "Abs"};
    return random.one_of(ops);
  });
}

bool operand_of_program(Random& random, const Case& original, Mutant& m) {
  std::vector<std::string> names = names_in(original.in);
  for (const CertifiedStep& step : original.certificate.steps)
    if (const auto* claim = std::get_if<Claim>(&step))
      for (const std::string& name : names_in(claim->after)) names.push_back(name);
  return change_program(random, m, "\"[^\"\\n]+\"|\\b[a-z]\\b",
                        [&](const std::string&) { return fmt::format("\"{}\"", random.one_of(names)); });
}

// A bit of the program's message: most of them are no program any more, some are another one.
bool bit_of_program(Random& random, const Case&, Mutant& m) {
  m.forge = random.chance(70);
  return change_step(random, m, "by", [&](Json& step) {
    std::string bytes = from_base64(step["by"].get<std::string>()).value_or("");
    if (bytes.empty()) return false;
    for (int tries = 0; tries < 32; ++tries) {
      std::string changed = bytes;
      changed[static_cast<std::size_t>(random.below(static_cast<int>(bytes.size())))] ^=
          static_cast<char>(1 << random.below(8));
      step["by"] = to_base64(changed);
      if (read_program(changed).ok()) break;
    }
    return true;
  });
}

// A step that is true with a constant of its own, which has the name of another one of the model.
bool own_constant(Random& random, const Case& original, Mutant& m) {
  std::vector<NodeId> constants;
  for (const NodeId id : original.in.order()) {
    const Node& node = original.in.node(id);
    if (node.kind == NodeKind::Initializer && node.tensor.type() == ElementType::Float)
      constants.push_back(id);
  }
  const NodeId from = random.one_of(constants), taken = random.one_of(constants);
  const Tensor& value = original.in.node(from).tensor;
  if (from == taken || value.extents() != original.in.node(taken).tensor.extents()) return false;
  for (const NodeId id : original.in.order()) {
    const Node& node = original.in.node(id);
    const auto reads = std::ranges::find(node.inputs, Value{from, 0});
    if (reads == node.inputs.end()) continue;
    std::vector<std::string> operands, inputs, declared;
    for (const Value& v : node.inputs) {
      operands.push_back(v == *reads ? original.in.name_of({taken, 0}) : original.in.name_of(v));
      if (v == *reads) continue;
      declared.push_back("float[] " + operands.back());
      if (original.in.node(v.node).kind != NodeKind::Initializer) inputs.push_back(operands.back());
    }
    const auto elements = value.as<float>();
    const std::string program = fmt::format(
        "<ir_version: 8, opset_import: [\"\" : 18]>\nagraph ({}) => (float[] own) <float[{}] {} = {{{}}}> "
        "{{own = {}({})}}",
        fmt::join(declared, ", "), fmt::join(value.extents(), ", "), original.in.name_of({taken, 0}),
        fmt::join(elements.begin(), elements.end(), ", "), node.op, fmt::join(operands, ", "));
    // The only step: OUT is the original with the wrong constant.
    m.lines = {
        m.lines[0],
        Json{{"replace", Json::array({node.outputs[0]})}, {"from", inputs}, {"by", written(program)}}.dump()};
    m.forge = true;
    return true;
  }
  return false;
}

// Claims that are true, each by itself, of which the first makes `of` depend on `on` (it adds on - on):
// applied with its mirror image, or where `on` already depends on `of`, values would depend on themselves.
std::string claim_that_adds_nothing(const Graph& graph, NodeId of, const std::string& on,
                                    const std::string& prefix) {
  const Node& node = graph.node(of);
  std::vector<std::string> operands, from{on}, declared{"float[] \"" + on + "\""};
  for (const Value& v : node.inputs) {
    const std::string& name = graph.name_of(v);
    operands.push_back("\"" + name + "\"");
    if (std::ranges::find(from, name) == from.end()) declared.push_back("float[] \"" + name + "\"");
    if (graph.node(v.node).kind != NodeKind::Initializer && std::ranges::find(from, name) == from.end())
      from.push_back(name);
  }
  const std::string program = fmt::format(
      "<ir_version: 8, opset_import: [\"\" : 18]>\nagraph ({}) => (float[] {}r) {{\n{}n = Sub(\"{}\", "
      "\"{}\")\n"
      "{}o = {}({})\n{}r = Add({}o, {}n)}}",
      fmt::join(declared, ", "), prefix, prefix, on, on, prefix, node.op, fmt::join(operands, ", "), prefix,
      prefix, prefix);
  return Json{{"replace", Json::array({node.outputs[0]})}, {"from", from}, {"by", written(program)}}.dump();
}

bool circular(Random& random, const Case& original, Mutant& m) {
  std::vector<NodeId> plain;
  for (const NodeId id : original.in.order()) {
    const Node& node = original.in.node(id);
    if (node.kind == NodeKind::Operator && node.attributes.all().empty() && node.bodies.empty())
      plain.push_back(id);
  }
  const NodeId a = random.one_of(plain), b = random.one_of(plain);
  const std::string &x = original.in.node(a).outputs[0], &y = original.in.node(b).outputs[0];
  m.lines = {m.lines[0], claim_that_adds_nothing(original.in, a, y, "one_")};
  if (random.chance(70)) m.lines.push_back(claim_that_adds_nothing(original.in, b, x, "two_"));
  m.forge = random.chance(50);
  return true;
}

bool fold_list(Random& random, const Case& original, Mutant& m) {
  m.forge = random.chance(50);
  return change_step(random, m, "fold", [&](Json& step) {
    Json& list = step["fold"];
    switch (random.below(3)) {
      case 0:
        if (!list.empty()) list.erase(list.begin());
        break;
      case 1: list.push_back(random.one_of(names_in(original.in))); break;
      default: std::ranges::reverse(list);
    }
    return true;
  });
}

bool steps(Random& random, const Case&, Mutant& m) {
  const auto all = steps_of(m);
  const std::size_t k = random.one_of(all), other = random.one_of(all);
  m.forge = random.chance(30);
  switch (random.below(4)) {
    case 0: m.lines.erase(m.lines.begin() + static_cast<std::ptrdiff_t>(k)); break;
    case 1: m.lines.insert(m.lines.begin() + static_cast<std::ptrdiff_t>(k), m.lines[k]); break;
    case 2: std::swap(m.lines[k], m.lines[other]); break;
    default: m.lines.resize(k);
  }
  return true;
}

// A step of another model's certificate.
bool foreign_step(Random& random, const Case& original, Mutant& m) {
  static const std::vector<Case> all = all_cases();
  const Mutant other = honest(random.one_of(all));
  m.lines.insert(m.lines.begin() + 1 + random.below(static_cast<int>(steps_of(m).size()) + 1),
                 other.lines[random.one_of(steps_of(other))]);
  m.forge = random.chance(30);
  return !original.certificate.steps.empty();
}

bool head(Random& random, const Case&, Mutant& m) {
  m.digests = false;
  Json json = Json::parse(m.lines[0]);
  switch (random.below(4)) {
    case 0: json["isomer_certificate"] = random.between(5, 9); break;
    case 1: json[random.chance(50) ? "in" : "out"] = std::string(64, 'a'); break;
    case 2: json["trust"] = true; break;
    default: {
      auto digest = json[random.chance(50) ? "in" : "out"].get<std::string>();
      digest[static_cast<std::size_t>(random.below(64))] ^= 1;
      json[random.chance(50) ? "in" : "out"] = digest;
    }
  }
  m.lines[0] = json.dump();
  return true;
}

bool note(Random& random, const Case&, Mutant& m) {
  static const std::vector<std::string> notes{R"({"note":{"kind":"collapse","what":"nothing","ratio":9}})",
                                              R"({"note":3})",
                                              R"({"note":{"kind":3}})",
                                              R"({"note":{"ratio":"fast"}})",
                                              R"({"note":{},"fold":["y"]})",
                                              R"({"note":null})"};
  m.lines.insert(m.lines.begin() + 1 + random.below(static_cast<int>(m.lines.size())), random.one_of(notes));
  return true;
}

bool unknown_field(Random& random, const Case&, Mutant& m) {
  return change_step(random, m, random.chance(50) ? "by" : "fold", [&](Json& step) {
    static const std::vector<std::string> names{"trust", "proved", "fold", "by", "facts"};
    step[random.one_of(names)] = random.chance(50) ? Json(true) : Json::array({"y"});
    return true;
  });
}

bool garbage(Random& random, const Case&, Mutant& m) {
  std::string& line = m.lines[static_cast<std::size_t>(random.below(static_cast<int>(m.lines.size())))];
  const auto at = static_cast<std::size_t>(random.below(static_cast<int>(line.size())));
  static const std::vector<std::string> more{R"({"trust":true})",
                                             "[]",
                                             "{",
                                             R"({"fold":[]})",
                                             R"({"fold":null})",
                                             "",
                                             std::string(1, '\0'),
                                             R"({"replace":[],"from":[],"by":""})"};
  m.digests = random.chance(50);
  switch (random.below(5)) {
    case 0: line[at] = static_cast<char>(random.between(32, 126)); break;
    case 1: line[at] = static_cast<char>(random.below(256)); break;
    case 2: line.resize(at); break;
    case 3: line += " "; break;
    default:
      m.lines.insert(m.lines.begin() + random.below(static_cast<int>(m.lines.size())), random.one_of(more));
  }
  return true;
}

constexpr Edit kEdits[] = {
    {"site", true, site},
    {"program: number", true, number_of_program},
    {"program: operator", true, operator_of_program},
    {"program: operand", true, operand_of_program},
    {"program: bit", true, bit_of_program},
    {"program: own constant", true, own_constant},
    {"circular claims", true, circular},
    {"fold list", true, fold_list},
    {"steps dropped or reordered", true, steps},
    {"another's step", true, foreign_step},
    {"head and digests", false, head},
    {"note", false, note},
    {"unknown field", false, unknown_field},
    {"bytes", false, garbage},
};

}  // namespace

std::span<const Edit> edits_of_certificates() { return kEdits; }

}  // namespace isomer::checker
