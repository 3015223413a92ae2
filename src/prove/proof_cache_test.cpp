#include "prove/proof_cache.h"

#include <gtest/gtest.h>

#include "graph/testing.h"
#include "prove/refute.h"

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
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(std::holds_alternative<NotDecided>(cache.prove(a, b)));
  EXPECT_EQ(cache.attempts(), 1u);
  EXPECT_EQ(cache.hits(), 1u);
  // Whoever wants a counterexample gets one.
  EXPECT_TRUE(std::holds_alternative<Refuted>(cache.prove(a, b, {.refute = find_counterexample})));
}

TEST(ProofCache, DoesNotMixUpInputs) {
  const std::string head = "agraph (float[3] x, float[3] y) => (float[3] z) {";
  ProofCache cache;
  const Graph a = program(head + "z = Sub(x, y)}");
  EXPECT_TRUE(std::holds_alternative<Proved>(cache.prove(a, a)));
  EXPECT_FALSE(std::holds_alternative<Proved>(cache.prove(a, program(head + "z = Sub(y, x)}"))));
}

// A constant of 90 numbers, more than proofs look at.
std::string numbers(const std::string& shape, const std::string& name, double first) {
  std::string out = "float[" + shape + "] " + name + " = {" + std::to_string(first);
  for (int k = 1; k < 90; ++k) out += ", " + std::to_string(k) + ".5";
  return out + "}";
}

TEST(ProofCache, AxesOfOneElementMakeNoOtherConstant) {
  ProofCache cache;
  const auto ask = [&](const std::string& shape, const std::string& other, double first) {
    const std::string head = "agraph (float[2,3,90] x) => (float[2,3,90] y) <";
    const std::string body = "> {one = Constant<value_ints=[2,3,90]>()\nb = Expand(c, one)\ny = Add(x, b)}";
    return std::holds_alternative<Proved>(cache.prove(program(head + numbers(shape, "c", 7) + body),
                                                      program(head + numbers(other, "c", first) + body)));
  };
  EXPECT_TRUE(ask("90", "1,90", 7));
  EXPECT_TRUE(ask("1,1,90", "90", 7));
  EXPECT_FALSE(ask("90", "1,90", 8));  // another number
  EXPECT_FALSE(ask("1,1,90", "90", 8));
  EXPECT_EQ(cache.hits(), 0u);
}

TEST(ProofCache, OtherExtentsAreAnotherConstant) {
  const std::string head = "agraph (float[9,10] x) => (float[9,10] y) <";
  const Graph a = program(head + numbers("9,10", "c", 7) + "> {y = Add(x, c)}");
  const Graph b = program(head + numbers("10,9", "c", 7) + "> {t = Transpose<perm=[1,0]>(c)\ny = Add(x, t)}");
  const Graph same = program(head + numbers("9,1,10", "c", 7) +
                             "> {axis = Constant<value_ints=[1]>()\nt = Squeeze(c, axis)\ny = Add(x, t)}");
  ProofCache cache;
  EXPECT_FALSE(std::holds_alternative<Proved>(cache.prove(a, b)));
  EXPECT_TRUE(std::holds_alternative<Proved>(cache.prove(a, same)));
  for (const bool sets : {true, false})
    EXPECT_FALSE(std::holds_alternative<Proved>(cache.prove(a, b, {.sets = sets, .field = !sets})));
}

}  // namespace
}  // namespace isomer
