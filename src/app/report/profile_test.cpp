#include "app/report/profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace isomer {
namespace {

Node node_of(std::string op, std::string name, Value input, std::string output) {
  Node node;
  node.op = std::move(op);
  node.name = std::move(name);
  node.inputs = {input};
  node.outputs = {std::move(output)};
  return node;
}

// x -> "first" -> a node without a name.
Graph two_nodes() {
  Graph graph;
  Node input;
  input.kind = NodeKind::Input;
  input.outputs = {"x"};
  const NodeId x = graph.add(std::move(input));
  graph.add_input({x, 0});
  const NodeId a = graph.add(node_of("Exp", "first", {x, 0}, "a"));
  graph.add_output({graph.add(node_of("Relu", "", {a, 0}, "y")), 0});
  return graph;
}

Profile two_kernels() {
  return {.kernels = {{.op = "Relu", .nodes = 1, .time_ns = 500, .each = {{"@1@", 500, 2}}},
                      {.op = "Exp", .nodes = 1, .time_ns = 2000, .each = {{"@0@_x", 2000, 1}}}},
          .times = {.ns = {2000, 500}},
          .runtime = "R 1"};
}

TEST(Profile, NodesHaveNamesOfTheirOwn) {
  const auto data = node_data(two_nodes(), two_kernels());
  EXPECT_EQ(data["results"].dump(), R"({"first":{"value":2.0},"node":{"value":0.5}})");
  EXPECT_EQ(data["name"], "µs on R 1");
}

TEST(Profile, KernelsFollowOneAnotherInTheOrderInWhichTheyRun) {
  const auto trace = trace_events(two_nodes(), two_kernels());
  std::vector<nlohmann::ordered_json> runs;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") runs.push_back(event);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["name"], "Exp");
  EXPECT_EQ(runs[0]["args"]["nodes"].dump(), R"(["first"])");
  EXPECT_EQ(runs[1]["name"], "Relu");
  EXPECT_EQ(runs[1]["ts"], runs[0]["dur"]);
  EXPECT_EQ(runs[1]["args"]["nodes"].dump(), R"(["node"])");
}

}  // namespace
}  // namespace isomer
