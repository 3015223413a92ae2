#include "model/graph/interpret.h"

#include "model/graph/program_cache.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

Tensor floats(Extents extents, const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, std::move(extents), values);
}
Tensor integers(Extents extents, const std::vector<std::int64_t>& values) {
  return Tensor::of(ElementType::Int64, std::move(extents), values);
}

RunOutcome outcome(std::string_view model, const NamedTensors& feeds,
                   Arithmetic arithmetic = Arithmetic::Native) {
  auto result = interpret(parsed(model), feeds, arithmetic);
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

std::vector<double> run(std::string_view model, const NamedTensors& feeds, std::string_view output = "y",
                        Arithmetic arithmetic = Arithmetic::Native) {
  const RunOutcome done = outcome(model, feeds, arithmetic);
  if (done.opaque) throw std::runtime_error(done.opaque->node + ": " + done.opaque->reason);
  return *done.outputs.find(output)->second.doubles();
}

std::string refusal(std::string_view model, const NamedTensors& feeds) {
  const auto result = interpret(parsed(model), feeds);
  return result.ok() ? "accepted" : result.error().message;
}

constexpr std::string_view kAffine = R"(<opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 2] y)
  <float[2] w = {2, -3}, float b = {1}> {
    t = Mul (x, w)
    u = Add (t, b)
    y = Relu (u)
  })";

TEST(Interpret, RunsAGraphNodeByNode) {
  EXPECT_EQ(run(kAffine, {{"x", floats({2, 2}, {1, 1, 2, -2})}}), (std::vector<double>{3, 0, 5, 7}));
}

TEST(Interpret, DoubleRoundsWhereTheModelCastsToANarrowerFloat) {
  const std::string_view cut = R"(<opset_import: ["" : 18]> g (float[2] x) => (y) {
    h = Cast <to = 16> (x)
    y = Cast <to = 1> (h)
  })";
  const NamedTensors feeds{{"x", floats({2}, {1.0009765625F, 3})}};
  EXPECT_EQ(run(cut, feeds, "y", Arithmetic::Double), (std::vector<double>{1, 3}));
  EXPECT_EQ(run(cut, feeds, "y", Arithmetic::Faithful), (std::vector<double>{1, 3}));
}

TEST(Interpret, FaithfulTakesJumpsFromTheStoredTypesAndDigitsFromDouble) {
  // As real numbers 10 · 0.1f is more than 1; in float32 it is 1.
  const std::string_view model = R"(<opset_import: ["" : 18]> g (float[2] x) => (y, z)
    <float[1] tenth = {0.1}> {
    p = Mul (x, tenth)
    c = Ceil (p)
    y = Mul (c, tenth)
    z = Mul (p, tenth)
  })";
  const NamedTensors feeds{{"x", floats({2}, {10, 25})}};
  const double tenth = static_cast<double>(0.1F);
  EXPECT_EQ(run(model, feeds, "y", Arithmetic::Double), (std::vector<double>{2 * tenth, 3 * tenth}));
  EXPECT_EQ(run(model, feeds, "y", Arithmetic::Faithful), (std::vector<double>{tenth, 3 * tenth}));
  EXPECT_EQ(run(model, feeds, "z", Arithmetic::Faithful),
            (std::vector<double>{10 * tenth * tenth, 25 * tenth * tenth}));
}

TEST(Interpret, NothingIsCertainWhereRuntimesMayDifferInTheDigitsThatDecide) {
  const auto is_certain = [](const std::string& body) {
    return !outcome(
                "<opset_import: [\"\" : 18]> g () => (y) <float[2] a = {16.0, 5.0}, float[1] b = {2.0}, "
                "float[2] c = {10.0, 20.0}, float[1] tenth = {0.1}> {" +
                    body + "}",
                {}, Arithmetic::Certain)
                .opaque;
  };
  // One product is rounded alike everywhere; logarithms are not, and log 16 / log 2 is 4 or less.
  EXPECT_TRUE(is_certain("p = Mul (c, tenth) y = Ceil (p)"));
  EXPECT_FALSE(is_certain("p = Log (a) q = Log (b) r = Div (p, q) y = Floor (r)"));
  EXPECT_TRUE(is_certain("p = Log (a) q = Log (b) y = Div (p, q)"));
  // Nor are sums, but for those that round nothing.
  EXPECT_TRUE(is_certain("p = ReduceSum (a) y = Floor (p)"));
  EXPECT_FALSE(is_certain("m = Mul (c, tenth) n = Exp (m) k = Log (n) y = Floor (k)"));
  // Far from the jump digits decide nothing.
  EXPECT_TRUE(is_certain("p = Log (c) q = Log (b) r = Div (p, q) y = Floor (r)"));
}

