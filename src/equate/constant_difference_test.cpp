#include "equate/constant_difference.h"

#include <gmock/gmock.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

using ::testing::HasSubstr;
using testing::parsed;

Graph with_weights(const std::string& numbers, const std::string& body = "y = MatMul(x, w)") {
  return parsed(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2, 2] x) => (float[2, 2] y)
                   <float[2, 2] w = {)" +
                numbers + "}> { " + body + " }");
}

TEST(ConstantDifference, IsToldWithItsFirstPosition) {
  const auto found = differing_constants(with_weights("1, 2, 3, 4"), with_weights("1, 2, 3.5, 4"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text(found[0]), "w differs in 1 of 4 elements, first at [1, 0]: 3 and 3.5");
}

TEST(ConstantDifference, EqualConstantsAreNotTold) {
  EXPECT_TRUE(differing_constants(with_weights("1, 2, 3, 4"), with_weights("1, 2, 3, 4")).empty());
}

TEST(ConstantDifference, ANumberThatChangesTheOutputRefutes) {
  const Graph a = with_weights("1, 2, 3, 4"), b = with_weights("1, 2, 3, 4.5");
  const auto refuted = differing_by_constants(a, b, differing_constants(a, b), nullptr);
  ASSERT_TRUE(refuted);
  EXPECT_EQ(refuted->output, 0);
  EXPECT_EQ(refuted->position.back(), 1);
  EXPECT_TRUE(refuted->feeds.contains("x"));
}

TEST(ConstantDifference, ANumberThatNothingReadsRefutesNothing) {
  const Graph a = with_weights("1, 2, 3, 4", "y = Relu(x) z = MatMul(x, w)"),
              b = with_weights("1, 2, 3, 5", "y = Relu(x) z = MatMul(x, w)");
  EXPECT_FALSE(differing_by_constants(a, b, differing_constants(a, b), nullptr));
}

TEST(ConstantDifference, LastDigitsRefuteNothing) {
  const Graph a = with_weights("1, 2, 3, 4"), b = with_weights("1, 2, 3, 4.0000005");
  EXPECT_EQ(differing_constants(a, b).size(), 1u);
  EXPECT_FALSE(differing_by_constants(a, b, differing_constants(a, b), nullptr));
}

TEST(ConstantDifference, ModelsThatDifferOtherwiseAreNotRefutedByIt) {
  const Graph a = with_weights("1, 2, 3, 4"), b = with_weights("1, 2, 3, 5", "z = MatMul(x, w) y = Relu(z)");
  EXPECT_FALSE(differing_by_constants(a, b, differing_constants(a, b), nullptr));
}

}  // namespace
}  // namespace isomer
