#include "optimizer/search/prior.h"

#include <gtest/gtest.h>

#include "optimizer/propose/list.h"
#include "optimizer/propose/testing.h"
#include "optimizer/search/search.h"

namespace isomer {
namespace {

using testing::program;

// Two convolutions that are one, and a maximum that may come before a Relu: gains that do not know of each
// other.
Graph two_gains(const std::string& size = "16", const std::string& name = "p") {
  return program("agraph (float[1,8," + size + "," + size + "] x) => (float[1,8,n,m] y, float[1,8,k,l] z) <" +
                 testing::weight("a", "8,8,1,1", 64, 1) + ", " + testing::weight("b", "8,8,1,1", 64, 2) +
                 "> { " + name + " = Conv<kernel_shape = [1,1]>(x, a) q = Conv<kernel_shape = [1,1]>(" +
                 name +
                 ", b) y = Sigmoid(q) r = Relu(x) z = MaxPool<kernel_shape = [2,2], strides = [2,2]>(r) }");
}

Features features(const Graph& graph) { return features_of(graph, *infer(graph)); }

struct Searched {
  std::vector<std::pair<std::string, std::string>> taken;
  SearchReport report;
};

Searched searched(const Graph& graph, const std::string& prior, std::int64_t steps = 1 << 30) {
  Model model;
  model.graph = graph;
  SearchOptions options;
  options.steps = steps;
  if (!prior.empty()) options.prior = std::make_shared<const Prior>(*Prior::parse(prior));
  Searched out;
  const auto history = search(options, model, nullptr, out.report);
  EXPECT_TRUE(history.ok());
  for (const Draft::Taken& t : history->back().taken) out.taken.emplace_back(t.change.kind, t.what);
  std::ranges::sort(out.taken);
  return out;
}

std::string leaf(const std::string& proposers) { return "prior 1\nleaf " + proposers + "\n"; }

std::map<std::string, int> tried(const Searched& s) {
  std::map<std::string, int> out;
  for (const auto& [kind, asked] : s.report.asked) out[kind] = asked.tried;
  return out;
}

TEST(Features, BlocksHaveNoNamesAndNoSizes) {
  const Features small = features(two_gains()), large = features(two_gains("32", "other"));
  EXPECT_EQ(small.blocks, large.blocks);
  EXPECT_EQ(small.blocks, (std::map<std::string, int>{{"Conv1x1", 1},
                                                      {"Conv1x1(Conv1x1)", 1},
                                                      {"Sigmoid(Conv1x1(Conv1x1))", 1},
                                                      {"Relu", 1},
                                                      {"MaxPool(Relu)", 1}}));
  EXPECT_EQ(small.numbers.at("nodes"), 5);
  EXPECT_EQ(small.numbers.at("depth"), 0.6);
  EXPECT_EQ(small.numbers.at("share.Conv"), 0.4);
  EXPECT_GT(small.numbers.at("intensity"), 0);
}

TEST(Prior, NeighboursByBlocksComeBeforeTheTree) {
  const Features f = features(two_gains());
  const std::string known = "model near paid order linear\nblocks " + block_hash("Conv1x1(Conv1x1)") + " " +
                            block_hash("Conv1x1") + " " + block_hash("MaxPool(Relu)") +
                            "\nmodel far paid batch\nblocks 00000000 00000001\n";
  const std::string tree = "if share.Conv < 0.3 then 1 else 2\nleaf batch\nleaf needed commute\n";
  const auto near = Prior::parse("prior 1\nnearest 2 0.3\n" + known + tree)->order_for(f);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->first, (std::vector<std::string>{"order", "linear"}));
  EXPECT_NE(near->why.find("near (0."), std::string::npos) << near->why;
  const auto by_tree = Prior::parse("prior 1\nnearest 2 0.99\n" + known + tree)->order_for(f);
  ASSERT_TRUE(by_tree);
  EXPECT_EQ(by_tree->first, (std::vector<std::string>{"needed", "commute"}));
  EXPECT_NE(by_tree->why.find("share.Conv >= 0.3"), std::string::npos) << by_tree->why;
  EXPECT_FALSE(Prior::parse("prior 1\n")->order_for(f));
}

TEST(Prior, WhatIsDamagedIsRefusedByItsLine) {
  for (const auto& [text, line] : std::vector<std::pair<std::string, std::string>>{
           {"", "line 0"},
           {"leaf batch\n", "line 1"},
           {"prior 2\n", "line 1"},
           {"prior 1\nnearest 3\n", "line 2"},
           {"prior 1\nnearest 3 x\n", "line 2"},
           {"prior 1\nmodel a paid nobody\n", "line 2"},
           {"prior 1\nblocks 00000000\n", "line 2"},
           {"prior 1\nmodel a paid\nblocks 0000000g\n", "line 3"},
           {"prior 1\nif depth < 1 then 0 else 1\nleaf\n", "line 2"},
           {"prior 1\nif depth < 1 then 1 else 2\nleaf\n", "line 3"},
           {"prior 1\nleaf batch\nsomething\n", "line 3"}}) {
    const auto parsed = Prior::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_TRUE(parsed.error().message.starts_with(line)) << parsed.error().message;
  }
}

TEST(Prior, TheShippedOneIsRead) { EXPECT_NE(Prior::shipped(), nullptr); }

TEST(Prior, WhoeverPaidIsAskedFirst) {
  const Searched all = searched(two_gains(), "");
  ASSERT_GE(all.taken.size(), 2U);
  EXPECT_FALSE(all.report.prior);
  std::set<std::string> kinds;
  for (const auto& [kind, what] : all.taken) kinds.insert(kind);
  ASSERT_GE(kinds.size(), 2U) << "a graph with gains of two proposers";
  // With one step only, it is the prior that says whose.
  for (const std::string& kind : kinds) {
    const Searched one = searched(two_gains(), leaf(kind), 1);
    ASSERT_EQ(one.taken.size(), 1U);
    EXPECT_EQ(one.taken[0].first, kind);
    ASSERT_TRUE(one.report.prior);
    EXPECT_EQ(one.report.prior->first, std::vector<std::string>{kind});
  }
}

TEST(Prior, NobodyIsDropped) {
  const Searched all = searched(two_gains(), "");
  for (const Proposer* p : proposers()) {
    if (p == &kSimplify) continue;
    const Searched ordered = searched(two_gains(), leaf(std::string(p->name)));
    EXPECT_EQ(ordered.taken, all.taken) << p->name;
    EXPECT_EQ(tried(ordered), tried(all)) << p->name;
  }
}

// Nobody of those that may be asked is left to be asked first, or all are: there is no order to tell of.
TEST(Prior, SaysNothingWhereThereIsNoChoice) {
  std::string everybody;
  for (const Proposer* p : proposers()) everybody += " " + std::string(p->name);
  EXPECT_FALSE(searched(two_gains(), leaf(everybody)).report.prior);
  EXPECT_FALSE(searched(two_gains(), leaf("widen generated simplify user")).report.prior);
}

}  // namespace
}  // namespace isomer
