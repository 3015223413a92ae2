#include "rules/text/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel/prove/shrink.h"
#include "model/graph/text/text.h"
#include "rules/text/clauses.h"

namespace isomer {
namespace {

constexpr std::size_t kMostInstances = 4096;  // of one rule; a slip in a `for` line shouldn't run for hours
constexpr int kOpset = 18;                    // that bodies are written in

// The text where it stands in the file, so that places in messages are those of the file.
std::string in_place(const Clause& clause, const std::string& text) {
  return std::string(static_cast<std::size_t>(clause.line - 1), '\n') + std::string(clause.column, ' ') +
         text;
}

struct Enumeration {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> choices;
};

// Names up to '=', then choices; a value is a string or all up to the next space or comma.
Result<Enumeration> parse_enumeration(const Clause& clause) {
  const std::size_t equals = clause.text.find('=');
  if (equals == std::string::npos) return error_at(clause.line, "expected 'for NAME, ... = VALUES, ...'");
  Enumeration out;
  const std::string names = in_place(clause, clause.text.substr(0, equals));
  Scanner scanner(names);
  do {
    const std::string name(scanner.identifier());
    if (name.empty()) return scanner.error("expected a name");
    out.names.push_back(name);
  } while (scanner.matches(','));
  if (!scanner.at_end()) return scanner.error("expected ',' or '='");
  out.choices.emplace_back();
  const std::string_view rest = std::string_view(clause.text).substr(equals + 1);
  for (std::size_t i = 0; i < rest.size();) {
    if (rest[i] == ',') {
      out.choices.emplace_back();
      ++i;
    } else if (rest[i] == '"') {
      const std::size_t end = rest.find('"', i + 1);
      if (end == std::string_view::npos) return error_at(clause.line, "the string has no end");
      out.choices.back().emplace_back(rest.substr(i + 1, end - i - 1));
      i = end + 1;
    } else if (rest[i] == ' ' || rest[i] == '\t' || rest[i] == '\n' || rest[i] == '\r') {
      ++i;
    } else {
      const std::size_t end = std::min(rest.find_first_of(" \t\r\n,", i), rest.size());
      out.choices.back().emplace_back(rest.substr(i, end - i));
      i = end;
    }
  }
  for (const auto& choice : out.choices)
    if (choice.size() != out.names.size())
      return error_at(clause.line,
                      fmt::format("a choice of {} values for {} names", choice.size(), out.names.size()));
  return out;
}

using Values = std::vector<std::pair<std::string, std::string>>;

// $name replaced; `as_factor` puts what is a sum in parentheses, for use inside of an extent.
Result<std::string> with_values(const Clause& clause, std::string_view text, const Values& values,
                                bool as_factor) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view name = text.substr(i + 1, end - i - 1);
    const auto at = std::ranges::find(values, name, &Values::value_type::first);
    const auto line = clause.line + static_cast<int>(std::ranges::count(text.substr(0, i), '\n'));
    if (at == values.end()) return error_at(line, fmt::format("no 'for' line gives ${} values", name));
    const std::string& value = at->second;
    const bool is_sum =
        value.find_first_of("+-") != std::string::npos && value.find(',') == std::string::npos;
    out += as_factor && is_sum ? "(" + value + ")" : value;
    i = end - 1;
  }
  return out;
}

struct Given {
  ElementType type = ElementType::Undefined;
  std::string name;
  Dims shape;
};

Result<std::vector<Given>> parse_given(const std::string& text) {
  Scanner scanner(text);
  std::vector<Given> out;
  if (scanner.at_end()) return out;
  do {
    const std::size_t place = scanner.position();
    const std::string_view word = scanner.identifier();
    const auto type = element_type_named(word);
    if (!type || *type == ElementType::Undefined)
      return scanner.error_at(place, fmt::format("'{}' is no element type", word));
    Given one{.type = *type, .name = {}, .shape = {}};
    if (scanner.matches('[') && !scanner.matches(']')) {
      do {
        ISOMER_TRY(Dim dim, parse_dim_expression(scanner));
        one.shape.push_back(std::move(dim));
      } while (scanner.matches(','));
      ISOMER_TRY_DO(scanner.expect(']'));
    }
    const std::size_t name_place = scanner.position();
    one.name = scanner.identifier();
    if (one.name.empty()) return scanner.error("expected a name");
    if (std::ranges::find(out, one.name, &Given::name) != out.end())
      return scanner.error_at(name_place, fmt::format("{} is given twice", one.name));
    out.push_back(std::move(one));
  } while (scanner.matches(','));
  if (!scanner.at_end()) return scanner.error("expected ','");
  return out;
}

