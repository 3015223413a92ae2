#include "optimizer/search/observed_machine.h"

#include "optimizer/facts/price.h"
#include "optimizer/facts/proposal.h"
#include "optimizer/facts/site.h"
#include "runtime/judge/testing.h"

namespace isomer {
namespace {

Graph convolution(const std::string& x, const std::string& w, int count, const std::string& attributes = "") {
  std::string numbers = "0";
  for (int k = 1; k < count; ++k) numbers += ", 0";
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 17]>\nagraph (float[" + x +
                         "] x) => (y) <float[" + w + "] w = {" + numbers + "}> {\ny = Conv" + attributes +
                         "(x, w)}");
}

class Observed : public ::testing::Test {
 protected:
  std::optional<bool> is_blocked(ObservedMachine& observed, const Graph& graph) {
    const auto inference = infer(graph);
    EXPECT_TRUE(inference.ok());
    observed.learn(graph, *inference);
    return isomer::is_blocked(observed.machine(), graph, *inference, graph.outputs()[0].node);
  }
  double reordered(ObservedMachine& observed, const std::string& body) {
    const Graph graph = testing::parsed(
        "<ir_version: 8, opset_import: [\"\" : 17]>\nagraph (float[1,32,8,8] x, float[1,32,8,8] z) => (y) "
        "{\n" +
        body + "}");
    const auto inference = infer(graph);
    EXPECT_TRUE(inference.ok());
    observed.learn(graph, *inference);
    return reordered_elements(observed.machine(), graph, *inference, graph.outputs()[0].node);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Observed, FedInputsSayHowLargeNamedExtentsAre) {
  ISOMER_JUDGE_OR_SKIP(judge);
  const NamedTensors feeds{{"x", Tensor::of<float>(ElementType::Float, {3, 2}, {0, 0, 0, 0, 0, 0})}};
  ObservedMachine observed(*judge, {}, folder_ / "out.onnx", feeds);
  const Graph graph = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 17]>\nagraph (float[n,m] x, float[k] z) => (y) {\ny = Relu(x)}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  observed.learn(graph, *inference);
  EXPECT_EQ(typical_size(Dim::symbol("n") * Dim(2) + Dim::symbol("m"), observed.machine()), 8);
  EXPECT_EQ(typical_size(Dim::symbol("k"), observed.machine()),
            typical_size(Dim::symbol("k"), unknown_machine()));
}

TEST_F(Observed, TheRuntimeTellsWhichConvolutionsAreBlocked) {
  ISOMER_JUDGE_OR_SKIP(judge);
  ObservedMachine machine(*judge, {}, folder_ / "out.onnx");
  EXPECT_EQ(is_blocked(machine, convolution("1,32,9,9", "32,32,1,1", 1024)), true);
  EXPECT_EQ(is_blocked(machine, convolution("1,30,9,9", "30,30,1,1", 900)), false);
  EXPECT_EQ(is_blocked(machine, convolution("1,32,9", "32,32,1", 1024)), false);
  EXPECT_EQ(is_blocked(machine, convolution("1,32,9,9", "32,1,1,1", 32, "<group=32>")), true);
  const std::size_t asked = machine.questions();
  EXPECT_EQ(is_blocked(machine, convolution("1,32,7,7", "32,32,1,1", 1024)), true);  // at another size: known
  EXPECT_EQ(machine.questions(), asked);
}

TEST_F(Observed, TheRuntimeTellsWhatBreaksItsLayout) {
  ISOMER_JUDGE_OR_SKIP(judge);
  ObservedMachine machine(*judge, {}, folder_ / "out.onnx");
  EXPECT_EQ(reordered(machine, "y = Relu(x)"), 0);
  EXPECT_EQ(reordered(machine, "y = Add(x, z)"), 0);
  EXPECT_EQ(reordered(machine, "y = Concat<axis=1>(x, z)"), 0);
  EXPECT_GT(reordered(machine, "y = Softmax<axis=1>(x)"), 0);
  EXPECT_GT(reordered(machine, "y = Transpose<perm=[0,1,3,2]>(x)"), 0);
}

// Compared with each other in one run; no time is asserted.
TEST_F(Observed, PricesAreThoseOfTheMachine) {
  ISOMER_JUDGE_OR_SKIP(judge);
  // Beside other processes a measurement may say anything; not always.
  const auto is_plausible = [&] {
    ObservedMachine machine(*judge, {}, folder_ / "out.onnx");
    const Prices& prices = machine.machine().prices;
    return prices.node > 100 &&      // a node is no operation
           prices.element > 0.05 &&  // memory is slower than arithmetic
           prices.depthwise > prices.convolution && prices.reordered > 0;
  };
  EXPECT_TRUE(is_plausible() || is_plausible() || is_plausible() || is_plausible() || is_plausible());
}

}  // namespace
}  // namespace isomer
