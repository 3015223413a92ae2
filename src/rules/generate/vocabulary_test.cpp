#include "rules/generate/vocabulary.h"

#include <gtest/gtest.h>

#include <set>

#include "rules/generate/rule_text.h"
#include "rules/generate/term.h"

namespace isomer::rules {
namespace {

TEST(Vocabulary, HasTwentyFourOperatorsAndEveryWordOnce) {
  std::set<std::string> operators, words;
  for (const Choice& c : vocabulary()) {
    operators.insert(c.word.op);
    EXPECT_TRUE(words.insert(c.word.text()).second) << c.word.text();
  }
  EXPECT_GE(operators.size(), 24u);
}

// What is written is read back as the same word.
TEST(Vocabulary, EveryWordIsReadAsItIsWritten) {
  for (const Choice& c : vocabulary()) {
    Words words;
    const WordId id = words.add(c.word);
    std::vector<Term> terms{Term::variable(0), Term::variable(1)};
    terms.push_back({.word = id, .count = static_cast<std::uint8_t>(c.word.operands), .operands = {0, 1}});
    const std::string body = body_text(words, terms, {"x", "z"});
    const auto parsed = parse_rules("rule r\ngiven float[A] x, float[B] z\nleft " + body + "\nright " + body);
    ASSERT_TRUE(parsed.ok()) << body << parsed.error().message;
    const Graph& graph = (*parsed)[0].instances[0].left;
    const auto use = word_of(graph, graph.outputs()[0]);
    ASSERT_TRUE(use.has_value()) << body;
    EXPECT_EQ(use->word.text(), c.word.text());
  }
}

}  // namespace
}  // namespace isomer::rules
