#include <cmath>

#include "model/graph/interpret.h"
#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::weight;

enum Form : std::size_t { Rows2, Both2, Rows4, Both4 };

std::string filtered(const std::string& text, Form form, std::string* why) {
  const auto result = testing::taken(kBilinear, program(text), why, true, form);
  return result ? operators(*result) : "";
}

// All different, as weights are.
std::string weights(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i ? ", " : "") + std::to_string(i * 37 % count - count / 2) + ".5";
  return out;
}

// Rows and columns that no tile divides.
const std::string kConv = "agraph (float[1,4,7,9] x) => (float[1,5,7,8] y) <float[5,4,3,3] w = {" +
                          weights(180) + "}, " + weight("b", "5", 5, 2) +
                          "> {\nc = Conv<pads=[1,0,1,1]>(x, w, b)\ny = Relu(c)}";

TEST(Bilinear, AlongRows) {
  std::string why;
  EXPECT_EQ(
      filtered(kConv, Rows2, &why),
      "Pad Slice Slice Slice Slice Sub Add Sub Sub Conv Conv Conv Conv Add Sub Add Add Relu Unsqueeze Relu "
      "Unsqueeze Concat Reshape Slice")
      << why;
  EXPECT_NE(filtered(kConv, Rows4, &why), "") << why;
}

TEST(Bilinear, AlongBothAxes) {
  for (const Form form : {Both2, Both4}) {
    std::string why;
    const std::string got = filtered(kConv, form, &why);
    EXPECT_TRUE(
        got.starts_with("Reshape Conv Reshape Transpose MatMul Transpose MatMul Reshape DepthToSpace"))
        << got << why;
  }
}

std::vector<double> computed(const Graph& graph) {
  std::vector<float> x;
  for (int i = 0; i < 4 * 7 * 9; ++i) x.push_back(static_cast<float>(std::sin(i)));
  const auto run = interpret(graph, {{"x", Tensor::of(ElementType::Float, {1, 4, 7, 9}, x)}});
  EXPECT_TRUE(run.ok() && !run->opaque);
  return *run->outputs.begin()->second.doubles();
}

TEST(Bilinear, FoldedKernelsComputeTheSame) {
  const Graph before = program(kConv);
  const auto wanted = computed(before);
  for (const Form form : {Rows2, Both2, Rows4, Both4}) {
    std::string why;
    const auto after = testing::taken(kBilinear, before, &why, true, form);
    ASSERT_TRUE(after.has_value()) << why;
    const auto got = computed(*after);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-2);
  }
}

TEST(Bilinear, OnlyWhereItCanPay) {
  const auto count = [](const std::string& text, bool any_price) {
    const Graph graph = program(text);
    return kBilinear(graph, *infer(graph), {.any_price = any_price}).list.size();
  };
  EXPECT_EQ(count(kConv, true), 4u);
  EXPECT_EQ(count(kConv, false), 0u);  // few channels
  const auto conv = [](const std::string& attributes, const std::string& shape, int n) {
    return "agraph (float[1,4,9,9] x) => (float[1,4,M,N] y) <" + weight("w", shape, n, 1) + "> {\ny = Conv<" +
           attributes + ">(x, w)}";
  };
  EXPECT_EQ(count(conv("strides=[1,1]", "4,4,3,3", 144), true), 4u);
  EXPECT_EQ(count(conv("strides=[2,2]", "4,4,3,3", 144), true), 0u);
  EXPECT_EQ(count(conv("dilations=[2,2]", "4,4,3,3", 144), true), 0u);
  EXPECT_EQ(count(conv("group=2", "4,2,3,3", 72), true), 0u);
  EXPECT_EQ(count(conv("group=1", "4,4,1,3", 48), true), 0u);
}

}  // namespace
}  // namespace isomer
