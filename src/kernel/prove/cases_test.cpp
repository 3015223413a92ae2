#include "kernel/prove/cases.h"

#include <gtest/gtest.h>

#include "kernel/prove/prove.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

Graph program(const std::string& text) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
}

// A GELU that is quantised between all of its operators.
const std::string kNumbers =
    "float s = {0.03}, uint8 z = {131}, float r = {1.41421356}, float se = {0.0077}, uint8 ze = {127}, "
    "float one = {1}, float half = {0.5}, float so = {0.0152}, uint8 zo = {11}";
std::string gelu(const std::string& shape, const std::string& half = "half") {
  return "agraph (uint8[" + shape + "] x) => (uint8[" + shape + "] y) <" + kNumbers +
         ">{\nd = DequantizeLinear(x, s, z)\na = Div(d, r)\ne = Erf(a)\nq = QuantizeLinear(e, se, ze)\n"
         "f = DequantizeLinear(q, se, ze)\ng = Add(f, one)\nh = Mul(d, g)\ni = Mul(h, " +
         half + ")\ny = QuantizeLinear(i, so, zo)}";
}

Result<std::vector<Tensor>> cases(const Graph& g) { return cases_of(g, *infer(g)); }

std::string numbers(const Tensor& t, std::int64_t at = -1, std::int64_t instead = 0) {
  std::string out;
  const auto list = *t.integers();
  for (std::size_t k = 0; k < list.size(); ++k)
    out += (k ? ", " : "") + std::to_string(static_cast<std::int64_t>(k) == at ? instead : list[k]);
  return out;
}

std::string table(const std::string& shape, const std::string& flat, const std::string& numbers,
                  const std::string& type = "uint8") {
  return "agraph (" + type + "[" + shape + "] x) => (uint8[" + shape + "] y) <uint8[256] t = {" + numbers +
         "}, int64[1] n = {" + flat + "}, int64[2] m = {" + shape +
         "}>{\ni = Cast<to=6>(x)\nj = Reshape(i, n)\nk = GatherElements<axis=0>(t, j)\ny = Reshape(k, m)}";
}

std::string verdict(const std::string& a, const std::string& b) {
  return text(prove_equal(program(a), program(b)));
}

TEST(Cases, AreWhatTheStoredTypesMakeOfThem) {
  const auto found = cases(program(gelu("2,3")));
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto list = *(*found)[0].integers();
  ASSERT_EQ(list.size(), 256U);
  EXPECT_EQ(list[131], 11);  // of 0 it is 0
  EXPECT_GT(list[255], list[200]);
  EXPECT_NEAR(static_cast<double>(list[200] - 11) * 0.0152, 69 * 0.03, 0.05);  // far from 0 it is x
}

TEST(Cases, ProveATable) {
  const auto found = cases(program(gelu("2,3")));
  ASSERT_TRUE(found.ok());
  const Tensor& all = (*found)[0];
  EXPECT_TRUE(verdict(gelu("2,3"), table("2,3", "-1", numbers(all))).starts_with("proved"));
  // One number of 256 is another.
  const auto wrong = (*all.integers())[77] + 1;
  EXPECT_FALSE(verdict(gelu("2,3"), table("2,3", "-1", numbers(all, 77, wrong))).starts_with("proved"));
}

TEST(Cases, OfSignedNumbersAreFoundFromTheEnd) {
  const std::string relu =
      "agraph (int8[2,3] x) => (uint8[2,3] y) <float s = {0.1}, int8 z = {0}, uint8 zo = {0}>{\nd = "
      "DequantizeLinear(x, s, z)\nr = Relu(d)\ny = QuantizeLinear(r, s, zo)}";
  const auto found = cases(program(relu));
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto list = *(*found)[0].integers();
  EXPECT_EQ(list[127], 127);
  EXPECT_EQ(list[128], 0);  // -128
  EXPECT_TRUE(verdict(relu, table("2,3", "6", numbers((*found)[0]), "int8")).starts_with("proved"));
  // The same table, as of numbers from 0 on, has an index for each of them, but not what they make.
  std::string zero;
  for (int k = 0; k < 256; ++k) zero += (k ? ", " : "") + std::to_string(k);
  EXPECT_FALSE(verdict(relu, table("2,3", "6", zero, "int8")).starts_with("proved"));
}

