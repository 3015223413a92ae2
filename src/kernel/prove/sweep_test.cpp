#include "kernel/prove/sweep.h"

#include <gtest/gtest.h>

#include "model/graph/constant.h"
#include "model/graph/testing.h"

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
        sweep.prove(value_named(a, x), value_named(b, y), open, prove_equal, {}));
  }
  Graph a, b;
  Inference a_info, b_info;
  Sweep sweep;
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

// y = If(c): the branches' messages are the same; what runs there need not be.
Graph branching(const std::string& then, int opset = 18) {
  Graph graph = program("bool c, float[2] x", "", "");
  Node node;
  node.op = "If";
  node.inputs = {value_named(graph, "c")};
  node.captures = {value_named(graph, "x")};
  node.outputs = {"y"};
  for (const std::string branch : {"else_branch", "then_branch"}) {
    node.attributes.set(branch, RawAttribute{.bytes = "the same", .is_graph = true});
    Graph body = program("float[2] x", "float[2] r", branch == "then_branch" ? then : "r = Exp(x)");
    body.opsets[""] = opset;
    node.bodies.push_back(
        {.attribute = branch, .graph = std::make_shared<Graph>(std::move(body)), .captured = {0}});
  }
  graph.add_output({graph.add(std::move(node)), 0});
  return graph;
}

TEST(Sweep, WhatRunsInsideOfANodeIsCompared) {
  EXPECT_TRUE(Both(branching("r = Neg(x)"), branching("r = Neg(x)")).same("y", "y"));
  EXPECT_FALSE(Both(branching("r = Neg(x)"), branching("r = Abs(x)")).same("y", "y"));
  EXPECT_FALSE(Both(branching("r = Neg(x)", 17), branching("r = Neg(x)", 18)).same("y", "y"));
}

TEST(Sweep, ASymbolOfTheModelsIsNeverOneThatInferenceMadeUp) {
  const std::string in = "float[n] x, float[\"a?u.1\"] z", one = "int64[1] one = {1}";
  Both both(program(in, "int64[1, k] u, int64[2] y", "u = NonZero(x)\ny = Shape(u)", one),
            program(in, "int64[1, k] u, int64[2] y",
                    "u = NonZero(x)\ns = Shape(z)\ny = Concat<axis=0>(one, s)", one));
  EXPECT_TRUE(both.same("u", "u"));
  EXPECT_FALSE(both.prove("y", "y"));
}

TEST(Sweep, OpaqueNodesThatDeclareOtherTypesAreNotTheSame) {
  const auto model = [](const std::string& type) {
    return program("float[2] x", type + "[2] u", "u = my.own.Op(x)");
  };
  EXPECT_TRUE(Both(model("float"), model("float")).same("u", "u"));
  EXPECT_FALSE(Both(model("float"), model("int64")).same("u", "u"));
}

// Functions that are written out end in nodes that only give a value the name that it has outside.
TEST(Sweep, AnIdentityIsItsInput) {
  const Both both(
      program("float[N] x", "float[N] y", "s = Sin(x)\ny = Exp(s)"),
      program("float[N] x", "float[N] z", "i = Identity(x)\na = Sin(i)\nb = Identity(a)\nz = Exp(b)"));
  EXPECT_TRUE(both.same("x", "i"));
  EXPECT_TRUE(both.same("s", "b"));
  EXPECT_TRUE(both.same("y", "z"));
  EXPECT_FALSE(both.same("s", "i"));
}

