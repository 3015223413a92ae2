// What is proposed of quantised graphs: proposed, proved, folded.
#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;

// After the best of fastpath; empty: there is none, or it is not proved.
std::string faster(const std::string& text, std::string* why = nullptr) {
  const auto result = testing::taken(kFastpath, program(text), why);
  return result ? operators(*result) : "";
}

std::string bytes(const std::string& name, const std::string& shape, int n) {
  std::string numbers;
  for (int i = 0; i < n; ++i) numbers += (i ? ", " : "") + std::to_string(i * 37 % 255 - 127);
  return "int8[" + shape + "] " + name + " = {" + numbers + "}";
}

const std::string kScales =
    "float sx = {0.02}, uint8 zx = {120}, float sy = {0.05}, uint8 zy = {7}, float[2] sw = {0.01, 0.03}, "
    "int8[2] zw = "
    "{0, 0}, int8[2] apart = {0, 1}, int8 z = {0}";

std::string conv(const std::string& zero, const std::string& attributes, int channels,
                 const std::string& shape) {
  const std::string c = std::to_string(channels);
  return "agraph (float[1," + c + ",5,5] f) => (uint8[1,2,3,3] y) <" + kScales + ", " +
         bytes("w", shape, 2 * channels * 9) +
         ">{\nx = QuantizeLinear(f, sx, zx)\nd = DequantizeLinear(x, sx, zx)\n" +
         "e = DequantizeLinear<axis=0>(w, sw, " + zero + ")\nc = Conv" + attributes +
         "(d, e)\ny = QuantizeLinear(c, sy, zy)}";
}

TEST(QuantizedChannels, AreFilledUpBetweenQuantiserAndDequantiser) {
  std::string why;
  EXPECT_EQ(faster(conv("zw", "", 3, "2,3,3,3"), &why),
            "QuantizeLinear Pad DequantizeLinear DequantizeLinear Conv QuantizeLinear")
      << why;
  EXPECT_EQ(faster(conv("zw", "", 4, "2,4,3,3")), "");     // four as they are
  EXPECT_EQ(faster(conv("apart", "", 3, "2,3,3,3")), "");  // no number stands for 0 in all rows
}

TEST(QuantizedChannels, WeightsStayDequantised) {
  std::string why;
  const auto result = testing::taken(kFastpath, program(conv("zw", "", 3, "2,3,3,3")), &why);
  ASSERT_TRUE(result.has_value()) << why;
  for (const NodeId id : result->order()) {
    const Node& node = result->node(id);
    if (node.kind != NodeKind::Initializer || node.tensor.rank() != 4) continue;
    EXPECT_EQ(node.tensor.type(), ElementType::Int8);
    EXPECT_EQ(node.tensor.extents(), (Extents{2, 4, 3, 3}));
  }
}

TEST(QuantizedChannels, AreFilledUpInOneOperator) {
  std::string why;
  EXPECT_EQ(faster("agraph (uint8[1,3,5,5] x) => (uint8[1,2,3,3] y) <" + kScales + ", " +
                       bytes("w", "2,3,3,3", 54) + ">{\ny = QLinearConv(x, sx, zx, w, sw, zw, sy, zy)}",
                   &why),
            "Pad QLinearConv")
      << why;
  // The zero point is computed.
  EXPECT_EQ(faster("agraph (float[1,3,5,5] f) => (int32[1,2,3,3] y) <" + kScales + ", " +
                       bytes("w", "2,3,3,3", 54) +
                       ">{\nx, s, z0 = DynamicQuantizeLinear(f)\ny = ConvInteger(x, w, z0, z)}",
                   &why),
            "DynamicQuantizeLinear Pad ConvInteger")
      << why;
}

