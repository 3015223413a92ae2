#include "equate/prove_models.h"

#include <gtest/gtest.h>

#include <atomic>

#include "model/eval/program.h"
#include "model/graph/rebuild.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

Graph model(const std::string& inputs, const std::string& outputs, const std::string& body,
            const std::string& constants = "") {
  return parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" + outputs + ") " +
                (constants.empty() ? "" : "<" + constants + ">") + "{\n" + body + "\n}");
}

// The model with some of its inputs fixed.
Graph with_constant_inputs(const Graph& graph, const std::vector<std::pair<std::string, Tensor>>& constants) {
  Graph out = with_changed_nodes(graph, [&](Node& node) {
    for (const auto& [name, tensor] : constants)
      if (node.kind == NodeKind::Input && node.outputs[0] == name) {
        node.kind = NodeKind::Initializer;
        node.tensor = tensor;
      }
  });
  Graph bare = out.without_nodes();
  for (const NodeId id : out.order()) bare.add(id);
  for (const Value& v : out.inputs())
    if (out.node(v.node).kind == NodeKind::Input) bare.add_input(v);
  for (const Value& v : out.outputs()) bare.add_output(v);
  return bare;
}

// Enough numbers that none are equal by accident.
std::string numbers(int count, int seed, double scale = 1) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    const int drawn = (i * 7919 + seed * 104729 + i * i * 31) % 2003;
    out += (i > 0 ? ", " : "") + std::to_string((drawn - 1001) * scale / 500.0);
  }
  return out;
}

TEST(ProveModels, DifferentInterfacesAreRefutedByName) {
  const Graph a = model("float[N,4] x", "float[N,4] y", "y = Relu(x)");
  EXPECT_EQ(prove_models(a, model("float[N,4] z", "float[N,4] y", "y = Relu(z)")).answer, Answer::Refuted);
  EXPECT_EQ(prove_models(a, model("double[N,4] x", "double[N,4] y", "y = Relu(x)")).answer, Answer::Refuted);
  EXPECT_EQ(prove_models(a, model("float[4] x", "float[4] y", "y = Relu(x)")).answer, Answer::Refuted);
  const auto two =
      prove_models(a, model("float[N,4] x", "float[N,4] y, float[N,4] z", "y = Relu(x)\nz = Relu(x)"));
  EXPECT_EQ(two.answer, Answer::Refuted);
  EXPECT_EQ(two.why, "the first model has 1 outputs, the second 2");
}

TEST(ProveModels, NamesOfDimensionsAndOutputsDoNotMatter) {
  const auto verdict =
      prove_models(model("float[batch,4] x", "float[batch,4] y", "t = Exp(x)\ny = Add(t, x)"),
                   model("float[N,4] x", "float[N,4] z", "t = Exp(x)\nz = Add(x, t)"));
  EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
  EXPECT_EQ(verdict.outputs[0].b, "z");
}

TEST(ProveModels, DefaultsOfInputsAreAPartOfTheInterface) {
  const auto with = [](const std::string& inputs, const std::string& constants = "") {
    return model("float[2] x" + inputs, "float[2] y", "y = Add(x, w)", constants);
  };
  const Graph a = with(", float[2] w = {1, 2}");
  EXPECT_EQ(prove_models(a, a).answer, Answer::Proved);
  const auto answer = [&](const Graph& b) {
    const auto verdict = prove_models(a, b);
    EXPECT_EQ(verdict.answer, Answer::Refuted);
    return verdict.why;
  };
  EXPECT_EQ(answer(with(", float[2] w = {1, 3}")), "input w has another default in the second model");
  EXPECT_EQ(answer(with(", float[2] w")), "input w has a default in the first model only");
  EXPECT_EQ(answer(with("", "float[2] w = {1, 2}")),
            "only the first model has an input named w: --value w=NUMBER compares them with it fixed");
  EXPECT_EQ(prove_models(with("", "float[2] w = {1, 2}"), a).why,
            "only the second model has an input named w: --value w=NUMBER compares them with it fixed");
}

