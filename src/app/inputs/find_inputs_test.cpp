#include "app/inputs/find_inputs.h"

#include "app/inputs/compared_numbers.h"
#include "app/inputs/model_feeds.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::weight;

FoundInputs found(const Graph& graph, const TryInputs& run = {}) {
  auto out = find_inputs({.graphs = {&graph}, .sizes = {{}}, .run = run});
  if (!out.ok()) throw std::runtime_error(out.error().message);
  return std::move(*out);
}

// A runtime that takes what fits, and counts.
struct Picky {
  std::function<bool(const NamedTensors&)> fits;
  int asked = 0;
  TryInputs run() {
    return [this](const NamedTensors& feeds) {
      ++asked;
      return fits(feeds) ? Tried{Tried::Kind::Runs} : Tried{Tried::Kind::Refused, "Name:'only' no"};
    };
  }
};

const char* const kOpen = R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, length] x) => (y) { y = Relu(x) })";

TEST(FindInputs, TakesTheSizeThatAConstantDemands) {
  const auto at_height = found(parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, 3, height, 5] x) => (y) <)" +
                                      weight("w", "48, 2", 96, 1) + R"(> {
      t = Transpose<perm = [0, 1, 3, 2]>(x)
      y = MatMul(t, w)
    })"));
  EXPECT_EQ(at_height.tensors.at("x").extents(), (Extents{1, 3, 48, 5}));
  EXPECT_EQ(at_height.words, "batch=1 assumed; height=48 found, which the model's constants require");
}

TEST(FindInputs, SolvesForASizeThatIsNotUsual) {
  const auto tables = found(parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, a] x, float[batch, b] z) => (y, w) <)" +
                                   weight("u", "83, 2", 166, 1) + ", " + weight("v", "137, 2", 274, 1) +
                                   R"(> {
      y = MatMul(x, u)
      w = MatMul(z, v)
    })"));
  EXPECT_EQ(tables.tensors.at("x").extents(), (Extents{1, 83}));
  EXPECT_EQ(tables.tensors.at("z").extents(), (Extents{1, 137}));
}

TEST(FindInputs, AsksTheRuntimeWhatInferenceLetsThrough) {
  const Graph graph = parsed(kOpen);
  Picky runtime{[](const NamedTensors& feeds) { return feeds.at("x").extents()[1] == 32; }};
  const auto at = found(graph, runtime.run());
  EXPECT_EQ(at.tensors.at("x").extents(), (Extents{1, 32}));
  EXPECT_EQ(at.words, "batch=1 assumed; length=32 found, which the runtime runs");
  EXPECT_GT(runtime.asked, 1);
}

TEST(FindInputs, ChangesAllBatchesAtOnce) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 3] x, float[m, 3] z) => (y, w) { y = Relu(x) w = Relu(z) })");
  Picky runtime{[](const NamedTensors& feeds) {
    return feeds.at("x").extents()[0] == 4 && feeds.at("z").extents()[0] == 4;
  }};
  EXPECT_EQ(found(graph, runtime.run()).tensors.at("z").extents(), (Extents{4, 3}));
}

TEST(FindInputs, DoesNotAskWhereNothingIsOpen) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (y) { y = Relu(x) })");
  Picky runtime{[](const NamedTensors&) { return false; }};
  EXPECT_EQ(found(graph, runtime.run()).words, "");
  EXPECT_EQ(runtime.asked, 0);
}

TEST(FindInputs, SaysWhatWasTriedAndWhatToTypeWhereNothingRuns) {
  const Graph graph = parsed(kOpen);
  Picky runtime{[](const NamedTensors&) { return false; }};
  const auto none = find_inputs({.graphs = {&graph}, .sizes = {{}}, .run = runtime.run()});
  ASSERT_FALSE(none.ok());
  for (const char* part : {"--shape batch=1", "--shape length=128", "--feeds F.npz", "Name:'only' no"})
    EXPECT_NE(none.error().message.find(part), std::string::npos) << none.error().message;
  EXPECT_LT(runtime.asked, 100);
}

TEST(FindInputs, LeavesWhatTheRuntimeCannotTellToTheCommand) {
  const Graph graph = parsed(kOpen);
  int asked = 0;
  const auto at = found(graph, [&](const NamedTensors&) {
    ++asked;
    return Tried{};
  });
  EXPECT_EQ(at.tensors.at("x").extents(), (Extents{1, 128}));
  EXPECT_EQ(asked, 1);
}

TEST(FindInputs, KnowsNamesOfSamplesStatesAndRates) {
  const auto speech = found(parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, samples] x, float[2, m, 128] state, int64 sr, int64[n] x_lens) => (y, s, r, l) {
      y = Relu(x) s = Relu(state) r = Identity(sr) l = Identity(x_lens)
    })"));
  EXPECT_EQ(speech.tensors.at("x").extents(), (Extents{1, 16000}));
  EXPECT_EQ(speech.tensors.at("state").extents(), (Extents{2, 1, 128}));
  EXPECT_EQ(speech.tensors.at("sr").integers()->front(), 16000);
  EXPECT_EQ(speech.tensors.at("x_lens").integers()->front(), 16000);
}

TEST(ComparedNumbers, AreFoundBehindCastsAndInBodies) {
  Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (int64 rate, float[2] x) => (e, f, y) <int64 k = {22050}, int64 l = {3}> {
      e = Equal(rate, k)
      c = Cast<to = 7>(rate)
      f = Greater(c, l)
      y = Relu(x)
    })");
  const Graph branch = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    b (int64 inner) => (h) <int64 m = {11025}> { h = Equal(m, inner) })");
  Node choice;
  choice.op = "If";
  choice.inputs = {graph.outputs()[0]};
  choice.captures = {graph.inputs()[0]};
  choice.outputs = {"z"};
  choice.bodies.push_back({"then_branch", std::make_shared<const Graph>(branch), {0}});
  graph.add_output({graph.add(choice), 0});
  EXPECT_EQ(compared_numbers(graph, graph.inputs()[0]), (std::vector<double>{22050, 11025, 4, 3, 2}));
  EXPECT_TRUE(compared_numbers(graph, graph.inputs()[1]).empty());
}

TEST(FeedsFor, FillsInputsWithGivenNumbers) {
  const Graph graph = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (int64 sr, float[2, 2] x) => (y, z) { y = Identity(sr) z = Relu(x) })");
  const auto feeds = feeds_for({&graph}, {.values = {"sr=8000", "x=0.5"}});
  ASSERT_TRUE(feeds.ok()) << feeds.error().message;
  EXPECT_EQ(feeds->tensors.at("sr").integers()->front(), 8000);
  EXPECT_EQ(*feeds->tensors.at("x").doubles(), (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(feeds->words, "sr scalar = 8000, x 2x2 = 0.5");
  for (const char* wrong : {"sr", "sr=", "sr=many", "sr=1x", "z=1", "sr=0.5", "sr=1e30"})
    EXPECT_FALSE(feeds_for({&graph}, {.values = {wrong}}).ok()) << wrong;
}

}  // namespace
}  // namespace isomer
