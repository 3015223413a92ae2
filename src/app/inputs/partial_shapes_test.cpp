#include "app/inputs/partial_shapes.h"

#include "model/graph/infer.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

std::string shapes_of(const std::string& text, const std::vector<std::string>& arguments) {
  const auto graph =
      with_partial_shapes(testing::parsed("<ir_version: 8, opset_import: [\"\" : 20]> g " + text), arguments);
  if (!graph) return graph.error().message;
  const auto inference = infer(*graph);
  std::string out;
  for (const Value input : graph->inputs())
    out += (out.empty() ? "" : " ") + isomer::text(*inference->of(input).shape);
  return out;
}

TEST(PartialShapes, FixWhatTheySay) {
  EXPECT_TRUE(is_partial_shape("x=?x3"));
  EXPECT_FALSE(is_partial_shape("x=1x3"));
  EXPECT_FALSE(is_partial_shape("a?=1x3"));
  EXPECT_EQ(shapes_of("(float[N, 3, H, W] x) => (float[N, 3, H, W] y) { y = Relu(x) }", {"x=?x3x48x?"}),
            "[N, 3, 48, W]");
}

TEST(PartialShapes, FixANameWhereverItStands) {
  EXPECT_EQ(shapes_of("(float[N, L] x, float[N, L] m) => (float[N, L] y) { y = Add(x, m) }", {"x=?x16"}),
            "[N, 16] [N, 16]");
}

TEST(PartialShapes, AreRefusedWithTheReason) {
  const std::string model = "(float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }";
  EXPECT_EQ(shapes_of(model, {"x=?x4"}), "--shape x=?x4: the model declares 3 for extent 1");
  EXPECT_EQ(shapes_of(model, {"x=?x3x?"}), "--shape x=?x3x?: the input has 2 extents, not 3");
  EXPECT_EQ(shapes_of(model, {"z=?"}), "--shape z=?: the model has no input 'z'");
  EXPECT_EQ(shapes_of(model, {"x=?x-3"}), "--shape x=?x-3: expected NAME=?x3x48x?");
}

}  // namespace
}  // namespace isomer
