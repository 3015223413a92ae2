// Twenty ways in which a prover of this kind says "equal" wrongly or gets stuck, each as a test: the wrong
// equality is proved by neither witness alone, the right one is proved.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "kernel/normal/normal_form.h"
#include "kernel/normal/testing.h"
#include "kernel/prove/prove.h"
#include "kernel/prove/sweep.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

constexpr ElementType kF = ElementType::Float;

Graph program(const std::string& inputs, const std::string& outputs, const std::string& body,
              const std::string& initializers = "") {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 18, \"my.own\" : 1]>\nagraph (" + inputs +
                           ") => (" + outputs + ") " +
                           (initializers.empty() ? "" : "<" + initializers + ">") + "{\n" + body + "\n}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

bool is_proved(const Verdict& v) { return std::holds_alternative<Proved>(v); }
Verdict by_sets(const Graph& a, const Graph& b) { return prove_equal(a, b, {.field = false}); }
Verdict by_field(const Graph& a, const Graph& b, std::uint64_t key = 1) {
  return prove_equal(a, b, {.key = key, .sets = false});
}

testing::AssertionResult right(const Graph& a, const Graph& b) {
  const Verdict v = prove_equal(a, b);
  return is_proved(v) ? testing::AssertionSuccess() : testing::AssertionFailure() << text(v);
}
testing::AssertionResult wrong_for_sets(const Graph& a, const Graph& b) {
  const Verdict v = by_sets(a, b);
  return is_proved(v) ? testing::AssertionFailure() << "the sets prove it" : testing::AssertionSuccess();
}
testing::AssertionResult wrong(const Graph& a, const Graph& b) {
  for (std::uint64_t key = 1; key <= 8; ++key)
    if (is_proved(by_field(a, b, key)))
      return testing::AssertionFailure() << "the field proves it, key " << key;
  return wrong_for_sets(a, b);
}

// Programs below the level of graphs: formulas applied to forms.
class Forms {
 public:
  explicit Forms(NormalForms::Options options = {})
      : forms({"N", "a*b", "a", "b", "a3"}, std::move(options)) {}
  NormalForms forms;
  template <class F>
  Form apply(const std::vector<Form>& inputs, const F& build) {
    return applied(forms, inputs, build);
  }
  bool equal(const Form& a, const Form& b) { return !forms.why_not_equal(a, b).has_value(); }
};

TEST(Traps, Trap01AReductionIsNotDataMovement) {
  const std::string in = "float[4,5] x", out = "float[4] y", axis = "k = Constant<value_ints=[1]>()\n";
  EXPECT_TRUE(wrong(program(in, out, axis + "t = ReduceSum<keepdims=0>(x, k)\ny = Relu(t)"),
                    program(in, out, axis + "t = Relu(x)\ny = ReduceSum<keepdims=0>(t, k)")));
  EXPECT_TRUE(right(program(in, "float[5,4] y", "t = Transpose(x)\ny = Relu(t)"),
                    program(in, "float[5,4] y", "t = Relu(x)\ny = Transpose(t)")));
}

// Two parts of x, each under Relu, put back to their places and added.
Graph parts(int cut, int start) {
  const std::string i = "Constant<value_ints=[";
  return program("float[5] x", "float[5] y",
                 "z = " + i + "0]>()\nc = " + i + std::to_string(cut) + "]>()\ns = " + i +
                     std::to_string(start) + "]>()\ne = " + i + "5]>()\np = " + i + "0," +
                     std::to_string(5 - cut) + "]>()\nq = " + i + std::to_string(start) +
                     ",0]>()\nl = Slice(x, z, c)\nr = Slice(x, s, e)\nm = Relu(l)\nn = Relu(r)\n"
                     "u = Pad(m, p)\nv = Pad(n, q)\ny = Add(u, v)");
}

TEST(Traps, Trap02RegionsThatOverlapCountTwice) {
  const Graph whole = program("float[5] x", "float[5] y", "y = Relu(x)");
  EXPECT_TRUE(right(whole, parts(3, 3)));
  EXPECT_TRUE(wrong(whole, parts(3, 2)));  // one position twice
  EXPECT_TRUE(wrong(whole, parts(2, 3)));  // one not at all
  // A triangle is not its box: the sum over r <= p of relu, over r < p, and over all.
  Forms f;
  const Form x = f.forms.tensor(kF, {4, 4});
  const auto triangle = [&](int slack) {
    return f.apply({x}, [&](FormulaBuilder& b) {
      const auto p = b.axes({4});
      const auto r = b.axis(4);
      b.output(p, sum({r}, apply(Fn::Relu, {b.input(0)(p[0], r)}), {Index(p[0]) - Index(r) + Index(slack)}));
    });
  };
  EXPECT_FALSE(f.equal(triangle(0), triangle(-1)));
  EXPECT_FALSE(f.equal(triangle(0), triangle(3)));
  EXPECT_TRUE(f.equal(triangle(3), triangle(4)));
}

TEST(Traps, Trap03NamesAreNotIdentities) {
  const std::string in = "float[4] x, float[4] \"relu(x)\", float[4] \"Relu(x)\"", out = "float[4] y";
  const Graph atom = program(in, out, "y = Relu(x)");
  EXPECT_TRUE(wrong(atom, program(in, out, "y = Identity(\"relu(x)\")")));
  EXPECT_TRUE(wrong(atom, program(in, out, "y = Identity(\"Relu(x)\")")));
  // An input of the same name is another one if its shape or type is.
  EXPECT_TRUE(wrong(program("float[4] x", "float[4] y", "y = Relu(x)"),
                    program("float[5] x", "float[5] y", "y = Relu(x)")));
  // A symbol named like a product, and one named like an axis.
  Forms f;
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b"), ab = Dim::symbol("a*b"), a3 = Dim::symbol("a3");
  const Form x = f.forms.tensor(kF, {3}), wide = f.forms.tensor(kF, {40});
  const auto spread = [&](const Dim& extent) {
    return f.apply({x}, [&](FormulaBuilder& build) {
      const auto p = build.axes({extent});
      build.output(p, build.input(0)(0));
    });
  };
  EXPECT_FALSE(f.equal(spread(ab), spread(a * b)));
  EXPECT_TRUE(f.equal(spread(b * a), spread(a * b)));
  for (int skipped = 0; skipped < 12; ++skipped) {
    Forms g;
    const Form t = g.forms.tensor(kF, {40});
    const auto twice = [&](bool mixed) {
      return g.apply({t}, [&](FormulaBuilder& build) {
        for (int k = 0; k < skipped; ++k) (void)build.axis(1);
        const auto p = build.axes({40});
        const Expr here = build.input(0)(p[0]), there = build.input(0).at({Index(a3)});
        build.output(p, mixed ? here + there : here + here);
      });
    };
    EXPECT_FALSE(g.equal(twice(true), twice(false))) << skipped;
  }
}

TEST(Traps, Trap04AnErrorOfTheSetLibraryIsNoAnswer) {
  const std::string in = "float[6,4] x, float[4,6] w", out = "float[6,6] y";
  const Graph a = program(in, out, "t = MatMul(x, w)\ny = Relu(t)");
  const Graph same =
      program(in, out, "u = Transpose(x)\nv = Transpose(w)\nt = MatMul(v, u)\nr = Relu(t)\ny = Transpose(r)");
  const Graph other = program(in, out, "u = Transpose(x)\nv = Transpose(w)\nt = MatMul(v, u)\ny = Relu(t)");
  bool proved = false;
  for (std::uint64_t quota = 1; quota <= (std::uint64_t{1} << 20u); quota *= 2) {
    ProveOptions options{.field = false};
    options.budget.set_operations = quota;
    EXPECT_FALSE(is_proved(prove_equal(a, other, options))) << quota;
    const bool now = is_proved(prove_equal(a, same, options));
    EXPECT_TRUE(now || !proved) << "proved with a smaller quota than " << quota;
    proved = now;
  }
  EXPECT_TRUE(proved);
}

TEST(Traps, Trap05SumsAreNotUnions) {
  const std::string in = "float[3] x", out = "float[1] y";
  const std::string parts = "n = Constant<value_ints=[1,1,1]>()\na, b, c = Split(x, n)\n";
  const Graph square = program(in, out, parts + "s = Add(a, b)\ny = Mul(s, s)");
  const std::string squares =
      parts + "p = Mul(a, a)\nq = Mul(b, b)\nr = Mul(a, b)\ns = Add(p, q)\nt = Add(s, r)\n";
  EXPECT_TRUE(wrong(square, program(in, out, squares + "y = Identity(t)")));
  EXPECT_TRUE(right(square, program(in, out, squares + "y = Add(t, r)")));
  // (a + b + c)^3 at one point of the diagonal.
  Forms f;
  const Form x = f.forms.tensor(kF, {3});
  const auto cube = [&](double off) {
    return f.apply({x}, [&](FormulaBuilder& b) {
      const auto p = b.axes({1});
      const Expr u = b.input(0)(0), v = b.input(0)(1);
      b.output(p, u * u * u + u * u * v * off + u * v * v * 3.0 + v * v * v);
    });
  };
  const Form third = f.apply({x}, [&](FormulaBuilder& b) {
    const auto p = b.axes({1});
    const Expr s = b.input(0)(0) + b.input(0)(1);
    b.output(p, s * s * s);
  });
  EXPECT_TRUE(f.equal(third, cube(3)));
  EXPECT_FALSE(f.equal(third, cube(1)));
}

TEST(Traps, Trap06AReplacementIsDefinedWhereTheOriginalIs) {
  const std::string in = "float[4] x, float[4] y", out = "float[4] z";
  const Graph x = program(in, out, "z = Identity(x)");
  const Graph quotient = program(in, out, "t = Mul(x, y)\nz = Div(t, y)");
  EXPECT_TRUE(wrong_for_sets(x, quotient));
  EXPECT_TRUE(right(quotient, x));
  EXPECT_TRUE(wrong_for_sets(x, program(in, out, "l = Log(y)\nt = Add(x, l)\nz = Sub(t, l)")));
  EXPECT_TRUE(right(x, program(in, out, "e = Exp(y)\nt = Mul(x, e)\nz = Div(t, e)")));  // never zero
}

// [log y[0:2], x[2:4]], the second part with a detour.
Graph half_log(const std::string& detour) {
  const std::string cut = "n = Constant<value_ints=[2,2]>()\n";
  return program(
      "float[4] x, float[4] y", "float[4] z",
      cut + "y0, y1 = Split(y, n)\nx0, x1 = Split(x, n)\nl = Log(y0)\nr = Div(x0, y0)\nm = Mul(l, r)\n" +
          detour + "z = Concat<axis=0>(m, u)");
}

TEST(Traps, Trap06WhatIsDefinedInOnePlaceMayNotBeInAnother) {
  const Graph plain = half_log("u = Identity(x1)\n");
  EXPECT_TRUE(wrong_for_sets(plain, half_log("t = Mul(x1, y1)\nu = Div(t, y1)\n")));
  EXPECT_TRUE(wrong_for_sets(plain, half_log("k = Log(y1)\nt = Add(x1, k)\nu = Sub(t, k)\n")));
  // The same functions of the same tensor, applied to all of it but used in part.
  const std::string in = "float[4] x, float[4] y", out = "float[4] z";
  const std::string choice =
      "zero = Constant<value_float=0.0>()\nc = Greater(x, zero)\nl = Log(y)\nw = Where(c, l, x)\n";
  EXPECT_TRUE(wrong_for_sets(program(in, out, choice + "z = Identity(w)"),
                             program(in, out, choice + "t = Add(w, l)\nz = Sub(t, l)")));
}

TEST(Traps, Trap06WhatAChoiceDoesNotTakeMayBeUndefined) {
  const std::string in = "float[8] x, float[8] w, bool[8] c", out = "float[8] y",
                    zero = "float z = {0.0}, float o = {1.0}";
  // Finite on both sides: the choice is a sum.
  EXPECT_TRUE(
      right(program(in, out, "y = Where(c, x, w)"),
            program(in, out, "i = Where(c, o, z)\nd = Sub(x, w)\nm = Mul(i, d)\ny = Add(m, w)", zero)));
  // log(x), 1/x or a square root that is not taken need not exist.
  for (const std::string f : {"Log", "Reciprocal", "Sqrt"}) {
    EXPECT_TRUE(
        wrong_for_sets(program(in, out, "l = " + f + "(x)\ny = Where(c, l, z)", zero),
                       program(in, out, "l = " + f + "(x)\ni = Where(c, o, z)\ny = Mul(i, l)", zero)));
    EXPECT_TRUE(wrong_for_sets(
        program(in, out, "l = " + f + "(w)\ny = PRelu(x, l)"),
        program(in, out,
                "l = " + f + "(w)\np = Relu(x)\nn = Neg(x)\nq = Relu(n)\nm = Mul(l, q)\ny = Sub(p, m)")));
  }
  EXPECT_TRUE(right(program(in, out, "y = PRelu(x, w)"),
                    program(in, out, "p = Relu(x)\nn = Neg(x)\nq = Relu(n)\nm = Mul(w, q)\ny = Sub(p, m)")));
  EXPECT_TRUE(wrong(program(in, out, "y = PRelu(x, w)"),
                    program(in, out, "p = Relu(x)\nn = Neg(x)\nq = Relu(n)\nm = Mul(w, q)\ny = Add(p, m)")));
}

TEST(Traps, Trap09MaximaOfMaximaAreMaximaOfAll) {
  const std::string in = "float[1,2,9,9] x", out = "float[1,2,9,9] y";
  const auto pool = [](int k, const std::string& of, const std::string& to) {
    const std::string p = std::to_string(k / 2), n = std::to_string(k);
    return to + " = MaxPool<kernel_shape=[" + n + "," + n + "], pads=[" + p + "," + p + "," + p + "," + p +
           "]>(" + of + ")\n";
  };
  const Graph twice = program(in, out, pool(3, "x", "a") + pool(3, "a", "y"));
  EXPECT_TRUE(right(twice, program(in, out, pool(5, "x", "y"))));
  EXPECT_TRUE(wrong(twice, program(in, out, pool(7, "x", "y"))));
  EXPECT_TRUE(wrong(twice, program(in, out, pool(3, "x", "y"))));
  // Not the smallest of the largest.
  EXPECT_TRUE(
      wrong(twice, program(in, out, pool(3, "x", "a") + "b = Neg(a)\n" + pool(3, "b", "c") + "y = Neg(c)")));
}

TEST(Traps, Trap06NothingHasNoMaximum) {
  // x + m - m is x only where m is finite; the largest of no elements is not.
  Forms f;
  const Form x = f.forms.tensor(kF, {4}), y = f.forms.tensor(kF, {4});
  const auto detour = [&](Reduction reduction, int slack) {
    return f.apply({x, y}, [&](FormulaBuilder& b) {
      const auto q = b.axes({4});
      const auto r = b.axis(4);
      const auto m =
          b.stage(q, reduce(reduction, {r}, b.input(1)(r), {Index(q[0]) - Index(r) - Index(slack)}));
      const auto p = b.axes({4});
      b.output(p, b.input(0)(p[0]) + m(p[0]) - m(p[0]));
    });
  };
  EXPECT_FALSE(f.equal(x, detour(Reduction::Max, 1)));
  EXPECT_FALSE(f.equal(x, detour(Reduction::Min, 1)));
  EXPECT_TRUE(f.equal(x, detour(Reduction::Max, 0)));
}

TEST(Traps, Trap07SignsOfWeights) {
  // More elements than are expanded into numbers.
  const std::string in = "float[70] x", out = "float[70] y";
  const auto inside = [&](const std::string& w) { return program(in, out, "t = Mul(x, w)\ny = Relu(t)", w); };
  const auto outside = [&](const std::string& w) {
    return program(in, out, "t = Relu(x)\ny = Mul(t, w)", w);
  };
  const auto weights = [](const std::string& last) {
    std::string all = "float[70] w = {";
    for (int k = 0; k < 69; ++k) all += std::to_string(k + 1) + ".5, ";
    return all + last + "}";
  };
  EXPECT_TRUE(right(inside(weights("2.0")), outside(weights("2.0"))));
  for (const std::string last : {"-2.0", "0.0"})
    EXPECT_TRUE(wrong_for_sets(inside(weights(last)), outside(weights(last)))) << last;
  EXPECT_FALSE(is_proved(prove_equal(inside(weights("-2.0")), outside(weights("-2.0")))));
  const Verdict v = prove_equal(inside(weights("2.0")), outside(weights("2.0")));
  ASSERT_TRUE(is_proved(v));
  EXPECT_FALSE(std::get<Proved>(v).facts.empty()) << "the sign must be told";
  // Few of them are numbers, whose signs are seen or nothing is proved.
  EXPECT_TRUE(wrong_for_sets(
      program("float[2] x", "float[2] y", "t = Mul(x, w)\ny = Relu(t)", "float[2] w = {2.0, -3.0}"),
      program("float[2] x", "float[2] y", "t = Relu(x)\ny = Mul(t, w)", "float[2] w = {2.0, -3.0}")));
  // What is also an input may be overridden: it has no facts.
  const std::string open = "float[70] x, float[70] w";
  EXPECT_TRUE(wrong_for_sets(program(open, out, "t = Mul(x, w)\ny = Relu(t)", weights("2.0")),
                             program(open, out, "t = Relu(x)\ny = Mul(t, w)", weights("2.0"))));
}

TEST(Traps, Trap08ExtentsAndTypes) {
  // A zero last row is a row.
  const std::string pads = "p = Constant<value_ints=[0,1]>()\n";
  EXPECT_FALSE(is_proved(prove_equal(program("float[3] x", "float[3] y", "y = Identity(x)"),
                                     program("float[3] x", "float[4] y", pads + "y = Pad(x, p)"))));
  EXPECT_FALSE(is_proved(prove_equal(program("float[3] x", "float[3] y", "y = Identity(x)"),
                                     program("float[3] x", "double[3] y", "y = Cast<to=11>(x)"))));
  // Preconditions that no sizes satisfy prove nothing.
  const Dim n = Dim::symbol("N");
  EXPECT_FALSE(is_proved(prove_equal(program("float[N] x", "float[N] y", "y = Relu(x)"),
                                     program("float[N] x", "float[N] y", "y = Abs(x)"),
                                     {.preconditions = {Dim(-1) - n}})));
  // 7 / 2 · 2 is 6 for integers, and the ring wraps: relu(x + x) is not 2 relu(x).
  const std::string in = "int32[2] x", out = "int32[2] y";
  const std::string numbers = "s = Constant<value=int32 {7}>()\nt = Constant<value=int32 {2}>()\n";
  EXPECT_TRUE(wrong(program(in, out, numbers + "q = Div(s, t)\np = Mul(q, t)\ny = Add(x, p)"),
                    program(in, out, numbers + "y = Add(x, s)")));
  EXPECT_TRUE(wrong_for_sets(program("int8[2] x", "int8[2] y", "t = Add(x, x)\ny = Relu(t)"),
                             program("int8[2] x", "int8[2] y", "t = Relu(x)\ny = Add(t, t)")));
  const std::string bytes = "c = Constant<value=int8 {100}>()\nd = Add(c, c)\n";
  EXPECT_TRUE(wrong(program("int8[2] x", "int8[2] y", bytes + "e = Relu(d)\ny = Add(x, e)"),
                    program("int8[2] x", "int8[2] y", bytes + "y = Add(x, d)")));
  // Integers are more than 0 and 1.
  EXPECT_TRUE(wrong(program(in, out, "y = Mul(x, x)"), program(in, out, "y = Identity(x)")));
  // A cast to integers and back forgets the fraction.
  EXPECT_TRUE(wrong_for_sets(program("float[3] x", "float[3] y", "y = Identity(x)"),
                             program("float[3] x", "float[3] y", "t = Cast<to=7>(x)\ny = Cast<to=1>(t)")));
}

TEST(Traps, Trap08IntegersOfDifferentWidthsWrapDifferently) {
  // 300 is 44 in eight bits: less than 50, and another number once it is widened.
  const auto sum = [](const std::string& type, const std::string& number) {
    return "c = Cast<to=" + number + ">(b)\nl = Mul(c, k)\nr = Mul(c, m)\ns = Add(l, r)\n" + type;
  };
  const auto constants = [](const std::string& type) {
    return type + "[1] k = {200}, " + type + "[1] m = {100}, " + type + "[1] h = {50}";
  };
  for (const std::string last : {"y = Less(s, h)", "y = Cast<to=7>(s)", "y = Cast<to=1>(s)"}) {
    const std::string in = "bool[3] b", out = last[4] == 'L' ? "bool[3] y" : "y";
    const Graph narrow = program(in, out, sum(last, "2"), constants("uint8")),
                wide = program(in, out, sum(last, "6"), constants("int32"));
    EXPECT_TRUE(wrong_for_sets(narrow, wide)) << last;
    EXPECT_TRUE(right(narrow, program(in, out, sum(last, "2"), constants("uint8")))) << last;
  }
}

TEST(Traps, Trap09WhatFunctionsDoToPadding) {
  const std::string in = "float[3] x", out = "float[5] y", pads = "p = Constant<value_ints=[1,1]>()\n";
  EXPECT_TRUE(wrong(program(in, out, pads + "t = Pad(x, p)\ny = Exp(t)"),
                    program(in, out, pads + "t = Exp(x)\ny = Pad(t, p)")));
  EXPECT_TRUE(wrong(program(in, out, pads + "t = Pad(x, p)\ny = Sigmoid(t)"),
                    program(in, out, pads + "t = Sigmoid(x)\ny = Pad(t, p)")));
  EXPECT_TRUE(right(program(in, out, pads + "t = Pad(x, p)\ny = Tanh(t)"),
                    program(in, out, pads + "t = Tanh(x)\ny = Pad(t, p)")));
  EXPECT_TRUE(
      right(program(in, out, pads + "t = Pad(x, p)\ny = Exp(t)"),
            program(in, out, pads + "o = Constant<value_float=1.0>()\nt = Exp(x)\ny = Pad(t, p, o)")));
  // The largest of a padded tensor sees the zeros; the pooling operator doesn't.
  const std::string image = "float[1,1,3] x", pooled = "float[1,1,3] y";
  EXPECT_TRUE(wrong(
      program(image, pooled, "y = MaxPool<kernel_shape=[3], pads=[1,1]>(x)"),
      program(image, pooled,
              "p = Constant<value_ints=[0,0,1,0,0,1]>()\nt = Pad(x, p)\ny = MaxPool<kernel_shape=[3]>(t)")));
  // The largest of nothing is neither zero nor the smallest of nothing.
  Forms f;
  const Form x = f.forms.tensor(kF, {4});
  const auto of_nothing = [&](Reduction reduction) {
    return f.apply({x}, [&](FormulaBuilder& b) {
      const auto p = b.axes({4});
      const auto r = b.axis(4);
      b.output(p, reduce(reduction, {r}, b.input(0)(r), {Index(-1) - Index(r)}));
    });
  };
  EXPECT_FALSE(f.equal(of_nothing(Reduction::Max), of_nothing(Reduction::Sum)));
  EXPECT_FALSE(f.equal(of_nothing(Reduction::Max), of_nothing(Reduction::Min)));
}

TEST(Traps, Trap10ExactOnlyWithoutAtomsLawsAndCuts) {
  Forms f;
  const Form x = f.forms.tensor(kF, {4}), y = f.forms.tensor(kF, {4});
  const auto added = [&](const Form& a, const Form& b, bool function) {
    return f.apply({a, b}, [&](FormulaBuilder& build) {
      const auto p = build.axes({4});
      const Expr s = build.input(0)(p[0]) + build.input(1)(p[0]);
      build.output(p, function ? apply(Fn::Relu, {s}) : s);
    });
  };
  EXPECT_TRUE(f.forms.unproved_positions(added(x, y, false), added(x, x, false)).exact);
  EXPECT_FALSE(f.forms.unproved_positions(added(x, y, true), added(x, x, true)).exact);
  // i + j is (i + j), and 2i is i + i: not seen, so not "different".
  const auto positions = [&](bool at_once) {
    return f.apply({}, [&](FormulaBuilder& build) {
      const auto p = build.axes({4});
      const Expr i = index_number(p[0]);
      build.output(p, at_once ? index_number(Dim(2) * Index(p[0])) : i + i);
    });
  };
  const auto unproved = f.forms.unproved_positions(positions(true), positions(false));
  EXPECT_TRUE(unproved.positions.is_empty() || !unproved.exact);
  // b · b is b for truth values.
  const Form truth = f.forms.tensor(ElementType::Bool, {4});
  const auto power = [&](bool squared) {
    return f.apply({truth}, [&](FormulaBuilder& build) {
      const auto p = build.axes({4});
      const Expr b = cast(build.input(0)(p[0]), kF);
      build.output(p, squared ? b * b : b);
    });
  };
  const auto truths = f.forms.unproved_positions(power(true), power(false));
  EXPECT_TRUE(truths.positions.is_empty() || !truths.exact);
}

TEST(Traps, Trap11TheFieldLooksEverywhere) {
  // One corner of many positions, at sizes that get shrunk.
  const std::string in = "float[1,8,64,64] x, float[8,8,3,3] w", out = "float[1,8,64,64] y";
  const std::string conv = "t = Conv<pads=[1,1,1,1]>(x, w)\n";
  const std::string i = "Constant<value_ints=[";
  const std::string but_a_corner = "s = " + i + "63,63]>()\ne = " + i + "64,64]>()\na = " + i +
                                   "2,3]>()\nc = Slice(x, s, e, a)\np = " + i +
                                   "0,0,63,63,0,0,0,0]>()\nz = Pad(c, p)\ny = Add(t, z)";
  const Graph plain = program(in, out, conv + "y = Identity(t)"),
              corner = program(in, out, conv + but_a_corner);
  EXPECT_FALSE(is_proved(by_field(plain, corner)));
  EXPECT_TRUE(wrong_for_sets(plain, corner));
  // One weight of many, where sizes get shrunk.
  const auto weights = [](const std::string& last) {
    std::string all = "float[8,8,3,3] w = {";
    for (int k = 0; k < 575; ++k) all += std::to_string(k % 7) + ".5, ";
    return all + last + "}";
  };
  const std::string large = "float[1,8,128,128] x", result = "float[1,8,128,128] y",
                    body = "y = Conv<pads=[1,1,1,1]>(x, w)";
  const Graph first = program(large, result, body, weights("0.25")),
              second = program(large, result, body, weights("0.5"));
  EXPECT_TRUE(is_proved(by_field(first, first)));
  EXPECT_FALSE(is_proved(by_field(first, second)));
  EXPECT_TRUE(wrong_for_sets(first, second));
  // Pads on the other side.
  const std::string image = "float[1,1,9] x, float[1,1,2] w", made = "float[1,1,9] y";
  EXPECT_TRUE(wrong(program(image, made, "y = Conv<pads=[1,0]>(x, w)"),
                    program(image, made, "y = Conv<pads=[0,1]>(x, w)")));
}

TEST(Traps, Trap12TheFieldObeysTheLawsAndNoOthers) {
  const std::string in = "float[3] x, float[3] y", out = "float[3] z";
  const auto p = [&](const std::string& body) {
    return program(in, out, "two = Constant<value_float=2.0>()\n" + body);
  };
  const auto agree = [&](const std::string& a, const std::string& b) {
    const Verdict v = by_field(p(a), p(b));
    return is_proved(v) ? testing::AssertionSuccess() : testing::AssertionFailure() << text(v);
  };
  EXPECT_TRUE(agree("t = Mul(x, two)\nz = Relu(t)", "t = Relu(x)\nz = Mul(t, two)"));
  EXPECT_TRUE(agree("t = Mul(x, y)\nz = Abs(t)", "a = Abs(x)\nb = Abs(y)\nz = Mul(a, b)"));
  EXPECT_TRUE(agree("t = Mul(x, x)\nz = Sqrt(t)", "z = Abs(x)"));
  EXPECT_TRUE(agree("t = Add(x, y)\nz = Exp(t)", "a = Exp(x)\nb = Exp(y)\nz = Mul(a, b)"));
  EXPECT_TRUE(agree("z = Max(x, y)", "z = Max(y, x)"));
  EXPECT_TRUE(wrong(p("t = Neg(x)\nz = Relu(t)"), p("t = Relu(x)\nz = Neg(t)")));
  EXPECT_TRUE(wrong(p("t = Add(x, y)\nz = Exp(t)"), p("a = Exp(x)\nb = Exp(y)\nz = Add(a, b)")));
  EXPECT_TRUE(wrong(p("z = Max(x, y)"), p("z = Min(x, y)")));
  EXPECT_TRUE(wrong(p("t = Mul(x, x)\nz = Sqrt(t)"), p("z = Identity(x)")));
  // Neither lane is left of sqrt(x) · exp(y): a function of it is not known either.
  const auto lost = [&](const std::string& f, const std::string& a, const std::string& b) {
    return p("r = Sqrt(" + a + ")\ne = Exp(" + b + ")\nt = Mul(r, e)\nz = " + f);
  };
  for (const std::string f : {"Sigmoid(t)", "Relu(t)", "Max(t, x)", "Abs(t)", "Sign(t)", "Tanh(t)"})
    EXPECT_TRUE(wrong(lost(f, "x", "y"), lost(f, "y", "x"))) << f;
}

TEST(Traps, Trap12OneDrawOfSignsHidesWhatReluHides) {
  const std::string in = "float[1] x, float[1] y", out = "float[1] z";
  for (std::uint64_t key = 1; key <= 30; ++key) {
    EXPECT_FALSE(is_proved(by_field(program(in, out, "z = Relu(x)"), program(in, out, "z = Relu(y)"), key)))
        << key;
    EXPECT_FALSE(
        is_proved(by_field(program(in, out, "z = Max(x, y)"), program(in, out, "z = Identity(x)"), key)))
        << key;
  }
}

TEST(Traps, Trap13RoundedConstantsAreNotTheirExactValues) {
  const std::string in = "float[2] x", out = "float[2] y";
  const auto twice = [&](const std::string& a, const std::string& b) {
    return program(in, out,
                   "a = Constant<value_float=" + a + ">()\nb = Constant<value_float=" + b +
                       ">()\nt = Mul(x, a)\ny = Mul(t, b)");
  };
  const auto once = [&](const std::string& c) {
    return program(in, out, "c = Constant<value_float=" + c + ">()\ny = Mul(x, c)");
  };
  EXPECT_TRUE(right(twice("0.5", "0.25"), once("0.125")));
  EXPECT_TRUE(wrong(twice("0.1", "0.1"), once("0.01")));
  EXPECT_TRUE(wrong(twice("3.0", "0.33333334"), once("1.0")));
}

TEST(Traps, Trap14AtomsMeetByAnchors) {
  std::string in = "float[1,4,6,6] x", sides, names, weights;
  for (int k = 0; k < 8; ++k) {
    const std::string n = std::to_string(k);
    in += ", float[3,4,3,3] w" + n;
    sides += "c" + n + " = Conv<pads=[1,1,1,1]>(x, w" + n + ")\n";
    names += (k > 0 ? ", c" : "c") + n;
    weights += (k > 0 ? ", w" : "w") + n;
  }
  const std::string out = "float[1,24,6,6] y";
  const Graph side_by_side = program(in, out, sides + "t = Concat<axis=1>(" + names + ")\ny = Relu(t)");
  EXPECT_TRUE(right(
      side_by_side,
      program(in, out, "w = Concat<axis=0>(" + weights + ")\nt = Conv<pads=[1,1,1,1]>(x, w)\ny = Relu(t)")));
  EXPECT_TRUE(wrong(side_by_side, program(in, out,
                                          "w = Concat<axis=0>(w1, w0, w2, w3, w4, w5, w6, w7)\n"
                                          "t = Conv<pads=[1,1,1,1]>(x, w)\ny = Relu(t)")));
  // A channel shuffle under a function.
  const std::string image = "float[1,6,4] x, float[6,6,1] w", made = "float[1,6,4] y";
  const auto shuffle = [&](const std::string& split, bool function_first) {
    const std::string five =
        "s = Constant<value_ints=[1," + split + ",4]>()\nr = Constant<value_ints=[1,6,4]>()\n";
    const std::string move = "a = Reshape(v, s)\nb = Transpose<perm=[0,2,1,3]>(a)\n";
    return program(image, made,
                   "c = Conv(x, w)\n" + five + (function_first ? "v = Relu(c)\n" : "v = Identity(c)\n") +
                       move + "d = Reshape(b, r)\n" + (function_first ? "y = Identity(d)" : "y = Relu(d)"));
  };
  EXPECT_TRUE(right(shuffle("2,3", true), shuffle("2,3", false)));
  EXPECT_TRUE(wrong(shuffle("2,3", true), shuffle("3,2", false)));
}

TEST(Traps, Trap15ArgumentsAreReducedFirst) {
  const std::string in = "float[4] x, float[4] y", out = "float[4] z";
  const Graph plain = program(in, out, "z = Relu(x)");
  EXPECT_TRUE(right(plain, program(in, out, "s = Add(x, y)\nt = Sub(s, y)\nz = Relu(t)")));
  EXPECT_TRUE(wrong(plain, program(in, out, "s = Add(x, y)\nt = Sub(s, x)\nz = Relu(t)")));
  EXPECT_TRUE(wrong(plain, program(in, out, "s = Add(x, y)\nt = Add(s, y)\nz = Relu(t)")));
}

TEST(Traps, Trap16LinearChainsDoNotExplode) {
  const int length = 4;
  const auto chain = [&](bool turned, int dropped) {
    std::string body, last = "x";
    for (int k = 0; k < length; ++k) {
      const std::string n = std::to_string(k), next = k + 1 == length ? "y" : "s" + n;
      body += "m" + n + " = MatMul(" + last + ", w)\n";
      if (k == dropped) body += next + " = Identity(m" + n + ")\n";
      else body += next + " = Add(" + (turned ? "m" + n + ", " + last : last + ", m" + n) + ")\n";
      last = next;
    }
    return program("float[3,4] x, float[4,4] w", "float[3,4] y", body);
  };
  EXPECT_TRUE(right(chain(false, -1), chain(true, -1)));
  EXPECT_FALSE(is_proved(by_field(chain(false, -1), chain(true, 2))));
  EXPECT_TRUE(wrong_for_sets(chain(false, -1), chain(true, 2)));
}

TEST(Traps, Trap17TwoVariablesSeenOnlyAsASum) {
  const std::string in = "float[1,1,9] x", out = "float[1,1,7] y";
  const Graph stacked =
      program(in, out, "t = AveragePool<kernel_shape=[2]>(x)\ny = AveragePool<kernel_shape=[2]>(t)");
  const auto weighted = [&](const std::string& w) {
    return program(in, out, "y = Conv(x, w)", "float[1,1,3] w = {" + w + "}");
  };
  EXPECT_TRUE(right(stacked, weighted("0.25, 0.5, 0.25")));
  EXPECT_TRUE(wrong_for_sets(stacked, weighted("0.25, 0.25, 0.25")));
  EXPECT_TRUE(wrong_for_sets(stacked, weighted("0.25, 0.5, 0.5")));
  // A sum that counts: Σ_{i, j} x[i + j] is Σ_k min(k, ...) x[k].
  Forms f;
  const Form x = f.forms.tensor(kF, {3});
  const auto counted = [&](double middle) {
    return f.apply({x}, [&](FormulaBuilder& b) {
      b.output({}, b.input(0)(0) + b.input(0)(1) * middle + b.input(0)(2));
    });
  };
  const Form pairs = f.apply({x}, [&](FormulaBuilder& b) {
    const auto i = b.axis(2), j = b.axis(2);
    b.output({}, sum({i, j}, b.input(0)(Index(i) + Index(j))));
  });
  EXPECT_TRUE(f.equal(pairs, counted(2)));
  EXPECT_FALSE(f.equal(pairs, counted(1)));
}

TEST(Traps, Trap18SetsAreBuiltNotParsed) {
  std::ifstream file(std::string(ISOMER_SOURCE_DIR) + "/src/kernel/normal/sets.cpp");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_NE(text.str().find("isl_set_intersect"), std::string::npos);
  EXPECT_EQ(text.str().find("read_from_str"), std::string::npos);
}

TEST(Traps, Trap19FoldedNumbersAreSolvedFor) {
  const std::string in = "float[3] x", out = "float[3] y", w = "float[3] w = {0.1, 0.2, 0.3}",
                    v = "float[3] v = {0.7, 0.7, 0.9}";
  const Graph a = program(in, out, "t = Mul(x, w)\ny = Mul(t, v)", w + ", " + v);
  const auto folded = [&](const std::string& k) {
    return program(in, out, "y = Mul(x, k)", "float[3] k = {" + k + "}");
  };
  const auto proved = [&](const Graph& b, const Graph& solution) {
    const auto a_info = infer(a), b_info = infer(b);
    Sweep sweep(a, *a_info, b, *b_info);
    for (const NodeId id : b.order()) sweep.add_to_b(id);
    for (const NodeId id : b.order())
      if (b.node(id).kind == NodeKind::Initializer &&
          !sweep.replace_constant(Side::B, {id, 0}, solution).ok())
        return false;
    return is_proved(sweep.prove(a.outputs()[0], b.outputs()[0], {}, prove_equal, {}));
  };
  const Graph solution = program("", "float[3] k", "k = Mul(w, v)", w + ", " + v),
              other = program("", "float[3] k", "k = Mul(w, w)", w);
  // As a number it is another one; as the product that it is, it is the same.
  EXPECT_TRUE(wrong_for_sets(a, folded("0.07, 0.14, 0.27")));
  EXPECT_TRUE(proved(folded("0.07, 0.14, 0.27"), solution));
  // A number that is no rounding of the solution, and a solution that is another function.
  EXPECT_FALSE(proved(folded("0.07, 0.1414, 0.27"), solution));
  EXPECT_FALSE(proved(folded("0.01, 0.04, 0.09"), other));
}

TEST(Traps, Trap19AComputedConstantIsReplacedOnlyByItsOwnNumbers) {
  const std::string w = "float[2] w = {0.1, 0.2}", v = "float[2] v = {0.7, 0.9}";
  const Graph a =
      program("float[4] x", "float[4] y", "k = Concat<axis=0>(v, w)\ny = Mul(x, k)", w + ", " + v);
  const Graph b = program("float[4] x", "float[4] y",
                          "k = Concat<axis=0>(w, v)\np, q = Split<axis=0, num_outputs=2>(k)\n"
                          "r = Concat<axis=0>(q, p)\ny = Mul(x, r)",
                          w + ", " + v);
  const auto a_info = infer(a), b_info = infer(b);
  Sweep sweep(a, *a_info, b, *b_info);
  const auto replaced = [&](const std::string& name, const std::string& order) {
    const Graph program_of = program("", "float[4] k", "k = Concat<axis=0>(" + order + ")", w + ", " + v);
    for (const NodeId id : b.order())
      if (b.node(id).outputs[0] == name) return sweep.replace_constant(Side::B, {id, 0}, program_of).ok();
    return false;
  };
  for (const NodeId id : b.order())
    if (b.node(id).kind == NodeKind::Initializer) sweep.add_to_b(id);
  EXPECT_FALSE(replaced("k", "v, w"));  // other numbers
  EXPECT_FALSE(replaced("p", "w, v"));  // one output of two
  EXPECT_FALSE(replaced("r", "v, w"));  // A has it
  EXPECT_FALSE(replaced("y", "v, w"));  // no constant
  EXPECT_TRUE(replaced("k", "w, v"));
}

TEST(Traps, Trap20OnlyWhatIsProvedIsMerged) {
  // Draws of random numbers are not the same draw.
  const std::string in = "float[2] x", out = "float[2] y";
  const std::string draw = " = RandomNormalLike<dtype=1>(x)\n",
                    seeded = " = RandomNormalLike<dtype=1, seed=1.0>(x)\n";
  for (const std::string& r : {draw, seeded}) {
    const Graph one = program(in, out, "a" + r + "y = Sub(a, a)"),
                two = program(in, out, "a" + r + "b" + r + "y = Sub(a, b)");
    EXPECT_FALSE(is_proved(prove_equal(one, two)));
    EXPECT_FALSE(is_proved(prove_equal(two, one)));
  }
  // Nor are two calls of an unknown operator.
  const Graph one = program(in, out, "a = my.own.Op(x)\ny = Sub(a, a)"),
              two = program(in, out, "a = my.own.Op(x)\nb = my.own.Op(x)\ny = Sub(a, b)");
  EXPECT_FALSE(is_proved(prove_equal(one, two)));
  // A proof that a cut hides is found without the cut.
  const std::string both = "float[4] x, float[4] y", made = "float[4] s, float[4] p";
  EXPECT_TRUE(right(program(both, made, "s = Add(x, y)\np = Mul(s, x)"),
                    program(both, made, "s = Add(x, y)\na = Mul(x, x)\nb = Mul(y, x)\np = Add(a, b)")));
  EXPECT_TRUE(wrong(program(both, made, "s = Add(x, y)\np = Mul(s, x)"),
                    program(both, made, "s = Add(x, y)\na = Mul(x, x)\nb = Mul(y, y)\np = Add(a, b)")));
}

TEST(Traps, AShapeThatIsRightAtOneSizeOnly) {
  const std::string in = "float[M, N] x, float[M, 1] s";
  const Graph whole = program(in, "float[a, b] y", "y = Softmax<axis = -1>(x)"),
              single = program(in, "float[a, b] y", "y = Softmax<axis = -1>(s)");
  for (std::uint64_t key = 1; key <= 20; ++key) {
    EXPECT_FALSE(is_proved(by_field(whole, single, key))) << key;
    EXPECT_TRUE(is_proved(by_field(whole, whole, key))) << key;
  }
  EXPECT_FALSE(is_proved(by_sets(whole, single)));
  // Mod p half of all roots do not exist, so that few instances of many elements can be tested.
  const Graph share =
      program(in, "float[a, b] y", "e = Sqrt(x)\nt = ReduceSum(e, k)\ny = Div(e, t)", "int64[1] k = {-1}");
  for (std::uint64_t key = 1; key <= 20; ++key) EXPECT_FALSE(is_proved(by_field(whole, share, key))) << key;
}

}  // namespace
}  // namespace isomer
