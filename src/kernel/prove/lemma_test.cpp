#include "kernel/prove/lemma.h"

#include <gtest/gtest.h>

#include "kernel/prove/refute.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

Graph program(const std::string& inputs, const std::string& body, const std::string& outputs = "y") {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" +
                           outputs + ") {\n" + body + "\n}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

TEST(Lemma, EqualArgumentsOfOneFunctionAreProvedFirst) {
  const std::string in = "float[O,C,3,3] a, float[O,C,3,3] b, float[O,C,3,3] c";
  const std::string conv = "t = Conv<pads=[1,1,1,1]>(v, v)\ny = Relu(t)";
  const Graph left = program(in, "u = Mul(a, b)\nv = Mul(c, u)\n" + conv);
  const Graph right = program(in, "u = Mul(a, c)\nv = Mul(b, u)\n" + conv);
  const Verdict verdict = prove_with_lemma(left, right);
  EXPECT_TRUE(std::holds_alternative<Proved>(verdict)) << text(verdict);
}

TEST(Lemma, IsNoReasonToProveWhatIsFalse) {
  const std::string in = "float[N] a, float[N] b";
  const Graph left = program(in, "u = Add(a, b)\nv = Relu(u)\ny = Mul(v, a)");
  const Graph right = program(in, "u = Add(b, a)\nv = Relu(u)\ny = Mul(v, b)");
  const Verdict verdict = prove_with_lemma(left, right, {.refute = find_counterexample});
  EXPECT_TRUE(std::holds_alternative<Refuted>(verdict)) << text(verdict);
}

// What the first program doesn't compute may be undefined where it is defined.
TEST(Lemma, IsNotTakenFromWhatTheOutputsDoNotNeed) {
  const Graph left = program("float[N] a, float[N] b", "u = Div(a, b)\ny = Identity(a)");
  const Graph right = program("float[N] a, float[N] b", "u = Div(a, b)\nz = Sub(u, u)\ny = Add(a, z)");
  EXPECT_FALSE(std::holds_alternative<Proved>(prove_with_lemma(left, right)));
}

// A value that was proved equal is cut, and stays as undefined as it is: also where it is cut twice.
TEST(Lemma, CutsKeepThatTheyMayBeUndefined) {
  const std::string in = "float[N] x", z = "\nz = Exp(w)", out = "y, z";
  const std::string twice = "m = Neg(l)\nv = Neg(m)\n", again = "s = Neg(v)\nw = Neg(s)\n";
  for (const std::string partial : {"Log(x)", "Sqrt(x)", "Reciprocal(x)"}) {
    const Graph left = program(in, "w = " + partial + "\ny = Neg(x)" + z, out);
    const Graph right = program(
        in, "l = " + partial + "\n" + twice + again + "n = Neg(x)\nd = Sub(w, w)\ny = Add(n, d)" + z, out);
    EXPECT_FALSE(std::holds_alternative<Proved>(prove_with_lemma(left, right))) << partial;
    const Graph honest = program(in, "l = " + partial + "\n" + twice + again + "y = Neg(x)" + z, out);
    const Verdict verdict = prove_with_lemma(left, honest);
    EXPECT_TRUE(std::holds_alternative<Proved>(verdict)) << partial << ": " << text(verdict);
  }
}

// Cuts of both programs have one name, and no two cuts of one program have the same.
TEST(Lemma, CutsOfProgramsWithOtherInputsAreNotTakenForEachOther) {
  const Graph left = program("float[N] a, float[N] b",
                             "u = Exp(a)\nv = Exp(b)\nu1 = Neg(u)\nu2 = Neg(u1)\n"
                             "v1 = Neg(v)\nv2 = Neg(v1)\ny = Sub(u2, v2)");
  const Graph right = program("float[N] a, float[N] b, float[N] c", "u = Exp(a)\nv = Exp(b)\ny = Sub(v, u)");
  EXPECT_FALSE(std::holds_alternative<Proved>(prove_with_lemma(left, right)));
}

}  // namespace
}  // namespace isomer
