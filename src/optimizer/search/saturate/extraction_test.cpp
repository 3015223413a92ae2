#include "optimizer/search/saturate/extraction.h"

#include <gtest/gtest.h>

#include "base/integer_program.h"

namespace isomer {
namespace {

constexpr double kSeconds = 60;

class Values {
 public:
  EGraph::Class add(const char* what, const std::vector<EGraph::Class>& children, double price) {
    return graph.class_of(graph.add(Hasher().add(what).digest(), children, price));
  }
  // Another way to compute a value.
  void add_way(EGraph::Class value, const char* what, const std::vector<EGraph::Class>& children,
               double price) {
    graph.unite(value, add(what, children, price));
    graph.rebuild();
  }
  EGraph graph;
};

// Two values for 10 each, or both for 1 out of one that costs 12: 20 as trees, 14 together.
struct Shared : Values {
  Shared() {
    const auto common = add("common", {}, 12);
    const auto a = add("a", {}, 10), b = add("b", {}, 10);
    add_way(a, "a of it", {common}, 1);
    add_way(b, "b of it", {common}, 1);
    root = add("pair", {a, b}, 0);
    graph.rebuild();
  }
  EGraph::Class root;
};

TEST(Extraction, GreedyPaysForEachReader) {
  const Shared values;
  const auto found = extract_greedy(values.graph, {values.root});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->price, 20);
  EXPECT_FALSE(found->is_exact);
}

TEST(Extraction, ExactPaysOnceForWhatIsReadTwice) {
  if (!has_integer_solver()) GTEST_SKIP() << "no HiGHS";
  const Shared values;
  const auto found = extract_exact(values.graph, {values.root}, {}, kSeconds);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->price, 14);
  EXPECT_TRUE(found->is_exact);
  std::set<EGraph::NodeNumber> best;
  for (const auto& [c, n] : found->chosen) best.insert(n);
  // The second best: one of them each way is 23, both by themselves 20.
  EXPECT_EQ(extract_exact(values.graph, {values.root}, {best}, kSeconds)->price, 20);
}

// x, or what is computed from what is computed from x, for nothing.
struct Circle : Values {
  Circle() {
    x = add("x", {}, 5);
    const auto y = add("y", {x}, 1);
    add_way(x, "back", {y}, 0);
    root = add("root", {y, x}, 1);
    graph.rebuild();
  }
  EGraph::Class x, root;
};

TEST(Extraction, ChoosesNoValueThatNeedsItself) {
  const Circle values;
  const auto greedy = extract_greedy(values.graph, {values.root});
  ASSERT_TRUE(greedy);
  EXPECT_EQ(greedy->price, 7);
  if (!has_integer_solver()) GTEST_SKIP() << "no HiGHS";
  EXPECT_EQ(extract_exact(values.graph, {values.root}, {}, kSeconds)->price, 7);
}

TEST(Extraction, FindsTheCheapestProgramWithANode) {
  Shared values;
  const auto wanted = values.graph.add(Hasher().add("a of it").digest(), {values.graph.class_of(0)}, 1);
  const auto found = extract_greedy(values.graph, {values.root}, wanted);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->price, 12 + 1 + 10);
  const Circle circle;
  // The only way to x then is through itself.
  const auto back = circle.graph.classes().at(circle.graph.canonical(circle.x)).back();
  EXPECT_FALSE(extract_greedy(circle.graph, {circle.root}, back));
}

TEST(Extraction, IsTheSameEveryTime) {
  if (!has_integer_solver()) GTEST_SKIP() << "no HiGHS";
  // Equally cheap ways: which one is taken must not be chance.
  Values values;
  std::vector<EGraph::Class> all;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const auto c = values.add(name, {}, 3);
    values.add_way(c, (std::string(name) + "'").c_str(), {}, 3);
    all.push_back(c);
  }
  const auto root = values.add("root", all, 1);
  values.graph.rebuild();
  const auto first = extract_exact(values.graph, {root}, {}, kSeconds);
  ASSERT_TRUE(first);
  for (int k = 0; k < 5; ++k)
    EXPECT_EQ(extract_exact(values.graph, {root}, {}, kSeconds)->chosen, first->chosen);
}

TEST(IntegerProgram, SaysSoWhereThereIsNoAnswer) {
  if (!has_integer_solver()) GTEST_SKIP() << "no HiGHS";
  const IntegerProgram program{.costs = {1, 1}, .rows = {{{{0, 1}, {1, 1}}, 3, 3}}};
  EXPECT_FALSE(solved(program, kSeconds));
}

}  // namespace
}  // namespace isomer
