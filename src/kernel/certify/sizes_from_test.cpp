// Certificates that hold only where no open size of an input is 0.
#include <gtest/gtest.h>

#include "kernel/certify/check_files.h"
#include "kernel/certify/digest.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

Graph program(const std::string& text) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
}

// What is taken for granted of open sizes: `at_least(1, graph)` is a model whose user runs it at no size of
// 0.
Graph at_least(int least, Graph graph) {
  graph.sizes_from = least;
  return graph;
}

const std::string kKept =
    "agraph (float[n,4] x, float[k] z) => (float[k,4] y) <int64[1] four = {4}, int64[1] o = {0}> {\n"
    "c = Shape(z)\ns = Concat<axis=0>(c, four)\nr = Reshape(x, s)\ny = Slice(r, o, c, o)}";
Claim keep_all_rows() {
  return {.inputs = {"r", "z"},
          .outputs = {"y"},
          .after = program("agraph (float[k,4] r, float[k] z) => (float[k,4] q) {q = Identity(r)}")};
}

TEST(SizesFromOne, AreBelievedOfInputsWhereTheUserSaysSo) {
  const Graph in = program(kKept);
  const auto proved = prove_claim(at_least(1, in), keep_all_rows());
  ASSERT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
  const Graph out = std::get<Graph>(proved);
  const Certificate made{.steps = {keep_all_rows()}, .notes = {}};
  const std::string text = to_text(with_digests(made, at_least(1, in), out));
  const CheckedFiles said = check_models(at_least(1, in), out, text);
  EXPECT_EQ(said.text(), "accepted: OUT equals IN for all sizes of at least 1; 1 step proved again\n");
  EXPECT_EQ(said.report.sizes_from, 1);
  // The certificate does not cover size 0.
  EXPECT_EQ(check_models(at_least(0, in), out, text).report.reason,
            "the certificate holds only for sizes of at least 1, but size 0 is required, too");
  // The same steps as a statement about all sizes are not proved, however IN is read.
  const std::string about_all = to_text(with_digests(made, in, out));
  EXPECT_EQ(about_all.find("sizes_from"), std::string::npos);
  for (const int least : {0, 1})
    EXPECT_EQ(check_models(at_least(least, in), out, about_all).report.reason,
              "r may have another shape where a size is 0");
}

const std::string kTwice = "agraph (float[N,3] x) => (float[N,3] y) {t = Neg(x)\nu = Neg(t)\ny = Relu(u)}";
const std::string kOnce = "agraph (float[N,3] x) => (float[N,3] y) {y = Relu(x)}";
Certificate by_pairs() {
  Certificate out;
  out.pairing.emplace();
  out.pairing->equations.push_back({.a = "y", .b = "y", .at_end = true});
  return out;
}

TEST(SizesFromOne, OldCertificatesSayMoreAndStayValid) {
  const Graph in = program(kTwice), out = program(kOnce);
  const std::string text = to_text(with_digests(by_pairs(), in, out));
  EXPECT_EQ(text.find("sizes_from"), std::string::npos);
  for (const int least : {0, 1}) {
    const CheckReport report = check_models(at_least(least, in), out, text).report;
    EXPECT_TRUE(report.accepted) << report.reason;
    EXPECT_EQ(report.sizes_from, 0);
  }
}

TEST(SizesFromOne, OfAModelThatWasNotChangedNothingIsAssumed) {
  const Graph in = at_least(1, program(kTwice));
  const std::string text = to_text(with_digests(Certificate{.steps = {}, .notes = {}}, in, in));
  EXPECT_TRUE(check_models(program(kTwice), in, text).report.accepted);
}

TEST(SizesFromOne, NoOtherNumberIsRead) {
  const std::string text = to_text(with_digests(by_pairs(), at_least(1, program(kTwice)), program(kOnce)));
  ASSERT_TRUE(parse_certificate(text).ok());
  const std::size_t at = text.find("\"sizes_from\":1");
  ASSERT_NE(at, std::string::npos);
  for (const char* other : {"0", "2", "-1", "true", "\"1\"", "null", "1.5", "[1]"}) {
    std::string changed = text;
    changed.replace(at, 14, std::string("\"sizes_from\":") + other);
    EXPECT_FALSE(parse_certificate(changed).ok()) << other;
  }
}

