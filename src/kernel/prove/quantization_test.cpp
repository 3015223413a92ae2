// Operators on quantised numbers against the same spelled out: what is equal, and what is almost so.
#include <gtest/gtest.h>

#include "kernel/prove/prove.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

Graph program(const std::string& inputs, const std::string& outputs, const std::string& constants,
              const std::string& body) {
  auto graph = parse_graph("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\nagraph (" +
                           inputs + ") => (" + outputs + ")\n<" + constants + ">\n{\n" + body + "\n}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

// Two programs over the same constants; `changed` replaces a part of the second one's text.
struct Pair {
  std::string inputs, outputs, constants, a, b;
  Verdict verdict(const std::string& from = "", const std::string& to = "") const {
    std::string other = b, others = constants;
    for (std::string* text : {&other, &others})
      if (const auto at = from.empty() ? std::string::npos : text->find(from); at != std::string::npos)
        text->replace(at, from.size(), to);
    EXPECT_TRUE(from.empty() || other != b || others != constants) << from << " is not there";
    return prove_equal(program(inputs, outputs, constants, a), program(inputs, outputs, others, other));
  }
  bool is_proved(const std::string& from = "", const std::string& to = "") const {
    return std::holds_alternative<Proved>(verdict(from, to));
  }
  std::string said() const { return text(verdict()); }
};

// A convolution in steps, and between a dequantiser and a quantiser.
const Pair kConv{.inputs = "uint8[1,3,6,6] x, int8[2,3,3,3] w",
                 .outputs = "uint8[1,2,6,6] y",
                 .constants =
                     "float sx = {0.02}, uint8 zx = {120}, float[2] sw = {0.01, 0.03}, int8[2] zw = {0, 0}, "
                     "float sy = {0.05}, uint8 zy = {7}, float other = {0.04}, uint8 next = {121}",
                 .a = "d = DequantizeLinear(x, sx, zx)\ne = DequantizeLinear<axis=0>(w, sw, zw)\n"
                      "c = Conv<pads=[1,1,1,1]>(d, e)\ny = QuantizeLinear(c, sy, zy)",
                 .b = "y = QLinearConv<pads=[1,1,1,1]>(x, sx, zx, w, sw, zw, sy, zy)"};

TEST(Quantized, AConvolutionInStepsIsOneBetweenADequantiserAndAQuantiser) {
  EXPECT_TRUE(kConv.is_proved()) << kConv.said();
  EXPECT_FALSE(kConv.is_proved("(x, sx, zx", "(x, sx, next"));   // a zero point off by one
  EXPECT_FALSE(kConv.is_proved("(x, sx, zx", "(x, other, zx"));  // another scale
  EXPECT_FALSE(kConv.is_proved("sy, zy)", "other, zy)"));
  EXPECT_FALSE(kConv.is_proved("sy, zy)", "sy, next)"));
  EXPECT_FALSE(kConv.is_proved("pads=[1,1,1,1]", "pads=[2,1,0,1]"));
}

// The same with weights that are known, as models have them.
std::string some_bytes(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i ? ", " : "") + std::to_string(i * 37 % 255 - 127);
  return out;
}

TEST(Quantized, AConvolutionOfKnownWeightsIsTheSameInSteps) {
  for (const auto& [shape, count] : {std::pair{"2,3,3,3", 54}, {"2,3,1,1", 6}, {"2,3,5,5", 150}}) {
    Pair known = kConv;
    known.inputs = "uint8[1,3,6,6] x";
    known.outputs = "uint8[1,2,H,W] y";
    known.constants += std::string(", int8[") + shape + "] w = {" + some_bytes(count) + "}";
    EXPECT_TRUE(known.is_proved()) << known.said();
    EXPECT_FALSE(known.is_proved("(x, sx, zx", "(x, sx, next"));
  }
}

const Pair kMatMul{.inputs = "uint8[4,8] a, int8[8,3] b",
                   .outputs = "uint8[4,3] y",
                   .constants =
                       "float sa = {0.02}, uint8 za = {120}, float[3] sb = {0.01, 0.03, 0.02}, int8[3] zb = "
                       "{3, -4, 5}, int8[3] shifted = {3, -4, 6}, float sy = {0.05}, uint8 zy = {7}",
                   .a = "d = DequantizeLinear(a, sa, za)\ne = DequantizeLinear<axis=1>(b, sb, zb)\n"
                        "c = MatMul(d, e)\ny = QuantizeLinear(c, sy, zy)",
                   .b = "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy)"};

TEST(Quantized, AProductHasScalesForItsColumns) {
  EXPECT_TRUE(kMatMul.is_proved()) << kMatMul.said();
  EXPECT_FALSE(kMatMul.is_proved("sb, zb", "sb, shifted"));
}

const Pair kAdd{
    .inputs = "uint8[2,5] a, uint8[5] b",
    .outputs = "uint8[2,5] y",
    .constants =
        "float sa = {0.02}, uint8 za = {120}, float sb = {0.03}, uint8 zb = {9}, float sy = {0.05}, "
        "uint8 zy = {7}",
    .a = "d = DequantizeLinear(a, sa, za)\ne = DequantizeLinear(b, sb, zb)\n"
         "c = Add(d, e)\ny = QuantizeLinear(c, sy, zy)",
    .b = "y = com.microsoft.QLinearAdd(a, sa, za, b, sb, zb, sy, zy)"};

TEST(Quantized, ASumInStepsIsOneOfWhatTheStepsStandFor) {
  EXPECT_TRUE(kAdd.is_proved()) << kAdd.said();
  EXPECT_FALSE(kAdd.is_proved("QLinearAdd", "QLinearMul"));
  EXPECT_FALSE(kAdd.is_proved("a, sa, za", "a, sb, za"));
  EXPECT_FALSE(kAdd.is_proved("sb, zb", "sb, za"));
}

const Pair kConcat{
    .inputs = "int8[2,3] a, int8[2,3] b",
    .outputs = "int8[2,6] y",
    .constants =
        "float sa = {0.02}, int8 za = {12}, float sb = {0.03}, int8 zb = {-9}, float sy = {0.05}, "
        "int8 zy = {7}",
    .a = "d = DequantizeLinear(a, sa, za)\ne = DequantizeLinear(b, sb, zb)\n"
         "c = Concat<axis=1>(d, e)\ny = QuantizeLinear(c, sy, zy)",
    .b = "y = com.microsoft.QLinearConcat<axis=1>(sy, zy, a, sa, za, b, sb, zb)"};

TEST(Quantized, PartsAreJoinedByWhatTheyStandFor) {
  EXPECT_TRUE(kConcat.is_proved()) << kConcat.said();
  EXPECT_FALSE(kConcat.is_proved("a, sa, za, b, sb, zb", "b, sb, zb, a, sa, za"));
  EXPECT_FALSE(kConcat.is_proved("a, sa, za", "a, sb, za"));
}

TEST(Quantized, FunctionsAndMeansAreThoseOfWhatTheStepsStandFor) {
  const std::string constants =
      "float sx = {0.02}, uint8 zx = {120}, float sy = {0.0078125}, uint8 zy = {7}, uint8 next = {8}";
  struct Case {
    std::string op, spelled, shape;
  };
  for (const Case& c :
       {Case{"QLinearSigmoid", "Sigmoid", "[2,3,4,4]"},
        {"QLinearLeakyRelu<alpha=0.1>", "LeakyRelu<alpha=0.1>", "[2,3,4,4]"},
        {"QLinearSoftmax<axis=-1, opset=13>", "Softmax<axis=-1>", "[2,3,4,4]"},
        {"QLinearGlobalAveragePool", "GlobalAveragePool", "[2,3,1,1]"},
        {"QLinearAveragePool<kernel_shape=[2,2]>", "AveragePool<kernel_shape=[2,2]>", "[2,3,3,3]"}}) {
    const Pair pair{
        .inputs = "uint8[2,3,4,4] x",
        .outputs = "uint8" + c.shape + " y",
        .constants = constants,
        .a = "d = DequantizeLinear(x, sx, zx)\nc = " + c.spelled + "(d)\ny = QuantizeLinear(c, sy, zy)",
        .b = "y = com.microsoft." + c.op + "(x, sx, zx, sy, zy)"};
    EXPECT_TRUE(pair.is_proved()) << c.op << ": " << pair.said();
    EXPECT_FALSE(pair.is_proved("sy, zy)", "sy, next)")) << c.op;
    EXPECT_FALSE(pair.is_proved("(x, sx,", "(x, sy,")) << c.op;
  }
}

// A matrix product in int32, scaled to floats.
TEST(Quantized, AProductOfDynamicStepsIsItsThreeParts) {
  const Pair pair{.inputs = "float[4,8] a, int8[8,3] b",
                  .outputs = "float[4,3] y",
                  .constants = "float sb = {0.01}, int8 zb = {3}, int8 next = {4}",
                  .a = "q, s, z = DynamicQuantizeLinear(a)\ni = MatMulInteger(q, b, z, zb)\n"
                       "f = Cast<to=1>(i)\nt = Mul(s, sb)\ny = Mul(f, t)",
                  .b = "y = com.microsoft.DynamicQuantizeMatMul(a, b, sb, zb)"};
  EXPECT_TRUE(pair.is_proved()) << pair.said();
  EXPECT_FALSE(pair.is_proved("sb, zb)", "sb, next)"));
  EXPECT_FALSE(pair.is_proved("sb, zb)", "sb)"));
}

// Channels that hold the zero point add nothing to a convolution.
TEST(Quantized, ChannelsMayBeFilledUpWithZeroPoints) {
  const Pair pair{.inputs = "uint8[1,3,6,6] x, int8[2,3,3,3] w",
                  .outputs = "uint8[1,2,6,6] y",
                  .constants =
                      "float sx = {0.02}, uint8 zx = {120}, float sw = {0.01}, int8 zw = {0}, float sy = "
                      "{0.05}, uint8 zy "
                      "= {7}, int64[8] one = {0,0,0,0,0,1,0,0}, uint8 next = {121}, int8 off = {1}",
                  .a = "y = QLinearConv<pads=[1,1,1,1]>(x, sx, zx, w, sw, zw, sy, zy)",
                  .b = "p = Pad(x, one, zx)\nv = Pad(w, one, zw)\ny = QLinearConv<pads=[1,1,1,1]>(p, sx, zx, "
                       "v, sw, zw, sy, zy)"};
  EXPECT_TRUE(pair.is_proved()) << pair.said();
  EXPECT_FALSE(
      pair.is_proved("Pad(x, one, zx)\nv = Pad(w, one, zw)", "Pad(x, one, next)\nv = Pad(w, one, off)"));
}

TEST(Quantized, ChannelsMayBeFilledUpBeforeADequantiser) {
  const Pair pair{.inputs = "float[1,3,6,6] f, int8[2,3,3,3] w",
                  .outputs = "float[1,2,6,6] y",
                  .constants =
                      "float sx = {0.02}, uint8 zx = {120}, float[2] sw = {0.01, 0.02}, int8[2] zw = {0, 0}, "
                      "int64[8] one = {0,0,0,0,0,1,0,0}, uint8 next = {121}, int8 zero = {0}, int8 off = {1}",
                  .a = "x = QuantizeLinear(f, sx, zx)\nd = DequantizeLinear(x, sx, zx)\n"
                       "e = DequantizeLinear<axis=0>(w, sw, zw)\ny = Conv<pads=[1,1,1,1]>(d, e)",
                  .b = "x = QuantizeLinear(f, sx, zx)\np = Pad(x, one, zx)\nv = Pad(w, one, zero)\n"
                       "d = DequantizeLinear(p, sx, zx)\ne = DequantizeLinear<axis=0>(v, sw, zw)\n"
                       "y = Conv<pads=[1,1,1,1]>(d, e)"};
  EXPECT_TRUE(pair.is_proved()) << pair.said();
  EXPECT_FALSE(
      pair.is_proved("Pad(x, one, zx)\nv = Pad(w, one, zero)", "Pad(x, one, next)\nv = Pad(w, one, off)"));
  EXPECT_FALSE(pair.is_proved("DequantizeLinear<axis=0>(v", "DequantizeLinear<axis=1>(v"));
}

TEST(Quantized, MovementPassesADequantiser) {
  const Pair pair{
      .inputs = "uint8[4,6] x",
      .outputs = "float[6,4] y",
      .constants =
          "float s = {0.02}, uint8 z = {120}, float[4] each = {0.02, 0.03, 0.04, 0.05}, uint8[4] zs = "
          "{1, 2, 3, 4}",
      .a = "d = DequantizeLinear<axis=0>(x, each, zs)\ny = Transpose(d)",
      .b = "t = Transpose(x)\ny = DequantizeLinear<axis=1>(t, each, zs)"};
  EXPECT_TRUE(pair.is_proved()) << pair.said();
  EXPECT_FALSE(pair.is_proved("(t, each, zs)", "(t, s, z)"));
}

TEST(Quantized, ASignedByteIsNoUnsignedOne) {
  const Pair pair{.inputs = "uint8[4] x",
                  .outputs = "float[4] y",
                  .constants = "float s = {0.02}, uint8 z = {0}, int8 n = {0}",
                  .a = "y = DequantizeLinear(x, s, z)",
                  .b = "c = Cast<to=3>(x)\ny = DequantizeLinear(c, s, n)"};
  EXPECT_FALSE(pair.is_proved());
}

// It is a clamp: what lies outside of the type's range comes back as its limit.
TEST(Quantized, AQuantiserBeforeADequantiserIsNoIdentity) {
  const Pair pair{.inputs = "float[4] x",
                  .outputs = "float[4] y",
                  .constants = "float s = {0.02}, uint8 z = {0}",
                  .a = "q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)",
                  .b = "y = Identity(x)"};
  EXPECT_FALSE(pair.is_proved());
  const Pair relu{.inputs = "float[4] x",
                  .outputs = "uint8[4] y",
                  .constants = "float s = {0.02}, uint8 z = {3}",
                  .a = "r = Relu(x)\ny = QuantizeLinear(r, s, z)",
                  .b = "y = QuantizeLinear(x, s, z)"};
  EXPECT_FALSE(relu.is_proved());  // with a zero point of 0 it would be
}

}  // namespace
}  // namespace isomer
