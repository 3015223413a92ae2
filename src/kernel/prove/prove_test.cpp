#include "kernel/prove/prove.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernel/prove/refute.h"
#include "model/graph/testing.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

Graph program(const std::string& inputs, const std::string& outputs, const std::string& body) {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" +
                           outputs + ") {\n" + body + "\n}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

bool is_proved(const Verdict& v) { return std::holds_alternative<Proved>(v); }
bool is_refuted(const Verdict& v) { return std::holds_alternative<Refuted>(v); }

TEST(Prove, MatMulIsAssociativeForAllSizes) {
  const std::string in = "float[M,K] x, float[K,N] w, float[N,P] v", out = "float[M,P] y";
  const Graph a = program(in, out, "t = MatMul(x, w)\ny = MatMul(t, v)");
  const Graph b = program(in, out, "t = MatMul(w, v)\ny = MatMul(x, t)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

TEST(Prove, ReluDoesNotCommuteWithMatMul) {
  const std::string in = "float[M,K] x, float[K,N] w", out = "float[M,N] y";
  const Graph a = program(in, out, "t = MatMul(x, w)\ny = Relu(t)");
  const Graph b = program(in, out, "t = Relu(x)\ny = MatMul(t, w)");
  const Verdict v = prove_equal(a, b, {.refute = find_counterexample});
  EXPECT_TRUE(is_refuted(v)) << text(v);
}

// A shape vector keeps them at their size, unless it is made smaller, too.
TEST(Prove, EvaluatesFewPointsOfWhatAShapeVectorHoldsLarge) {
  const std::string shape = "s = Constant<value_ints=[512,512]>()\na = Reshape(x, s)\nb = Erf(a)\n";
  const Graph a = program("float[1,512,512] x", "float[512,512] y", shape + "c = Add(a, b)\ny = Mul(c, a)");
  const Graph b = program("float[1,512,512] x", "float[512,512] y", shape + "c = Sum(b, a)\ny = Mul(a, c)");
  const Verdict v = prove_equal(a, b);
  ASSERT_TRUE(is_proved(v)) << text(v);
  EXPECT_GT(std::get<Proved>(v).field.points, 0);
  EXPECT_LT(std::get<Proved>(v).field.points, 10'000);
  const Graph c = program("float[1,512,512] x", "float[512,512] y", shape + "c = Sub(a, b)\ny = Mul(c, a)");
  EXPECT_FALSE(is_proved(prove_equal(a, c)));
}

TEST(Prove, ConvolutionsOfOneInputMergeAtRealSizes) {
  const std::string in = "float[1,64,56,56] x, float[64,64,3,3] w, float[64,64,3,3] v",
                    out = "float[1,128,56,56] y";
  const Graph a = program(in, out,
                          "s = Conv<pads=[1,1,1,1]>(x, w)\nt = Conv<pads=[1,1,1,1]>(x, v)\n"
                          "c = Concat<axis=1>(s, t)\ny = Relu(c)");
  const Graph b = program(in, out, "k = Concat<axis=0>(w, v)\nc = Conv<pads=[1,1,1,1]>(x, k)\ny = Relu(c)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

TEST(Prove, SoftmaxIsShiftInvariant) {
  const std::string in = "float[4,5] x, float[4,1] s", out = "float[4,5] y";
  const Graph a = program(in, out, "y = Softmax<axis=-1>(x)");
  const Graph b = program(in, out, "t = Add(x, s)\ny = Softmax<axis=-1>(t)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

TEST(Prove, AQuotientThatIsThereNoMoreMustHaveBeenDefined) {
  const std::string in = "float[4] x", out = "float[4] y";
  const auto verdict = [&](const std::string& divisor) {
    return prove_equal(program(in, out, "y = Neg(x)"),
                       program(in, out,
                               "e = Constant<value_float=1.0>()\ns = Mul(x, x)\nd = " + divisor +
                                   "\nr = Div(e, d)\nz = Sub(r, r)\nn = Neg(x)\ny = Add(n, z)"));
  };
  EXPECT_TRUE(is_proved(verdict("Add(s, e)"))) << text(verdict("Add(s, e)"));
  EXPECT_FALSE(is_proved(verdict("Identity(s)")));
  EXPECT_FALSE(is_proved(verdict("Sub(s, e)")));
}

TEST(Prove, WitnessesDoNotDisagreeAboutScales) {
  const std::string in = "float[4] x", out = "float[4] y";
  for (const char* k : {"2.0", "3.0", "0.1", "6.0"}) {
    const std::string c = std::string("k = Constant<value_float=") + k + ">()\n";
    const Verdict v =
        prove_equal(program(in, out, c + "t = Mul(x, k)\ny = Relu(t)"),
                    program(in, out, c + "t = Relu(x)\ny = Mul(t, k)"), {.refute = find_counterexample});
    EXPECT_FALSE(std::holds_alternative<WitnessesDisagree>(v)) << k << ": " << text(v);
    EXPECT_FALSE(is_refuted(v)) << k;
  }
}

// No finite field knows that a quotient of exponentials is positive; float64 does.
TEST(Prove, WhatIsPositiveIsItsOwnRelu) {
  const std::string in = "float[n,3] x", out = "float[n,3] y";
  for (const std::string positive : {"s = Softmax(x)\n", "s = Exp(x)\n", "s = Sigmoid(x)\n"})
    for (const std::string bend : {"y = LeakyRelu<alpha=0.5>(s)", "y = Relu(s)", "y = Abs(s)"}) {
      const Verdict v =
          prove_equal(program(in, out, positive + "y = Identity(s)"), program(in, out, positive + bend));
      EXPECT_TRUE(is_proved(v)) << positive << bend << ": " << text(v);
    }
}

TEST(Prove, DefinednessMatters) {  // trap 6
  const std::string in = "float[4] x, float[4] y", out = "float[4] z";
  const Graph a = program(in, out, "z = Identity(x)");
  const Graph b = program(in, out, "t = Mul(x, y)\nz = Div(t, y)");
  EXPECT_FALSE(is_proved(prove_equal(a, b)));
  EXPECT_TRUE(is_proved(prove_equal(b, a))) << text(prove_equal(b, a));
}

TEST(Prove, LayerNormInBothVarianceForms) {
  const std::string in = "float[4,8] x", out = "float[4,8] y";
  const std::string e =
      "e = Constant<value_float=1e-5>()\ntwo = Constant<value_float=2.0>()\n"
      "ax = Constant<value_ints=[-1]>()\n";
  const Graph a = program(in, out,
                          e + "m = ReduceMean(x, ax)\nd = Sub(x, m)\nq = Pow(d, two)\nv = ReduceMean(q, ax)\n"
                              "w = Add(v, e)\nr = Sqrt(w)\ny = Div(d, r)");
  const Graph b = program(in, out,
                          e + "m = ReduceMean(x, ax)\nq = Mul(x, x)\nn = ReduceMean(q, ax)\nk = Mul(m, m)\n"
                              "v = Sub(n, k)\nw = Add(v, e)\nr = Sqrt(w)\nd = Sub(x, m)\ny = Div(d, r)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

std::string number(const std::string& name, const std::string& value) {
  return name + " = Constant<value_float=" + value + ">()\n";
}

Verdict on_one(const std::string& a, const std::string& b) {
  return prove_equal(program("float[3,4] x", "float[3,4] y", a), program("float[3,4] x", "float[3,4] y", b));
}

// An activation, spellings that are equal to it, and near misses.
struct Spellings {
  std::string activation;
  std::vector<std::string> same, other;
};

const std::vector<Spellings>& activations() {
  const std::string zero = number("z", "0.0"), one = number("o", "1.0");
  static const std::vector<Spellings> all = {
      {"y = LeakyRelu<alpha=0.25>(x)",
       {number("k", "0.25") + "s = Mul(x, k)\ny = Max(x, s)",
        number("k", "-0.25") + "p = Relu(x)\nm = Neg(x)\nn = Relu(m)\ns = Mul(n, k)\ny = Add(p, s)",
        number("k", "0.25") + number("r", "0.75") +
            "s = Mul(x, k)\np = Relu(x)\nt = Mul(p, r)\ny = Add(s, t)"},
       {number("k", "0.26") + "s = Mul(x, k)\ny = Max(x, s)",
        number("k", "0.25") + "s = Mul(x, k)\ny = Min(x, s)",
        number("k", "0.25") + number("r", "0.74") +
            "s = Mul(x, k)\np = Relu(x)\nt = Mul(p, r)\ny = Add(s, t)"}},
      {"y = Elu<alpha=0.5>(x)",
       {zero + one + number("h", "0.5") +
        "p = Relu(x)\nm = Min(x, z)\ne = Exp(m)\nf = Sub(e, o)\ng = Mul(f, h)\ny = Add(p, g)"},
       {zero + one + "p = Relu(x)\nm = Min(x, z)\ne = Exp(m)\nf = Sub(e, o)\ny = Add(p, f)",
        zero + one + number("h", "0.5") +
            "p = Relu(x)\nm = Max(x, z)\ne = Exp(m)\nf = Sub(e, o)\ng = Mul(f, h)\ny = Add(p, g)"}},
      {"y = HardSwish(x)",
       {"t = HardSigmoid<alpha=0.16666667, beta=0.5>(x)\ny = Mul(x, t)"},
       {"t = HardSigmoid<alpha=0.16, beta=0.5>(x)\ny = Mul(x, t)",
        "t = HardSigmoid<alpha=0.16666666, beta=0.5>(x)\ny = Mul(x, t)",
        "t = HardSigmoid<alpha=0.16666667, beta=0.4>(x)\ny = Mul(x, t)"}},
      // 3 is no square mod p: the second witness has to look at real numbers.
      {"y = HardSigmoid<alpha=0.125, beta=0.375>(x)",
       {number("t", "3.0") + zero + number("s", "8.0") + "a = Add(x, t)\nb = Clip(a, z, s)\ny = Div(b, s)",
        number("t", "3.0") + zero + number("s", "8.0") + number("f", "5.0") + number("u", "-3.0") +
            "a = Min(x, f)\nb = Max(a, u)\nc = Add(b, t)\ny = Div(c, s)"},
       {number("t", "3.0") + zero + number("s", "8.0") + number("n", "9.0") +
            "a = Add(x, t)\nb = Clip(a, z, n)\ny = Div(b, s)",
        number("t", "2.0") + zero + number("s", "8.0") + "a = Add(x, t)\nb = Clip(a, z, s)\ny = Div(b, s)"}},
      {"t = Abs(x)\ny = Relu(t)", {}, {"y = Relu(x)"}},
  };
  return all;
}

TEST(Prove, ActivationsAreEqualHoweverTheyAreSpelled) {
  for (const Spellings& s : activations())
    for (const std::string& same : s.same) {
      const Verdict v = on_one(s.activation, same);
      EXPECT_TRUE(is_proved(v)) << s.activation << "\n" << same << "\n" << text(v);
      const Verdict back = on_one(same, s.activation);
      EXPECT_TRUE(is_proved(back)) << same << "\n" << s.activation << "\n" << text(back);
    }
}

TEST(Prove, ActivationsThatAreAlmostTheSameAreNot) {
  for (const Spellings& s : activations())
    for (const std::string& other : s.other) {
      const Verdict v = on_one(s.activation, other);
      EXPECT_FALSE(is_proved(v)) << s.activation << "\n" << other;
      EXPECT_FALSE(std::holds_alternative<WitnessesDisagree>(v)) << other << "\n" << text(v);
    }
}

// A logarithm of the second output is no reason that the first one may take it, too.
TEST(Prove, EachOutputIsDefinedByItself) {
  const std::string in = "float[N] x", out = "float[N] y, float[N] z";
  const Graph a = program(in, out, "l = Log(x)\ny = Neg(x)\nz = Exp(l)");
  const Graph same = program(in, out, "l = Log(x)\nm = Neg(l)\nv = Neg(m)\ny = Neg(x)\nz = Exp(v)");
  const Graph more = program(in, out, "l = Log(x)\nn = Neg(x)\nd = Sub(l, l)\ny = Add(n, d)\nz = Exp(l)");
  EXPECT_TRUE(is_proved(prove_equal(a, same)));
  EXPECT_FALSE(is_proved(prove_equal(a, more)));
  EXPECT_TRUE(is_proved(prove_equal(more, a)));  // what needs less may stand in
}

// What a choice does not take may be undefined: log(1 + x) below zero is no reason to refuse, but neither a
// function that leaves the choice.
TEST(Prove, AChoiceKeepsWhatIsUndefinedInside) {
  const std::string c = number("z", "0.0") + "c = Less(x, z)\n";
  const Verdict v =
      on_one(c + "l = Log(x)\ny = Where(c, x, l)", c + "p = Relu(x)\nl = Log(p)\ny = Where(c, x, l)");
  EXPECT_FALSE(std::holds_alternative<WitnessesDisagree>(v)) << text(v);
}

TEST(Prove, AGatherOfAShuffleIsTheShuffle) {
  const std::string in = "float[1,116,7] x", out = "float[1,116,7] y";
  const Graph a = program(in, out,
                          "s = Constant<value_ints=[1,2,58,7]>()\nt = Constant<value_ints=[1,116,7]>()\n"
                          "u = Reshape(x, s)\nv = Transpose<perm=[0,2,1,3]>(u)\ny = Reshape(v, t)");
  for (const bool is_right : {true, false}) {
    std::string list;
    for (int i = 0; i < 116; ++i) {
      const int wrong = !is_right && i == 77 ? 1 : 0;  // by one, in one place
      list += (i > 0 ? "," : "") + std::to_string(i / 2 + 58 * (i % 2) - wrong);
    }
    const Verdict v = prove_equal(
        a, program(in, out, "i = Constant<value_ints=[" + list + "]>()\ny = Gather<axis=1>(x, i)"));
    EXPECT_EQ(is_proved(v), is_right) << text(v);
  }
}

// What inference calls the extent of one program is another number in the other, whatever it is called.
TEST(Prove, NewSymbolsOfTwoProgramsAreNotTheSame) {
  const std::string in = "float[n] x, float[n] z, float[\"?u.1\"] w";
  const auto shape_of = [&](const std::string& made) {
    return program(in, "int64[1] y", made + "y = Slice(s, one, two)");
  };
  const std::string constants =
      "s = Shape(u)\none = Constant<value_ints=[1]>()\ntwo = Constant<value_ints=[2]>()\n";
  const Graph a = shape_of("u = NonZero(x)\n" + constants), b = shape_of("u = NonZero(z)\n" + constants),
              c = program(in, "int64[1] y", "y = Shape(w)");
  // By the set algebra alone: the other witness can't evaluate what has no known size.
  const ProveOptions sets{.field = false};
  EXPECT_FALSE(is_proved(prove_equal(a, b, sets)));
  EXPECT_FALSE(is_proved(prove_equal(a, c, sets)));
  EXPECT_FALSE(is_proved(prove_equal(c, a, sets)));
}

// Roots of half of all numbers are not in the field, and half of all reals are negative: no key may decide.
TEST(Prove, EveryKeyGivesTheSameAnswer) {
  const auto with = [](const std::string& body) {
    return isomer::testing::parsed(
        "<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[5] x) => (float[5] y) {" + body + "}");
  };
  const std::pair<std::string, std::string> pairs[] = {
      {"t = Sqrt(x)\ny = Abs(t)", "y = Sqrt(x)"},
      {"t = Sqrt(x)\ny = Relu(t)", "y = Sqrt(x)"},
      {"s = Sqrt(x)\nt = Sqrt(s)\ny = Abs(t)", "s = Sqrt(x)\ny = Sqrt(s)"},
      {"e = Exp(x)\nt = Sqrt(x)\nu = Abs(t)\ny = Mul(e, u)", "t = Sqrt(x)\ne = Exp(x)\ny = Mul(t, e)"}};
  for (const auto& [a, b] : pairs)
    for (std::uint64_t key = 1; key <= 100; ++key) {
      const Verdict verdict = prove_equal(with(a), with(b), {.key = key * 0x9e3779b97f4a7c15u});
      ASSERT_TRUE(std::holds_alternative<Proved>(verdict)) << a << ", key " << key << ": " << text(verdict);
    }
}

}  // namespace
}  // namespace isomer
