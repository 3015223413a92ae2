#include "optimizer/facts/proof_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "kernel/prove/refute.h"
#include "model/graph/testing.h"

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
  // A caller that requests a counterexample gets one.
  EXPECT_TRUE(std::holds_alternative<Refuted>(cache.prove(a, b, {.refute = find_counterexample})));
}

TEST(ProofCache, CountsWhatWasProvedAheadAsAskedOnce) {
  const std::string head = "agraph (float[3] x, float[3] y) => (float[3] z) {";
  const Graph a = program(head + "z = Add(x, y)}"), b = program(head + "z = Add(y, x)}");
  ProofCache cache;
  EXPECT_TRUE(std::holds_alternative<Proved>(cache.prove_ahead(a, b, {}).value_or(NotDecided{})));
  EXPECT_FALSE(cache.prove_ahead(a, b, {}).has_value());
  EXPECT_EQ(cache.attempts() + cache.hits(), 0u);
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(std::holds_alternative<Proved>(cache.prove(a, b)));
  EXPECT_EQ(cache.attempts(), 1u);
  EXPECT_EQ(cache.hits(), 1u);
}

TEST(ProofCache, AsksOnceForSeveralThreads) {
  const std::string head =
      "agraph (float[n,k] x, float[k,m] y, float[n,m] b) => (float[n,m] z) {t = MatMul(x, y)\n";
  const Graph a = program(head + "z = Add(t, b)}"), b = program(head + "z = Add(b, t)}");
  ProofCache cache;
  constexpr std::size_t kThreads = 4;
  std::vector<Verdict> found(kThreads, NotDecided{});
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < kThreads; ++k) threads.emplace_back([&, k] { found[k] = cache.prove(a, b); });
  }
  for (const Verdict& verdict : found) EXPECT_TRUE(std::holds_alternative<Proved>(verdict)) << text(verdict);
  EXPECT_EQ(cache.attempts(), 1u);
  EXPECT_EQ(cache.hits(), kThreads - 1);
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

TEST(ProofCache, NumbersOfALargeComputedConstantAreNoPartOfTheQuestion) {
  ProofCache cache;
  const auto ask = [&](double first) {
    const std::string head = "agraph (float[90] x) => (float[90] y) <" + numbers("90", "c", first) + "> {";
    return std::holds_alternative<Proved>(cache.prove(program(head + "d = Add(c, c)\ny = Add(x, d)}"),
                                                      program(head + "d = Add(c, c)\ny = Add(d, x)}")));
  };
  EXPECT_TRUE(ask(7));
  EXPECT_TRUE(ask(8));
  EXPECT_EQ(cache.hits(), 1u);
}

// 100 numbers, of which the largest is at one place.
std::string peak(int at, double largest) {
  std::string out = "float[100] c = {";
  for (int k = 0; k < 100; ++k)
    out += std::to_string(k == at ? largest : 0.001 * ((k * 37) % 89)) + (k < 99 ? ", " : "}");
  return out;
}

// Programs of one text, in which the numbers of a large constant reach an index or an extent.
TEST(ProofCache, NumbersThatInferenceReadsArePartOfTheQuestion) {
  const std::string gather = "agraph (float[100] x) => (float[1] y) <";
  const auto gathered = [&](int at) {
    return program(gather + peak(at, 2) + "> {i = ArgMax<keepdims=1>(c)\ny = Gather(x, i)}");
  };
  const auto sliced = [&](int at) {
    const std::string b = std::to_string(at), e = std::to_string(at + 1);
    return program(gather + "int64[1] b = {" + b + "}, int64[1] e = {" + e + "}> {y = Slice(x, b, e)}");
  };
  const auto reshaped = [](int at, int rows) {
    return program(
        "agraph (float[8] x) => (y) <" + peak(at, rows) +
        ", int64[1] k = {-1}> {m = ReduceMax<keepdims=1>(c)\ni = Cast<to=7>(m)\nt = Concat<axis=0>(i, k)\n"
        "y = Reshape(x, t)}");
  };
  const auto rows = [](int count) {
    return program("agraph (float[8] x) => (y) <int64[2] s = {" + std::to_string(count) +
                   ", -1}> {y = Reshape(x, s)}");
  };
  ProofCache cache;
  const auto ask = [&](const Graph& a, const Graph& b) {
    const bool is_proved = std::holds_alternative<Proved>(cache.prove(a, b));
    EXPECT_EQ(is_proved, std::holds_alternative<Proved>(prove_equal(a, b)));
    return is_proved;
  };
  EXPECT_TRUE(ask(gathered(37), sliced(37)));
  EXPECT_FALSE(ask(gathered(5), sliced(37)));
  EXPECT_TRUE(ask(gathered(5), sliced(5)));
  EXPECT_TRUE(ask(reshaped(3, 2), rows(2)));
  EXPECT_FALSE(ask(reshaped(3, 4), rows(2)));
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
