#include "io/onnx/fixed_sizes.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

onnx::GraphProto graph_with(const std::vector<std::string>& dims) {
  onnx::GraphProto graph;
  for (auto* value : {graph.add_input(), graph.add_output()}) {
    value->set_name(value == &graph.input(0) ? "x" : "y");
    auto* shape = value->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const std::string& d : dims) {
      if (d[0] >= '0' && d[0] <= '9') shape->add_dim()->set_dim_value(std::stoll(d));
      else shape->add_dim()->set_dim_param(d);
    }
  }
  return graph;
}

std::vector<std::int64_t> dims(const onnx::ValueInfoProto& value) {
  std::vector<std::int64_t> out;
  for (const auto& dim : value.type().tensor_type().shape().dim())
    out.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return out;
}

TEST(FixedSizes, ADimensionIsANumberWhereverItIsNamed) {
  onnx::GraphProto graph = graph_with({"batch", "3", "length"});
  ASSERT_TRUE(fix_sizes(graph, {.symbols = {{"batch", 8}}, .shapes = {}}).ok());
  EXPECT_EQ(dims(graph.input(0)), (std::vector<std::int64_t>{8, 3, -1}));
  EXPECT_EQ(dims(graph.output(0)), (std::vector<std::int64_t>{8, 3, -1}));
}

TEST(FixedSizes, AShapeOfAnInputNamesItsDimensions) {
  onnx::GraphProto graph = graph_with({"batch", "3", "length"});
  ASSERT_TRUE(fix_sizes(graph, {.symbols = {}, .shapes = {{"x", {2, 3, 5}}}}).ok());
  EXPECT_EQ(dims(graph.input(0)), (std::vector<std::int64_t>{2, 3, 5}));
  EXPECT_EQ(dims(graph.output(0)), (std::vector<std::int64_t>{2, 3, 5}));
}

TEST(FixedSizes, AShapeThatContradictsIsRefused) {
  onnx::GraphProto graph = graph_with({"n", "3", "n"});
  const auto refusal = [&](const Extents& shape) {
    onnx::GraphProto copy = graph;
    const Status done = fix_sizes(copy, {.symbols = {}, .shapes = {{"x", shape}}});
    return done.ok() ? std::string() : done.error().message;
  };
  EXPECT_THAT(refusal({2, 4, 2}), HasSubstr("has the extent 3, not 4"));
  EXPECT_THAT(refusal({2, 3, 5}), HasSubstr("'n' would be 2 and 5"));
  EXPECT_THAT(refusal({2, 3}), HasSubstr("has 3 axes, not 2"));
  graph = graph_with({});  // a scalar, which is a shape too
  EXPECT_THAT(refusal({2}), HasSubstr("has 0 axes, not 1"));
}

}  // namespace
}  // namespace isomer::wire
