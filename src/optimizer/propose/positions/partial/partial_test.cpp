#include "optimizer/propose/positions/partial/partial.h"

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::program;
using testing::weight;

struct Found {
  std::string what, after;  // after: the operators, or why it is not proved
};

// All proposals, whatever they cost.
std::vector<Found> all(const std::string& text) {
  const Graph graph = program(text);
  const auto inference = infer(graph);
  const auto proposals = kPartial(graph, *inference, {.any_price = true}).list;
  std::vector<Found> out;
  for (std::size_t k = 0; k < proposals.size(); ++k) {
    std::string why;
    const auto result = testing::taken(kPartial, graph, &why, true, k);
    out.push_back({proposals[k].what, result ? testing::operators(*result) : why});
  }
  return out;
}

Found only(const std::string& text) {
  auto found = all(text);
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Found{} : found[0];
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string two(const std::string& x, const std::string& body) {
  return "agraph (" + x + " x) => (float[a,b,c,d] y) <" + weight("w", "4,2,3,3", 72, 1) + ", " +
         weight("v", "3,4,3,3", 108, 2) + ", " + weight("p", "4", 4, 3) + ", " + weight("q", "3", 3, 4) +
         ", int64[8] around = {0,0,2,2,0,0,2,2}> {\n" + body + "}";
}

std::string one(const std::string& x, const std::string& attributes) {
  return "agraph (" + x + " x) => (float[a,b,c,d] y) <" + weight("w", "4,2,3,3", 72, 1) + "> {\ny = Conv<" +
         attributes + ">(x, w)}";
}

TEST(Partial, ImagesSideBySideAreCorrectedAtTheirBorders) {
  const auto found = all(one("float[3,2,6,6]", "pads=[1,1,1,1]"));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_TRUE(says(found[0].what, "axis 3: first 1, last 1")) << found[0].what;
  EXPECT_EQ(found[0].after, "Transpose Reshape Conv Reshape Transpose Slice Slice Conv Slice Conv Concat");
  EXPECT_TRUE(says(found[2].what, "axis 2: first 1, last 1")) << found[2].what;
  EXPECT_EQ(found[2].after, found[0].after);
}

TEST(Partial, ZerosBetweenImagesNeedNoCorrection) {
  const auto found = all(one("float[3,2,6,6]", "pads=[1,1,1,1]"));
  ASSERT_EQ(found.size(), 4u);
  for (const std::size_t k : {1u, 3u}) {
    EXPECT_TRUE(says(found[k].what, "nothing is wrong")) << found[k].what;
    EXPECT_EQ(found[k].after, "Pad Transpose Reshape Conv Reshape Slice Transpose");
  }
}

TEST(Partial, ImagesSideBySideUnderStridesAndUnevenPads) {
  for (const char* attributes : {"pads=[1,1,1,1], strides=[2,2]", "pads=[2,0,0,1]", "strides=[3,2]"})
    for (const Found& f : all(one("float[3,2,8,8]", attributes)))
      EXPECT_TRUE(f.after.ends_with("Transpose") || f.after.ends_with("Concat")) << f.what << f.after;
}

TEST(Partial, OneImageIsNotBesideOthers) {
  EXPECT_TRUE(all(one("float[1,2,6,6]", "pads=[1,1,1,1]")).empty());
}

TEST(Partial, ABatchThatMayBeEmptyIsNotProved) {
  for (const Found& f : all(one("float[N,2,6,6]", "pads=[1,1,1,1]")))
    EXPECT_TRUE(says(f.after, "may fail where the first program runs")) << f.after;
}

TEST(Partial, HolesAsABatchAreCorrectedWhereTheRestIsSeen) {
  const auto found = all(one("float[1,2,9,9]", "pads=[2,2,2,2], dilations=[2,2]"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(says(found[0].what, "axis 2: last 3; axis 3: last 3")) << found[0].what;
  EXPECT_EQ(
      found[0].after,
      "Slice Slice Reshape Transpose Reshape Conv Reshape Transpose Reshape Slice Conv Slice Conv Concat "
      "Concat");
  EXPECT_TRUE(says(found[1].what, "nothing is wrong")) << found[1].what;
  EXPECT_EQ(found[1].after, "Pad Pad Reshape Transpose Reshape Conv Reshape Transpose Reshape Slice Slice");
}

TEST(Partial, HolesThatDivideTheImageNeedNoCorrection) {
  const Found f = only(one("float[1,2,9,8]", "pads=[1,2,1,2], dilations=[1,2]"));
  EXPECT_TRUE(says(f.what, "nothing is wrong")) << f.what;
  EXPECT_EQ(f.after, "Reshape Transpose Reshape Conv Reshape Transpose Reshape");
}

TEST(Partial, TwoKernelsAreOneButForTheBorder) {
  const Found f = only(two("float[1,2,9,9]",
                           "t = Conv<pads=[1,1,1,1]>(x, w, p)\n"
                           "y = Conv<pads=[1,1,1,1]>(t, v, q)"));
  EXPECT_TRUE(says(f.what, "as one of 5x5: wrong at")) << f.what;
  EXPECT_TRUE(says(f.what, "axis 2: first 1, last 1; axis 3: first 1, last 1")) << f.what;
  EXPECT_EQ(f.after, "Conv Slice Conv Conv Slice Conv Conv Slice Conv Conv Slice Conv Conv Concat Concat");
}

TEST(Partial, TwoKernelsOfNamedSizes) {
  const Found f = only(two("float[N,2,H,W]",
                           "z = Pad(x, around)\nt = Conv<pads=[1,1,1,1]>(z, w, p)\n"
                           "y = Conv<pads=[1,1,1,1]>(t, v, q)"));
  EXPECT_TRUE(says(f.what, "axis 2: first 1, last 1; axis 3: first 1, last 1")) << f.what;
  EXPECT_TRUE(f.after.ends_with("Concat Concat")) << f.after;
}

TEST(Partial, NamedSizesThatMayBeTooSmallAreNotProved) {
  const Found f = only(two("float[N,2,H,W]",
                           "t = Conv<pads=[1,1,1,1]>(x, w, p)\n"
                           "y = Conv<pads=[1,1,1,1]>(t, v, q)"));
  EXPECT_TRUE(says(f.after, "unless H - 3 >= 0")) << f.after;
}

TEST(Partial, TwoKernelsWithStridesAndHoles) {
  const auto found = all(two("float[1,2,21,21]",
                             "t = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w, p)\n"
                             "y = Conv<pads=[2,1,2,1], dilations=[2,1]>(t, v)"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(says(found[2].what, "as one of 11x7")) << found[2].what;
  EXPECT_TRUE(found[2].after.ends_with("Concat Concat")) << found[2].after;
}

TEST(Partial, TwoKernelsOfSingleChannels) {
  const Found f = only("agraph (float[1,4,9,9] x) => (float[a,b,c,d] y) <" + weight("w", "4,1,3,3", 36, 1) +
                       ", " + weight("v", "4,1,3,3", 36, 2) + ", " + weight("p", "4", 4, 3) +
                       "> {\nt = Conv<pads=[1,1,1,1], group=4>(x, w, p)\n"
                       "y = Conv<pads=[1,1,1,1], group=4>(t, v)}");
  EXPECT_TRUE(f.after.ends_with("Concat Concat")) << f.after;
}

TEST(Partial, ValuesInBetweenThatSomeoneElseReadsStay) {
  EXPECT_TRUE(all("agraph (float[1,2,9,9] x) => (float[a,b,c,d] y, float[e,f,g,h] t) <" +
                  weight("w", "4,2,3,3", 72, 1) + ", " + weight("v", "3,4,3,3", 108, 2) +
                  "> {\nt = Conv<pads=[1,1,1,1]>(x, w)\ny = Conv<pads=[1,1,1,1]>(t, v)}")
                  .empty());
}

TEST(Partial, FunctionsStayWithTheirConvolution) {
  const Found f = only(two("float[1,2,9,9]",
                           "t = Conv<pads=[1,1,1,1]>(x, w, p)\n"
                           "u = Conv<pads=[1,1,1,1]>(t, v, q)\ny = Relu(u)"));
  EXPECT_TRUE(f.after.starts_with("Conv Relu Slice Conv Conv Relu")) << f.after;
  EXPECT_TRUE(f.after.ends_with("Relu Concat Concat")) << f.after;
}

TEST(Partial, OnlyWhatIsLikelyToGainIsProposedUnasked) {
  const auto proposed = [](const std::string& text) {
    const Graph graph = program(text);
    return kPartial(graph, *infer(graph)).list.size();
  };
  const auto pair = [](const std::string& inner) {
    return "agraph (float[2,2,96,96] x) => (float[a,b,c,d] y) <" +
           weight("w", inner + ",2,3,3", 18 * std::stoi(inner), 1) + ", " +
           weight("v", "4," + inner + ",3,3", 36 * std::stoi(inner), 2) +
           "> {\nt = Conv<pads=[1,1,1,1]>(x, w)\ny = Conv<pads=[1,1,1,1]>(t, v)}";
  };
  EXPECT_EQ(proposed(pair("32")), 1u);
  EXPECT_EQ(proposed(pair("2")), 0u);
  EXPECT_EQ(proposed(one("float[3,2,6,6]", "pads=[1,1,1,1]")), 0u);
  // Weights that no cache of a core holds.
  EXPECT_EQ(proposed("agraph (float[2,1024,3,3] x) => (float[a,b,c,d] y) <" +
                     weight("w", "1024,1024,1,1", 1 << 20, 1) + "> {\ny = Conv(x, w)}"),
            1u);
}

// ---- corrections that the test provides

std::string proved(const std::string& text, const std::vector<Margin>& margins, Join join) {
  const Graph graph = program(text);
  const auto inference = infer(graph);
  const Site site(graph, *inference, unknown_machine());
  const auto mutants = mutants_of(site, graph.order().back());
  const auto p = correct(site, mutants.at(0), {.set = "", .margins = margins}, join);
  if (!p) return "no proposal";
  const auto result = prove_claim(graph, p->claim);
  return std::holds_alternative<Graph>(result) ? "proved" : "refused";
}

TEST(Partial, BothWaysToJoinAreProved) {
  const std::string text = one("float[3,2,6,6]", "pads=[1,1,1,1]");
  for (const Join join : {Join::Concat, Join::PadAndAdd})
    EXPECT_EQ(proved(text, {{.axis = 3, .begin = 1, .end = 1}}, join), "proved");
}

TEST(Partial, AMutantThatIsNotCorrectedEverywhereIsRefused) {
  const std::string text = one("float[3,2,6,6]", "pads=[1,1,1,1]");
  for (const Join join : {Join::Concat, Join::PadAndAdd}) {
    EXPECT_EQ(proved(text, {}, join), "refused");
    EXPECT_EQ(proved(text, {{.axis = 3, .begin = 1}}, join), "refused");
    EXPECT_EQ(proved(text, {{.axis = 3, .end = 1}}, join), "refused");
    EXPECT_EQ(proved(text, {{.axis = 2, .begin = 1, .end = 1}}, join), "refused");
  }
}

}  // namespace
}  // namespace isomer
