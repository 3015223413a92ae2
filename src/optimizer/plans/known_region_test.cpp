#include "optimizer/plans/known_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::program;

// `weight` repeats with a period of five: few numbers, so proofs would take them by value. These are symbols.
std::string large(const std::string& name, const std::string& shape, int n, int seed) {
  std::string numbers;
  unsigned state = static_cast<unsigned>(seed) * 2654435761U + 12345U;
  for (int i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U;
    numbers += (i ? ", " : "") + std::to_string(static_cast<int>(state >> 16U) % 2000 - 1000) + ".25";
  }
  return "float[" + shape + "] " + name + " = {" + numbers + "}";
}

std::string key(const std::string& text) {
  const auto known = known_region(program(text));
  EXPECT_TRUE(known.ok());
  return known.ok() ? key_of(known->region) : "";
}

std::string branches(const std::string& x, const std::string& p, int seed, const std::string& pads) {
  return "agraph (float[n,8,9,9] " + x + ") => (float[n,8,9,9] y) <" + large("a", "8,8,3,3", 576, seed) +
         ", " + large("b", "8,8,3,3", 576, seed + 1) + "> { " + p + " = Conv<kernel_shape = [3,3], pads = [" +
         pads + "]>(" + x + ", a) q = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(" + x + ", b) s = Add(" +
         p + ", q) y = Relu(s)}";
}

TEST(KnownRegion, NamesAndWeightsDoNotMatter) {
  EXPECT_EQ(key(branches("x", "p", 1, "1,1,1,1")), key(branches("other", "name", 7, "1,1,1,1")));
}

TEST(KnownRegion, AnAttributeMatters) {
  EXPECT_NE(key(branches("x", "p", 1, "1,1,1,1")), key(branches("x", "p", 1, "1,1,1,0")));
}

TEST(KnownRegion, TheOrderOfNodesDoesNotMatter) {
  const std::string head = "agraph (float[2,8] x) => (float[2,8] y) { ";
  EXPECT_EQ(key(head + "a = Relu(x) b = Tanh(x) c = Exp(x) d = Add(a, b) y = Mul(d, c) }"),
            key(head + "c = Exp(x) b = Tanh(x) a = Relu(x) d = Add(a, b) y = Mul(d, c) }"));
}

TEST(KnownRegion, TheOrderOfInputsMatters) {
  const std::string head = "agraph (float[2,8] x, float[2,8] z) => (float[2,8] y) { a = Relu(x) ";
  EXPECT_NE(key(head + "y = Sub(a, z) }"), key(head + "y = Sub(z, a) }"));
}

TEST(KnownRegion, NamesOfExtentsDoNotMatterButWhereTheyRecurDoes) {
  const auto sum = [](const std::string& a, const std::string& b) {
    return key("agraph (float[" + a + "] x, float[" + b + "] z) => (float[m] y) { y = Add(x, z) }");
  };
  EXPECT_EQ(sum("n", "n"), sum("batch", "batch"));
  EXPECT_NE(sum("n", "n"), sum("n", "m"));
  EXPECT_NE(sum("n", "n"), sum("4", "4"));
}

TEST(KnownRegion, SmallConstantsCountByTheirElements) {
  const auto times = [](const std::string& number) {
    return key("agraph (float[4] x) => (float[4] y) <float[1] k = {" + number + "}> { y = Mul(x, k) }");
  };
  EXPECT_EQ(times("2.0"), times("2.0"));
  EXPECT_NE(times("2.0"), times("3.0"));
}

TEST(KnownRegion, WhetherWeightsAreTheSameMatters) {
  const auto pair = [](int second) {
    return key("agraph (float[4,24] x) => (float[4,24] y) <" + large("a", "24,24", 576, 1) + ", " +
               large("b", "24,24", 576, second) + "> { p = MatMul(x, a) y = MatMul(p, b) }");
  };
  EXPECT_NE(pair(1), pair(2));
  EXPECT_EQ(pair(2), pair(3));
}

TEST(KnownRegion, SharedAndSeparateValuesDiffer) {
  EXPECT_NE(key("agraph (float[4] x) => (float[4] y) { a = Exp(x) y = Add(a, a) }"),
            key("agraph (float[4] x) => (float[4] y) { a = Exp(x) b = Exp(x) y = Add(a, b) }"));
}

TEST(KnownRegion, HoldsNoWeightsAndNoNamesOfTheModel) {
  const auto known = known_region(program(branches("secret", "hidden", 1, "1,1,1,1")));
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->region.constants.size(), 2u);
  for (const NodeId id : known->region.graph.order()) {
    const Node& node = known->region.graph.node(id);
    EXPECT_TRUE(node.kind != NodeKind::Initializer || node.tensor.count() <= 64);
    for (const std::string& name : node.outputs) EXPECT_LE(name.size(), 3u);
  }
  EXPECT_EQ(known->names.at("secret"), "x0");
}

// All orders in which the nodes of a graph may come, and names in all of them.
TEST(KnownRegion, IsTheSameForHundredsOfOrders) {
  std::vector<std::string> nodes{"a = Relu(x)", "b = Tanh(x)", "c = Exp(z)", "d = Neg(z)", "e = Abs(x)"};
  std::ranges::sort(nodes);
  std::set<std::string> keys;
  int count = 0;
  do {
    std::string text = "agraph (float[3] x, float[3] z) => (float[3] y) { ";
    for (const std::string& n : nodes) text += n + " ";
    keys.insert(key(text + "f = Add(a, b) g = Mul(c, d) h = Sub(f, g) y = Div(h, e) }"));
    ++count;
  } while (std::ranges::next_permutation(nodes).found);
  EXPECT_EQ(count, 120);
  EXPECT_EQ(keys.size(), 1u);
}

}  // namespace
}  // namespace isomer