TEST(FloatBorders, ASoftmaxStaysInFloats) {
  std::string why;
  const std::string text =
      "agraph (uint8[2,8] x) => (uint8[2,8] y) <" + kScales +
      ">{\nd = DequantizeLinear(x, sx, zx)\ns = Softmax<axis=-1>(d)\ny = QuantizeLinear(s, sy, zy)}";
  const auto once = testing::taken(kFastpath, program(text), &why);
  ASSERT_TRUE(once.has_value()) << why;
  EXPECT_EQ(operators(*once), "DequantizeLinear Sum Softmax QuantizeLinear");
  EXPECT_FALSE(testing::taken(kFastpath, *once, &why).has_value());  // once is enough
}

TEST(FloatBorders, AFunctionThatIsSpelledOutReadsOneValue) {
  std::string why;
  const std::string in = "agraph (uint8[2,8] x) => (uint8[4,4] y) <" + kScales +
                         ", float k = {1.4142135}, float one = {1.0}, int64[2] to = {4, 4}>{\n"
                         "d = DequantizeLinear(x, sx, zx)\nr = Reshape(d, to)\nq = Div(r, k)\n";
  EXPECT_EQ(faster(in + "e = Erf(q)\na = Add(e, one)\nm = Mul(r, a)\ny = QuantizeLinear(m, sy, zy)}", &why),
            "")
      << "a reader is an integer kernel";
  EXPECT_EQ(
      faster(
          in + "e = Erf(q)\na = Add(e, one)\nm = Mul(r, a)\nh = Mul(m, one)\ny = QuantizeLinear(h, sy, zy)}",
          &why),
      "DequantizeLinear Reshape Sum Div Erf Add Mul Mul QuantizeLinear")
      << why;
}

TEST(FloatBorders, IntegerKernelsAreLeftAlone) {
  EXPECT_EQ(faster("agraph (uint8[2,8] x) => (uint8[2,8] y, uint8[2,8] v) <" + kScales +
                   ">{\nd = DequantizeLinear(x, sx, zx)\na = Add(d, d)\ny = QuantizeLinear(a, sy, zy)\n"
                   "m = Mul(d, d)\nv = QuantizeLinear(m, sy, zy)}"),
            "");
}

// A GELU whose operators are quantised each; numbers are, too.
std::string gelu(const std::string& sizes, const std::string& se) {
  return "agraph (float[" + sizes + "] f) => (uint8[" + sizes +
         "] y) <float s = {0.03}, uint8 z = {131}, float r = {1.41421356}, float se = {" + se +
         "}, uint8 ze = {127}, float s1 = {0.00392}, uint8 one = {255}, uint8 z1 = {0}, float so = {0.0152}, "
         "uint8 zo = {11}>{\nx = QuantizeLinear(f, s, z)\nd = DequantizeLinear(x, s, z)\na = Div(d, r)\n"
         "e = Erf(a)\nq = QuantizeLinear(e, se, ze)\nu = DequantizeLinear(q, se, ze)\n"
         "k = DequantizeLinear(one, s1, z1)\ng = Add(u, k)\nh = Mul(d, g)\ny = QuantizeLinear(h, so, zo)}";
}

TEST(QuantizedTables, AreOfAllThatIsComputedBetweenTwoQuantisers) {
  std::string why;
  EXPECT_EQ(faster(gelu("2,64,96", "0.0077"), &why), "QuantizeLinear Cast Reshape GatherElements Reshape")
      << why;
  EXPECT_EQ(faster(gelu("N,64,96", "0.0077")), "");  // the proof is of sizes that are numbers
}

TEST(QuantizedTables, AreNotOfAFunctionOfTwoValues) {
  EXPECT_EQ(
      faster("agraph (uint8[8,8] x, uint8[8,8] v) => (uint8[8,8] y) <float s = {0.03}, uint8 z = {131}>{\n"
             "d = DequantizeLinear(x, s, z)\nb = DequantizeLinear(v, s, z)\ne = Erf(d)\nc = Mul(e, b)\n"
             "y = QuantizeLinear(c, s, z)}"),
      "");
}

}  // namespace
}  // namespace isomer
