#include <set>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

// The operators that each proposal leads to, if it is proved.
std::set<std::string> ways(const std::string& text) {
  const Graph graph = program(text);
  std::set<std::string> out;
  for (std::size_t k = 0; k < 8; ++k) {
    std::string why;
    const auto result = testing::taken(kReassociate, graph, &why, true, k);
    if (result) out.insert(operators(*result));
    EXPECT_EQ(why, "");
  }
  return out;
}

TEST(Reassociate, EinsumIsAMatrixProduct) {
  EXPECT_EQ(ways("agraph (float[2,3,4,5] q, float[2,6,4,5] k) => (float[2,4,3,6] y) {\n"
                 "y = Einsum<equation=\"bqhd,bkhd->bhqk\">(q, k)}"),
            (std::set<std::string>{"Transpose Transpose MatMul"}));
  EXPECT_EQ(ways("agraph (float[1,4,6,5] x) => (float[1,3,6,5] y) <" + weight("w", "4,3", 12, 1) +
                 "> {\ny = Einsum<equation=\"nctv,cd->ndtv\">(x, w)}"),
            (std::set<std::string>{"Reshape MatMul Reshape"}));
  // Heads of an attention, as Keras projects to them.
  EXPECT_EQ(ways("agraph (float[1,5,6] x) => (float[1,5,2,3] y) <" + weight("w", "6,2,3", 36, 1) +
                 "> {\ny = Einsum<equation=\"abc,cde->abde\">(x, w)}"),
            (std::set<std::string>{"MatMul Reshape"}));
}

TEST(Reassociate, ConvolutionOfAConcatenationIsASum) {
  EXPECT_TRUE(ways("agraph (float[1,2,5,5] a, float[1,3,5,5] b) => (float[1,4,5,5] y) <" +
                   weight("w", "4,5,3,3", 180, 1) + ", " + weight("c", "4", 4, 2) +
                   "> {\nx = Concat<axis=1>(a, b)\ny = Conv<pads=[1,1,1,1]>(x, w, c)}")
                  .contains("Conv Conv Add"));
}

TEST(Reassociate, ProductOfLookedUpRowsIsLookedUp) {
  EXPECT_TRUE(ways("agraph (int64[3] i) => (float[3,2] y) <" + weight("e", "7,4", 28, 1) + ", " +
                   weight("w", "4,2", 8, 2) + "> {\nx = Gather(e, i)\ny = MatMul(x, w)}")
                  .contains("Gather"));
}

TEST(Reassociate, WhatIsComputedOfLookedUpRowsIsLookedUp) {
  const std::string table = weight("e", "7,4", 28, 1) + ", " + weight("c", "4", 4, 2);
  EXPECT_TRUE(ways("agraph (int64[3] i) => (float[3,4] y) <" + table +
                   "> {\nx = Gather(e, i)\na = Add(x, c)\ny = Relu(a)}")
                  .contains("Gather"));
  // Each place has another number: no row of the table has it.
  EXPECT_FALSE(ways("agraph (int64[3] i) => (float[3,4] y) <" + table + ", " + weight("p", "3,4", 12, 3) +
                    "> {\nx = Gather(e, i)\ny = Add(x, p)}")
                   .contains("Gather"));
}

TEST(Reassociate, ShiftsBeforeABorderComeFirst) {
  EXPECT_TRUE(ways("agraph (float[n,3,8,8] x) => (float[n,4,8,8] y) <" + integers("bgr", {2, 1, 0}) +
                   ", float[1] c = {255}, " + weight("mean", "3,1,1", 3, 1) +
                   ", float[1,3,1,1] deviation = {0.25, 0.5, 2}, " + weight("w", "4,3,3,3", 108, 2) +
                   "> {\ng = Gather<axis=1>(x, bgr)\nd = Div(g, c)\ns = Sub(d, mean)\nt = Div(s, deviation)\n"
                   "y = Conv<pads=[1,1,1,1]>(t, w)}")
                  .contains("Add Conv"));
}

TEST(Reassociate, InnerProductsOfPairsAreLookedUp) {
  EXPECT_TRUE(ways("agraph (float[n,7,3] x) => (float[n,21] y) <" +
                   integers("r", {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5}) + ", " +
                   integers("c", {1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 3, 4, 5, 6, 4, 5, 6, 5, 6, 6}) + ", " +
                   integers("last", {2}) +
                   "> {\np = Gather<axis=1>(x, r)\nq = Gather<axis=1>(x, c)\nm = Mul(p, q)\n"
                   "y = ReduceSum<keepdims=0>(m, last)}")
                  .contains("Transpose MatMul Transpose GatherND Transpose"));
}

