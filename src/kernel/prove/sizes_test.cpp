#include "kernel/prove/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/prove/prove.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Dim n = Dim::symbol("n"), m = Dim::symbol("m"), k = Dim::symbol("k");

Graph program(const std::string& inputs, const std::string& outputs, const std::string& body,
              const std::string& constants = "") {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" +
                         outputs + ") " + (constants.empty() ? "" : "<" + constants + ">") + "{\n" + body +
                         "\n}");
}

std::string verdict(const Graph& a, const Graph& b, const ProveOptions& options = {}) {
  return text(prove_equal(a, b, options));
}

TEST(SizeFacts, SayWhatFollowsOfProductsAndSums) {
  EXPECT_TRUE(SizeFacts({}).imply(n + m));
  EXPECT_FALSE(SizeFacts({}).imply(n - Dim(1)));
  EXPECT_TRUE(SizeFacts({n - Dim(1)}).imply(n - Dim(1)));
  EXPECT_FALSE(SizeFacts({n - Dim(1)}).imply(n - Dim(2)));
  // A product that is not 0 has no factor that is.
  EXPECT_TRUE(SizeFacts({Dim(12) * n * m - Dim(1)}).imply(m - Dim(1)));
  EXPECT_TRUE(SizeFacts({n - Dim(1), m - Dim(1)}).imply(Dim(3) * n * m - Dim(3)));
  EXPECT_TRUE(SizeFacts({n - Dim(3)}).imply(Dim(2) * n - Dim(6)));
  // Half a row is a whole one.
  EXPECT_TRUE(SizeFacts({Dim(2) * n - Dim(7)}).imply(n - Dim(4)));
  EXPECT_FALSE(SizeFacts({Dim(2) * n - Dim(7)}).imply(n - Dim(5)));
  // A factor of a product may be a maximum, if it is known not to be negative.
  EXPECT_TRUE(SizeFacts({Dim::max(n - Dim(3), 0) * m - Dim(1)}).imply(m - Dim(1)));
  EXPECT_FALSE(SizeFacts({Dim::max(n - Dim(3), k - Dim(3)) * m - Dim(1)}).imply(k * m - Dim(1)));
  EXPECT_FALSE(SizeFacts({n + m - Dim(1)}).imply(n - Dim(1)));
  EXPECT_TRUE(SizeFacts({n + m - Dim(1)}).imply(n + Dim(9) * m - Dim(1)));
  EXPECT_TRUE(SizeFacts({m * (n - Dim(1))}).imply(Dim(2) * m * n - m));
}

TEST(SizeFacts, SayWhatFollowsOfExtrema) {
  const Dim least = Dim::min(n, 512), most = Dim::max(n - Dim(4), m - Dim(4));
  EXPECT_TRUE(SizeFacts({n - Dim(1)}).imply(least - Dim(1)));
  EXPECT_FALSE(SizeFacts({n - Dim(1)}).imply(least - Dim(2)));
  EXPECT_FALSE(SizeFacts({m - Dim(1)}).imply(least - Dim(1)));
  EXPECT_TRUE(SizeFacts({m - Dim(1)}).imply(Dim(512) - least));
  EXPECT_TRUE(SizeFacts({m - n}).imply(m - least));
  EXPECT_FALSE(SizeFacts({n - m}).imply(m - least));
  EXPECT_TRUE(SizeFacts({m - Dim(5)}).imply(most - Dim(1)));
  EXPECT_FALSE(SizeFacts({m - Dim(4)}).imply(most - Dim(1)));
  EXPECT_FALSE(SizeFacts({Dim(7) - m}).imply(Dim(3) - most));
  EXPECT_TRUE(SizeFacts({Dim(7) - m, Dim(7) - n}).imply(Dim(3) - most));
}

TEST(SizeFacts, PutEqualsInForEquals) {
  EXPECT_TRUE(SizeFacts({n - m, m - n}).imply(n * k - m * k));
  EXPECT_TRUE(SizeFacts({n - m, m - n, m - Dim(2)}).imply(n - Dim(2)));
  EXPECT_TRUE(SizeFacts({n - Dim(2) * m, Dim(2) * m - n}).imply(n * n - Dim(4) * m * m));
  EXPECT_FALSE(SizeFacts({n - m}).imply(m - n));
}

TEST(SizeFacts, OfNoSizesImplyAnything) { EXPECT_TRUE(SizeFacts({Dim(-1)}).imply(n - Dim(7))); }