// It is unknown whether the second model's Reshape runs, so its output is unknown; it is known that the
// output equals the first model's.
TEST(Sweep, WhatIsKnownOfTheFirstModelIsKnownOfTheSameNodesInTheSecond) {
  const std::string nodes =
      "u = NonZero(x)\nr = Reshape(u, shape)\ns = Shape(r)\nt = Slice(s, zero, one)\ny = Expand(w, t)";
  const std::string numbers = "int64[2] shape = {4, -1}, int64[1] zero = {0}, int64[1] one = {1}";
  const Graph model = program("float[N] x, float[M] w", "float[K] y", nodes, numbers);
  const Both both(model, model);
  EXPECT_TRUE(both.same("t", "t"));
  EXPECT_TRUE(both.same("y", "y"));
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

TEST(Sweep, WhatIsNotReadMayBeUndefined) {
  // The logarithm of a part that is cut off affects neither; that of a part multiplied by zero does.
  const std::string in = "float[6] z", out = "float[6] l, float[2] y", l = "l = Log(z)\n",
                    to = "s = Constant<value_ints=[1]>()\ne = Constant<value_ints=[3]>()\n",
                    zeros = "p = Constant<value_ints=[0,0]>()\nq = Pad(l, p)\n";
  Both both(program(in, out, l + zeros + to + "y = Slice(q, s, e)"),
            program(in, out, l + to + "y = Slice(l, s, e)"));
  EXPECT_TRUE(both.prove("y", "y"));
  Both all(program(in, out, l + to + "y = Slice(l, s, e)"),
           program(in, out,
                   l + to + "o = Constant<value_float=0.0>()\nn = Mul(l, o)\nm = ReduceSum(n)\n" +
                       "t = Slice(l, s, e)\ny = Add(t, m)"));
  EXPECT_FALSE(all.prove("y", "y"));
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
  EXPECT_FALSE(right.sweep.replace_constant(Side::B, k, sum("0.1, 0.4")).ok());
  const auto rounding = right.sweep.replace_constant(Side::B, k, sum("0.1, 0.3"));
  ASSERT_TRUE(rounding.ok());
  EXPECT_FALSE(rounding->is_exact);
  EXPECT_TRUE(right.prove("y", "y"));
  EXPECT_EQ(right.sweep.jump_behind_rounding(), nullptr);
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
      both.sweep
          .replace_constant(Side::B, value_named(both.b, "k"), program("", "float[2] k", "k = Add(a, b)", a))
          .ok());
  EXPECT_TRUE(both.prove("y", "y"));
  const Node* jump = both.sweep.jump_behind_rounding();
  ASSERT_NE(jump, nullptr);
  EXPECT_EQ(jump->op, "Floor");
}

TEST(Sweep, WhatCancellationHasLeftOfAConstantMustNotBeDividedBy) {
  // The first sum is about 2^-23, the rest of two numbers of about 1: half of it is within their rounding
  // errors. The others are large, with so large a number of elements that inference does not compute with
  // them.
  std::string large, ones, none;
  for (int i = 1; i < 5000; ++i) large += ", 50", ones += ", 1", none += ", 0";
  const auto numbers = [](const std::string& name, const std::string& first, const std::string& others) {
    return "float[5000] " + name + " = {" + first + others + "}";
  };
  const std::string in = "float[5000] x", out = "float[5000] y",
                    parts = numbers("a", "1.1", large) + ", " + numbers("c", "0.909091", ones) + ", " +
                            numbers("b", "-1", none),
                    sum = "p = Mul(a, c)\nk = Add(p, b)";
  const auto jump = [&](const std::string& first, const std::string& body) {
    Both both(program(in, out, sum + "\n" + body, parts), program(in, out, body, numbers("k", first, large)));
    const auto rounding = both.sweep.replace_constant(Side::B, value_named(both.b, "k"),
                                                      program("", "float[5000] k", sum, parts));
    EXPECT_TRUE(rounding.ok()) << body;
    const Node* node = both.sweep.jump_behind_rounding();
    return node == nullptr ? std::string() : node->op;
  };
  const std::string half = "5.9604645e-8", whole = "1.1704185e-7";
  EXPECT_EQ(jump(half, "y = Div(x, k)"), "Div");
  EXPECT_EQ(jump(half, "d = Neg(k)\ny = Div(x, d)"), "Div");
  EXPECT_EQ(jump(half, "r = Sqrt(k)\ny = Mul(x, r)"), "Sqrt");
  EXPECT_EQ(jump(half, "y = Div(k, x)"), "");
  EXPECT_EQ(jump(half, "s = Add(x, k)\ny = Div(x, s)"), "Div");  // where it is 0 depends on k
  EXPECT_EQ(jump(half, "q = Mul(x, x)\ns = Add(q, k)\ny = Div(x, s)"), "");
  EXPECT_EQ(jump(whole, "y = Div(x, k)"), "");
}

// A folded constant that is 0.2 off in its second element, beside 1000.
struct Forged {
  Forged(const std::string& a_body, const std::string& a_constants, const std::string& b_body,
         const std::string& b_constants)
      : both(program("float[2] x, float[2] z", "float[2] y, float[2] u", a_body, a_constants),
             program("float[2] x, float[2] z", "float[2] y, float[2] u", b_body, b_constants)) {}
  bool replace(const std::string& name, const std::string& body, const std::string& constants) {
    const auto done = both.sweep.replace_constant(Side::B, value_named(both.b, name),
                                                  program("", "float[2] k", body, constants));
    if (!done.ok()) why = done.error().message;
    return done.ok();
  }
  Both both;
  std::string why;
};

