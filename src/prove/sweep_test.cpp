#include "prove/sweep.h"

#include <gtest/gtest.h>

#include "graph/constant.h"
#include "graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

Graph program(const std::string& inputs, const std::string& outputs, const std::string& body,
              const std::string& initializers = "") {
  return parsed("<ir_version: 8, opset_import: [\"\" : 18, \"my.own\" : 1]>\nagraph (" + inputs + ") => (" +
                outputs + ") " + (initializers.empty() ? "" : "<" + initializers + ">") + "{\n" + body +
                "\n}");
}

// Both models, and a sweep that has seen all of the second.
struct Both {
  Both(Graph x, Graph y)
      : a(std::move(x)), b(std::move(y)), a_info(*infer(a)), b_info(*infer(b)), sweep(a, a_info, b, b_info) {
    for (const NodeId id : b.order()) sweep.add_to_b(id);
  }
  bool same(const std::string& x, const std::string& y) const {
    return sweep.class_of(Side::A, value_named(a, x)) == sweep.class_of(Side::B, value_named(b, y));
  }
  bool prove(const std::string& x, const std::string& y, const std::set<int>& open = {}) {
    return std::holds_alternative<Proved>(
        sweep.prove(value_named(a, x), value_named(b, y), open, cache, {.refute = false}));
  }
  Graph a, b;
  Inference a_info, b_info;
  Sweep sweep;
  ProofCache cache;
};

TEST(Sweep, EqualOperatorsOfEqualInputsAreOneClass) {
  const Both both(program("float[N] x", "float[N] y", "s = Sin(x)\nt = Neg(s)\ny = Exp(t)"),
                  program("float[N] x", "float[N] z", "a = Sin(x)\nb = Neg(a)\nz = Exp(b)"));
  EXPECT_TRUE(both.same("y", "z"));
  EXPECT_FALSE(both.same("s", "z"));
}

TEST(Sweep, UnmodelledOperatorsAreFunctionsOfTheirInputs) {
  const std::string call = " = NonMaxSuppression(x, s)\n",
                    in = "float[1,9,4] x, float[1,1,9] s, float[1,1,9] r";
  const Both both(program(in, "int64[K,3] y", "y" + call), program(in, "int64[K,3] y", "y" + call));
  EXPECT_TRUE(both.same("y", "y"));
  const Both other(program(in, "int64[K,3] y", "y" + call),
                   program(in, "int64[K,3] y", "y = NonMaxSuppression(x, r)"));
  EXPECT_FALSE(other.same("y", "y"));
}

TEST(Sweep, RandomAndCustomNodesAreMatchedOneToOne) {
  for (const std::string op : {"RandomNormalLike<dtype=1>", "my.own.Op"}) {
    const std::string a = "a = " + op + "(x)\n", b = "b = " + op + "(x)\n";
    const Both both(program("float[2] x", "float[2] y", a + b + "y = Sub(a, b)"),
                    program("float[2] x", "float[2] y", a + b + "y = Sub(a, b)"));
    EXPECT_TRUE(both.same("y", "y"));
    EXPECT_FALSE(both.same("a", "b"));
    const Both merged(program("float[2] x", "float[2] y", a + b + "y = Sub(a, b)"),
                      program("float[2] x", "float[2] y", a + "y = Sub(a, a)"));
    EXPECT_FALSE(merged.same("y", "y"));
  }
}

TEST(Sweep, AProvedPairIsWhereTheNextOneBegins) {
  // y = f(u) and f(v): sin is a name, u = v is algebra.
  Both both(
      program("float[3] x, float[3] w", "float[3] y", "u = Mul(x, w)\ns = Add(u, x)\ny = Sin(s)"),
      program("float[3] x, float[3] w", "float[3] y",
              "o = Constant<value_float=1.0>()\nu = Add(w, o)\ns = Mul(x, u)\nt = Identity(s)\ny = Sin(t)"));
  EXPECT_FALSE(both.same("s", "s"));
  EXPECT_TRUE(both.prove("s", "s"));
  EXPECT_TRUE(both.same("s", "s"));
  const auto regions = both.sweep.regions(value_named(both.a, "y"), value_named(both.b, "y"), {});
  ASSERT_TRUE(regions.ok());
  EXPECT_EQ(regions->a.operator_count(), 1u);
  EXPECT_TRUE(both.prove("y", "y"));
  EXPECT_TRUE(both.same("y", "y"));
}