TEST(ProveModels, SequencesOfOtherElementsAreRefuted) {
  const auto with = [](const std::string& type, const std::string& out = "") {
    return model("seq(" + type + ") s", "seq(" + (out.empty() ? type : out) + ") y", "y = Identity(s)");
  };
  EXPECT_EQ(prove_models(with("float[N]"), with("float[M]")).answer, Answer::Proved);
  EXPECT_EQ(prove_models(with("float[N]"), with("float[3]")).answer, Answer::Undecided);
  EXPECT_EQ(prove_models(with("float[3]"), with("float[4]")).answer, Answer::Undecided);
  EXPECT_EQ(prove_models(with("float[N]"), with("float[N, M]")).answer, Answer::Refuted);
  const auto other = prove_models(with("float[N]"), with("int64[N]"));
  EXPECT_EQ(other.answer, Answer::Refuted);
  EXPECT_EQ(other.why, "input s is seq(float[N]) in the first model, seq(int64[N]) in the second");
  EXPECT_EQ(prove_models(with("float[N]"), with("float[N]", "int64[N]")).why,
            "output 0 is seq(float[N]) in the first model, seq(int64[N]) in the second");
}

TEST(ProveModels, WhatTheFilesDeclareOfExtentsIsNotBelieved) {
  const std::string unique = "u = Unique<sorted=1>(x)\n";
  const Graph a = model("float[q] x", "int64[1] y", unique + "y = Shape(x)");
  EXPECT_NE(prove_models(a, model("float[q] x", "int64[1] y", unique + "y = Shape(u)", "float[q] u")).answer,
            Answer::Proved);
  EXPECT_NE(prove_models(a, model("float[n] x", "int64[1] y", unique + "y = Shape(u)", "float[q] u")).answer,
            Answer::Proved);
  EXPECT_NE(prove_models(model("float[q] x", "float[q] u, int64[1] y", unique + "y = Shape(x)"),
                         model("float[q] x", "float[q] u, int64[1] y", unique + "y = Shape(u)"))
                .answer,
            Answer::Proved);
}

TEST(ProveModels, ANameOfTheSecondModelIsNotTakenForOneOfTheFirst) {
  // n is q, and the second model's own q is something else.
  const auto verdict =
      prove_models(model("float[q] x, float[q, m] z", "int64[1] y", "y = Shape(x)"),
                   model("float[n] x, float[n, q] z", "int64[1] y",
                         "s = Shape(z)\nat = Constant<value_ints=[1]>()\ny = Gather(s, at)"));
  EXPECT_NE(verdict.answer, Answer::Proved);
  EXPECT_EQ(prove_models(model("float[q] x, float[m] z", "float[q] y", "y = Exp(x)"),
                         model("float[m] x, float[q] z", "float[m] y", "y = Exp(x)"))
                .answer,
            Answer::Proved);
}

TEST(ProveModels, AnOutputMayBeAValueUnderAnotherName) {
  const Graph a = model("float[N] x", "float[N] y", "s = Relu(x)\ny = Identity(s)");
  const Graph b = model("float[N] x", "float[N] y", "y = Relu(x)");
  const Graph both = model("float[N] x", "float[N] y, float[N] z", "y = Relu(x)\nz = Identity(y)");
  const Graph once = model("float[N] x", "float[N] y, float[N] z", "y = Relu(x)\nz = Relu(x)");
  for (const auto& [first, second] : {std::pair(a, b), {b, a}, {both, once}, {once, both}}) {
    const auto verdict = prove_models(first, second);
    EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
  }
}

