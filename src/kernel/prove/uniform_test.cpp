// Constants that are one number throughout take part by value, however large they are; what is almost one
// does not.
#include <gtest/gtest.h>

#include "kernel/prove/prove.h"
#include "model/graph/rebuild.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

constexpr std::int64_t kCount = 6000;  // more than any table has

Graph program(const std::string& body) {
  return testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[6000] x) => (float[6000] y) <float[1] c = "
      "{0.0}> {\n" +
      body + "}");
}

// y = op(x, c); all elements of c are `number`, except the last one, `last`.
Graph with(const std::string& op, float number, float last) {
  std::vector<float> values(kCount, number);
  values.back() = last;
  const Tensor tensor = Tensor::of(ElementType::Float, {kCount}, values);
  return with_changed_nodes(program("y = " + op + "(x, c)"), [&](Node& node) {
    if (node.kind == NodeKind::Initializer) node.tensor = tensor;
  });
}

bool is_identity(const Graph& graph) {
  return std::holds_alternative<Proved>(prove_equal(graph, program("y = Identity(x)")));
}

TEST(Uniform, NeutralNumbersChangeNothing) {
  EXPECT_TRUE(is_identity(with("Add", 0, 0)));
  EXPECT_TRUE(is_identity(with("Mul", 1, 1)));
  EXPECT_TRUE(is_identity(with("Div", 1, 1)));
  EXPECT_FALSE(is_identity(with("Add", 1, 1)));
  EXPECT_FALSE(is_identity(with("Mul", 0, 0)));
  EXPECT_FALSE(is_identity(with("Add", 1e-30F, 1e-30F)));
}

TEST(Uniform, OneOtherElementIsNotOverlooked) {
  // A smaller instance is made of a part of the constant, in which the other element has to be.
  EXPECT_FALSE(is_identity(with("Add", 0, 1e-3F)));
  EXPECT_FALSE(is_identity(with("Mul", 1, 2)));
}

}  // namespace
}  // namespace isomer
