#include "kernel/prove/evaluate_constants.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

Result<EvaluatedProgram> evaluated(const std::string& outputs, const std::string& constants,
                                   const std::string& body) {
  return evaluate_constants(testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph () => (" +
                                            outputs + ") <" + constants + "> {" + body + "}"));
}

TEST(EvaluateConstants, KeepsAllDigitsOfFloat64) {
  const auto read = evaluated("z, y", "float[2] x = {0.1, -3}", "y = Mul(x, x)\nz = Sub(y, x)");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const double tenth = 0.1F;
  EXPECT_EQ(read->outputs[0].value.as<double>()[0], tenth * tenth - tenth);
  EXPECT_EQ(read->outputs[0].errors().as<double>()[1], 9 + 12);  // of the product, and of the difference
  EXPECT_EQ(read->outputs[1].value.as<double>()[1], 9);
  EXPECT_FALSE(read->only_moves);
}

TEST(EvaluateConstants, ALookUpRoundsNothing) {
  const auto read =
      evaluated("y", "float[3] x = {3, 5, 7}, int64[3] i = {2, 0, 3}, float[4] d = {0, 1, 0, 0}",
                "p = Mul(x, x)\ny = ScatterElements(d, i, p)");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto values = read->outputs[0].value.as<double>();
  EXPECT_EQ(std::vector(values.begin(), values.end()), (std::vector<double>{25, 1, 9, 49}));
  const Tensor errors = read->outputs[0].errors();  // of the products alone
  EXPECT_LE(errors.as<double>()[2], 9);
}

TEST(EvaluateConstants, WhatJumpsIsThatOfTheStoredType) {
  const auto read = evaluated("y", "float[1] x = {10}, float[1] k = {0.1}", "p = Mul(x, k)\ny = Ceil(p)");
  // One product that IEEE 754 rounds: 1 in float32, a little more in float64.
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->outputs[0].value.as<double>()[0], 1);
}

TEST(EvaluateConstants, RefusesWhatItCannotCompute) {
  EXPECT_FALSE(evaluated("y", "float[2] x = {0, 1}", "y = NonZero(x)").ok());
  EXPECT_FALSE(evaluated("y", "string[1] s = {\"a\"}", "y = Identity(s)").ok());
  EXPECT_FALSE(evaluated("y", "int64[2] n = {2147483648, 1024}", "y = ConstantOfShape(n)").ok());
  EXPECT_FALSE(evaluate_constants(testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n"
                                                  "agraph (float[2] x) => (y) {y = Relu(x)}"))
                   .ok());
}

}  // namespace
}  // namespace isomer