// Halves are stored with eleven bits: a product of two of them that was folded is no counterexample.
TEST(ProveModels, RoundedHalvesAreNotRefuted) {
  const auto halves = [](const std::vector<double>& values) {
    return convert(Tensor::of(ElementType::Double, {static_cast<std::int64_t>(values.size())}, values),
                   ElementType::Float16);
  };
  const auto scaling = [](const std::vector<std::pair<std::string, Tensor>>& constants,
                          const std::string& body) {
    std::string inputs = "float16[N,70] x";
    for (const auto& [name, tensor] : constants) inputs += ", float16[70] " + name;
    Graph graph = model(inputs, "float16[N,70] y", body);
    return with_constant_inputs(graph, constants);
  };
  std::vector<double> v, w, product;
  for (int i = 0; i < 70; ++i) {
    v.push_back(1 + i * 0.0625);
    w.push_back(3 - i * 0.03125);
    product.push_back(v.back() * w.back());
  }
  product[3] += 0.0009;  // and not exactly: no program over v and w is it
  const Graph a = scaling({{"v", halves(v)}, {"w", halves(w)}}, "t = Mul(x, v)\ny = Mul(t, w)");
  const Graph b = scaling({{"k", halves(product)}}, "y = Mul(x, k)");
  const auto verdict = prove_models(a, b);
  EXPECT_NE(verdict.answer, Answer::Refuted) << verdict.why;
  product[3] *= 2;
  EXPECT_EQ(prove_models(a, scaling({{"k", halves(product)}}, "y = Mul(x, k)")).answer, Answer::Refuted);
}

// n·m / m is n, but for m = 0, where it fails.
TEST(ProveModels, IntegersThatMayNotBeComputedAreNotKnown) {
  const std::string in = "float[N,M] x", out = "int64[1] y",
                    sizes = "s = Shape(x)\nn = Gather(s, a)\nm = Gather(s, b)\n",
                    constants = "int64[1] a = {0}, int64[1] b = {1}";
  const Graph a = model(in, out, sizes + "y = Identity(n)", constants);
  const Graph b = model(in, out, sizes + "p = Mul(n, m)\ny = Div(p, m)", constants);
  EXPECT_EQ(prove_models(a, b).answer, Answer::Undecided);
  const auto back = prove_models(b, a);
  EXPECT_EQ(back.answer, Answer::Proved) << back.why;
}

TEST(ProveModels, ADifferenceIsShownWithBothValuesAndItsPlace) {
  const auto verdict =
      prove_models(model("float[3,4] x", "float[3,4] y", "s = Sin(x)\nt = Relu(s)\ny = Exp(t)"),
                   model("float[3,4] x", "float[3,4] y", "s = Sin(x)\nt = Abs(s)\ny = Exp(t)"));
  ASSERT_EQ(verdict.answer, Answer::Refuted);
  ASSERT_TRUE(verdict.example.has_value());
  EXPECT_NE(verdict.example->a, verdict.example->b);
  EXPECT_EQ(verdict.first_difference,
            "Relu producing t of the first model and Abs producing t of the second");
}

// log 8 / log 2 is 3 in float32 and a little less in float64, because log 2 is rounded: position 3 was
// folded.
TEST(ProveModels, WhatRoundingDecidesAtAJumpIsNotRefuted) {
  const std::string in = "float[6] x", out = "float[1] y";
  const auto computed = [&](const std::string& divisor) {
    return model(in, out, "l = Log(k)\nd = Div(l, s)\ni = Cast<to=7>(d)\ny = Gather(x, i)",
                 "float[1] k = {8}, float[1] s = {" + divisor + "}");
  };
  const Graph folded = model(in, out, "y = Gather(x, i)", "int64[1] i = {3}");
  EXPECT_EQ(prove_models(computed("0.6931472"), folded).answer, Answer::Undecided);
  EXPECT_EQ(prove_models(computed("0.6932"), folded).answer,
            Answer::Refuted);  // 2.9998: no rounding makes it 3
}

