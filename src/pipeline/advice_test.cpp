#include "pipeline/advice.h"

#include <fstream>
#include <sstream>

#include "runtime/testing.h"

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
  std::vector<Advice> advice(const std::string& number) {
    std::string text = kModel;
    text.replace(text.find("NUMBER"), 6, number);
    const NamedTensors feeds{
        {"x", Tensor::of(ElementType::Float, {256, 256}, std::vector<float>(std::size_t{256} * 256, 0.5F))}};
    return advice_for(ModelSource::file(folder_.model("m.onnx", text)), feeds, {}, {}, 10);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(AdviceTest, NothingIsToldOfAModelThatIsFine) {
  ISOMER_JUDGE_OR_SKIP(judge);
  EXPECT_TRUE(advice("0.5").empty());
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
  EXPECT_GT(told[0].ratio, 1.1);
}

}  // namespace
}  // namespace isomer
