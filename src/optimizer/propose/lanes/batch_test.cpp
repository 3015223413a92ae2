// What tests/proposals/batch.test can't say: a proposal that is not the best.
#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::weight;

std::string batched(const std::string& text, std::size_t number) {
  std::string reason;
  const auto result = testing::taken(kBatch, program(text), &reason, true, number);
  return result ? operators(*result) : reason;
}

TEST(Batch, ExpertsWithWeightsOfTheirOwnAndASum) {
  EXPECT_EQ(
      batched("agraph (float[N,3] x) => (float[N,2] y) <" + weight("a", "3,4", 12, 1) + ", " +
                  weight("b", "3,4", 12, 2) + ", " + weight("c", "4,2", 8, 3) + ", " +
                  weight("d", "4,2", 8, 4) +
                  "> {\np = MatMul(x, a)\nq = MatMul(x, b)\nr = Relu(p)\ns = Relu(q)\nt = MatMul(r, c)\n"
                  "u = MatMul(s, d)\ny = Add(t, u)}",
              1),
      "MatMul Relu MatMul ReduceSum");
}

}  // namespace
}  // namespace isomer