TEST(ProveModels, MovedWeightsAreExact) {
  const std::string v = numbers(12, 1), w = numbers(12, 2);
  const auto verdict = prove_models(
      model("float[2,3] x", "float[2,4] y, float[2,4] z", "y = MatMul(x, v)\nz = MatMul(x, w)",
            "float[3,4] v = {" + v + "}, float[3,4] w = {" + w + "}"),
      model("float[2,3] x", "float[2,4] y, float[2,4] z",
            "t = Transpose<perm=[1,0]>(k)\nb = MatMul(x, t)\nn = Constant<value_ints=[4,4]>()\n"
            "y, z = Split<axis=1>(b, n)",
            // [v | w], turned
            [] {
              const std::string list = "float[8,3] k = {";
              std::string out;
              for (const int seed : {1, 2})
                for (int j = 0; j < 4; ++j)
                  for (int i = 0; i < 3; ++i) {
                    const int at = i * 4 + j, drawn = (at * 7919 + seed * 104729 + at * at * 31) % 2003;
                    out += (out.empty() ? "" : ", ") + std::to_string((drawn - 1001) / 500.0);
                  }
              return list + out + "}";
            }()));
  EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
  EXPECT_EQ(verdict.constants_moved, 1);
  EXPECT_EQ(verdict.constants_rounded, 0);
}

TEST(ProveModels, WeightsThatOneModelPutsTogetherAreTheOthersTwo) {
  const auto weights = [](int u, int v) {
    return "float[8,16] u = {" + numbers(128, u) + "}, float[8,16] v = {" + numbers(128, v) + "}";
  };
  const std::string in = "float[N,8] x", out = "float[N,16] y";
  const Graph apart = model(in, out, "p = MatMul(x, u)\nq = MatMul(x, v)\ny = Sub(p, q)", weights(1, 2));
  const auto together = [&](const std::string& order, int u, int v) {
    return model(
        in, out,
        "w = Concat<axis=1>(" + order + ")\nt = MatMul(x, w)\np, q = Split<axis=1>(t)\ny = Sub(p, q)",
        weights(u, v));
  };
  for (const auto& [order, u, v] : {std::tuple("u, v", 1, 2), std::tuple("v, u", 2, 1)}) {
    const Graph other = together(order, u, v);
    EXPECT_EQ(prove_models(apart, other).answer, Answer::Proved) << order;
    EXPECT_EQ(prove_models(other, apart).answer, Answer::Proved) << order;
  }
  EXPECT_EQ(prove_models(apart, together("v, u", 1, 2)).answer, Answer::Refuted);
  EXPECT_EQ(prove_models(apart, together("u, v", 1, 3)).answer, Answer::Refuted);
}

TEST(ProveModels, AFoldedScaleIsSolvedForAndAWrongOneIsNot) {
  const std::string w = "float[10,10] w = {" + numbers(100, 3) + "}, float[10] s = {" + numbers(10, 4) + "}";
  const auto folded = [](double wrong) {
    std::string out;
    for (int i = 0; i < 100; ++i) {
      const auto drawn = [](int k, int seed) {
        return static_cast<float>(
            std::stod(std::to_string(((k * 7919 + seed * 104729 + k * k * 31) % 2003 - 1001) / 500.0)));
      };
      const float product = drawn(i, 3) * drawn(i % 10, 4) * static_cast<float>(i == 47 ? wrong : 1);
      out += (i > 0 ? ", " : "") + std::to_string(static_cast<double>(product));
    }
    return out;
  };
  const Graph a = model("float[2,10] x", "float[2,10] y", "t = MatMul(x, w)\nu = Mul(t, s)\ny = Relu(u)", w);
  const auto right = prove_models(a, model("float[2,10] x", "float[2,10] y", "t = MatMul(x, k)\ny = Relu(t)",
                                           "float[10,10] k = {" + folded(1) + "}"));
  EXPECT_EQ(right.answer, Answer::Proved) << right.why;
  EXPECT_EQ(right.constants_rounded, 1);
  const Graph linear = model("float[2,10] x", "float[2,10] y", "t = MatMul(x, w)\ny = Mul(t, s)", w);
  const auto with = [&](double off) {
    return prove_models(linear, model("float[2,10] x", "float[2,10] y", "y = MatMul(x, k)",
                                      "float[10,10] k = {" + folded(off) + "}"));
  };
  const auto wrong = with(1.01);
  EXPECT_EQ(wrong.answer, Answer::Refuted) << wrong.why;
  EXPECT_NE(wrong.first_difference, "");
  // What rounding may have done is no difference.
  const auto near = with(1.000001);
  EXPECT_NE(near.answer, Answer::Refuted) << near.why;
}

