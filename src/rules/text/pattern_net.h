// PatternNet: a discrimination net over patterns. A path from its root spells a pattern's first output in
// preorder: an operator, then its operands; a variable is any value. Where operands may be exchanged, both
// orders are paths.
#pragma once

#include <memory>
#include <vector>

#include "rules/text/pattern.h"

namespace isomer::rules {

class PatternNet {
 public:
  PatternNet() : nodes_(1) {}
  void add(const std::shared_ptr<const Pattern>& pattern);
  std::size_t size() const { return patterns_; }

  // A pattern, and the nodes of it whose two operands are exchanged.
  struct Entry {
    std::shared_ptr<const Pattern> pattern;
    std::vector<bool> exchanged;
  };
  // The patterns that may match at a value, by operators alone.
  std::vector<const Entry*> find(const Graph& graph, Value value) const;

 private:
  // The requirement of a path on a value; no operator: none.
  struct Token {
    std::string op;
    std::uint32_t output = 0, outputs = 1;
    std::vector<std::uint32_t> operands;  // places among the inputs
    friend bool operator==(const Token&, const Token&) = default;
  };
  struct Node {
    std::vector<std::pair<Token, std::size_t>> next;
    std::vector<Entry> entries;
  };
  static Token token_of(const PatternNode& node, std::uint32_t output, bool is_exchanged);
  std::vector<Node> nodes_;
  std::size_t patterns_ = 0;
};

}  // namespace isomer::rules
