#include "kernel/prove/widen.h"

#include <gtest/gtest.h>

#include "kernel/prove/witness.h"
#include "model/graph/interpret.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

Graph model(const std::string& text) { return parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text); }

std::string operators(const Graph& graph) {
  std::string out;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) out += (out.empty() ? "" : " ") + graph.node(id).op;
  return out;
}

std::string why_not(const std::string& text, const std::vector<std::string>& values) {
  const auto wide = widen(model(text), values);
  return wide.ok() ? "widened: " + operators(*wide) : wide.error().message;
}

std::vector<std::string> all_widenable(const Graph& graph) {
  std::vector<std::string> out;
  for (const NodeId id : widenable(graph, *infer(graph)))
    for (const std::string& name : graph.node(id).outputs) out.push_back(name);
  return out;
}

Graph widened(const Graph& graph) {
  auto wide = widen(graph, all_widenable(graph));
  if (!wide.ok()) throw std::runtime_error(wide.error().message);
  return *wide;
}

// The text has float16 as bits: 15360 is 1, 14336 is 0.5.
const std::string kBlock =
    "agraph (float16[2,3] x) => (float16[2,3] y) <float16[3,3] w = "
    "{15360,15361,15362,15363,15364,15365,15366,"
    "15367,15368}, float16 k = {14336}> {\n"
    "a = MatMul(x, w)\nb = Mul(a, k)\ny = Relu(b)}";

TEST(Widen, ComputesInFloatFromBorderToBorder) {
  const Graph wide = widened(model(kBlock));
  EXPECT_EQ(operators(wide), "Cast Cast MatMul Mul Relu Cast");
  const auto info = infer(wide);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->of(wide.outputs()[0]).type, ElementType::Float16);
  EXPECT_EQ(wide.name_of(wide.outputs()[0]), "y");
  EXPECT_EQ(info->of(value_named(wide, "a_wide")).type, ElementType::Float);
  // Weights stay as they are stored; a single number is a constant.
  EXPECT_EQ(wide.node(value_named(wide, "w").node).tensor.type(), ElementType::Float16);
  EXPECT_EQ(wide.node(value_named(wide, "k_wide").node).kind, NodeKind::Initializer);
}

// Over a finite field, which rounds nothing, both are one program.
TEST(Widen, ChangesNothingButRounding) {
  const Graph before = model(kBlock), after = widened(before);
  EXPECT_EQ(field_witness(before, after, {}).outcome, WitnessReport::Outcome::Agree);
}

TEST(Widen, CastsBackWhatOthersRead) {
  const Graph graph = model(kBlock);
  const auto wide = widen(graph, {"a"});
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(operators(*wide), "Cast Cast MatMul Cast Mul Relu");
}

TEST(Widen, ReadsAValueOfTheModelOnce) {
  const Graph wide = widened(
      model("agraph (float16[2,3] x) => (float16[2,3] y) {\na = Exp(x)\nb = Tanh(x)\ny = Add(a, b)}"));
  EXPECT_EQ(operators(wide), "Cast Exp Tanh Add Cast");
}

TEST(Widen, NeverDropsACastToFewerBits) {
  const std::string text =
      "agraph (float[2,3] x) => (float[2,3] y) {\nh = Cast<to=10>(x)\na = Exp(h)\nn = Cast<to=1>(a)\n"
      "m = Cast<to=10>(n)\nb = Tanh(m)\ny = Cast<to=1>(b)}";
  EXPECT_EQ(why_not(text, {"h"}), "Cast producing h: in float32 it has another formula");
  EXPECT_EQ(why_not(text, {"m"}), "Cast producing m: in float32 it has another formula");
  // Both stay, as borders.
  EXPECT_EQ(operators(widened(model(text))), "Cast Cast Exp Cast Cast Tanh");
}

TEST(Widen, NeverDropsAnIntegersRounding) {
  const std::string text =
      "agraph (int64[3] x, float16[3] z) => (float16[3] y) {\nh = CastLike(x, z)\ny = Add(h, z)}";
  EXPECT_EQ(why_not(text, {"h"}), "CastLike producing h: in float32 it has another formula");
  const std::string cast =
      "agraph (int64[3] x, float16[3] z) => (float16[3] y) {\nh = Cast<to=10>(x)\ny = Add(h, z)}";
  EXPECT_EQ(why_not(cast, {"h"}), "Cast producing h: in float32 it has another formula");
}

