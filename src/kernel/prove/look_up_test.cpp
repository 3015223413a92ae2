// Look-ups by computed indices pass functions: where they do, and where they must not.
#include <gtest/gtest.h>

#include "kernel/prove/prove.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

Graph program(const std::string& body) {
  auto graph = parse_graph(
      "<ir_version: 8, opset_import: [\"\" : 18]> g (float[n,4] x, float[n,4] z, float[4] b, float[4,4] w, "
      "int64[k] i, int64[k] j, float[k,4] u, int64[n,4] e, int64[k,2] t) => (y) <int64[1] last = {1}, "
      "int64[1] first = {0}, float[2] values = {0, 1}> {" +
      body + "}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

std::string verdict(const std::string& a, const std::string& b) {
  return text(prove_equal(program(a), program(b)));
}
bool proves(const std::string& a, const std::string& b) { return verdict(a, b).starts_with("proved"); }

// A body with `from` and `to` in the place of $0 and $1.
std::string with(std::string f, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = f.find('$', at)) != std::string::npos;)
    f.replace(at, 2, f[at + 1] == '0' ? from : to);
  return f + "\n";
}

const std::vector<std::string> kTotal = {
    "$1 = Relu($0)",
    "$1 = Exp($0)",
    "$1 = Tanh($0)",
    "$1 = Add($0, b)",
    "a = MatMul($0, w) m = Add(a, b) $1 = Sigmoid(m)",
    "s = Sigmoid($0) $1 = Mul($0, s)",
    "$1 = Max($0, b)",
    "c = Less($0, b) $1 = Where(c, $0, b)",
    "$1 = Softmax($0)",
    "$1 = LogSoftmax($0)",
    "$1 = LayerNormalization($0, b)",
    "r = Add(b, $0) m = MatMul(r, w) l = LayerNormalization(m, b) $1 = Add(l, $0)",
    "n = LayerNormalization($0, b) m = MatMul(n, w) $1 = Softmax(m)",
};

TEST(LookUps, PassFunctionsThatAreDefinedEverywhere) {
  for (const std::string& f : kTotal) {
    const std::string before = with(f, "x", "f") + "y = Gather(f, i)",
                      after = "g = Gather(x, i)\n" + with(f, "g", "y");
    EXPECT_TRUE(proves(before, after)) << f << ": " << verdict(before, after);
    EXPECT_TRUE(proves(after, before)) << f << ": " << verdict(after, before);
    EXPECT_FALSE(proves(before, "g = Gather(x, j)\n" + with(f, "g", "y"))) << f;
    EXPECT_FALSE(proves(before, "g = Gather(z, i)\n" + with(f, "g", "y"))) << f;
  }
}

TEST(LookUps, PassChains) {
  const std::string f = "$1 = Relu($0)", g = "m = MatMul($0, w) a = Add(m, b) $1 = Softmax(a)";
  EXPECT_TRUE(proves(with(f, "x", "r") + with(g, "r", "s") + "y = Gather(s, i)",
                     "l = Gather(x, i)\n" + with(f, "l", "r") + with(g, "r", "y")));
  EXPECT_TRUE(proves(with(f, "x", "r") + "l = Gather(r, i)\n" + with(g, "l", "y"),
                     with(f, "x", "r") + with(g, "r", "s") + "y = Gather(s, i)"));
}

TEST(LookUps, OfSeveralValuesAreOneLookUp) {
  EXPECT_TRUE(proves("m = Mul(x, z) y = Gather(m, i)", "a = Gather(x, i) c = Gather(z, i) y = Mul(a, c)"));
  EXPECT_TRUE(proves("m = Add(x, z) r = Relu(m) y = Gather(r, i)",
                     "a = Gather(x, i) c = Gather(z, i) m = Add(a, c) y = Relu(m)"));
  EXPECT_TRUE(proves("q = Mul(x, x) y = Gather(q, i)", "a = Gather(x, i) y = Mul(a, a)"));
}

TEST(LookUps, OfDifferentIndicesAreNotOne) {
  EXPECT_FALSE(proves("m = Mul(x, z) y = Gather(m, i)", "a = Gather(x, i) c = Gather(z, j) y = Mul(a, c)"));
  EXPECT_FALSE(proves("m = Add(x, z) r = Relu(m) y = Gather(r, i)",
                      "a = Gather(x, i) c = Gather(z, j) m = Add(a, c) y = Relu(m)"));
  EXPECT_FALSE(proves("q = Mul(x, x) y = Gather(q, i)", "a = Gather(x, i) c = Gather(x, j) y = Mul(a, c)"));
  EXPECT_TRUE(proves("a = Gather(x, i) c = Gather(z, j) m = Add(a, c) y = Relu(m)",
                     "a = Gather(x, i) c = Gather(z, j) m = Add(c, a) y = Relu(m)"));
  EXPECT_FALSE(proves("a = Gather(x, i) c = Gather(z, j) m = Add(a, c) y = Relu(m)",
                      "a = Gather(x, j) c = Gather(z, i) m = Add(a, c) y = Relu(m)"));
}