TEST(ProveModels, ManyEqualBlocksCostOneProof) {
  std::string one, two, last = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string k = std::to_string(i);
    one += "a" + k + " = Add(" + last + ", b)\nv" + k + " = Sin(a" + k + ")\n";
    two += "m" + k + " = Sub(" + last + ", c)\nv" + k + " = Sin(m" + k + ")\n";
    last = "v" + k;
  }
  const auto verdict = prove_models(
      model("float[3,4] x, float[4] b", "float[3,4] y", one + "y = Neg(" + last + ")"),
      model("float[3,4] x, float[4] b", "float[3,4] y", "c = Neg(b)\n" + two + "y = Neg(" + last + ")"));
  EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
}

TEST(ProveModels, ATimeThatIsUpIsUndecided) {
  const std::atomic<bool> stop{true};
  const auto verdict = prove_models(model("float[4] x", "float[4] y", "a = Add(x, x)\ny = Sin(a)"),
                                    model("float[4] x", "float[4] y",
                                          "o = Constant<value_float=2.0>()\n"
                                          "a = Mul(x, o)\ny = Sin(a)"),
                                    {.stop = &stop});
  EXPECT_EQ(verdict.answer, Answer::Undecided);
}

// 0.9 is what 1 - 0.1 rounds to, and no float is it.
TEST(ProveModels, NumbersThatAreRoundedResultsOfNumbersAreFoundAndCounted) {
  const Graph a = model("float[2,8] x", "float[2,8] y", "y = LeakyRelu<alpha=0.1>(x)");
  const auto spell = [](const std::string& rest) {
    return model("float[2,8] x", "float[2,8] y",
                 "k = Constant<value_float=0.1>()\nr = Constant<value_float=" + rest +
                     ">()\ns = Mul(x, k)\np = Relu(x)\nt = Mul(p, r)\ny = Add(s, t)");
  };
  const auto right = prove_models(a, spell("0.9"));
  EXPECT_EQ(right.answer, Answer::Proved) << right.why;
  EXPECT_EQ(right.constants_rounded, 1);
  EXPECT_GT(right.worst_ulp, 0);
  EXPECT_LE(right.worst_ulp, 0.5);
  EXPECT_NE(prove_models(a, spell("0.9000001")).answer, Answer::Proved);
  EXPECT_NE(prove_models(a, spell("0.8")).answer, Answer::Proved);
}

TEST(ProveModels, AGeluIsItsPartsWithTheRootOfTwoRounded) {
  const std::string in = "float[N,4] x", out = "float[N,4] y";
  const auto of_20 = [&](const std::string& body) {
    return parsed("<ir_version: 8, opset_import: [\"\" : 20]>\nagraph (" + in + ") => (" + out + ") {\n" +
                  body + "\n}");
  };
  const auto parts = [&](const std::string& scaled) {
    return of_20("r = Constant<value_float=1.41421354>()\ni = Constant<value_float=0.70710677>()\n" + scaled +
                 "\ne = Erf(s)\no = Constant<value_float=1.0>()\n"
                 "f = Add(e, o)\ng = Mul(x, f)\nh = Constant<value_float=0.5>()\ny = Mul(g, h)");
  };
  const Graph whole = of_20("y = Gelu(x)");
  for (const std::string scaled : {"s = Div(x, r)", "s = Mul(x, i)"}) {
    const auto forth = prove_models(parts(scaled), whole), back = prove_models(whole, parts(scaled));
    EXPECT_EQ(forth.answer, Answer::Proved) << forth.why;
    EXPECT_EQ(back.answer, Answer::Proved) << back.why;
    EXPECT_EQ(forth.constants_rounded, 1);
    EXPECT_EQ(back.constants_rounded, 1);
  }
  EXPECT_NE(prove_models(parts("s = Mul(x, r)"), whole).answer, Answer::Proved);
}

