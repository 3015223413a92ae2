#include "rules/text/rule_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "rules/text/clauses.h"
#include "rules/text/generated_text.h"  // made by cmake/IsomerRulePack.cmake

namespace isomer::rules {
namespace {

using Names = std::set<std::string, std::less<>>;

bool is_letter(char c) { return is_word(c) || c == '$'; }

}  // namespace

// Operators that a body names: words before '<' or '('. One that a `for` line spells may be any.
void RuleBook::add_operators(std::string_view body, Side& side) {
  std::size_t begin = body.find("= ");
  while (begin != std::string_view::npos) {
    begin += 2;
    std::size_t end = begin;
    while (end < body.size() && is_letter(body[end])) ++end;
    const std::string_view word = body.substr(begin, end - begin);
    const std::size_t next = body.find_first_not_of(' ', end);
    const bool is_call = next != std::string_view::npos && (body[next] == '<' || body[next] == '(');
    begin = body.find("= ", end);
    if (!is_call || word == "Constant" || word == "Identity") continue;
    side.is_empty = false;
    if (!word.starts_with('$') && word != "Concat" && !side.operators.contains(word))
      side.operators.emplace(word);
  }
}

RuleBook::RuleBook(std::string_view text) : net_(std::make_shared<PatternNet>()) {
  const auto clauses = clauses_of(text);
  if (!clauses.ok()) return;
  for (const Clause& c : *clauses) {
    if (c.word == "rule") rules_.emplace_back();
    if (rules_.empty()) continue;
    Entry& rule = rules_.back();
    rule.text += fmt::format("{}{}\n", c.word, c.text);
    if (c.word == "left") add_operators(c.text, rule.left);
    if (c.word == "right") add_operators(c.text, rule.right);
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

const RuleBook& generated_rules() {
  static const RuleBook book(kGeneratedText);
  return book;
}

}  // namespace isomer::rules
