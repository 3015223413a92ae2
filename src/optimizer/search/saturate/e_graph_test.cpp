#include "optimizer/search/saturate/e_graph.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

Digest word(const char* text) { return Hasher().add(text).digest(); }

TEST(EGraph, KnowsANodeThatItHas) {
  EGraph graph;
  const auto x = graph.class_of(graph.add(word("x"), {}, 0));
  EXPECT_EQ(graph.add(word("f"), {x}, 1), graph.add(word("f"), {x}, 1));
  EXPECT_NE(graph.add(word("f"), {x}, 1), graph.add(word("g"), {x}, 1));
  EXPECT_NE(graph.add(word("f"), {x}, 1), graph.add(word("f"), {x, x}, 1));
}

TEST(EGraph, FunctionsOfEqualValuesAreEqual) {
  EGraph graph;
  const auto x = graph.class_of(graph.add(word("x"), {}, 0)), y = graph.class_of(graph.add(word("y"), {}, 0));
  const auto fx = graph.add(word("f"), {x}, 1), fy = graph.add(word("f"), {y}, 1);
  const auto gfx = graph.add(word("g"), {graph.class_of(fx)}, 1),
             gfy = graph.add(word("g"), {graph.class_of(fy)}, 1);
  EXPECT_NE(graph.class_of(gfx), graph.class_of(gfy));
  graph.unite(x, y);
  graph.rebuild();
  EXPECT_EQ(graph.class_of(gfx), graph.class_of(gfy));
  EXPECT_EQ(graph.canonical_node(gfy), gfx);
  // x and y are two ways to compute one value; f and g of it are one node each.
  EXPECT_EQ(graph.classes().at(graph.canonical(x)).size(), 2u);
  EXPECT_EQ(graph.classes().size(), 3u);
  EXPECT_EQ(graph.add(word("f"), {y}, 1), fx);
}

TEST(EGraph, ValuesMayBeComputedFromThemselves) {
  EGraph graph;
  const auto x = graph.add(word("x"), {}, 0), twice = graph.add(word("neg"), {graph.class_of(x)}, 1),
             again = graph.add(word("neg"), {graph.class_of(twice)}, 1);
  graph.unite(graph.class_of(x), graph.class_of(again));
  graph.rebuild();
  EXPECT_EQ(graph.classes().size(), 2u);
  EXPECT_EQ(graph.add(word("neg"), {graph.class_of(again)}, 1), twice);
}

}  // namespace
}  // namespace isomer