TEST(ProveModels, AHardSwishIsAClipDividedBySix) {
  const Graph a = model("float[2,8] x", "float[2,8] y", "y = HardSwish(x)");
  const auto spell = [](const std::string& three, const std::string& six, const std::string& sixth) {
    return model("float[2,8] x", "float[2,8] y",
                 "z = Constant<value_float=0.0>()\nt = Constant<value_float=" + three +
                     ">()\ns = Constant<value_float=" + six + ">()\nr = Constant<value_float=" + sixth +
                     ">()\na = Add(x, t)\nb = Clip(a, z, s)\nc = Mul(b, r)\ny = Mul(x, c)");
  };
  const auto right = prove_models(a, spell("3.0", "6.0", "0.16666667"));
  EXPECT_EQ(right.answer, Answer::Proved) << right.why;
  EXPECT_EQ(right.constants_rounded, 2);
  EXPECT_NE(prove_models(a, spell("3.0", "6.0", "0.16")).answer, Answer::Proved);
  EXPECT_NE(prove_models(a, spell("3.0", "6.5", "0.16666667")).answer, Answer::Proved);
}

// The same in another layout: no value of the first model is the second's, but turned it is.
TEST(ProveModels, ValuesMayBeTurned) {
  const auto pair = [](const std::string& perm) {
    return prove_models(model("float[2,3,5] x", "float[2,5] y",
                              "a = Sin(x)\nb = Exp(a)\nc = Mul(b, a)\nk = Constant<value_ints=[1]>()\n"
                              "y = ReduceSum<keepdims=0>(c, k)"),
                        model("float[2,3,5] x", "float[2,5] y",
                              "t = Transpose<perm=[" + perm +
                                  "]>(x)\na = Sin(t)\nb = Exp(a)\nc = Mul(a, b)\n"
                                  "k = Constant<value_ints=[0]>()\ny = ReduceSum<keepdims=0>(c, k)"));
  };
  const auto verdict = pair("1,0,2");
  EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
}

// What only one row of the first model's values is needed for, and only that row is computed.
TEST(ProveModels, ValuesMayBeOneRowOfOthers) {
  const std::string w = "float[5,5] w = {" + numbers(25, 3) + "}, float[5,5] v = {" + numbers(25, 4) + "}";
  const auto pair = [&](const std::string& row) {
    const std::string pick = "i = Constant<value_ints=[" + row + "]>()\n";
    return prove_models(
        model("float[1,7,5] x", "float[1,1,5] y",
              "a = MatMul(x, w)\nb = Sin(a)\nc = Softmax(b)\nd = MatMul(c, v)\n"
              "i = Constant<value_ints=[0]>()\ny = Gather<axis=1>(d, i)",
              w),
        model(
            "float[1,7,5] x", "float[1,1,5] y",
            pick + "r = Gather<axis=1>(x, i)\na = MatMul(r, w)\nb = Sin(a)\nc = Softmax(b)\ny = MatMul(c, v)",
            w));
  };
  const auto verdict = pair("0");
  EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
  EXPECT_EQ(pair("1").answer, Answer::Refuted);
}

