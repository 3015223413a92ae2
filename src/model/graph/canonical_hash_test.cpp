#include "model/graph/canonical_hash.h"

#include <map>

#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

Digest hash_of(std::string_view text) { return canonical_hashes(parsed(text)).graph; }

TEST(CanonicalHash, IgnoresEveryName) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const Graph graph = testing::random_graph(random, 15);
    EXPECT_EQ(canonical_hashes(graph).graph, canonical_hashes(testing::renamed(graph)).graph) << text(graph);
  }
}

TEST(CanonicalHash, SeesEveryMutation) {
  std::mt19937_64 random(2);
  std::map<std::string, int> seen;
  for (int i = 0; i < 500; ++i) {
    const Graph graph = testing::random_graph(random, 15);
    const auto [mutated, what] = testing::mutant(graph, random);
    EXPECT_NE(canonical_hashes(graph).graph, canonical_hashes(mutated).graph) << what << "\n"
                                                                              << text(graph) << text(mutated);
    ++seen[what];
  }
  for (const char* what :
       {"op", "domain", "overload", "attribute added", "attribute removed", "edge", "constant", "opset"})
    EXPECT_GT(seen[what], 0) << what;
}

TEST(CanonicalHash, IsTheSameForEqualComputationsUnderDifferentNames) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (y, z) {
    a = Relu (x)
    b = Relu (x)
    y = Neg (a)
    z = Neg (b)
  })");
  const auto hashes = canonical_hashes(graph);
  EXPECT_EQ(hashes.of(value_named(graph, "y")), hashes.of(value_named(graph, "z")));
  EXPECT_NE(hashes.of(value_named(graph, "y")), hashes.of(value_named(graph, "a")));
}

TEST(CanonicalHash, TellsTheOutputsOfANodeApart) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => (p, q) { p, q = Split (x) })");
  const auto hashes = canonical_hashes(graph);
  EXPECT_NE(hashes.of(value_named(graph, "p")), hashes.of(value_named(graph, "q")));
}

TEST(CanonicalHash, NeverMergesRandomCustomOrControlNodes) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17, "custom" : 1]> g (float[2] x, bool t) => () {
    a1 = RandomNormalLike (x)
    a2 = RandomNormalLike (x)
    b1 = custom.Op (x)
    b2 = custom.Op (x)
    c1 = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00"> (t)
    c2 = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00"> (t)
    d1 = Dropout (x, "", t)
    d2 = Dropout (x, "", t)
    e1 = Multinomial (x)
    e2 = Multinomial (x)
  })");
  const auto hashes = canonical_hashes(graph);
  for (const std::string name : {"a", "b", "c", "d", "e"})
    EXPECT_NE(hashes.of(value_named(graph, name + "1")), hashes.of(value_named(graph, name + "2"))) << name;
}

TEST(CanonicalHash, MergesDropoutOutsideOfTraining) {
  const Graph graph =
      parsed(R"(<opset_import: ["" : 17]> g (float[2] x) => () <bool no = {0}, bool yes = {1}> {
    a1 = Dropout (x)
    a2 = Dropout (x)
    b1 = Dropout (x, "", no)
    b2 = Dropout (x, "", no)
    c1 = Dropout (x, "", yes)
    c2 = Dropout (x, "", yes)
  })");
  const auto hashes = canonical_hashes(graph);
  EXPECT_EQ(hashes.of(value_named(graph, "a1")), hashes.of(value_named(graph, "a2")));
  EXPECT_EQ(hashes.of(value_named(graph, "b1")), hashes.of(value_named(graph, "b2")));
  EXPECT_NE(hashes.of(value_named(graph, "c1")), hashes.of(value_named(graph, "c2")));
}

TEST(CanonicalHash, NeverTakesAnOverridableInitializerForAConstant) {
  EXPECT_NE(hash_of(R"(<opset_import: ["" : 17]> g (float[1] v = {2}) => (y) { y = Relu (v) })"),
            hash_of(R"(<opset_import: ["" : 17]> g () => (y) <float[1] v = {2}> { y = Relu (v) })"));
}

TEST(CanonicalHash, KnowsLargeWeightsByPlaceUnlessAskedForTheirContent) {
  const auto with_weights = [](const Tensor& tensor) {
    Graph graph;
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {"w"};
    node.tensor = tensor;
    graph.add_output({graph.add(std::move(node)), 0});
    return graph;
  };
  const std::vector<float> values(5000, 1.0f);
  const Tensor a = Tensor::of(ElementType::Float, {5000}, values),
               b = Tensor::of(ElementType::Float, {5000}, values);
  EXPECT_NE(canonical_hashes(with_weights(a)).graph, canonical_hashes(with_weights(b)).graph);
  EXPECT_EQ(canonical_hashes(with_weights(a), ContentDigests::Full).graph,
            canonical_hashes(with_weights(b), ContentDigests::Full).graph);
}

class RegionHash : public ::testing::Test {
 protected:
  const Graph graph =
      parsed(R"(<opset_import: ["" : 17]> g (float[N, 4] x) => (y) <float[4] w = {1, 2, 3, 4}> {
    a = Mul (x, w)
    b = Relu (a)
    c = Mul (b, w)
    y = Relu (c)
    z = Neg (c)
  })");
  Region region(const char* input, const char* first, const char* last) const {
    return {{value_named(graph, first).node, value_named(graph, last).node},
            {value_named(graph, input)},
            {value_named(graph, last)}};
  }
};

TEST_F(RegionHash, IsTheSameForEqualBlocks) {
  EXPECT_EQ(canonical_hash(graph, region("x", "a", "b")), canonical_hash(graph, region("b", "c", "y")));
  EXPECT_NE(canonical_hash(graph, region("x", "a", "b")), canonical_hash(graph, region("b", "c", "z")));
}

TEST_F(RegionHash, SeesTypesButNotTheNamesOfTheirSymbols) {
  const TensorType n{ElementType::Float, {Dim::symbol("N"), 4}},
      m{ElementType::Float, {Dim::symbol("?x.0"), 4}};
  const TensorType two{ElementType::Float, {2, 4}};
  const Region block = region("x", "a", "b");
  EXPECT_EQ(canonical_hash(graph, block, {n}), canonical_hash(graph, block, {m}));
  EXPECT_NE(canonical_hash(graph, block, {n}), canonical_hash(graph, block, {two}));
  EXPECT_NE(canonical_hash(graph, block, {n}), canonical_hash(graph, block));
}

TEST_F(RegionHash, SeesWhereASymbolRecurs) {
  const Dim n = Dim::symbol("N"), m = Dim::symbol("M");
  const Region block = region("x", "a", "b");
  EXPECT_NE(canonical_hash(graph, block, {{ElementType::Float, {n, n}}}),
            canonical_hash(graph, block, {{ElementType::Float, {n, m}}}));
}

TEST_F(RegionHash, RefusesARegionThatReadsWhatItIsNotGiven) {
  EXPECT_THROW(canonical_hash(graph, {{value_named(graph, "c").node}, {}, {}}), InternalError);
}

TEST(CanonicalHash, HashesAChainOf200000Nodes) {
  const Graph graph = testing::relu_chain(200'000);
  EXPECT_EQ(canonical_hashes(graph).nodes.size(), 200'001u);
}

}  // namespace
}  // namespace isomer