TEST(Sweep, ACutThatHidesTheProofCanBeOpened) {
  // Equal only because s is what it is.
  Both both(program("float[4] x", "float[4] y", "s = Neg(x)\ny = Add(x, s)"),
            program("float[4] x", "float[4] y", "s = Neg(x)\nt = Sub(s, s)\ny = Identity(t)"));
  EXPECT_FALSE(both.prove("y", "y"));
  EXPECT_TRUE(both.prove("y", "y", {both.sweep.class_of(Side::A, value_named(both.a, "s"))}));
}

TEST(Sweep, WhatIsUndefinedBehindACutStaysSo) {
  // The second model needs a logarithm that the first one's output does not.
  Both both(program("float[4] x, float[4] z", "float[4] y, float[4] l", "l = Log(z)\ny = Neg(x)"),
            program("float[4] x, float[4] z", "float[4] y, float[4] l",
                    "l = Log(z)\no = Constant<value_float=0.0>()\nn = Mul(l, o)\nm = Neg(x)\ny = Add(m, n)"));
  EXPECT_TRUE(both.same("l", "l"));
  EXPECT_FALSE(both.prove("y", "y"));
}

TEST(Sweep, ExtentsAreKnownWhereverTheyComeFrom) {
  Both both(
      program("float[N,6] x", "float[N,2,3] y",
              "s = Shape(x)\nz = Constant<value_ints=[0]>()\nn = Gather(s, z)\n"
              "r = Constant<value_ints=[2,3]>()\nt = Concat<axis=0>(n, r)\ny = Reshape(x, t)"),
      program("float[N,6] x", "float[N,2,3] y", "t = Constant<value_ints=[-1,2,3]>()\ny = Reshape(x, t)"));
  EXPECT_TRUE(both.prove("y", "y"));
}

TEST(Sweep, AConstantIsReplacedOnlyByItsOwnNumbers) {
  const std::string in = "float[2] x", out = "float[2] y";
  const auto sum = [](const std::string& v) {
    return program("", "float[2] k", "k = Add(a, b)", "float[2] a = {1.5, 2.5}, float[2] b = {" + v + "}");
  };
  const auto models = [&] {
    return Both(
        program(in, out, "t = Add(x, a)\ny = Add(t, b)", "float[2] a = {1.5, 2.5}, float[2] b = {0.1, 0.3}"),
        program(in, out, "y = Add(x, k)", "float[2] k = {1.6, 2.8}"));
  };
  Both right = models();
  const Value k = value_named(right.b, "k");
  EXPECT_FALSE(right.sweep.replace_constant(k, sum("0.1, 0.4")).ok());
  const auto rounding = right.sweep.replace_constant(k, sum("0.1, 0.3"));
  ASSERT_TRUE(rounding.ok());
  EXPECT_FALSE(rounding->is_exact);
  EXPECT_TRUE(right.prove("y", "y"));
  EXPECT_FALSE(right.sweep.jump_behind_rounding().has_value());
  // Taken as it is by a proof: too late.
  Both late = models();
  EXPECT_FALSE(late.prove("y", "y"));
}

TEST(Sweep, RoundedConstantsMustNotReachAJump) {
  const std::string in = "float[2] x", out = "float[2] y",
                    a = "float[2] a = {1.5, 2.5}, float[2] b = {0.1, 0.3}";
  Both both(program(in, out, "s = Add(x, a)\nt = Add(s, b)\ny = Floor(t)", a),
            program(in, out, "t = Add(x, k)\ny = Floor(t)", "float[2] k = {1.6, 2.8}"));
  ASSERT_TRUE(
      both.sweep.replace_constant(value_named(both.b, "k"), program("", "float[2] k", "k = Add(a, b)", a))
          .ok());
  EXPECT_TRUE(both.prove("y", "y"));
  const auto jump = both.sweep.jump_behind_rounding();
  ASSERT_TRUE(jump.has_value());
  EXPECT_EQ(both.b.node(*jump).op, "Floor");
}

}  // namespace
}  // namespace isomer
