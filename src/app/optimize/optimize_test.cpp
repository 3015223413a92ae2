#include "app/optimize/optimize.h"

#include <chrono>
#include <thread>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

constexpr const char* kTwice = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  twice (float[64] x) => (float[64] y) { a = Neg(x) b = Neg(a) y = Exp(b) })";

// `optimize --kernels` looks for a graph when most of the time is over.
TEST(Optimize, SearchesInTheTimeThatIsLeft) {
  ISOMER_JUDGE_OR_SKIP(judge);
  const testing::TemporaryFolder folder;
  Model model;
  model.graph = testing::parsed(kTwice);
  model.ir_version = 8;
  OptimizeRequest request{
      .in = folder.model("m.onnx", kTwice), .scratch = folder / "out.onnx", .seconds = 6, .waits = true};
  request.feeds = {{"x", Tensor::of(ElementType::Float, {64}, std::vector<float>(64, 0.5F))}};
  request.search.limit = std::make_shared<TimeLimit>(request.seconds);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  const auto found = optimize(std::move(request), model);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found->report.search.asked.empty());
}

}  // namespace
}  // namespace isomer
