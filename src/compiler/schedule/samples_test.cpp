#include "compiler/loops/samples.h"

#include <gtest/gtest.h>

#include "compiler/schedule/test_plan.h"

namespace isomer::lower {
namespace {

using testing::graph_of;

// Why it can't be run sample by sample; "": it can.
std::string refusal(const std::string& body) {
  const auto batch = open_batch(graph_of(body), {});
  if (!batch) return batch.error().message;
  EXPECT_TRUE(*batch) << body;
  return "";
}

TEST(Samples, ModelsThatComputeEachByItself) {
  for (const char* body : {
           "(float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }",
           "(float[N, 3, 8, 8] x) => (float[N, 5, 8, 8] y) { s = Constant<value_ints = [5, 3, 3, 3]>() w = "
           "ConstantOfShape(s) y = Conv<pads = [1, 1, 1, 1]>(x, w) }",
           "(float[N, 4, 6] x) => (float[N, 24] y) { s = Constant<value_ints = [-1, 24]>() y = Reshape(x, s) "
           "}",
           "(float[N, 4, 6] x, float[4] b, float[N] z) => (float[N, 4, 6] y) { a = ReduceMean(x) c = "
           "Constant<value_ints = "
           "[1, 2]>() d = Unsqueeze(z, c) e = Mul(x, d) f = Constant<value_ints = [1]>() g = Unsqueeze(b, f) "
           "y = Sub(e, g) }",
           // heads beside samples, and the batch as the second axis, in between
           "(float[N, 5, 8] x) => (float[N, 5, 8] y) { s = Constant<value_ints = [0, 5, 2, 4]>() a = "
           "Reshape(x, s) b = "
           "Transpose<perm = [0, 2, 1, 3]>(a) t = Constant<value_ints = [-1, 5, 4]>() c = Reshape(b, t) d = "
           "Softmax(c) "
           "u = Constant<value_ints = [-1, 2, 5, 4]>() e = Reshape(d, u) f = Transpose<perm = [0, 2, 1, "
           "3]>(e) v = "
           "Constant<value_ints = [-1, 5, 8]>() y = Reshape(f, v) }",
           "(float[N, 5, 8] x) => (float[N, 5, 8] y) { a = Transpose<perm = [1, 0, 2]>(x) b = Exp(a) y = "
           "Transpose<perm = "
           "[1, 0, 2]>(b) }",
           // sizes that are computed, as exporters write it
           "(float[N, 2, 3] x) => (float[N, 6] y) { s = Shape(x) k = Constant<value_ints = [0]>() n = "
           "Gather(s, k) m = "
           "Constant<value_ints = [-1]>() t = Concat<axis = 0>(n, m) y = Reshape(x, t) }",
           "(float[N, 7] x, int64[N, 3] i) => (float[N, 3] y) { y = GatherElements<axis = 1>(x, i) }",
       })
    EXPECT_EQ(refusal(body), "") << body;
}

TEST(Samples, ModelsThatDoNotAreRefused) {
  const auto says = [](const char* body, const char* words) {
    const std::string said = refusal(body);
    EXPECT_NE(said.find(words), std::string::npos) << body << '\n' << said;
    EXPECT_NE(said.find("--shape"), std::string::npos) << said;
  };
  says("(float[N, 4] x) => (float[1, 4] y) { k = Constant<value_ints = [0]>() y = ReduceSum(x, k) }",
       "combines several samples");
  says(
      "(float[N, 4] x) => (float[N, 4] y) { k = Constant<value_ints = [0]>() m = ReduceMax(x, k) y = Sub(x, "
      "m) }",
      "combines several samples");
  says("(float[N, 4] x) => (float[N, 4] y) { y = Softmax<axis = 0>(x) }", "combines several samples");
  says("(float[N, 4] x) => (float[N, N] y) { t = Transpose(x) y = MatMul(x, t) }", "");
  says("(float[N, 4] x) => (float[4, N] y) { y = Transpose(x) }", "first axis of output");
  says("(float[N, 4] x) => (int64[2] y) { y = Shape(x) }", "number");
  says(
      "(float[N, 4] x) => (float[N, 4] y) { s = Shape(x) f = Cast<to = 1>(s) k = Constant<value_ints = "
      "[0]>() n = Gather(f, k) "
      "y = Div(x, n) }",
      "number");
  says("(float[N, 4] x) => (float[N, 4] y) { k = Constant<value_int = 0>() y = CumSum(x, k) }", "");
  says(
      "(float[N, 4] x) => (float[N, 4] y) { b = Constant<value_ints = [-1]>() e = Constant<value_ints = "
      "[-1000000]>() k = "
      "Constant<value_ints = [0]>() y = Slice(x, b, e, k, b) }",
      "");
  says("(float[N, 4] x) => (float[M, 8] y) { s = Constant<value_ints = [-1, 8]>() y = Reshape(x, s) }", "");
  says("(float[N, 4] x, float[M, 4] z) => (float[N, 4] y, float[M, 4] w) { y = Relu(x) w = Relu(z) }",
       "two sizes");
  says("(float[N, M] x) => (float[N, M] y) { y = Relu(x) }", "first axis is open");
  says("(float[4, N] x) => (float[4, N] y) { y = Relu(x) }", "first axis is open");
  says(
      "(float[N, 4] x) => (float[N, 4] y, float[4] w) { y = Relu(x) k = Constant<value_floats = [1.0, 2.0, "
      "3.0, 4.0]>() w = Exp(k) }",
      "first axis of output");
}

TEST(Samples, ARefusalNamesTheFirstNodeAndWhatToType) {
  std::string body = "(float[N, 4] x, int64[1] k) => (float[N, 4] y) { m = Softmax<axis = 0>(x) ";
  std::string last = "m";
  for (int k = 0; k < 30; ++k) {
    const std::string next = "v" + std::to_string(k);
    body += next + " = Relu(" + last + ") ";
    last = next;
  }
  const auto refused = open_batch(graph_of(body + "y = Neg(" + last + ") }"), {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("Softmax"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("Relu"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("--shape x=Nx4"), std::string::npos) << refused.error().message;
  EXPECT_LT(refused.error().message.size(), 400u);
}

TEST(Samples, SizesThatAreKnownAreNoBatch) {
  const auto none = open_batch(graph_of("(float[2, 4] x) => (float[2, 4] y) { y = Relu(x) }"), {});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto batch =
      open_batch(graph_of("(float[N, 4] x, float[4] b) => (float[N, 4] y) { y = Add(x, b) }"), {});
  ASSERT_TRUE(batch);
  ASSERT_TRUE(*batch);
  EXPECT_EQ((*batch)->name, "N");
  EXPECT_EQ((*batch)->inputs, (std::set<std::string>{"x"}));
  EXPECT_EQ((*batch)->one.shapes.at("x"), (Extents{1, 4}));
}

}  // namespace
}  // namespace isomer::lower
