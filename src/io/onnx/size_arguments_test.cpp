#include "io/onnx/size_arguments.h"

#include <gmock/gmock.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

using ::testing::HasSubstr;

Graph relu(const std::string& dims) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 17]> g (float" + dims + " x) => (float" +
                         dims + " y) { y = Relu(x) }");
}

std::string refusal(const std::vector<std::string>& arguments, const Graph& graph) {
  const auto sizes = parse_sizes(arguments, graph);
  return sizes.ok() ? "" : sizes.error().message;
}

TEST(SizeArguments, AreOfAnInputOrOfADimension) {
  const Graph graph = relu("[batch, 3]");
  const auto by_input = parse_sizes({"x=2x3"}, graph), by_name = parse_sizes({"batch=2"}, graph);
  ASSERT_TRUE(by_input.ok() && by_name.ok());
  EXPECT_EQ(by_input->shapes.at("x"), (Extents{2, 3}));
  EXPECT_EQ(by_name->symbols.at("batch"), 2);
}

TEST(SizeArguments, ThatContradictTheModelAreRefused) {
  const Graph graph = relu("[batch, 3]");
  EXPECT_THAT(refusal({"x=2x4"}, graph), HasSubstr("--shape x=2x4"));
  EXPECT_THAT(refusal({"x=2"}, graph), HasSubstr("--shape x=2"));
  EXPECT_THAT(refusal({"z=2"}, graph), HasSubstr("no input or dimension 'z'; its inputs are x"));
  EXPECT_THAT(refusal({"batch=2", "batch=3"}, graph), HasSubstr("has a shape already"));
  EXPECT_THAT(refusal({"x"}, graph), HasSubstr("expected NAME="));
}

TEST(SizeArguments, OfTwoModelsNeedToBeKnownToOne) {
  const Graph open = relu("[batch, 3]"), fixed = relu("[2, 3]");
  const auto sizes = parse_sizes({"batch=2"}, std::vector<const Graph*>{&open, &fixed});
  ASSERT_TRUE(sizes.ok()) << sizes.error().message;
  EXPECT_EQ((*sizes)[0].symbols.size(), 1u);
  EXPECT_TRUE((*sizes)[1].symbols.empty());
}

}  // namespace
}  // namespace isomer