// The program of one side. Its inputs are parsed with one symbol per extent, which is then replaced.
Result<Graph> parse_side(const Clause& clause, const std::string& text, const std::vector<Given>& given) {
  const std::size_t open = text.find('{'), close = text.rfind('}');
  if (open == std::string::npos || close == std::string::npos || text.find_first_not_of(" \t\r\n") != open)
    return error_at(clause.line, fmt::format("expected '{} {{ ... }} => OUTPUT, ...'", clause.word));
  const std::string tail = text.substr(close + 1);
  const std::size_t arrow = tail.find("=>");
  if (arrow == std::string::npos || tail.find_first_not_of(" \t\r\n") != arrow)
    return error_at(
        clause.line + static_cast<int>(std::count(
                          text.begin(), text.end() - static_cast<std::ptrdiff_t>(tail.size()), '\n')),
        "expected '=> OUTPUT, ...' after '}'");
  const std::string outputs = tail.substr(arrow + 2);
  if (outputs.find_first_not_of(" \t\r\n") == std::string::npos)
    return error_at(clause.line, "expected the names of outputs after '=>'");
  std::string inputs;
  std::map<std::string, Dim, std::less<>> extents;
  for (const Given& g : given) {
    std::string shape;
    for (std::size_t i = 0; i < g.shape.size(); ++i) {
      const std::string symbol = fmt::format("{} {}", g.name, i);
      extents.emplace(symbol, g.shape[i]);
      shape += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", symbol);
    }
    inputs += fmt::format("{}{}{} {}", inputs.empty() ? "" : ", ", name(g.type),
                          g.shape.empty() ? "" : "[" + shape + "]", g.name);
  }
  std::string flat = outputs;
  std::ranges::replace(flat, '\n', ' ');
  // The line before the body's holds what comes before it, so that places in messages are those of the file.
  const std::string source = std::string(static_cast<std::size_t>(std::max(clause.line - 2, 0)), '\n') +
                             fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> {} ({}) => ({}) {{\n",
                                         kOpset, clause.word, inputs, flat) +
                             std::string(clause.column, ' ') + text.substr(0, open) + ' ' +
                             text.substr(open + 1, close - open);
  ISOMER_TRY(const Graph graph, parse_graph(source));
  return with_symbols_replaced(graph, [&](std::string_view symbol) {
    const auto at = extents.find(symbol);
    return at == extents.end() ? Dim::symbol(symbol) : at->second;
  });
}

Result<Conditions> parse_conditions(const std::string& text, std::string_view separator) {
  Scanner scanner(text);
  Conditions out;
  do {
    ISOMER_TRY(Condition one, parse_condition(scanner));
    out.push_back(std::move(one));
  } while (scanner.matches(separator));
  if (!scanner.at_end()) return scanner.error(fmt::format("expected '{}'", separator));
  return out;
}

Result<Expectation> parse_expectation(const Clause& clause) {
  const std::string text = in_place(clause, clause.text);
  Scanner scanner(text);
  const std::string word(scanner.identifier());
  using Kind = Expectation::Kind;
  if (word == "requires") {
    ISOMER_TRY(
        Conditions conditions,
        parse_conditions(std::string(text).replace(text.find(word), word.size(), word.size(), ' '), "and"));
    return Expectation{.kind = Kind::Requires, .conditions = std::move(conditions)};
  }
  if (word != "proved" && word != "refuted")
    return scanner.error("expected 'proved', 'refuted' or 'requires'");
  if (!scanner.at_end()) return scanner.error("expected the end of the line");
  return Expectation{.kind = word == "proved" ? Kind::Proved : Kind::Refuted};
}

// The clauses of one rule, taken together.
class RuleParser {
 public:
  explicit RuleParser(const Clause& head) : head_(head) {}

  Status add(const Clause& clause) {
    if (clause.word == "for") {
      ISOMER_TRY(Enumeration e, parse_enumeration(clause));
      enumerations_.push_back(std::move(e));
      return Done{};
    }
    if (clause.word == "require") {
      requires_.push_back(&clause);
      return Done{};
    }
    const Clause*& place = clause.word == "given"   ? given_
                           : clause.word == "left"  ? left_
                           : clause.word == "right" ? right_
                                                    : expect_;
    if (place != nullptr) return error_at(clause.line, fmt::format("a second '{}'", clause.word));
    place = &clause;
    return Done{};
  }

  Result<Rule> finish() {
    Rule rule{.name = {}, .line = head_.line, .enumerated = {}, .instances = {}, .expectation = {}};
    const std::string text = in_place(head_, head_.text);
    Scanner scanner(text);
    rule.name = scanner.identifier();
    if (rule.name.empty() || !scanner.at_end()) return scanner.error("expected 'rule NAME'");
    if (given_ == nullptr || left_ == nullptr || right_ == nullptr)
      return error_at(head_.line, fmt::format("{} needs 'given', 'left' and 'right'", rule.name));
    std::size_t count = 1;
    for (const Enumeration& e : enumerations_) {
      count *= e.choices.size();
      if (count > kMostInstances) return error_at(head_.line, "the 'for' lines have too many choices");
      for (const std::string& name : e.names) {
        if (std::ranges::find(rule.enumerated, name) != rule.enumerated.end())
          return error_at(head_.line, fmt::format("two 'for' lines give {} values", name));
        rule.enumerated.push_back(name);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      ISOMER_TRY(auto made, instance(choice(i, count)));
      if (made) rule.instances.push_back(std::move(*made));
    }
    if (rule.instances.empty()) return error_at(head_.line, "no choice satisfies what is required");
    if (expect_ != nullptr) {
      ISOMER_TRY(rule.expectation, parse_expectation(*expect_));
    }
    return rule;
  }

 private:
  // The i-th of `count` choices; the last `for` line changes fastest.
  Values choice(std::size_t i, std::size_t count) const {
    Values out;
    for (const Enumeration& e : enumerations_) {
      count /= e.choices.size();
      const auto& chosen = e.choices[i / count % e.choices.size()];
      for (std::size_t k = 0; k < e.names.size(); ++k) out.emplace_back(e.names[k], chosen[k]);
    }
    return out;
  }

  // nullopt: these values don't satisfy what is required.
  Result<std::optional<RuleInstance>> instance(const Values& values) const {
    RuleInstance out{.values = values, .names = {}, .left = {}, .right = {}, .preconditions = {}};
    const auto filled = [&](const Clause& c, bool as_factor) {
      return with_values(c, c.text, values, as_factor);
    };
    ISOMER_TRY(const std::string given_text, filled(*given_, true));
    ISOMER_TRY(const std::vector<Given> given, parse_given(in_place(*given_, given_text)));
    ISOMER_TRY(const std::string left, filled(*left_, false));
    ISOMER_TRY(const std::string right, filled(*right_, false));
    ISOMER_TRY(out.left, parse_side(*left_, left, given));
    ISOMER_TRY(out.right, parse_side(*right_, right, given));
    if (out.left.outputs().size() != out.right.outputs().size())
      return error_at(right_->line, "the two sides have not as many outputs");
    // Tensors without elements are beside the point of a rule.
    for (const Given& g : given)
      for (const Dim& extent : g.shape)
        if (extent.at_least(1) != true &&
            std::ranges::find(out.preconditions, extent - 1) == out.preconditions.end())
          out.preconditions.push_back(extent - 1);
    for (const std::string& symbol : symbols_of(out.left)) out.names.emplace(symbol, Dim::symbol(symbol));
    for (const auto& [name, value] : values) {
      Scanner scanner(value);
      const auto dim = parse_dim_expression(scanner);
      if (dim.ok() && scanner.at_end() && !out.names.emplace(name, *dim).second)
        return error_at(head_.line,
                        fmt::format("{} is both a dimension and given values by a 'for' line", name));
    }
    for (const Clause* require : requires_) {
      ISOMER_TRY(const std::string text, filled(*require, true));
      ISOMER_TRY(const Conditions conditions, parse_conditions(in_place(*require, text), ","));
      Imposed imposed = impose(conditions, out);
      if (imposed.outcome == Imposed::Outcome::NotSolved)
        return error_at(require->line, "this can't be solved for one of its names");
      if (imposed.outcome == Imposed::Outcome::Excluded) return std::optional<RuleInstance>();
      out = std::move(*imposed.instance);
    }
    return std::optional(std::move(out));
  }

  const Clause& head_;
  std::vector<Enumeration> enumerations_;
  std::vector<const Clause*> requires_;
  const Clause *given_ = nullptr, *left_ = nullptr, *right_ = nullptr, *expect_ = nullptr;
};

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view text) {
  ISOMER_TRY(const std::vector<Clause> clauses, clauses_of(text));
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < clauses.size();) {
    if (clauses[i].word != "rule") return error_at(clauses[i].line, "expected 'rule'");
    RuleParser parser(clauses[i]);
    for (++i; i < clauses.size() && clauses[i].word != "rule"; ++i) ISOMER_TRY_DO(parser.add(clauses[i]));
    ISOMER_TRY(Rule rule, parser.finish());
    if (std::ranges::find(rules, rule.name, &Rule::name) != rules.end())
      return error_at(rule.line, fmt::format("a second rule {}", rule.name));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace isomer
