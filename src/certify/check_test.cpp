#include "certify/check.h"

#include <gtest/gtest.h>

#include "graph/testing.h"

namespace isomer {
namespace {

Graph program(const std::string& text) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
}

// A product of two scalings, which one scaling can do.
const std::string kModel =
    "agraph (float[N,3] x) => (float[N,3] y) <float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6}> {\n"
    "t = Mul(x, a)\nz = Mul(t, b)\ny = Relu(z)}";

Claim merge_scalings(const std::string& body = "k = Mul(a, b)\nw = Mul(x, k)") {
  return {.inputs = {"x"},
          .outputs = {"z"},
          .after = program("agraph (float[N,3] x, float[3] a, float[3] b) => (float[N,3] w) {" + body + "}")};
}

Graph optimized() {
  const auto proved = prove_claim(program(kModel), merge_scalings());
  EXPECT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
  auto folded = fold_constants(std::get<Graph>(proved), {"k"});
  EXPECT_TRUE(folded.ok());
  return *folded;
}

Certificate honest() { return {.steps = {merge_scalings(), FoldStep{{"k"}}}, .notes = {}}; }

TEST(Step, IsTakenWhereItIsProved) {
  const Graph result = optimized();
  EXPECT_EQ(result.operator_count(), 2u);
  // What was replaced keeps its name, and the constant is the exact product, rounded once.
  bool seen = false;
  for (const NodeId id : result.order()) {
    const Node& node = result.node(id);
    if (node.kind != NodeKind::Initializer) continue;
    EXPECT_EQ(node.tensor.doubles(), (std::vector<double>{4, 10, 18}));
    seen = true;
  }
  EXPECT_TRUE(seen);
}

TEST(Step, IsRefusedWhereItIsNot) {
  const auto wrong = prove_claim(program(kModel), merge_scalings("k = Mul(a, a)\nw = Mul(x, k)"));
  EXPECT_TRUE(std::holds_alternative<std::string>(wrong));
  // A region that depends on more than the claim says.
  Claim blind = merge_scalings();
  blind.inputs = {};
  EXPECT_TRUE(std::holds_alternative<std::string>(prove_claim(program(kModel), blind)));
  // A name that is taken.
  EXPECT_TRUE(std::holds_alternative<std::string>(
      prove_claim(program(kModel), merge_scalings("t = Mul(a, b)\nw = Mul(x, t)"))));
}

TEST(Step, OwnConstantsDoNotPassForTheModels) {
  // Proved with its own a = {4, 10, 18}, it would be applied with the model's {1, 2, 3}.
  const Claim own{.inputs = {"x"},
                  .outputs = {"z"},
                  .after = program("agraph (float[N,3] x) => (float[N,3] w) <float[3] a = {4, 10, 18}> {\n"
                                   "w = Mul(x, a)}")};
  EXPECT_TRUE(std::holds_alternative<std::string>(prove_claim(program(kModel), own)));
}

TEST(Certificate, SurvivesItsText) {
  const auto read = parse_certificate(to_text(honest()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const CheckReport report = check_certificate(program(kModel), optimized(), *read, 7);
  EXPECT_TRUE(report.accepted) << report.reason;
  EXPECT_EQ(report.steps, 2);
}

TEST(Certificate, IsRejectedForAnythingElse) {
  const Graph in = program(kModel), out = optimized();
  Certificate none;
  EXPECT_FALSE(check_certificate(in, out, none, 7).accepted);
  Certificate unfolded = honest();
  unfolded.steps.pop_back();
  EXPECT_FALSE(check_certificate(in, out, unfolded, 7).accepted);
  Certificate swapped = honest();
  std::swap(swapped.steps[0], swapped.steps[1]);
  EXPECT_FALSE(check_certificate(in, out, swapped, 7).accepted);
  // One element of one constant of IN is another one.
  std::string other = kModel;
  other.replace(other.find("4, 5, 6"), 7, "4, 5, 7");
  EXPECT_FALSE(check_certificate(program(other), out, honest(), 7).accepted);
  // OUT does a little more.
  EXPECT_FALSE(check_certificate(in, in, honest(), 7).accepted);
  EXPECT_TRUE(check_certificate(in, in, none, 7).accepted);
}

TEST(Certificate, UnknownFieldsAreRefused) {
  EXPECT_FALSE(parse_certificate("").ok());
  EXPECT_FALSE(parse_certificate("{\"isomer_certificate\":2}\n").ok());
  const std::string head = "{\"isomer_certificate\":1}\n";
  EXPECT_TRUE(parse_certificate(head).ok());
  EXPECT_FALSE(parse_certificate(head + "{\"fold\":[\"k\"],\"trust\":true}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"fold\":\"k\"}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "[]\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"replace\":[\"z\"],\"from\":[\"x\"],\"by\":\"agraph\"}\n").ok());
}

}  // namespace
}  // namespace isomer
