#include "optimizer/facts/constant_axes.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

// The axes along which y is constant: "02".
std::string along(const std::string& body, const std::string& constants = "") {
  const Graph graph = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "agraph (float[b,3] x, float[b,3,8,8] z, float[b,1,8,8] m) => (y) <int64[2] sp = {2, 3}, "
      "int64[4] r = {1, 1, 8, 8}" +
      (constants.empty() ? "" : ", " + constants) + "> {\n" + body + "\n}");
  const auto inference = infer(graph);
  EXPECT_TRUE(inference.ok());
  const Site site(graph, *inference, unknown_machine());
  const AxisSet axes = ConstantAxes(site).of(*site.find("y"));
  std::string out;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d]) out += std::to_string(d);
  return out;
}

const std::string kTiled = "u = Unsqueeze(x, sp)\nt = Tile(u, r)\n";

TEST(ConstantAxes, AreThoseOfWhatIsRepeated) {
  EXPECT_EQ(along(kTiled + "y = Identity(t)"), "23");
  EXPECT_EQ(along("u = Unsqueeze(x, sp)\ns = Shape(z)\ny = Expand(u, s)"), "23");
  EXPECT_EQ(along("u = Unsqueeze(x, sp)\ny = Resize<mode=\"nearest\">(u, , k)", "float[4] k = {1, 1, 4, 4}"),
            "23");
  EXPECT_EQ(along("s = Shape(z)\ny = ConstantOfShape(s)"), "0123");
  EXPECT_EQ(along(
                "s = Shape(z)\ny = Expand(c, s)", "float[1,1,8,8] c = {" +
                                                      [] {
                                                        std::string numbers = "0";
                                                        for (int k = 1; k < 64; ++k)
                                                          numbers += ", " + std::to_string(k);
                                                        return numbers;
                                                      }() +
                                                      "}"),
            "01");
}

TEST(ConstantAxes, FollowThroughWhatIsComputedPositionByPosition) {
  EXPECT_EQ(along(kTiled + "f = Sigmoid(t)\ny = Mul(f, u)"), "23");
  EXPECT_EQ(along(kTiled + "y = Mul(t, z)"), "");
  EXPECT_EQ(along(kTiled + "y = Softmax<axis=1>(t)"), "23");
  EXPECT_EQ(along(kTiled + "y = Transpose<perm=[0,2,3,1]>(t)"), "12");
  EXPECT_EQ(along(kTiled + "y = Concat<axis=2>(t, t)"), "23");
  EXPECT_EQ(along(kTiled + "y = Concat<axis=2>(t, z)"), "");
  // A border differs from what is inside.
  EXPECT_EQ(along(kTiled + "y = AveragePool<kernel_shape=[3,3]>(t)"), "23");
  EXPECT_EQ(along(kTiled + "y = Conv<pads=[1,1,0,0]>(t, w)", "float[1,3,1,2] w = {1, 2, 3, 4, 5, 6}"), "");
  EXPECT_EQ(along(kTiled + "y = Conv<pads=[0,1,0,1]>(t, w)", "float[1,3,1,2] w = {1, 2, 3, 4, 5, 6}"), "2");
}

TEST(ConstantAxes, OneValueAfterItself) {
  EXPECT_EQ(along("s = Sigmoid(m)\ny = Concat<axis=1>(s, s, s)"), "1");
  EXPECT_EQ(along("s = Sigmoid(m)\ny = Concat<axis=1>(s, m, s)"), "");
  EXPECT_EQ(along("y = Concat<axis=1>(z, z)"), "");
}

}  // namespace
}  // namespace isomer