TEST(Sweep, NumbersOfSymbolsThatAreLeantOnAreNotUsed) {
  // t0 · 3e8 - t1 · 1e8 is 0 for these t; the folded constant leans on their digits.
  const std::string t = "float[2] t = {100000000, 300000000}", w = "float[2] w = {1000, 0.1}";
  const std::string forged = "p = Mul(t, l)\ns = ReduceSum<keepdims=1>(p)\nm = Mul(s, n)\nk = Add(w, m)";
  Forged f("y = Mul(x, w)\nu = Mul(z, t)", w + ", " + t, "y = Mul(x, k)\nu = Mul(z, t)",
           "float[2] k = {1000, 0.3}, " + t);
  const bool is_taken = f.replace("k", forged, w + ", " + t + ", float[2] l = {3, -1}, float[1] n = {0.01}");
  EXPECT_TRUE(is_taken);
  EXPECT_FALSE(f.both.prove("y", "y"));
}

TEST(Sweep, WhatOneConstantAddsAndAnotherTakesAwayIsNotRounding) {
  const std::string t = "float[2] t = {100000000, 300000000}", w = "float[2] w = {1000, 0.1}";
  const auto half = [](const std::string& op) {
    return "h = Mul(w, o)\np = Mul(t, l)\ns = ReduceSum<keepdims=1>(p)\nm = Mul(s, n)\nk = " + op + "(h, m)";
  };
  const std::string constants =
      w + ", " + t + ", float[2] l = {3, -1}, float[1] n = {0.01}, float[1] o = {0.5}";
  Forged f("y = Mul(x, w)\nu = Mul(z, t)", w + ", " + t,
           "p = Mul(x, k)\nq = Mul(x, m)\ny = Add(p, q)\nu = Mul(z, t)",
           "float[2] k = {500, 0.15}, float[2] m = {500, 0.05}, " + t);
  EXPECT_TRUE(f.replace("k", half("Add"), constants));
  EXPECT_TRUE(f.replace("m", half("Sub"), constants));
  EXPECT_TRUE(f.both.prove("y", "y"));
  EXPECT_NE(f.both.sweep.undetermined_constant(), nullptr);
}

// Sin(x) is common, and followed: the region begins at x.
bool prove_behind_sin(Both& both) {
  return both.prove("y", "y", {both.sweep.class_of(Side::B, value_named(both.b, "s"))});
}

TEST(Sweep, AnAddedConstantIsWhatTheOtherModelMakesOfZeros) {
  const std::string g = "float[2] g = {1.1, 2}", parts = "float[2] e = {1000, 1}, float[2] b = {-1100, 1}";
  const auto models = [&](const std::string& k) {
    return Forged("s = Sin(x)\nt = Add(s, e)\np = Mul(t, g)\ny = Add(p, b)\nu = Neg(z)", g + ", " + parts,
                  "s = Sin(x)\np = Mul(s, g)\ny = Add(p, k)\nu = Neg(z)", g + ", " + k);
  };
  const std::string sum = "m = Mul(e, g)\nk = Add(m, b)";
  Forged f = models("float[2] k = {0.00008, 3}");  // 1100.0000238 - 1100, by float32
  ASSERT_TRUE(f.replace("k", sum, g + ", " + parts));
  ASSERT_TRUE(prove_behind_sin(f.both));
  EXPECT_EQ(f.both.sweep.undetermined_constant(), nullptr);
  EXPECT_FALSE(models("float[2] k = {0.08, 3}").replace("k", sum, g + ", " + parts));
}

