#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

// Gates in the order i, f, g, o of the result of `gates`, from x{t} and h, c.
std::string steps(int count, const std::string& gates) {
  std::string out;
  for (int t = 0; t < count; ++t) {
    const std::string now = std::to_string(t);
    std::string body = gates + R"(
fs# = Sigmoid(f#)
is# = Sigmoid(i#)
gs# = Tanh(g#)
os# = Sigmoid(o#)
kept# = Mul(fs#, c@)
added# = Mul(is#, gs#)
c# = Add(kept#, added#)
tc# = Tanh(c#)
h# = Mul(os#, tc#)
)";
    for (const auto& [sign, by] : {std::pair('#', now), std::pair('@', t == 0 ? "" : std::to_string(t - 1))})
      for (std::size_t at = body.find(sign); at != std::string::npos; at = body.find(sign))
        body.replace(at, 1, by);
    out += body;
  }
  return out;
}

std::string as_operator(const std::string& text, std::string* why) {
  const auto result = testing::taken(kFastpath, program(text), why);
  return result ? operators(*result) : "";
}

const std::string kWeights = ", " + weight("w", "12,2", 24, 1) + ", " + weight("u", "12,3", 36, 2) + ", " +
                             weight("a", "12", 12, 3) + ", " + weight("b", "12", 12, 4);