// How many elements are found depends on data: none, maybe.
TEST(SizesFromOne, AreNotBelievedOfSizesThatDependOnData) {
  const Graph in = at_least(
      1, program("agraph (float[n,4] x, bool[k] b) => (float[k,4] y) <int64[1] four = {4}, int64[1] o = {0}, "
                 "int64[1] one = {1}> {\n"
                 "z = NonZero(b)\nd = Shape(z)\nc = Gather(d, one)\ns = Concat<axis=0>(c, four)\n"
                 "r = Reshape(x, s)\ny = Slice(r, o, c, o)}"));
  const Claim claim{
      .inputs = {"r", "c"},
      .outputs = {"y"},
      .after = program("agraph (float[m,4] r, int64[1] c) => (float[m,4] q) {q = Identity(r)}")};
  const auto proved = prove_claim(in, claim);
  ASSERT_TRUE(std::holds_alternative<std::string>(proved));
  EXPECT_EQ(std::get<std::string>(proved), "r may have another shape where a size is 0");
}

// A size that follows from an input's may be 0 where that is 1: of n - 1 rows there may be none.
TEST(SizesFromOne, AreNotBelievedOfSizesThatFollow) {
  const auto model = [](const std::string& begin) {
    return at_least(
        1, program("agraph (float[n,4] x) => (float[n,4] y) <int64[1] o = {0}, int64[1] b = {" + begin +
                   "}, int64[1] e = {9999999}> {\n"
                   "t = Slice(x, b, e, o)\ny = Neg(t)}"));
  };
  const Claim claim{
      .inputs = {"t"},
      .outputs = {"y"},
      .after = program("agraph (float[m,4] t) => (float[m,4] q) {\n"
                       "a = ReduceMax<keepdims=1>(t)\nd = Sub(a, a)\nv = Add(t, d)\nq = Neg(v)}")};
  const auto proved = prove_claim(model("0"), claim);
  EXPECT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
  EXPECT_TRUE(std::holds_alternative<std::string>(prove_claim(model("1"), claim)));
}

// A dimension without a name is also open; a value's declared size is not trusted.
TEST(SizesFromOne, AreOfUnnamedSizesAndOfNoDeclaredValue) {
  const auto facts = [](const std::string& text) {
    const Graph graph = at_least(1, program(text));
    const auto inference = infer(graph);
    EXPECT_TRUE(inference.ok());
    std::vector<std::string> out;
    for (const Dim& d : sizes_of(graph, *inference).facts) out.push_back(d.text());
    return out;
  };
  EXPECT_EQ(
      facts("agraph (float[?,3] x, float[N,N] z) => (float[K,3] y, float[L,M] w) {y = Neg(x)\nw = Neg(z)}")
          .size(),
      2u);
  EXPECT_TRUE(facts("agraph (float[2,0] x) => (float[K,L] y) {y = Neg(x)}").empty());
}

// Two models that are compared value by value: a maximum of nothing is no number.
TEST(SizesFromOne, AreBelievedOfPairsOfModels) {
  const Graph a = program("agraph (float[n,3] x) => (float[n,3] y) {y = Neg(x)}");
  const Graph b = program(
      "agraph (float[n,3] x) => (float[n,3] y) {\nm = ReduceMax<keepdims=1>(x)\nd = Sub(m, m)\n"
      "v = Add(x, d)\ny = Neg(v)}");
  const auto check = [&](int least) {
    return check_models(at_least(1, a), b, to_text(with_digests(by_pairs(), at_least(least, a), b))).report;
  };
  EXPECT_TRUE(check(1).accepted) << check(1).reason;
  EXPECT_FALSE(check(0).accepted);
}

}  // namespace
}  // namespace isomer
