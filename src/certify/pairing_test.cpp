#include "certify/pairing.h"

#include <gtest/gtest.h>

#include "certify/check.h"
#include "certify/digest.h"
#include "graph/testing.h"

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

TEST(Pairing, ANameThatIsTakenIsRefused) {
  const Graph a = model(kIn, kOut, "s = Sin(x)\ny = Exp(s)");
  const Pairing pairing{.moved = {{.name = "s", .of = "x", .perm = {1, 0}, .begin = {}, .step = {}}},
                        .constants = {},
                        .equations = {}};
  EXPECT_TRUE(checked(a, a, pairing).refusal);
}

}  // namespace
}  // namespace isomer