TEST(Recurrence, StepsWithOneProductForAllGatesAreAnOperator) {
  std::string why;
  EXPECT_EQ(
      as_operator("agraph (float[1,3,2] x, float[1,3] h, float[1,3] c) => (float[1,3] h2, float[1,3] c2) <" +
                      kWeights.substr(2) + ", " + integers("parts", {3, 3, 3, 3}) +
                      ", int64 t0 = {0}, int64 t1 = {1}, int64 t2 = {2}> {" + steps(3, R"(
x# = Gather<axis=1>(x, t#)
p# = Gemm<transB=1>(x#, w, a)
q# = Gemm<transB=1>(h@, u, b)
z# = Add(p#, q#)
i#, f#, g#, o# = Split<axis=1>(z#, parts))") +
                      "}",
                  &why),
      "Transpose Unsqueeze Unsqueeze LSTM Squeeze Squeeze")
      << why;
}

TEST(Recurrence, GatesByThemselvesAndStatesInBetween) {
  std::string gates, weights;
  for (const char* gate : {"i", "f", "g", "o"}) {
    const std::string g = gate;
    for (const std::string& line : {"x# = MatMul(x#, w" + g + ")", "h# = MatMul(h@, u" + g + ")",
                                    "t# = Add(" + g + "x#, " + g + "h#)", "# = Add(" + g + "t#, b" + g + ")"})
      gates += "\n" + g + line;
    const int seed = static_cast<int>(weights.size());
    weights += (weights.empty() ? "" : ", ") + weight("w" + g, "2,3", 6, seed) + ", " +
               weight("u" + g, "3,3", 9, seed + 1) + ", " + weight("b" + g, "3", 3, seed + 2);
  }
  std::string why;
  EXPECT_EQ(
      as_operator("agraph (float[4,2] x0, float[4,2] x1, float[4,3] h, float[4,3] c) => (float[4,3] h0, "
                  "float[4,3] h1) <" +
                      weights + "> {" + steps(2, gates) + "}",
                  &why),
      "Unsqueeze Unsqueeze Concat Unsqueeze Unsqueeze LSTM Gather Squeeze Squeeze")
      << why;
}

// What exporters leave of a first step from states of zero.
std::string from_zero(const std::string& left) {
  std::string body = steps(3, R"(
p# = Gemm<transB=1>(x#, w, a)
q# = Gemm<transB=1>(h@, u, b)
z# = Add(p#, q#)
i#, f#, g#, o# = Split<axis=1>(z#, parts))");
  const std::string product = "q0 = Gemm<transB=1>(h, u, b)";
  body.replace(body.find(product), product.size() + 1, "");
  body.replace(body.find("Add(p0, q0)"), 11, "Add(p0, left)");
  return "agraph (float[1,2] x0, float[1,2] x1, float[1,2] x2) => (float[1,3] h2) <" + kWeights.substr(2) +
         ", " + left + ", float[1,3] c = {0, 0, 0}, " + integers("parts", {3, 3, 3, 3}) + "> {" + body + "}";
}

TEST(Recurrence, TheFirstStepMayStartFromZero) {
  std::string why;
  EXPECT_EQ(as_operator(from_zero(weight("left", "1,12", 12, 4)), &why),
            "Unsqueeze Unsqueeze Unsqueeze Concat LSTM Squeeze")
      << why;
  // Another bias: the operator begins with the second step.
  const std::string later = as_operator(from_zero(weight("left", "1,12", 12, 3)), &why);
  EXPECT_TRUE(later.ends_with("LSTM Squeeze")) << later << why;
  EXPECT_NE(later.find("Tanh"), std::string::npos);
}

TEST(Recurrence, OtherWeightsInAStepAreNoOperator) {
  std::string body = steps(3, R"(
p# = Gemm<transB=1>(x#, w, a)
q# = Gemm<transB=1>(h@, u#, b)
z# = Add(p#, q#)
i#, f#, g#, o# = Split<axis=1>(z#, parts))");
  std::string why;
  EXPECT_EQ(as_operator("agraph (float[1,2] x0, float[1,2] x1, float[1,2] x2, float[1,3] h, float[1,3] c) => "
                        "(float[1,3] h2) <" +
                            weight("w", "12,2", 24, 1) + ", " + weight("u0", "12,3", 36, 2) + ", " +
                            weight("u1", "12,3", 36, 3) + ", " + weight("u2", "12,3", 36, 4) + ", " +
                            weight("a", "12", 12, 3) + ", " + weight("b", "12", 12, 4) + ", " +
                            integers("parts", {3, 3, 3, 3}) + "> {" + body + "}",
                        &why),
            "");
}

// Steps of a GRU: of the gates r, z and the candidate's two parts n and m, which `gates` computes.
std::string gru_steps(int count, const std::string& gates) {
  std::string out;
  for (int t = 0; t < count; ++t) {
    std::string body = gates;
    for (const auto& [sign, by] :
         {std::pair('#', std::to_string(t)), std::pair('@', t == 0 ? std::string() : std::to_string(t - 1))})
      for (std::size_t at = body.find(sign); at != std::string::npos; at = body.find(sign))
        body.replace(at, 1, by);
    out += body;
  }
  return out;
}

const std::string kGruWeights = weight("w", "2,9", 18, 1) + ", " + weight("u", "3,9", 27, 2) + ", " +
                                weight("a", "9", 9, 3) + ", " + weight("b", "9", 9, 4) + ", " +
                                integers("parts", {3, 3, 3}) +
                                ", float one = {1}, int64 t0 = {0}, int64 t1 = {1}, int64 t2 = {2}";

TEST(Recurrence, AGruIsAnOperatorToo) {
  std::string why;
  EXPECT_EQ(as_operator("agraph (float[2,3,2] x, float[2,3] h) => (float[2,3] h1, float[2,3] h2) <" +
                            kGruWeights + "> {" + gru_steps(3, R"(
x# = Gather<axis=1>(x, t#)
p# = Gemm(x#, w, a)
pr#, pz#, pn# = Split<axis=1>(p#, parts)
q# = Gemm(h@, u, b)
qr#, qz#, qn# = Split<axis=1>(q#, parts)
ar# = Add(pr#, qr#)
r# = Sigmoid(ar#)
az# = Add(pz#, qz#)
z# = Sigmoid(az#)
m# = Mul(r#, qn#)
s# = Add(pn#, m#)
n# = Tanh(s#)
o# = Sub(one, z#)
k# = Mul(o#, n#)
j# = Mul(z#, h@)
h# = Add(k#, j#)
)") + "}",
                        &why),
            "Transpose Unsqueeze GRU Gather Squeeze Squeeze")
      << why;
}

TEST(Recurrence, AGruThatResetsFirst) {
  std::string why;
  EXPECT_EQ(as_operator("agraph (float[2,3,2] x, float[2,3] h) => (float[2,3] h2) <" + kGruWeights + ", " +
                            weight("v", "3,6", 18, 3) + ", " + weight("c", "3,3", 9, 4) + ", " +
                            integers("two", {3, 3}) + "> {" + gru_steps(3, R"(
x# = Gather<axis=1>(x, t#)
p# = Gemm(x#, w, a)
pr#, pz#, pn# = Split<axis=1>(p#, parts)
q# = MatMul(h@, v)
qr#, qz# = Split<axis=1>(q#, two)
ar# = Add(pr#, qr#)
r# = Sigmoid(ar#)
az# = Add(qz#, pz#)
z# = Sigmoid(az#)
g# = Mul(r#, h@)
m# = MatMul(g#, c)
s# = Add(m#, pn#)
n# = Tanh(s#)
d# = Sub(h@, n#)
k# = Mul(z#, d#)
h# = Add(n#, k#)
)") + "}",
                        &why),
            "Transpose Unsqueeze GRU Squeeze")
      << why;
}

}  // namespace
}  // namespace isomer