TEST(Interpret, ComputesInDoubleWhereAsked) {
  const RunOutcome done = outcome(kAffine, {{"x", floats({1, 2}, {0.1f, 0})}}, Arithmetic::Double);
  const Tensor& y = done.outputs.at("y");
  EXPECT_EQ(y.type(), ElementType::Double);
  EXPECT_EQ(y.as<double>()[0], 2 * static_cast<double>(0.1f) + 1);
}

TEST(Interpret, ComputesInTheFieldWhereAsked) {
  const RunOutcome done = outcome(R"(<opset_import: ["" : 17]> g (float[1] x) => (y) <float[1] h = {0.5}> {
    t = Mul (x, h)
    y = Add (t, t)
  })",
                                  {{"x", floats({1}, {3})}}, Arithmetic::Field);
  const Tensor& y = done.outputs.at("y");
  EXPECT_EQ(y.type(), ElementType::Field);
  EXPECT_EQ(y.as<std::uint64_t>()[0], 3u);
}

TEST(Interpret, LetsTheCallerOverrideAnInitializer) {
  constexpr std::string_view kModel =
      R"(<opset_import: ["" : 17]> g (float[1] x, float[1] v = {2}) => (y) { y = Mul (x, v) })";
  EXPECT_EQ(run(kModel, {{"x", floats({1}, {3})}}), (std::vector<double>{6}));
  EXPECT_EQ(run(kModel, {{"x", floats({1}, {3})}, {"v", floats({1}, {5})}}), (std::vector<double>{15}));
}

TEST(Interpret, LooksAtValuesThatAreComputedAtRunTime) {
  EXPECT_EQ(run(R"(<opset_import: ["" : 17]> g (float[2, 3] x, int64[2] s) => (y) {
    two = Constant <value_ints = [1, 1]> ()
    t = Mul (s, two)
    y = Reshape (x, t)
  })",
                {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {"s", integers({2}, {3, -1})}}),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Interpret, NeverReusesAProgramForOtherIntegers) {
  constexpr std::string_view kModel =
      R"(<opset_import: ["" : 17]> g (float[2, 3] x, int64[2] s, int64[2] t) => (y, z) {
    y = Reshape (x, s)
    z = Reshape (x, t)
  })";
  const RunOutcome done = outcome(kModel, {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})},
                                           {"s", integers({2}, {3, 2})},
                                           {"t", integers({2}, {1, 6})}});
  EXPECT_EQ(done.outputs.at("y").extents(), (Extents{3, 2}));
  EXPECT_EQ(done.outputs.at("z").extents(), (Extents{1, 6}));
}

TEST(Interpret, StopsAtANodeWithoutAFormula) {
  const RunOutcome done = outcome(R"(<opset_import: ["" : 17, "custom" : 1]> g (float[1] x) => (y) {
    [odd] t = custom.Op (x)
    y = Relu (t)
  })",
                                  {{"x", floats({1}, {1})}});
  ASSERT_TRUE(done.opaque);
  EXPECT_EQ(done.opaque->node, "odd");
  EXPECT_EQ(done.opaque->op, "Op");
  EXPECT_EQ(done.opaque->reason, "custom domain custom");
  EXPECT_TRUE(done.outputs.empty());
}

TEST(Interpret, DoesNotRunWhatNoOutputDependsOn) {
  EXPECT_EQ(run(R"(<opset_import: ["" : 17, "custom" : 1]> g (float[1] x, seq(float[1]) s) => (y) {
    t = custom.Op (x, s)
    y = Relu (x)
  })",
                {{"x", floats({1}, {1})}}),
            (std::vector<double>{1}));
}

TEST(Interpret, StopsAtInputsThatAreNoTensors) {
  const RunOutcome done =
      outcome(R"(<opset_import: ["" : 17]> g (seq(float[1]) s) => (y) { y = Relu (s) })", {});
  ASSERT_TRUE(done.opaque);
  EXPECT_EQ(done.opaque->reason, "the input is not a tensor");
}

