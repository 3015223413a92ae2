#include "app/optimize/advice.h"

#include <fstream>
#include <sstream>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

// Scaled by this number, then multiplied with itself.
constexpr const char* kModel = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  scaled (float[256, 256] x) => (float[256, 256] y) <float s = {NUMBER}> {
    a = Mul(x, s)
    b = MatMul(a, x)
    y = MatMul(b, x)
  })";

class AdviceTest : public ::testing::Test {
 protected:
  AdviceRequest request(const std::string& number) {
    std::string text = kModel;
    text.replace(text.find("NUMBER"), 6, number);
    model_.graph = testing::parsed(text);
    model_.ir_version = 8;
    return {.model = model_,
            .in = folder_.model("m.onnx", text),
            .out = folder_ / "out.onnx",
            .feeds = feeds_,
            .seconds = 10};
  }
  std::vector<Advice> advice(const std::string& number) { return advice_for(request(number)); }
  Denormals denormals(const std::string& number) {
    return count_denormals(request(number)).value_or(Denormals{});
  }
  Model model_;
  const NamedTensors feeds_{
      {"x", Tensor::of(ElementType::Float, {256, 256}, std::vector<float>(std::size_t{256} * 256, 0.5F))}};
  testing::TemporaryFolder folder_;
};

TEST_F(AdviceTest, NothingIsToldOfAModelThatIsFine) {
  ISOMER_JUDGE_OR_SKIP(judge);
  EXPECT_TRUE(advice("0.5").empty());
}

TEST_F(AdviceTest, DenormalNumbersAreCountedInWhatFlowsThroughTheModel) {
  ISOMER_JUDGE_OR_SKIP(judge);
  EXPECT_EQ(denormals("0.5").count, 0u);
  const Denormals found = denormals("1e-41");
  EXPECT_EQ(found.count, 2u * 256 * 256 + 1);  // a and b, and the number itself
  EXPECT_EQ(found.of, 4u * 256 * 256 + 1);
}

TEST_F(AdviceTest, DenormalNumbersAreTold) {
  ISOMER_JUDGE_OR_SKIP(judge);
  std::stringstream processor;
  processor << std::ifstream("/proc/cpuinfo").rdbuf();
  if (processor.str().find("GenuineIntel") == std::string::npos)
    GTEST_SKIP() << "a processor that may not mind denormal numbers";
  const auto told = advice("1e-41");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].option, "session.set_denormal_as_zero");
  EXPECT_GT(told[0].ratio.low, 1.1);
  EXPECT_NE(told[0].why.find(" in "), std::string::npos);
}

}  // namespace
}  // namespace isomer
