#include "kernel/certify/pairing.h"

#include <gtest/gtest.h>

#include "kernel/certify/check.h"
#include "kernel/certify/digest.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

Graph model(const std::string& inputs, const std::string& outputs, const std::string& body,
            const std::string& constants = "") {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" +
                         outputs + ") " + (constants.empty() ? "" : "<" + constants + ">") + "{\n" + body +
                         "\n}");
}

const std::string kIn = "float[N,3] x", kOut = "float[N,3] y";

PairedReport checked(const Graph& a, const Graph& b, const Pairing& pairing) {
  return check_pairing(a, b, pairing, 7);
}

TEST(Pairing, NodesThatDoTheSameNeedNoEquation) {
  const Graph a = model(kIn, kOut, "s = Sin(x)\ny = Exp(s)"),
              b = model(kIn, "float[N,3] z", "t = Sin(x)\nz = Exp(t)");
  EXPECT_FALSE(checked(a, b, {}).refusal) << *checked(a, b, {}).refusal;
  EXPECT_TRUE(checked(a, model(kIn, kOut, "s = Sin(x)\ny = Tanh(s)"), {}).refusal);
}

TEST(Pairing, AnEquationIsProvedOrRefused) {
  const Graph a = model(kIn, kOut, "s = Add(x, x)\ny = Sin(s)");
  const Graph b = model(kIn, kOut, "c = Constant<value_float=2.0>()\nt = Mul(x, c)\ny = Sin(t)");
  const Graph wrong = model(kIn, kOut, "c = Constant<value_float=3.0>()\nt = Mul(x, c)\ny = Sin(t)");
  const Pairing pairing{.moved = {}, .constants = {}, .equations = {{.a = "s", .b = "t"}}};
  EXPECT_TRUE(checked(a, b, {}).refusal);
  EXPECT_FALSE(checked(a, b, pairing).refusal) << *checked(a, b, pairing).refusal;
  EXPECT_EQ(checked(a, wrong, pairing).equation, 0);
}

TEST(Pairing, SurvivesItsText) {
  const Graph a =
      model(kIn, kOut, "k = Mul(v, w)\ny = Mul(x, k)", "float[3] v = {1, 2, 3}, float[3] w = {4, 5, 7}");
  const Graph b = model(kIn, kOut, "y = Mul(x, u)", "float[3] u = {4, 10.000001, 21}");
  Pairing pairing{
      .moved = {{.name = "m", .of = "y", .perm = {1, 0}, .begin = {}, .step = {}},
                {.name = "n", .of = "y", .perm = {}, .begin = {0, 0}, .step = {1, 2}}},
      .constants = {{.side = Side::B,
                     .name = "u",
                     .program = model("float[3] v, float[3] w", "float[3] k", "k = Mul(v, w)")}},
      .equations = {{.a = "y", .b = "y", .open = {}, .work = 1 << 20, .attempt = {}, .at_end = true}}};
  const Certificate certificate{.steps = {}, .pairing = pairing, .notes = {}};
  const auto read = parse_certificate(to_text(with_digests(certificate, a, b)));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const CheckReport report = check_certificate(a, b, *read, 7);
  EXPECT_TRUE(report.accepted) << report.reason;
  EXPECT_EQ(report.paired->constants_rounded, 1);
  // Another constant is another number.
  const Graph other = model(kIn, kOut, "y = Mul(x, u)", "float[3] u = {4, 10, 21.01}");
  EXPECT_FALSE(check_certificate(a, other, with_digests(*read, a, other), 7).accepted);
}

TEST(Pairing, WhatTheFirstModelDoesNotComputeIsEqualToNothing) {
  // dead is not on the way to y: A never divides by x.
  const Graph a = model(kIn, kOut, "dead = Reciprocal(x)\ny = Neg(x)");
  const Graph b = model(kIn, kOut, "r = Reciprocal(x)\nd = Sub(r, r)\nn = Neg(x)\ny = Add(n, d)");
  const Pairing pairing{.moved = {}, .constants = {}, .equations = {{.a = "y", .b = "y"}}};
  EXPECT_TRUE(checked(a, b, pairing).refusal);
}

