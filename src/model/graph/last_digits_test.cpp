#include "model/graph/last_digits.h"

#include "model/graph/infer.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

// The node that makes y, and its formula.
struct Last {
  Formula formula;
  Node node;
};
Last last_of(const std::string& body, const std::string& type = "float") {
  const Graph graph = parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + type + "[4] x, " +
                             type + "[4] z) => (y) {\n" + body + "\n}");
  const auto info = infer(graph);
  const NodeId last = graph.outputs()[0].node;
  return {std::get<Formula>(define_node(graph, *info, last)), graph.node(last)};
}

TEST(LastDigits, JumpsAreNotContinuous) {
  const auto continuous = [](const std::string& body) {
    const Last last = last_of(body);
    return is_continuous(last.formula, last.node, {true, false});
  };
  for (const char* op : {"Relu", "Exp", "LeakyRelu", "Softmax", "Elu"})
    EXPECT_TRUE(continuous(std::string("y = ") + op + "(x)")) << op;
  for (const char* op : {"Floor", "Round", "Sign", "ArgMax", "Cast<to=7>"})
    EXPECT_FALSE(continuous(std::string("y = ") + op + "(x)")) << op;
  EXPECT_FALSE(continuous("y = Less(x, z)"));
  // A node that does not round may be followed by any jump.
  EXPECT_TRUE(continuous("y = Less(z, x)") == continuous("y = Less(x, z)"));
}

TEST(LastDigits, OnlyACastToFewerDigitsNarrows) {
  EXPECT_TRUE(narrows(last_of("y = Cast<to=10>(x)").formula));
  EXPECT_TRUE(narrows(last_of("y = Cast<to=16>(x)").formula));
  EXPECT_TRUE(narrows(last_of("y = Cast<to=1>(x)", "double").formula));
  EXPECT_TRUE(narrows(last_of("y = Cast<to=16>(x)", "float16").formula));
  EXPECT_FALSE(narrows(last_of("y = Cast<to=1>(x)", "float16").formula));
  EXPECT_FALSE(narrows(last_of("y = Cast<to=11>(x)").formula));
  EXPECT_FALSE(narrows(last_of("y = Cast<to=1>(x)", "int64").formula));
}

TEST(LastDigits, OneRoundingIsAgreedOnAndNoMore) {
  for (const char* body :
       {"y = Add(x, z)", "y = Div(x, z)", "y = Sqrt(x)", "y = Transpose(x)", "y = Floor(x)", "y = Max(x, z)",
        "y = Cast<to=10>(x)", "y = ReduceMax<keepdims=0>(x)"})
    EXPECT_TRUE(has_agreed_digits(last_of(body).formula)) << body;
  for (const char* body : {"y = Exp(x)", "y = Pow(x, z)", "y = ReduceSum<keepdims=0>(x)", "y = MatMul(x, z)",
                           "y = HardSigmoid(x)", "y = Sum(x, z, x)"})
    EXPECT_FALSE(has_agreed_digits(last_of(body).formula)) << body;
  EXPECT_FALSE(has_agreed_digits(last_of("y = Add(x, z)", "float16").formula));
  EXPECT_TRUE(has_agreed_digits(last_of("y = Add(x, z)", "int32").formula));
}

}  // namespace
}  // namespace isomer
