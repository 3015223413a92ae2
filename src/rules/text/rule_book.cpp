#include "rules/text/rule_book.h"

#include <algorithm>

#include "rules/text/generated_text.h"  // made by cmake/IsomerRulePack.cmake

namespace isomer::rules {
namespace {

using Names = std::set<std::string, std::less<>>;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

}  // namespace

// Operators that a line of a body names: words before '<' or '('. One that a `for` line spells may be any.
void RuleBook::add_operators(std::string_view line, Side& side) {
  std::size_t begin = line.find("= ");
  while (begin != std::string_view::npos) {
    begin += 2;
    std::size_t end = begin;
    while (end < line.size() && is_letter(line[end])) ++end;
    const std::string_view word = line.substr(begin, end - begin);
    const std::size_t next = line.find_first_not_of(' ', end);
    const bool is_call = next != std::string_view::npos && (line[next] == '<' || line[next] == '(');
    begin = line.find("= ", end);
    if (!is_call || word == "Constant" || word == "Identity") continue;
    side.is_empty = false;
    if (!word.starts_with('$') && word != "Concat" && !side.operators.contains(word))
      side.operators.emplace(word);
  }
}

RuleBook::RuleBook(std::string_view text) : net_(std::make_shared<PatternNet>()) {
  Side* side = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || line[first] == '#') continue;
    const std::string_view rest = line.substr(first);
    if (rest.starts_with("rule ")) {
      rules_.emplace_back();
      side = nullptr;
    }
    if (rules_.empty()) continue;
    Entry& rule = rules_.back();
    if (rest.starts_with("left")) side = &rule.left;
    if (rest.starts_with("right")) side = &rule.right;
    rule.text += line;
    if (side != nullptr) add_operators(rest, *side);
  }
}

std::size_t RuleBook::parsed() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(rules_, &Entry::is_parsed));
}

std::shared_ptr<const PatternNet> RuleBook::patterns(const Names& operators) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PatternNet> grown;
  for (Entry& rule : rules_) {
    const auto may_match = [&](const Side& side) {
      return !side.is_empty && std::ranges::includes(operators, side.operators);
    };
    if (rule.is_parsed || (!may_match(rule.left) && !may_match(rule.right))) continue;
    rule.is_parsed = true;
    const auto read = parse_rules(rule.text);
    if (!read.ok()) continue;
    for (const Rule& r : *read)
      for (Pattern& p : patterns_of(r)) {
        if (!keys_.insert(p.key).second) continue;
        if (!grown) grown = std::make_shared<PatternNet>(*net_);
        grown->add(std::make_shared<const Pattern>(std::move(p)));
      }
  }
  if (grown) net_ = std::move(grown);
  return net_;
}

std::string_view generated_text() { return kGeneratedText; }

const RuleBook& generated_rules() {
  static const RuleBook book(kGeneratedText);
  return book;
}

}  // namespace isomer::rules
