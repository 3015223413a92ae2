#include "prove/translate.h"

#include <gtest/gtest.h>

#include "graph/testing.h"

namespace isomer {
namespace {

bool may_be_undefined(const std::string& input, const std::string& body) {
  const Graph graph = testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + input +
                                      ") => (y) {\n" + body + "\n}");
  const auto info = infer(graph);
  const Definition definition = define_node(graph, *info, graph.outputs()[0].node);
  return may_be_undefined(std::get<Formula>(definition));
}

TEST(Translate, AWindowThatMeetsTheImageHasAMaximum) {
  EXPECT_FALSE(
      may_be_undefined("float[1,1,8] x", "y = MaxPool<kernel_shape=[3], strides=[2], pads=[1,1]>(x)"));
  EXPECT_FALSE(may_be_undefined("float[1,1,N] x", "y = MaxPool<kernel_shape=[3], pads=[1,1]>(x)"));
  // Taps at -1 and 2 of an image of two.
  EXPECT_TRUE(
      may_be_undefined("float[1,1,2] x", "y = MaxPool<kernel_shape=[2], dilations=[3], pads=[1,1]>(x)"));
}

TEST(Translate, QuotientsAndRootsAreDefinedInPart) {
  EXPECT_TRUE(may_be_undefined("float[4] x, float[4] z", "y = Div(x, z)"));
  EXPECT_FALSE(may_be_undefined("float[4] x, float[4] z", "y = Mul(x, z)"));
}

}  // namespace
}  // namespace isomer