TEST(LookUps, OfOtherGathers) {
  EXPECT_TRUE(proves("r = Relu(x) y = GatherElements(r, e)", "g = GatherElements(x, e) y = Relu(g)"));
  EXPECT_FALSE(proves("r = Exp(x) a = Add(r, b) y = GatherND(a, t)", "g = GatherND(x, t) y = Exp(g)"));
  EXPECT_TRUE(proves("r = Exp(x) y = GatherND(r, t)", "g = GatherND(x, t) y = Exp(g)"));
  EXPECT_TRUE(proves("k = Unsqueeze(i, last) r = Softmax(x) y = GatherND(r, k)",
                     "k = Unsqueeze(i, last) g = GatherND(x, k) y = Softmax(g)"));
  // The index differs along the row.
  EXPECT_FALSE(proves("r = Softmax(x) y = GatherElements(r, e)", "g = GatherElements(x, e) y = Softmax(g)"));
  EXPECT_FALSE(proves("r = Softmax<axis=0>(x) y = Gather(r, i)", "g = Gather(x, i) y = Softmax<axis=0>(g)"));
  EXPECT_TRUE(proves("r = Relu(x) a = Gather(r, i) c = Gather(r, j) y = Sub(a, c)",
                     "a = Gather(x, i) c = Gather(x, j) r = Relu(a) s = Relu(c) y = Sub(r, s)"));
}

// Inside of one position there is one place, whatever the index says.
TEST(LookUps, OfOnePosition) {
  const std::string one = "o = Unsqueeze(b, first)\n";
  EXPECT_TRUE(proves(one + "y = Gather(o, i)", one + "c = Sub(i, i) y = Gather(o, c)"));
  EXPECT_FALSE(proves(one + "c = Sub(i, i) y = Gather(o, c)", one + "y = Gather(o, i)"));
}

// Where no index hits, these are zero, and f(0) need not be.
TEST(LookUps, ThatMayMissDoNotPass) {
  const std::string hot = "h = Shape<end=1>(x) d = Squeeze(h) o = OneHot(i, d, values)\n";
  for (const std::string& f : {std::string("$1 = Exp($0)"), std::string("$1 = Add($0, b)")}) {
    EXPECT_FALSE(
        proves(hot + with(f, "x", "f") + "y = MatMul(o, f)", hot + "g = MatMul(o, x)\n" + with(f, "g", "y")))
        << f;
    EXPECT_FALSE(
        proves(hot + "g = MatMul(o, x)\n" + with(f, "g", "y"), hot + with(f, "x", "f") + "y = MatMul(o, f)"))
        << f;
  }
  // Several may be written to one place.
  const std::string k = "k = Unsqueeze(i, last) o = Sub(x, x)\n";
  EXPECT_FALSE(proves(k + "r = Relu(u) y = ScatterND<reduction=\"add\">(o, k, r)",
                      k + "s = ScatterND<reduction=\"add\">(o, k, u) y = Relu(s)"));
}

// Padded: where nothing is looked up, there is zero.
TEST(LookUps, ThatArePaddedDoNotPassThere) {
  const std::string pads = "p = Constant<value_ints=[1,0,0,0]>()\n";
  EXPECT_FALSE(proves(pads + "g = Gather(x, i) q = Pad(g, p) y = Exp(q)",
                      pads + "f = Exp(x) g = Gather(f, i) y = Pad(g, p)"));
  EXPECT_FALSE(proves(pads + "g = Gather(x, i) q = Pad(g, p) y = Add(q, b)",
                      pads + "f = Add(x, b) g = Gather(f, i) y = Pad(g, p)"));
}

// For all rows, not only for the selected ones.
TEST(LookUps, PartialFunctionsDoNotMoveInside) {
  for (const char* f : {"$1 = LayerNormalization<epsilon=0.0>($0, b)", "$1 = Log($0)", "$1 = Sqrt($0)",
                        "$1 = Div(b, $0)", "$1 = Reciprocal($0)", "e1 = Log($0) $1 = Relu(e1)"}) {
    EXPECT_FALSE(proves("g = Gather(x, i)\n" + with(f, "g", "y"), with(f, "x", "f") + "y = Gather(f, i)"))
        << f;
    // Nor are those rows defined that the first program computes and does not take.
    EXPECT_FALSE(
        proves(with(f, "x", "f") + "y = Gather(f, i)",
               with(f, "x", "f") +
                   "q = Gather(f, i) d = Sub(f, f) s = ReduceSum<keepdims=0>(d, first) y = Add(q, s)"))
        << f;
  }
  // A total function of a value that may be undefined.
  EXPECT_FALSE(proves("l = Log(x) g = Gather(l, i) y = Relu(g)",
                      "l = Log(x) r = Relu(l) g = Gather(r, i) d = Sub(l, l) s = ReduceSum<keepdims=0>(d, "
                      "first) y = Add(g, s)"));
}

