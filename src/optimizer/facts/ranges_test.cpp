#include "optimizer/facts/ranges.h"

#include "model/graph/testing.h"
#include "optimizer/facts/machine.h"
#include "optimizer/facts/order.h"

#include <cmath>

namespace isomer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Graph program(const std::string& text) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
}

// The range of y, and how it follows x along all of its axes.
struct Facts {
  explicit Facts(const std::string& body, const std::string& constants = "")
      : graph(program("agraph (float[b,4] x, float[b,4] z) => (y) " + constants + " {\n" + body + "\n}")),
        inference(*infer(graph)),
        site(graph, inference, unknown_machine()) {}
  ValueRange range(const std::string& name = "y") const {
    return Ranges(site).of(testing::value_named(graph, name));
  }
  Following following() const {
    const Value y = testing::value_named(graph, "y");
    return following_along(*site.formula(y.node), 0, {0, 1}, Ranges(site).inputs_of(graph.node(y.node)));
  }
  Graph graph;
  Inference inference;
  Site site;
};

TEST(Ranges, FollowFromTheFormulas) {
  EXPECT_EQ(Facts("y = Softmax(x)").range(), (ValueRange{0, 1}));
  EXPECT_EQ(Facts("y = Relu(x)").range(), (ValueRange{0, kInfinity}));
  EXPECT_EQ(Facts("y = Mul(x, x)").range(), (ValueRange{0, kInfinity}));
  EXPECT_EQ(Facts("t = Tanh(x)\ny = Neg(t)").range(), (ValueRange{-1, 1}));
  EXPECT_EQ(Facts("s = Sigmoid(x)\nt = Sigmoid(z)\ny = Concat<axis=1>(s, t)").range(), (ValueRange{0, 1}));
  EXPECT_EQ(Facts("y = Add(x, z)").range(), (ValueRange{}));
  EXPECT_EQ(Facts("y = Clip(x, l, h)", "<float l = {-1}, float h = {6}>").range(), (ValueRange{-1, 6}));
  EXPECT_EQ(Facts("r = Relu(x)\ny = Add(r, c)", "<float[4] c = {1, 3, 2, 5}>").range(),
            (ValueRange{1, kInfinity}));
}

TEST(Order, FollowsFromTheFormulas) {
  for (const char* f : {"Relu(x)", "Elu(x)", "HardSigmoid(x)", "Sigmoid(x)", "LeakyRelu(x)", "Celu(x)"})
    EXPECT_EQ(Facts(std::string("y = ") + f).following().direction, Direction::Up) << f;
  for (const char* f :
       {"Abs(x)", "Mish(x)", "HardSwish(x)", "LeakyRelu<alpha=-1.0>(x)", "Softmax(x)", "Sin(x)"})
    EXPECT_EQ(Facts(std::string("y = ") + f).following().direction, Direction::Unknown) << f;
  EXPECT_EQ(Facts("y = Neg(x)").following().direction, Direction::Down);
  EXPECT_TRUE(Facts("y = Asinh(x)").following().keeps_apart);
  EXPECT_FALSE(Facts("y = Sigmoid(x)").following().keeps_apart);
  EXPECT_FALSE(Facts("y = Relu(x)").following().keeps_apart);
}

}  // namespace
}  // namespace isomer
