// RuleBook: a pack of rules, looked up by the operators of a graph. Reading it scans only the words of each
// rule; a rule is parsed when it may match.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/text/pattern_net.h"

namespace isomer::rules {

class RuleBook {
 public:
  // A text as parse_rules reads it. One that is not made of clauses has no rules; a rule that can't be read
  // is left out when its turn comes.
  explicit RuleBook(std::string_view text);

  std::size_t size() const { return rules_.size(); }
  std::size_t parsed() const;  // so far
  // Patterns of all rules that may match in a graph of these operators, and maybe of others. From any thread.
  std::shared_ptr<const PatternNet> patterns(const std::set<std::string, std::less<>>& operators) const;

 private:
  struct Side {
    std::set<std::string, std::less<>> operators;  // but for concatenations, whose parts alone may be found
    bool is_empty = true;                          // it has none: nothing is found by it
  };
  struct Entry {
    std::string text;
    Side left, right;
    bool is_parsed = false;
  };
  static void add_operators(std::string_view body, Side& side);
  mutable std::mutex mutex_;
  mutable std::vector<Entry> rules_;
  mutable std::set<std::string> keys_;  // of the patterns in the net
  mutable std::shared_ptr<const PatternNet> net_;
};

// The pack that comes with the program.
const RuleBook& generated_rules();

}  // namespace isomer::rules