TEST(Reassociate, ProductsWithOneHotRowsAreLookedUp) {
  const std::string e = weight("e", "4,3", 12, 1);
  EXPECT_TRUE(ways("agraph (float[5,4] x) => (float[5,3] y) <int64 d = {4}, float[2] v = {0, 1}, " + e +
                   "> {\ni = ArgMax<axis=1, keepdims=0>(x)\no = OneHot(i, d, v)\ny = MatMul(o, e)}")
                  .contains("ArgMax Gather"));
  EXPECT_TRUE(ways("agraph (float[5,4] x) => (float[5,3] y) <float[5,4] z = "
                   "{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, float[5,1] u = {1,1,1,1,1}, " +
                   e + "> {\ni = ArgMax<axis=1>(x)\no = ScatterElements<axis=1>(z, i, u)\ny = MatMul(o, e)}")
                  .contains("ArgMax Squeeze Gather"));
}

TEST(Reassociate, SiblingsOnOneValueAreOne) {
  EXPECT_TRUE(ways("agraph (float[3,4] x) => (float[3,2] a, float[3,5] b) <" + weight("v", "4,2", 8, 1) +
                   ", " + weight("w", "4,5", 20, 2) + "> {\na = MatMul(x, v)\nb = MatMul(x, w)}")
                  .contains("MatMul Split"));
}

TEST(Reassociate, SiblingsTakeAlongWhatFollowsAlike) {
  EXPECT_TRUE(ways("agraph (float[1,4] h, float[1,4] x) => (float[1,2] a, float[1,2] b) <" +
                   weight("v", "4,2", 8, 1) + ", " + weight("w", "4,2", 8, 2) + ", " +
                   weight("c", "2", 2, 3) + ", " + weight("d", "2", 2, 4) + ", " + integers("two", {2, 2}) +
                   "> {\nl, r = Split<axis=1>(x, two)\np = MatMul(h, v)\nq = MatMul(h, w)\ns = Add(l, p)\n"
                   "t = Add(r, q)\na = Add(s, c)\nb = Add(t, d)}")
                  .contains("MatMul Add Add Split"));
}

TEST(Reassociate, PartsOfASplitAreTreatedTogether) {
  EXPECT_TRUE(ways("agraph (float[3,4] x) => (float[3,2] a, float[3,2] b) <" + weight("v", "2", 2, 1) + ", " +
                   weight("w", "2", 2, 2) + ", " + integers("two", {2, 2}) +
                   "> {\nl, r = Split<axis=1>(x, two)\na = Add(l, v)\nb = Add(r, w)}")
                  .contains("Add Split"));
}

TEST(Reassociate, StepsOfARecurrenceShareOneProduct) {
  EXPECT_TRUE(
      ways("agraph (float[1,2,4] x) => (float[1,3] a, float[1,3] b) <" + weight("w", "4,3", 12, 1) +
           ", int64 zero = {0}, int64 one = {1}> {\nf = Gather<axis=1>(x, zero)\ns = Gather<axis=1>(x, "
           "one)\na = MatMul(f, w)\nb = MatMul(s, w)}")
          .contains("MatMul Gather Gather"));
}

TEST(Reassociate, StepsOfARecurrenceShareOneProductWithBias) {
  EXPECT_TRUE(
      ways("agraph (float[1,2,4] x) => (float[1,3] a, float[1,3] b) <" + weight("w", "3,4", 12, 1) + ", " +
           weight("c", "3", 3, 2) +
           ", int64 zero = {0}, int64 one = {1}> {\nf = Gather<axis=1>(x, zero)\ns = Gather<axis=1>(x, "
           "one)\na = Gemm<transB=1>(f, w, c)\nb = Gemm<transB=1>(s, w, c)}")
          .contains("MatMul Add Gather Gather"));
}

TEST(Reassociate, SlicesOfAllOfAValueAreASplit) {
  EXPECT_TRUE(ways("agraph (float[2,5] x) => (float[2,2] a, float[2,3] b) <" + integers("zero", {0}) + ", " +
                   integers("two", {2}) + ", " + integers("end", {9}) + ", " + integers("ax", {1}) +
                   "> {\na = Slice(x, zero, two, ax)\nb = Slice(x, two, end, ax)}")
                  .contains("Split"));
}

}  // namespace
}  // namespace isomer
