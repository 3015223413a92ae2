#include "optimizer/search/region_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "optimizer/propose/list.h"
#include "optimizer/propose/testing.h"
#include "optimizer/search/regions.h"
#include "optimizer/search/search.h"

namespace isomer {
namespace {

using testing::program;

// An initializer whose numbers show nothing: proofs that look at them would take long.
std::string drawn(const std::string& name, const std::string& shape, int count, int seed) {
  std::string numbers;
  for (int k = 0; k < count; ++k)
    numbers += fmt::format("{}{}.25", k == 0 ? "" : ", ", (k * 7919 + seed * 4729) % 1009 - 504);
  return "float[" + shape + "] " + name + " = {" + numbers + "}";
}

// A 1x1 convolution beside a 5x5 one: one convolution, once the small kernel has zeros around it. The
// generated rules know both steps, and no rule does both.
Graph branches() {
  return program(
      "agraph (float[1,8,9,9] x) => (float[1,8,9,9] y) <" + drawn("a", "8,8,5,5", 1600, 1) + ", " +
      drawn("b", "8,8,1,1", 64, 2) +
      "> { p = Conv<kernel_shape = [5,5], pads = [2,2,2,2]>(x, a) q = Conv<kernel_shape = [1,1]>(x, b)"
      " s = Add(p, q) y = Relu(s)}");
}

// All proposers but the generated rules, and what cleans up.
std::set<std::string> others() {
  std::set<std::string> out;
  for (const Proposer* p : proposers())
    if (p != &kGenerated && p != &kSimplify) out.emplace(p->name);
  return out;
}

std::size_t operators_after(const Graph& graph, const std::string& strategy, SearchReport& report) {
  Model model;
  model.graph = graph;
  SearchOptions options;
  options.strategy = *parse_strategy(strategy);
  options.without = others();
  const auto history = search(options, model, nullptr, report);
  EXPECT_TRUE(history.ok());
  return history->back().graph.operator_count();
}

TEST(RegionSearch, MergesBranchesOfDifferentKernels) {
  const Graph graph = branches();
  SearchReport greedy, down, back;
  EXPECT_EQ(operators_after(graph, "greedy", greedy), 4u);
  EXPECT_EQ(operators_after(graph, "backtrack:1", down), 4u);
  EXPECT_EQ(operators_after(graph, "backtrack:2", back), 2u);
  EXPECT_LT(back.cost_after, down.cost_after);
}

TEST(RegionSearch, SaturationFindsWhatLiesBehindALossToo) {
  const Graph graph = branches();
  SearchReport down, all;
  operators_after(graph, "backtrack:1", down);
  EXPECT_EQ(operators_after(graph, "saturate", all), 2u);
  EXPECT_LT(all.cost_after, down.cost_after);
  EXPECT_GT(all.saturation.nodes, graph.operator_count());
}

// Pairs of branches that do not know of each other.
Graph pairs_of_branches(int count) {
  std::string text = "agraph (float[1,8,9,9] x0) => (float[1,8,9,9] x" + std::to_string(count) + ") <" +
                     drawn("a", "8,8,5,5", 1600, 1) + ", " + drawn("b", "8,8,1,1", 64, 2) + "> {\n";
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k);
    text += "p" + n + " = Conv<kernel_shape = [5,5], pads = [2,2,2,2]>(x" + n + ", a)\n q" + n +
            " = Conv<kernel_shape = [1,1]>(x" + n + ", b)\n s" + n + " = Add(p" + n + ", q" + n + ")\n x" +
            std::to_string(k + 1) + " = Relu(s" + n + ")\n";
  }
  return program(text + "}");
}

// One program of all that was found.
TEST(RegionSearch, SaturationPutsTogetherWhatWasFoundApart) {
  SearchReport report;
  EXPECT_EQ(operators_after(pairs_of_branches(4), "saturate", report), 8u);
  EXPECT_GT(report.saturation.proved, 0u);
}

TEST(RegionSearch, FindsTheSameForEqualRegionsOnce) {
  std::string text = "agraph (float[4,4] x0) => (float[4,4] x80) {\n";
  for (int k = 0; k < 80; ++k) text += "x" + std::to_string(k + 1) + " = Tanh(x" + std::to_string(k) + ")\n";
  SearchReport report;
  operators_after(program(text + "}"), "backtrack:1.05", report);
  // 40 and 40 nodes; shifted: 20, 40 and 20.
  EXPECT_EQ(report.unique_regions, 3u);
}

// The number of proofs before the first draft was reported; each takes long enough for a report before it.
std::size_t proofs_before_first_draft(const Graph& graph, const std::string& strategy,
                                      const std::set<std::string>& without, bool has_limit) {
  Model model;
  model.graph = graph;
  SearchOptions options;
  options.strategy = *parse_strategy(strategy);
  options.without = without;
  if (has_limit) options.limit = std::make_shared<TimeLimit>(1000);
  std::size_t proofs = 0;
  std::optional<std::size_t> first;
  options.progress = [&](const std::string& now) {
    if (!now.starts_with("proving: ")) return;
    ++proofs;
    if (has_limit && !first) std::this_thread::sleep_for(std::chrono::milliseconds(250));
  };
  options.on_draft = [&](const Draft& draft) {
    EXPECT_FALSE(draft.steps.empty());
    EXPECT_TRUE(infer(draft.graph).ok());
    if (!first) first = proofs;
  };
  SearchReport report;
  EXPECT_TRUE(search(options, model, nullptr, report).ok());
  EXPECT_LT(report.cost_after, report.cost_before);
  return first.value_or(proofs);
}

// A proof can't be interrupted: a caller that leaves in the middle of one takes the last report.
TEST(Search, TellsWhatItHasBeforeAProofThatMayNotEndInTime) {
  std::set<std::string> without = others();
  for (const std::string strategy : {"backtrack:2", "saturate"})
    EXPECT_LT(proofs_before_first_draft(pairs_of_branches(2), strategy, without, true),
              proofs_before_first_draft(pairs_of_branches(2), strategy, without, false))
        << strategy;
  without.erase("commute");
  // Means of products, twice.
  const Graph two =
      program("agraph (float[64,32] x, float[64,32] z) => (float[1,32] y, float[1,32] u) <" +
              testing::weight("a", "32,32", 1024, 1) +
              ", int64[1] rows = {0}> { p = MatMul(x, a) y = ReduceMean(p, rows) q = MatMul(z, a) "
              "r = Relu(z) s = Add(q, r) u = ReduceMean(s, rows)}");
  EXPECT_LT(proofs_before_first_draft(two, "greedy", without, true),
            proofs_before_first_draft(two, "greedy", without, false));
}

TEST(Regions, AreCutWhereOneValueCrosses) {
  std::string text = "agraph (float[4] x0) => (float[4] x8) {\n";
  for (int k = 0; k < 8; ++k) {
    const std::string x = "x" + std::to_string(k), y = std::to_string(k);
    text += "a" + y + " = Relu(" + x + ")\nb" + y + " = Neg(" + x + ")\nx" + std::to_string(k + 1) +
            " = Add(a" + y + ", b" + y + ")\n";
  }
  const auto piece = Workpiece::of(program(text + "}"));
  ASSERT_TRUE(piece.ok());
  for (const bool shifted : {false, true})
    for (const RegionPlace& p : partition(*piece, 7, shifted)) {
      EXPECT_EQ(p.inputs.size(), 1u);
      EXPECT_EQ(p.outputs.size(), 1u);
    }
}

}  // namespace
}  // namespace isomer
