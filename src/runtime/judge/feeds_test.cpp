#include "runtime/judge/feeds.h"

#include <algorithm>

#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

TEST(Feeds, UnnamedSizesAreOneFirstAnd128Then) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, seq, 4] x, float[seq, batch] z) => (y) { y = Relu(x) })");
  const auto feeds = generate_feeds(graph, {}, 0);
  ASSERT_TRUE(feeds.ok());
  EXPECT_EQ(feeds->tensors.at("x").extents(), (Extents{1, 1, 4}));  // seq is the first axis of z
  EXPECT_EQ(feeds->assumed, "batch=1, seq=1");
  InferOptions options;
  options.symbols["seq"] = 7;
  const auto given = generate_feeds(graph, options, 0);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->tensors.at("z").extents(), (Extents{7, 1}));
  EXPECT_EQ(given->assumed, "batch=1");
}

TEST(Feeds, AShapeGivenForOneInputBindsTheNamesOfOthers) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, seq] x, float[batch, seq] z) => (y) { y = Add(x, z) })");
  InferOptions options;
  options.shapes["x"] = {3, 5};
  const auto feeds = generate_feeds(graph, options, 0);
  ASSERT_TRUE(feeds.ok()) << feeds.error().message;
  EXPECT_EQ(feeds->tensors.at("z").extents(), (Extents{3, 5}));
  EXPECT_EQ(feeds->assumed, "");
}

TEST(Feeds, IntegersStayWithinWhatTheyIndex) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (int64[1, 500] ids, float[30, 8] table, int64[1, 500] attention_mask, int64[100] other) => (y) {
      cast = Cast<to = 6>(ids)
      flat = Flatten(cast)
      y = Gather(table, flat)
    })");
  const auto feeds = generate_feeds(graph, {}, 0);
  ASSERT_TRUE(feeds.ok()) << feeds.error().message;
  const auto ids = *feeds->tensors.at("ids").integers();
  EXPECT_EQ(*std::ranges::min_element(ids), 0);
  EXPECT_EQ(*std::ranges::max_element(ids), 29);
  const auto mask = *feeds->tensors.at("attention_mask").integers();
  EXPECT_TRUE(std::ranges::all_of(mask, [](std::int64_t v) { return v == 1; }));
  const auto other = *feeds->tensors.at("other").integers();
  EXPECT_TRUE(std::ranges::all_of(other, [](std::int64_t v) { return v == 0 || v == 1; }));
  EXPECT_GT(std::ranges::count(other, 1), 20);
}

TEST(Feeds, FloatsAreNormalAndReproducible) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]> g (float[1, 10000] x) => (y) { y = Relu(x) })");
  const Tensor a = generate_feeds(graph, {}, 3)->tensors.at("x"),
               b = generate_feeds(graph, {}, 3)->tensors.at("x");
  EXPECT_TRUE(a.same_bits(b));
  double sum = 0, squares = 0;
  for (const float value : a.as<float>()) sum += value, squares += double{value} * value;
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.1);
}

}  // namespace
}  // namespace isomer
