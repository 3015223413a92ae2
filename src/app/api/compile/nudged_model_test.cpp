#include "app/api/compile/nudged_model.h"

#include <gtest/gtest.h>

#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/exact_in_time.h"
#include "app/api/model_state.h"
#include "base/temporary_folder.h"
#include "model/graph/testing.h"

namespace isomer::api {
namespace {

using isomer::testing::parsed;

Model model_of(const std::string& body) {
  isomer::Model model;
  model.graph = parsed(R"(<opset_import: ["" : 18]> m )" + body);
  model.ir_version = 8;
  return to_public(std::move(model));
}

TEST(NudgedModel, KnowsWhatJumps) {
  EXPECT_FALSE(
      has_jumps(model_of("(float[4] x) => (float[4] y) { a = Exp(x) y = Relu(a) }").state().model.graph));
  for (const char* jump :
       {"a = Round(x) y = Exp(a)", "a = Floor(x) y = Exp(a)", "c = Greater(x, x) y = Cast<to = 1>(c)",
        "q, s, z = DynamicQuantizeLinear(x) "
        "y = DequantizeLinear(q, s, z)"})
    EXPECT_TRUE(
        has_jumps(model_of(std::string("(float[4] x) => (float[4] y) {") + jump + "}").state().model.graph))
        << jump;
}

TEST(NudgedModel, ChangesLastDigitsOfNumbersThatAreNotWhole) {
  const Model model = model_of(
      "(float[3] x) => (float[3] y) { c = Constant<value_floats = [0.1, 2.0, 0.3]>() y = Add(x, c) }");
  const isomer::Graph& before = model.state().model.graph;
  bool has_changed = false;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const Model nudged = with_nudged_constants(model, seed);
    const isomer::Graph& after = nudged.state().model.graph;
    const auto c = *after.node(isomer::testing::value_named(after, "c").node).tensor.doubles();
    EXPECT_NEAR(c[0], 0.1F, 1e-7);
    EXPECT_EQ(c[1], 2);
    has_changed = has_changed || c[0] != 0.1F;
    EXPECT_EQ(after.outputs().size(), before.outputs().size());
  }
  EXPECT_TRUE(has_changed);
}

TEST(ExactInTime, EndsWhenItsTimeIsOver) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path(), "isomer-exact");
  const Model model = model_of("(float[3] x) => (float[3] y) { y = Neg(x) }");
  const NamedTensors feeds{
      {"x", isomer::Tensor::of(isomer::ElementType::Float, {3}, std::vector<float>{1, 2, 3})}};
  const auto within = [&](double seconds, bool is_stopped) {
    return exact_outputs_within(
        model.state().model.graph, feeds, 1e9, seconds, [&] { return is_stopped; },
        std::filesystem::path(folder.path()) / "exact.npz");
  };
  const auto exact = within(60, false);
  ASSERT_TRUE(exact);
  EXPECT_EQ(*exact->at("y").doubles(), (std::vector<double>{-1, -2, -3}));
  EXPECT_FALSE(within(0, false));
  EXPECT_FALSE(within(60, true));
}

}  // namespace
}  // namespace isomer::api