TEST(Pairing, OutputsAreMatchedByTheirNames) {
  const std::string both = "float[N,3] y, float[N,3] w", turned = "float[N,3] w, float[N,3] y";
  const Graph a = model(kIn, both, "y = Neg(x)\nw = Abs(x)");
  EXPECT_FALSE(checked(a, model(kIn, turned, "y = Neg(x)\nw = Abs(x)"), {}).refusal);
  const Graph swapped = model(kIn, turned, "w = Neg(x)\ny = Abs(x)");
  EXPECT_TRUE(checked(a, swapped, {}).refusal);
  // By position only with the option, or if names differ; the report says so.
  const PairedReport asked =
      checked(a, swapped, {.by_position = true, .moved = {}, .constants = {}, .equations = {}});
  EXPECT_FALSE(asked.refusal);
  EXPECT_EQ(asked.renamed.size(), 2u);
  const PairedReport other =
      checked(a, model(kIn, "float[N,3] p, float[N,3] q", "p = Neg(x)\nq = Abs(x)"), {});
  EXPECT_FALSE(other.refusal);
  EXPECT_EQ(other.renamed.size(), 2u);
}

TEST(Pairing, EveryNodeOfTheSecondModelCounts) {
  const std::string in = "float[4] x, int64[1] i", out = "float[4] y, int64[1] w";
  const auto with = [&](const std::string& more) {
    return model(in, out, "y = Neg(x)\n" + more + "\nw = Identity(i)");
  };
  const Graph plain = with("");
  for (const std::string dead :
       {"d = Gather(x, i)", "d = Reshape(x, i)", "d = Expand(x, i)", "e = Neg(x)\nd = Gather(e, i)"}) {
    EXPECT_TRUE(checked(plain, with(dead), {}).refusal) << dead;
    EXPECT_FALSE(checked(with(dead), plain, {}).refusal) << dead;
    EXPECT_FALSE(checked(with(dead), with(dead), {}).refusal) << dead;
  }
  EXPECT_FALSE(checked(plain, with("d = Neg(x)"), {}).refusal);
}

// B has another last digit in its constant c, and is otherwise A.
PairedReport restated(const std::string& in, const std::string& body, const std::string& first,
                      const std::string& second, const std::string& more = "") {
  const auto with = [&](const std::string& c) {
    return model(in, "y", body, "float[1] c = {" + c + "}" + (more.empty() ? "" : ", " + more));
  };
  Pairing pairing;
  pairing.constants = {
      {.side = Side::B, .name = "c", .program = model("float[1] c", "float[1] r", "r = Identity(c)")}};
  pairing.equations = {{.a = "y", .b = "y", .open = {}, .work = 1 << 20, .attempt = {}, .at_end = true}};
  return checked(with(first), with(second), pairing);
}

TEST(Pairing, LastDigitsMayNotDecide) {
  const std::string x = "float[3] x";
  EXPECT_FALSE(restated(x, "y = Mul(x, c)", "3.0", "3.0000002").refusal);
  EXPECT_EQ(restated(x, "y = Mul(x, c)", "3.0", "3.0000002").constants_restated, 1);
  EXPECT_FALSE(restated(x, "y = Div(x, c)", "3.0", "3.0000002").refusal);
  const std::string norm = "q = Mul(x, x)\ns = Add(q, c)\nr = Sqrt(s)\ny = Div(x, r)";
  EXPECT_EQ(restated(x, norm, "0.001", "0.0010000002").refusal, std::nullopt);
  const std::string clipped = "a = Abs(x)\nm = Max(a, c)\ny = Div(x, m)";
  EXPECT_EQ(restated(x, clipped, "0.001", "0.0010000002").refusal, std::nullopt);
  for (const std::string body :
       {"y = Pow(x, c)", "t = Mul(x, c)\ny = Asin(t)", "t = Mul(x, c)\ny = Acos(t)",
        "t = Add(x, c)\ny = Acosh(t)", "t = Mul(x, c)\ny = Atanh(t)", "t = Add(x, c)\ny = Sqrt(t)",
        "t = Add(x, c)\ny = Log(t)", "t = Add(x, c)\ny = Div(x, t)", "t = Mul(x, c)\ny = Floor(t)"})
    EXPECT_TRUE(restated(x, body, "3.0", "3.0000002").refusal) << body;
  EXPECT_TRUE(
      restated("int64[3] x", "y = OneHot(x, c, v)", "4.0", "3.9999998", "float[2] v = {0, 1}").refusal);
}

TEST(Pairing, ANameThatIsTakenIsRefused) {
  const Graph a = model(kIn, kOut, "s = Sin(x)\ny = Exp(s)");
  const Pairing pairing{.moved = {{.name = "s", .of = "x", .perm = {1, 0}, .begin = {}, .step = {}}},
                        .constants = {},
                        .equations = {}};
  EXPECT_TRUE(checked(a, a, pairing).refusal);
}

}  // namespace
}  // namespace isomer