// A mask that one model makes and the other has, larger than what inference follows by itself.
TEST(ProveModels, MasksAreKnownHoweverTheyAreMade) {
  const auto made = [](const std::string& number) {
    return "n = Constant<value_ints=[40,40]>()\no = ConstantOfShape<value=float[1]{" + number + "}>(n)\n" +
           "m = Trilu<upper=1>(o)\n";
  };
  const auto other = [](const std::string& number) {
    return "n = Constant<value_ints=[40,1]>()\no = ConstantOfShape<value=float[1]{" + number + "}>(n)\n" +
           "s = Constant<value_ints=[40,40]>()\ne = Expand(o, s)\nm = Trilu<upper=1>(e)\n";
  };
  const std::string in = "float[40,40] x", out = "float[40,40] y", add = "t = Sin(x)\ny = Add(t, m)";
  const auto verdict = prove_models(model(in, out, made("-5.0") + add), model(in, out, other("-5.0") + add));
  EXPECT_EQ(verdict.answer, Answer::Proved) << verdict.why;
  EXPECT_EQ(prove_models(model(in, out, made("-5.0") + add), model(in, out, other("-5.5") + add)).answer,
            Answer::Refuted);
}

// Random inputs never have a mask of zeros, and there the one output is zero and the other is not.
TEST(ProveModels, IntegersAreTriedAsZero) {
  const std::string in = "float[2,4] x, bool[2,40] k", out = "float[2,4] y";
  const auto verdict =
      prove_models(model(in, out, "c = Cast<to=1>(k)\nm = ReduceMax<keepdims=0>(c)\ny = Mul(x, m)"),
                   model(in, out, "y = Identity(x)"));
  ASSERT_EQ(verdict.answer, Answer::Refuted) << verdict.why;
  EXPECT_EQ(verdict.example->a, 0);
  EXPECT_NE(verdict.example->b, 0);
}

// A convolution as quantisers write it: spelled out, with a bias in steps of its own, and as one operator.
ModelsVerdict prove_quantised(const std::string& sx, const std::string& sw, const std::string& bias_scale,
                              const std::string& next = "0") {
  std::string weights;
  for (int i = 0; i < 2 * 3 * 3 * 3; ++i) weights += (i > 0 ? ", " : "") + std::to_string(i * 37 % 255 - 127);
  const std::string in = "float[1,3,6,6] f", out = "uint8[1,2,6,6] y";
  const std::string constants = "float sx = {" + sx + "}, uint8 zx = {120}, float sw = {" + sw +
                                "}, int8 zw = {0}, float sy = {0.05}, uint8 zy = {7}, int8[2,3,3,3] w = {" +
                                weights + "}";
  return prove_models(
      model(
          in, out,
          "x = QuantizeLinear(f, sx, zx)\nd = DequantizeLinear(x, sx, zx)\ne = DequantizeLinear(w, sw, zw)\n"
          "k = DequantizeLinear(b, sb, zb)\nc = Conv<pads=[1,1,1,1]>(d, e, k)\ny = QuantizeLinear(c, sy, zy)",
          constants + ", int32[2] b = {321, -77}, int32 zb = {0}, float sb = {" + bias_scale + "}"),
      model(in, out,
            "x = QuantizeLinear(f, sx, zx)\ny = QLinearConv<pads=[1,1,1,1]>(x, sx, zx, w, sw, zw, sy, zy, b)",
            constants + ", int32[2] b = {321, -7" + (next == "0" ? "7" : "8") + "}"));
}

TEST(ProveModels, AConvolutionBetweenQuantisersIsOneInSteps) {
  const auto exact = prove_quantised("0.03125", "0.00390625", "0.0001220703125");
  EXPECT_EQ(exact.answer, Answer::Proved) << exact.why;
  EXPECT_NE(prove_quantised("0.03125", "0.00390625", "0.0001220703125", "1").answer, Answer::Proved);
}

// 0.02 · 0.003, rounded: that is another bias by its last digits, and a quantiser may make a step of them.
TEST(ProveModels, ARoundedScaleOfABiasIsNoProof) {
  const auto rounded = prove_quantised("0.02", "0.003", "0.00006");
  EXPECT_EQ(rounded.answer, Answer::Undecided);
  EXPECT_NE(rounded.why.find("last digits"), std::string::npos) << rounded.why;
}

}  // namespace
}  // namespace isomer
