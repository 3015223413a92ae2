#include "optimizer/facts/evaluation_visits.h"

#include <fmt/format.h>

#include "model/graph/infer.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

// The visits of the last node.
std::optional<double> visits(const std::string& text) {
  const Graph graph = parsed(text);
  const auto inference = infer(graph);
  const Definition definition = define_node(graph, *inference, graph.order().back());
  return evaluation_visits(std::get<Formula>(definition));
}

TEST(EvaluationVisits, AScatterLooksThroughAllUpdatesForEachElementOnce) {
  const auto scatter = [](int elements, int updates) {
    return *visits(fmt::format(R"(
    <ir_version: 8, opset_import: ["" : 18]>
    g (float[{0}] x, int64[{1}] i, float[{1}] u) => (y) {{ y = ScatterElements(x, i, u) }})",
                               elements, updates));
  };
  EXPECT_GT(scatter(1000, 100), 100'000);
  EXPECT_LT(scatter(1000, 100), 2'000'000);  // not once for each time that the index is written
  EXPECT_NEAR(scatter(1000, 400) / scatter(1000, 100), 4, 0.5);
}

TEST(EvaluationVisits, AreNotKnownOfOpenSizes) {
  EXPECT_FALSE(visits(R"(
    <ir_version: 8, opset_import: ["" : 18]> g (float[n] x) => (y) { y = Relu(x) })"));
}

}  // namespace
}  // namespace isomer