TEST(Cases, AreOfOneElementAtItsPlace) {
  const auto why = [](const std::string& text) {
    const auto found = cases(program(text));
    return found.ok() ? "" : found.error().message;
  };
  const std::string head =
      "agraph (uint8[3,3] x) => (uint8[3,3] y) <float s = {0.1}, uint8 z = {3}, uint8[3] v = {1, 2, 3}>{\n";
  EXPECT_NE(why(head + "y = Transpose<perm=[1,0]>(x)}"), "");
  EXPECT_NE(why(head + "y = Max(x, v)}"), "");  // a number of its own for each column
  EXPECT_NE(why(head + "d = DequantizeLinear(x, s, z)\ne = Softmax(d)\ny = QuantizeLinear(e, s, z)}"), "");
  EXPECT_NE(why(head + "d = DequantizeLinear(x, s, z)\nt = Transpose<perm=[1,0]>(d)\ne = Add(d, t)\n"
                       "y = QuantizeLinear(e, s, z)}"),
            "");
  EXPECT_EQ(why(head + "d = DequantizeLinear(x, s, z)\ne = Mul(d, d)\ny = QuantizeLinear(e, s, z)}"), "");
}

TEST(Cases, JumpWhereRealNumbersDo) {
  const auto of = [](const std::string& scale, const std::string& rest) {
    return cases(
        program("agraph (uint8[4] x) => (uint8[4] y) <float s = {" + scale + "}, uint8 z = {128}, " + rest));
  };
  // Where erf ends, -1 is half a step from a number, and a little more than that in real numbers.
  const auto saturated = of("0.05",
                            "float se = {0.0078431373}, uint8 ze = {128}>{\nd = DequantizeLinear(x, s, z)\n"
                            "e = Erf(d)\ny = QuantizeLinear(e, se, ze)}");
  ASSERT_TRUE(saturated.ok()) << saturated.error().message;
  EXPECT_EQ((*(*saturated)[0].integers())[128], 128);
  // Exact halves go to the even number; where float32 does not see them, there is no proof.
  const std::string halved =
      "float half = {0.5}>{\nd = DequantizeLinear(x, s, z)\ne = Mul(d, half)\ny = QuantizeLinear(e, s, z)}";
  const auto halves = of("0.0625", halved);
  ASSERT_TRUE(halves.ok()) << halves.error().message;
  EXPECT_EQ((*(*halves)[0].integers())[129], 128);
  EXPECT_EQ((*(*halves)[0].integers())[131], 130);
  EXPECT_FALSE(of("0.05", halved).ok());
}

TEST(Cases, AreNotThereWhereDigitsAreLost) {
  // In real numbers it is x; float32 leaves a few digits of it, and float64 not many more.
  const auto lost = cases(
      program("agraph (uint8[4] x) => (uint8[4] y) <float s = {0.1}, uint8 z = {3}, float k = {1e8}>{\n"
              "d = DequantizeLinear(x, s, z)\ne = Add(d, k)\nf = Sub(e, k)\ny = QuantizeLinear(f, s, z)}"));
  EXPECT_FALSE(lost.ok());
}

TEST(Cases, OfIndicesThatPointOutsideProveNothing) {
  std::string few;
  for (int k = 0; k < 200; ++k) few += (k ? ", " : "") + std::to_string(k);
  const Graph short_table = program("agraph (uint8[4] x) => (uint8[4] y) <uint8[200] t = {" + few +
                                    "}>{\ni = Cast<to=6>(x)\ny = GatherElements<axis=0>(t, i)}");
  const auto found = cases(short_table);
  ASSERT_FALSE(found.ok());
}

TEST(Cases, OfNamedSizesAreNotAsked) {
  const auto found = cases(program(
      "agraph (uint8[N] x) => (uint8[N] y) <float s = {0.1}, uint8 z = {3}>{\nd = DequantizeLinear(x, s, z)\n"
      "y = QuantizeLinear(d, s, z)}"));
  EXPECT_FALSE(found.ok());
}

}  // namespace
}  // namespace isomer