TEST(Interpret, PassesStringsThroughAndStopsWhereTheyAreComputedWith) {
  constexpr std::string_view kModel = R"(<opset_import: ["" : 17]> g (string[1] s) => (s) {})";
  EXPECT_EQ(outcome(kModel, {{"s", Tensor({1}, {"a"})}}).outputs.at("s").strings()[0], "a");
  EXPECT_TRUE(outcome(R"(<opset_import: ["" : 17]> g (string[1] s) => (y) { y = Relu (s) })",
                      {{"s", Tensor({1}, {"a"})}})
                  .opaque ||
              !interpret(parsed(R"(<opset_import: ["" : 17]> g (string[1] s) => (y) { y = Relu (s) })"),
                         {{"s", Tensor({1}, {"a"})}})
                   .ok());
}

TEST(Interpret, ChecksFeedsAgainstTheInputs) {
  constexpr std::string_view kModel =
      R"(<opset_import: ["" : 17]> g (float[N, 2] x, float[N] z) => (y) { y = Relu (x) })";
  const Tensor x = floats({1, 2}, {1, 2}), z = floats({1}, {1});
  EXPECT_EQ(refusal(kModel, {{"x", x}, {"z", z}}), "accepted");
  EXPECT_EQ(refusal(kModel, {{"x", x}}), "input z: not given, expected float[N]");
  EXPECT_EQ(refusal(kModel, {{"x", integers({1, 2}, {1, 2})}, {"z", z}}),
            "input x: expected float, got int64");
  EXPECT_EQ(refusal(kModel, {{"x", floats({2}, {1, 2})}, {"z", z}}),
            "input x: expected shape float[N, 2], got float[2]");
  EXPECT_EQ(refusal(kModel, {{"x", x}, {"z", floats({2}, {1, 1})}}),
            "input z: expected shape float[N], got float[2], where N is 1");
  EXPECT_EQ(refusal(kModel, {{"x", x}, {"z", z}, {"q", z}}), "no input is named q");
}

TEST(Interpret, NamesTheNodeWhoseEvaluationFails) {
  const auto result = interpret(
      parsed(R"(<opset_import: ["" : 17]> g (int64[1] x, int64[1] d) => (y) { [bad] y = Div (x, d) })"),
      {{"x", integers({1}, {1})}, {"d", integers({1}, {0})}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().node, "bad");
  EXPECT_EQ(result.error().message.substr(0, 5), "bad: ");
}

TEST(Interpret, RefusesTensorsThatNoMachineHolds) {
  EXPECT_NE(
      refusal(R"(<opset_import: ["" : 17]> g (float[1] x) => (y) <int64[3] s = {1000000, 1000000, 1000}> {
    [huge] y = Expand (x, s)
  })",
              {{"x", floats({1}, {1})}})
          .find("too large"),
      std::string::npos);
}

TEST(ProgramCache, CompilesEqualBlocksOnceWhateverTheirWeights) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => ()
    <float[2] a = {1, 2}, float[2] b = {3, 4}, float[1] c = {5}> {
    p = Mul (x, a)
    q = Mul (x, b)
    r = Mul (x, c)
  })");
  ProgramCache cache(graph, Arithmetic::Native, false);
  const auto argument = [](const Tensor& t) { return Argument{t.type(), t, t}; };
  const Tensor x = floats({2}, {1, 1});
  for (const char* output : {"p", "q", "r"}) {
    const Node& node = graph.node(testing::value_named(graph, output).node);
    const Tensor& weight = graph.node(node.inputs[1].node).tensor;
    const auto answer = cache.find(node, {argument(x), argument(weight)});
    EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const Compiled>>(answer));
  }
  EXPECT_EQ(cache.compiled_count(), 2u);
}

TEST(Interpret, RunsAChainOf200000NodesInLittleMemory) {
  const auto result = interpret(testing::relu_chain(200'000), {{"x", floats({1, 4}, {1, -1, 2, -2})}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result->outputs.at("v199999").doubles(), (std::vector<double>{1, 0, 2, 0}));
}

}  // namespace
}  // namespace isomer
