#include "optimizer/facts/denormal_products.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

std::optional<double> share(const std::string& size, const std::string& second) {
  const Graph graph = testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[" + size +
                                      ",2] x) => (float[" + size +
                                      ",2] y) <float[2,2] w = {1e-40, 1, 2, 3}, float[2,2] v = {" + second +
                                      "}> {a = MatMul(x, w)\ny = MatMul(a, v)}");
  const auto inference = infer(graph);
  EXPECT_TRUE(inference.ok());
  return share_of_denormal_products(graph, *inference);
}

TEST(DenormalProducts, CountWhereTheyAreRead) {
  EXPECT_DOUBLE_EQ(share("8", "1, 2, 3, 4").value_or(-1), 0.125);
  EXPECT_DOUBLE_EQ(share("8", "1, 1e-39, 0, 4").value_or(-1), 0.25);
  EXPECT_FALSE(share("n", "1, 2, 3, 4").has_value());
}

}  // namespace
}  // namespace isomer
