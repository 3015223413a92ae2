#include "prove/proof_cache.h"

#include <gtest/gtest.h>

#include "graph/testing.h"

namespace isomer {
namespace {

Graph program(const std::string& text) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
}

TEST(ProofCache, KnowsTheSameQuestionUnderOtherNames) {
  ProofCache cache;
  const auto ask = [&](const std::string& x, const std::string& y, const std::string& size) {
    const std::string head =
        "agraph (float[" + size + "] " + x + ", float[" + size + "] " + y + ") => (float[" + size + "] z) {";
    return cache.prove(program(head + "z = Add(" + x + ", " + y + ")}"),
                       program(head + "z = Add(" + y + ", " + x + ")}"));
  };
  EXPECT_TRUE(std::holds_alternative<Proved>(ask("a", "b", "3")));
  EXPECT_TRUE(std::holds_alternative<Proved>(ask("p", "q", "3")));
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_TRUE(std::holds_alternative<Proved>(ask("p", "q", "4")));
  EXPECT_EQ(cache.hits(), 1u);
}

TEST(ProofCache, AsksOnceWhatItCouldNotDecide) {
  const std::string head = "agraph (float[3] x, float[3] y) => (float[3] z) {";
  const Graph a = program(head + "z = Sub(x, y)}"), b = program(head + "z = Sub(y, x)}");
  ProofCache cache;
  for (int k = 0; k < 2; ++k)
    EXPECT_TRUE(std::holds_alternative<NotDecided>(cache.prove(a, b, {.refute = false})));
  EXPECT_EQ(cache.attempts(), 1u);
  EXPECT_EQ(cache.hits(), 1u);
  // Whoever wants a counterexample gets one.
  EXPECT_TRUE(std::holds_alternative<Refuted>(cache.prove(a, b)));
}

TEST(ProofCache, DoesNotMixUpInputs) {
  const std::string head = "agraph (float[3] x, float[3] y) => (float[3] z) {";
  ProofCache cache;
  const Graph a = program(head + "z = Sub(x, y)}");
  EXPECT_TRUE(std::holds_alternative<Proved>(cache.prove(a, a)));
  EXPECT_FALSE(std::holds_alternative<Proved>(cache.prove(a, program(head + "z = Sub(y, x)}"))));
}

}  // namespace
}  // namespace isomer