TEST(Widen, CastsTruthValuesAtOnce) {
  const Graph graph =
      model("agraph (bool[3] x, float16[3] z) => (float16[3] y) {\nh = Cast<to=10>(x)\ny = Mul(h, z)}");
  EXPECT_EQ(operators(widened(graph)), "Cast Cast Mul Cast");
}

// Sizes may follow from these: what the last digits decide is decided in 16 bits, as before.
TEST(Widen, DecidesNothingInOtherDigits) {
  const std::string text =
      "agraph (float16[3] x) => (int64[1] i, bool[3] c, int64[3] n) <float16[3] k = {15360,15361,15362}> {\n"
      "e = Exp(x)\ni = ArgMax(e)\nc = Less(e, k)\nn = Cast<to=7>(e)}";
  for (const std::string name : {"i", "c", "n"})
    EXPECT_NE(why_not(text, {name}).find("it makes something else of 16-bit floats"), std::string::npos)
        << name;
  EXPECT_EQ(all_widenable(model(text)), std::vector<std::string>{"e"});
  EXPECT_EQ(operators(widened(model(text))), "Cast Exp Cast ArgMax Less Cast");
  const std::string known =
      "agraph (float16[12] x) => (float16[A] y) <float16[1] k = {18432}, float16[1] t = {11878}> {\n"
      "p = Mul(k, t)\nn = Cast<to=7>(p)\ne = Exp(x)\ny = Tile(e, n)}";
  EXPECT_NE(why_not(known, {"p"}).find("its value is known before the model runs"), std::string::npos)
      << why_not(known, {"p"});
  for (const std::string& name : all_widenable(model(known))) EXPECT_TRUE(name == "e" || name == "y") << name;
}

TEST(Widen, LeavesUnknownOperatorsAlone) {
  const Graph graph =
      model("agraph (float16[3] x) => (float16[3] y) {\na = Exp(x)\nb = test.domain.Thing(a)\ny = Exp(b)}");
  const auto info = infer(graph);
  ASSERT_TRUE(info.ok());
  for (const NodeId id : widenable(graph, *info)) EXPECT_NE(graph.node(id).op, "Thing");
}

TEST(Widen, RefusesWhatHasNoHalves) {
  EXPECT_EQ(why_not("agraph (float[3] x) => (float[3] y) {\ny = Exp(x)}", {"y"}),
            "Exp producing y: it has no 16-bit floats");
  EXPECT_EQ(why_not(kBlock, {"w"}), "w: it is no operator without subgraphs");
  EXPECT_EQ(why_not(kBlock, {"nobody"}), "no value is named nobody");
}

TEST(Widen, RefusesANameThatIsTaken) {
  EXPECT_EQ(
      why_not("agraph (float16[3] x, float16[3] x_wide) => (float16[3] y) {\na = Exp(x)\ny = Add(a, x_wide)}",
              {"a"}),
      "the name x_wide is taken");
}

TEST(Widen, KeepsTheNamesOfOutputs) {
  const Graph graph = model(
      "agraph (float16[3] x) => (float16[3] a, float16[3] y, int64[1] n) {\na = Exp(x)\ny = Exp(a)\n"
      "n = Shape(y)}");
  const Graph wide = widened(graph);
  std::vector<std::string> names;
  for (const Value& v : wide.outputs()) names.push_back(wide.name_of(v));
  EXPECT_EQ(names, (std::vector<std::string>{"a", "y", "n"}));
  const auto info = infer(wide);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->of(wide.outputs()[0]).type, ElementType::Float16);
  EXPECT_EQ(info->of(wide.outputs()[2]).integers, Dims{Dim(3)});
}

// What follows from sizes is known there, too.
TEST(Widen, FollowsShapes) {
  const Graph graph = model(
      "agraph (float16[N,4] x) => (float16[A,B] y) <int64[1] m = {-1}, int64[1] zero = {0}> {\n"
      "s = Shape(x)\nn = Gather(s, zero)\nt = Concat<axis=0>(m, n)\na = Exp(x)\ny = Reshape(a, t)}");
  EXPECT_EQ(operators(widened(graph)).find("Reshape") != std::string::npos, true);
  EXPECT_EQ(all_widenable(graph).size(), 3u);  // Shape, Exp, Reshape
}

}  // namespace
}  // namespace isomer