// Rows of which one element is 1: a product with them looks up, if the index is known to point inside.
std::string clipped(int low, int high) {
  return "lo = Constant<value_int = " + std::to_string(low) +
         ">() hi = Constant<value_int = " + std::to_string(high) + ">() a1 = Max(i, lo) c = Min(hi, a1)\n";
}
const std::string kHot = "d = Constant<value_ints = [4]>() o = OneHot(c, d, values) y = MatMul(o, w)";
const std::string kTaken = "y = Gather(w, c)";

TEST(LookUps, AreProductsWithOneHotRows) {
  EXPECT_TRUE(proves(clipped(0, 3) + kHot, clipped(0, 3) + kTaken));
  EXPECT_TRUE(proves(clipped(-4, 3) + kHot, clipped(-4, 3) + kTaken));
  EXPECT_TRUE(
      proves("c = ArgMax<axis=1, keepdims=0>(x)\n" + kHot, "c = ArgMax<axis=1, keepdims=0>(x)\n" + kTaken));
  EXPECT_TRUE(proves("c = ArgMin<axis=1, keepdims=0, select_last_index=1>(x)\n" + kHot,
                     "c = ArgMin<axis=1, keepdims=0, select_last_index=1>(x)\n" + kTaken));
}

TEST(LookUps, AreNotWhereTheIndexMayPointOutside) {
  EXPECT_FALSE(proves(clipped(0, 4) + kHot, clipped(0, 4) + kTaken));
  EXPECT_FALSE(proves(clipped(-5, 3) + kHot, clipped(-5, 3) + kTaken));
  EXPECT_FALSE(proves("c = Identity(i)\n" + kHot, "c = Identity(i)\n" + kTaken));
  // One of both bounds only, or of another number.
  const std::string below = "hi = Constant<value_int = 3>() c = Min(hi, i)\n";
  EXPECT_FALSE(proves(below + kHot, below + kTaken));
  const std::string added = clipped(0, 3) + "one = Constant<value_int = 1>() k1 = Add(c, one)\n";
  EXPECT_FALSE(proves(added + "d = Constant<value_ints = [4]>() o = OneHot(k1, d, values) y = MatMul(o, w)",
                      added + "y = Gather(w, k1)"));
  // The position of the largest of an axis that is longer than what is looked up in.
  const std::string longer = "t2 = Concat<axis=1>(x, x) c = ArgMax<axis=1, keepdims=0>(t2)\n";
  EXPECT_FALSE(proves(longer + kHot, longer + kTaken));
}

TEST(LookUps, OneHotRowsAreSpelledInSeveralWays) {
  const std::string places =
      "n0 = Constant<value_int = 0>() n1 = Constant<value_int = 1>() s0 = Shape<end=1>(b) n4 = Squeeze(s0) r "
      "= Range(n0, n4, n1) "
      "k1 = Unsqueeze(c, last)\n";
  const std::string equal = places + "q = Equal(k1, r) o = Cast<to=1>(q) y = MatMul(o, w)";
  // -1 is no place, but the last row of a look-up.
  EXPECT_FALSE(proves(clipped(-1, 3) + equal, clipped(-1, 3) + kTaken));
  const std::string whole =
      "d = Constant<value_ints = [4]>() v = Constant<value_ints = [0, 1]>() h = OneHot(c, d, v) o = "
      "Cast<to=1>(h) y = MatMul(o, w)";
  EXPECT_TRUE(proves(clipped(0, 3) + whole, clipped(0, 3) + kTaken));
  // A large integer is rounded.
  const std::string large =
      "d = Constant<value_ints = [4]>() v = Constant<value_ints = [0, 16777217]>() h = OneHot(c, d, v) o = "
      "Cast<to=1>(h) ";
  const std::string number = "t2 = Constant<value_int = 16777217>() m = Cast<to=1>(t2) ";
  EXPECT_FALSE(proves(
      clipped(0, 3) + large + "y = Identity(o)",
      clipped(0, 3) + number + "d = Constant<value_ints = [4]>() h = OneHot(c, d, values) y = Mul(h, m)"));
  const std::string scattered =
      "k1 = Unsqueeze(c, last) z4 = Constant<value_floats = [0.0, 0.0, 0.0, 0.0]>() s1 = Shape(u) zeros = "
      "Expand(z4, s1) one = Constant<value_floats = [1.0]>() s2 = Shape(k1) ones = Expand(one, s2) o = "
      "ScatterElements<axis=1>(zeros, k1, ones) y = MatMul(o, w)";
  EXPECT_TRUE(proves(clipped(0, 3) + scattered, clipped(0, 3) + kTaken));
}

}  // namespace
}  // namespace isomer