// Behind three strides small sizes have no elements: whatever the key is, larger ones are tested.
TEST(Sizes, WhatIsBehindStridesIsTestedAtLargerSizes) {
  std::string strides = "a = MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)\n";
  for (const auto& [from, to] : {std::pair("a", "b"), {"b", "c"}})
    strides += std::string(to) + " = MaxPool<kernel_shape=[3,3], strides=[2,2]>(" + from + ")\n";
  const std::string in = "float[1,1,n,m] x", out = "float[1,1,h,w] y";
  const Graph a = program(in, out, strides + "d = Add(c, c)\ny = Neg(d)"),
              b = program(in, out, strides + "d = Neg(c)\ny = Add(d, d)");
  for (std::uint64_t key = 0; key < 30; ++key)
    EXPECT_THAT(verdict(a, b, {.key = key}), StartsWith("proved")) << key;
}

// An empty tensor stands for no region of interest.
TEST(Sizes, AnEmptyOptionalInputIsNoReasonToFail) {
  const std::string constants = "float[0] none = {}, float[4] scales = {1, 1, 2, 2}";
  const std::string in = "float[1,2,3,4] x", out = "float[1,2,6,8] y";
  const std::string resize =
      "Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\">";
  const Graph a = program(in, out, "r = " + resize + "(x, none, scales)\ny = Neg(r)", constants),
              b = program(in, out, "k = Neg(x)\ny = " + resize + "(k, none, scales)", constants);
  EXPECT_THAT(verdict(a, b), Not(HasSubstr("may fail")));
}

// Most small sizes are no multiples, and then neither program runs.
TEST(Sizes, WhatIsCutIntoPartsIsTestedAtMultiples) {
  const std::string in = "float[n,3] x", out = "float[m,2] y";
  const std::string constants =
      "float[3,2] w = {1, 2, 3, 4, 5, 7}, int64[3] s = {-1, 8, 2}, int64[3] t = {-1, 8, 3}, int64[1] a = {1}";
  const Graph late =
      program(in, out, "p = MatMul(x, w)\nr = Reshape(p, s)\ny = ReduceSum<keepdims=0>(r, a)", constants);
  const auto early = [&](const std::string& last) {
    return program(in, out, "r = Reshape(x, t)\nq = ReduceSum<keepdims=0>(r, a)\n" + last, constants);
  };
  EXPECT_THAT(verdict(late, early("y = MatMul(q, w)")), StartsWith("proved"));
  EXPECT_THAT(verdict(late, early("p = MatMul(q, w)\ny = Neg(p)")), Not(StartsWith("proved")));
}