TEST(Sweep, AnAddedConstantBesideAnotherIsNotDetermined) {
  // o is 0, as its program is for these t, and k is 0.2 off by the digits of t.
  const std::string t = "float[2] t = {100000000, 300000000}", w = "float[2] w = {1000, 0.1}";
  const std::string nothing = "p = Mul(t, l)\nr = ReduceSum<keepdims=1>(p)\nm = Mul(r, n)\n",
                    constants = t + ", float[2] l = {3, -1}, float[2] n = {0.01, 0.01}";
  Forged f("s = Sin(x)\ny = Add(s, w)\nu = Mul(z, t)", w + ", " + t,
           "s = Sin(x)\nq = Add(s, o)\ny = Add(q, k)\nu = Mul(z, t)",
           "float[2] k = {1000, 0.3}, float[2] o = {0, 0}, " + t);
  ASSERT_TRUE(f.replace("o", nothing + "k = Neg(m)", constants));
  ASSERT_TRUE(f.replace("k", nothing + "k = Add(w, m)", constants + ", " + w));
  ASSERT_TRUE(prove_behind_sin(f.both));
  EXPECT_NE(f.both.sweep.undetermined_constant(), nullptr);
}

TEST(Sweep, CoefficientsAreDeterminedIfAllOfTheResultIsSeen) {
  const std::string parts = "float[2] w = {0.36666667, 2}, float[1] l = {3}, float[2] v = {-1.1000001, 1}";
  const auto undetermined = [&](const std::string& last) {
    Forged f("a = Mul(x, w)\nb = Mul(a, l)\nd = Mul(x, v)\nc = Add(b, d)\n" + last, parts,
             "c = Mul(x, k)\n" + last, "float[2] k = {-6e-8, 7}");
    EXPECT_TRUE(f.replace("k", "a = Mul(w, l)\nk = Add(a, v)", parts)) << f.why;
    EXPECT_TRUE(f.both.prove("y", "y")) << last;
    return f.both.sweep.undetermined_constant() != nullptr;
  };
  EXPECT_FALSE(undetermined("y = Transpose<perm=[0]>(c)\nu = Neg(z)"));
  EXPECT_TRUE(undetermined("i = Constant<value_ints=[1, 1]>()\ny = Gather(c, i)\nu = Neg(z)"));
}

TEST(Sweep, ANumberOfTheFirstModelIsReplacedByLiterals) {
  const std::string in = "float[2] x", out = "float[2] y", third = "float[1] k = {0.33333334}";
  const auto models = [&](const std::string& a) {
    return Both(program(in, out, a, third), program(in, out, "y = Div(x, t)", "float[1] t = {3}"));
  };
  const auto quotient = [](const std::string& over) {
    return program("", "float[1] k", "k = Div(a, b)", "float[1] a = {1}, float[1] b = {" + over + "}");
  };
  Both both = models("y = Mul(x, k)");
  const Value k = value_named(both.a, "k");
  EXPECT_FALSE(both.sweep.replace_constant(Side::A, k, quotient("3.001")).ok());
  EXPECT_FALSE(both.prove("y", "y"));
  ASSERT_TRUE(both.sweep.replace_constant(Side::A, k, quotient("3")).ok());
  EXPECT_TRUE(both.prove("y", "y"));
  EXPECT_EQ(both.sweep.jump_behind_rounding(), nullptr);
  EXPECT_FALSE(both.sweep.restore_constant(Side::A, k).ok());
  // A jump of the first model counts too; and what inference has computed from the number stands.
  Both jumping(program(in, out, "s = Mul(x, k)\ny = Floor(s)", third),
               program(in, out, "s = Div(x, t)\ny = Floor(s)", "float[1] t = {3}"));
  ASSERT_TRUE(jumping.sweep.replace_constant(Side::A, value_named(jumping.a, "k"), quotient("3")).ok());
  EXPECT_NE(jumping.sweep.jump_behind_rounding(), nullptr);
  Both computed = models("n = Neg(k)\ns = Mul(x, n)\ny = Neg(s)");
  EXPECT_FALSE(computed.sweep.replace_constant(Side::A, value_named(computed.a, "k"), quotient("3")).ok());
}

TEST(Sweep, AProofSettlesTheNumbersThatItTook) {
  const std::string k = "float[1] k = {0.33333334}";
  Both both(program("float[2] x", "float[2] y", "s = Add(x, x)\ny = Mul(s, k)", k),
            program("float[2] x", "float[2] y", "s = Mul(x, k)\ny = Add(s, s)", k));
  EXPECT_TRUE(both.prove("y", "y"));
  const auto third = program("", "float[1] k", "k = Div(a, b)", "float[1] a = {1}, float[1] b = {3}");
  EXPECT_FALSE(both.sweep.replace_constant(Side::A, value_named(both.a, "k"), third).ok());
}

}  // namespace
}  // namespace isomer