// Each second program fails, or computes something else, where a size is 0; the first does not.
TEST(Sizes, WhatFailsAtSizeZeroIsNotProved) {
  const std::string in = "float[n,m] x", out = "float[n,m] y", same = "y = Identity(x)";
  EXPECT_THAT(verdict(program(in, out, same),
                      program(in, out, "s = Shape(x)\nt = Flatten<axis=0>(x)\ny = Reshape(t, s)")),
              HasSubstr("Reshape"));
  EXPECT_THAT(
      verdict(program(in, out, same), program(in, out, "s = Shape(x)\nt = Reshape(x, one)\ny = Reshape(t, s)",
                                              "int64[1] one = {-1}")),
      HasSubstr("Reshape"));
  const std::string line = "float[n] x, float[3] z", three = "float[3] y";
  for (const std::string op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSumExp"})
    EXPECT_THAT(verdict(program(line, three, "y = Neg(z)"),
                        program(line, three, "m = " + op + "(x)\nd = Sub(m, m)\nq = Neg(z)\ny = Add(q, d)")),
                HasSubstr("n - 1"))
        << op;
  EXPECT_THAT(verdict(program(in, "float[m] y", "t = Slice(x, a, b, a)\ny = ReduceSum<keepdims=0>(t, a)",
                              "int64[1] a = {0}, int64[1] b = {1}"),
                      program(in, "float[m] y", "y = Gather<axis=0>(x, a)", "int64 a = {0}")),
              HasSubstr("Gather"));
  // The mean of nothing is 0 to the runtime, and pools refuse it.
  const std::string image = "float[1,8,h,4] x", pooled = "float[1,8,1,1] y";
  EXPECT_THAT(verdict(program(image, pooled, "s = ReduceSum(x, a)\nk = Size(x)\ny = Mul(s, c)",
                              "int64[2] a = {2, 3}, float c = {2}"),
                      program(image, pooled,
                              "s = GlobalAveragePool(x)\nd = Sub(s, s)\nt = ReduceSum(x, a)\n"
                              "u = Mul(t, c)\ny = Add(u, d)",
                              "int64[2] a = {2, 3}, float c = {2}")),
              HasSubstr("GlobalAveragePool"));
}

TEST(Sizes, WhatTheFirstProgramNeedsMayBeNeededAgain) {
  const std::string in = "float[n,m] x", out = "float[n,m] y";
  const auto v = verdict(program(in, out, "s = Shape(x)\nt = Reshape(x, one)\nu = Relu(t)\ny = Reshape(u, s)",
                                 "int64[1] one = {-1}"),
                         program(in, out, "s = Shape(x)\nt = Reshape(x, one)\nv = Reshape(t, s)\ny = Relu(v)",
                                 "int64[1] one = {-1}"));
  EXPECT_THAT(v, HasSubstr("proved,"));
  const std::string image = "float[1,8,h,w] x", pooled = "float[1,8,1,1] y";
  const auto mean = program(image, pooled, "y = ReduceMean(x, a)", "int64[2] a = {2, 3}");
  const auto pool = program(image, pooled, "y = GlobalAveragePool(x)");
  // For an empty input the runtime returns 0 as the mean, and rejects the pool.
  EXPECT_THAT(verdict(mean, pool), HasSubstr("is not known unless"));
  EXPECT_THAT(verdict(pool, mean), HasSubstr("proved,"));
}

TEST(Sizes, WhatTheModelIsKnownToNeedCounts) {
  const std::string in = "float[n,m] x", out = "float[n,m] y";
  const Graph a = program(in, out, "y = Identity(x)");
  const Graph b = program(in, out, "s = Shape(x)\nt = Flatten<axis=0>(x)\ny = Reshape(t, s)");
  EXPECT_THAT(verdict(a, b, {.sizes = {n - Dim(1), m - Dim(1)}}), HasSubstr("proved,"));
  EXPECT_THAT(verdict(a, b, {.preconditions = {n - Dim(1), m - Dim(1)}}), HasSubstr("proved,"));
}

// In a Reshape 0 copies: the shape is [n, 4] where k is 0.
TEST(Sizes, AnExtentThatMayBeCopiedIsNotTrusted) {
  const std::string in = "float[n,4] x, float[k] z", out = "float[k,4] y",
                    begin = "c = Shape(z)\ns = Concat<axis=0>(c, four)\n",
                    four = "int64[1] four = {4}, int64[1] o = {0}";
  const Graph a = program(in, out, begin + "y = Reshape(x, s)", four);
  const Graph b = program(in, out, begin + "r = Reshape(x, s)\ny = Slice(r, o, c, o)", four);
  EXPECT_THAT(verdict(a, b), HasSubstr("not known unless k - 1 >= 0"));
  EXPECT_THAT(verdict(a, b, {.sizes = {k - Dim(1)}}), HasSubstr("proved,"));
  const Graph literal_a = program(in, out, begin + "y = Reshape<allowzero=1>(x, s)", four);
  const Graph literal_b =
      program(in, out, begin + "r = Reshape<allowzero=1>(x, s)\ny = Slice(r, o, c, o)", four);
  EXPECT_THAT(verdict(literal_a, literal_b), HasSubstr("proved,"));
}

// Heads split and merged again, as in every transformer: a size of 0 changes nothing.
TEST(Sizes, HeadsAreSplitAndMergedAtAnySize) {
  const std::string in = "float[b,s,12] x", out = "float[b,s,12] y";
  const std::string split =
      "sh = Shape(x)\nbs = Slice(sh, zero, two)\nto = Concat<axis=0>(bs, heads)\nback = Concat<axis=0>(bs, "
      "all)\n"
      "h = Reshape(x, to)\nt = Transpose<perm=[0,2,1,3]>(h)\n";
  const std::string merge = "w = Transpose<perm=[0,2,1,3]>(u)\ny = Reshape(w, back)";
  const std::string constants =
      "int64[1] zero = {0}, int64[1] two = {2}, int64[2] heads = {3, 4}, int64[1] all = {12}, float c = {2}";
  EXPECT_THAT(verdict(program(in, out, split + "u = Mul(t, c)\n" + merge, constants),
                      program(in, out, "y = Mul(x, c)", "float c = {2}")),
              HasSubstr("proved,"));
  EXPECT_THAT(verdict(program(in, out, "y = Mul(x, c)", "float c = {2}"),
                      program(in, out, split + "u = Mul(t, c)\n" + merge, constants)),
              HasSubstr("proved,"));
}

// x[:, -1:] has one position, or none where x has none: it broadcasts to x either way.
TEST(Sizes, ASliceOfOnePositionBroadcastsAtAnySize) {
  const std::string constants =
      "int64[1] last = {-1}, int64[1] end = {9223372036854775807}, int64[1] one = {1}";
  const auto with = [&](const std::string& body) {
    return program("float[b,n] x, float[b,m] z", "y", "s = Slice(x, last, end, one)\n" + body, constants);
  };
  const Graph a = with("d = Sub(s, x)\ny = Neg(d)");
  EXPECT_THAT(verdict(a, with("y = Sub(x, s)")), StartsWith("proved"));
  EXPECT_THAT(verdict(a, with("y = Sub(x, x)")), Not(StartsWith("proved")));
  // For another axis it does not hold, where that one is empty and this one is not, or the other way round.
  EXPECT_THAT(verdict(program("float[b,n] x, float[b,m] z", "y", "y = Identity(z)", constants),
                      with("d = Sub(s, s)\ny = Add(z, d)")),
              Not(StartsWith("proved")));
}

TEST(Sizes, AWindowMustFitAsItDid) {
  const std::string in = "float[1,2,h,9] x, float[2,2,3,3] w, float[2,2,3,3] v", out = "float[1,2,p,5] y";
  const Graph a = program(in, out, "t = Conv(x, w)\ns = Conv(t, v)\ny = Relu(s)");
  const Graph b = program(in, out,
                          "t = Conv(x, w)\ns = Conv(t, v)\nr = Relu(s)\nq = Conv(s, v)\nz = Sub(q, q)\n"
                          "k = ReduceSum(z)\ny = Add(r, k)");
  EXPECT_THAT(verdict(a, a), HasSubstr("proved,"));
  EXPECT_THAT(verdict(a, b), HasSubstr("Conv"));
}

TEST(Sizes, ShapesThatMustAgreeAreNeeded) {
  const std::string in = "float[n,4] x, float[m,4] z", out = "float[4,4] y";
  const Graph a = program(in, out, "t = Transpose(x)\ny = MatMul(t, z)");
  const Graph b = program(in, out, "t = Transpose(x)\nu = MatMul(t, z)\ny = Identity(u)");
  EXPECT_THAT(verdict(a, b), HasSubstr("proved,"));
  const Graph free = program(in, "float[4] y", "y = ReduceSum<keepdims=0>(x, a)", "int64[1] a = {0}");
  const Graph tied =
      program(in, "float[4] y",
              "t = Transpose(x)\nu = MatMul(t, z)\nd = Sub(u, u)\nq = ReduceSum<keepdims=0>(d, a)\n"
              "s = ReduceSum<keepdims=0>(x, a)\ny = Add(s, q)",
              "int64[1] a = {0}");
  EXPECT_THAT(verdict(free, tied), HasSubstr("MatMul"));
}

// OneHot of an index that is nowhere is zero; a Gather fails.
TEST(Indices, MustPointInsideWhereTheFirstProgramsDo) {
  const std::string in = "int64[n] i, float[4,3] w", out = "float[n,3] y";
  const Graph hot =
      program(in, out, "o = OneHot(i, d, v)\ny = MatMul(o, w)", "int64 d = {4}, float[2] v = {0, 1}");
  const Graph gather = program(in, out, "y = Gather(w, i)");
  EXPECT_THAT(verdict(hot, gather), HasSubstr("index"));
  EXPECT_THAT(verdict(gather, hot), HasSubstr("proved,"));
}

TEST(Indices, MayBeReadInAnotherOrderOrAlongALongerAxis) {
  const std::string in = "int64[n,2] i, float[4,3] w, float[9,3] v";
  const Graph a = program(in, "float[n,2,3] y", "a = Gather(w, i)\ny = Relu(a)");
  const Graph b = program(in, "float[n,2,3] y",
                          "t = Transpose(i)\na = Gather(w, t)\nr = Relu(a)\ny = Transpose<perm=[1,0,2]>(r)");
  EXPECT_THAT(verdict(a, b), HasSubstr("proved,"));
  const std::string other = "g = Gather(v, i)\nd = Sub(g, g)\na = Gather(w, i)\nr = Relu(a)\ny = Add(r, d)";
  EXPECT_THAT(verdict(a, program(in, "float[n,2,3] y", other)), HasSubstr("proved,"));
  const Graph along_v = program(in, "float[n,2,3] y", "a = Gather(v, i)\ny = Relu(a)");
  EXPECT_THAT(
      verdict(along_v,
              program(in, "float[n,2,3] y",
                      "g = Gather(w, i)\nd = Sub(g, g)\na = Gather(v, i)\nr = Relu(a)\ny = Add(r, d)")),
      HasSubstr("index"));
}

TEST(Indices, ThatArePositionsAreSeenToBeInside) {
  const std::string in = "float[n,3] x", out = "float[n,3] y",
                    range = "s = Shape<end=1>(x)\nq = Squeeze(s)\ni = Range(a, q, b)\n";
  const auto with = [&](const std::string& indices) {
    return program(in, out, range + indices + "g = Gather(x, j)\nd = Sub(g, g)\ny = Add(x, d)",
                   "int64 a = {0}, int64 b = {1}");
  };
  const Graph a = program(in, out, "y = Identity(x)");
  EXPECT_THAT(verdict(a, with("j = Identity(i)\n")), HasSubstr("proved,"));
  EXPECT_THAT(verdict(a, with("j = Add(i, b)\n")), HasSubstr("index"));
}

}  // namespace
}  // namespace isomer
