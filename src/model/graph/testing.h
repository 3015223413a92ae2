// Graphs for tests: from text, long chains, random ones.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "model/graph/graph.h"
#include "model/graph/text/text.h"

namespace isomer::testing {

inline Graph parsed(std::string_view text, TextCalls calls = TextCalls::AsInFiles) {
  auto graph = parse_graph(text, calls);
  if (!graph.ok()) throw std::runtime_error(graph.error().message + " in\n" + std::string(text));
  return std::move(graph).value();
}

// A float initializer with n numbers that repeat with a period of five.
inline std::string weight(const std::string& name, const std::string& shape, int n, int seed) {
  std::string numbers;
  for (int i = 0; i < n; ++i) numbers += (i ? ", " : "") + std::to_string((i * 7 + seed) % 5 - 2) + ".5";
  return "float[" + shape + "] " + name + " = {" + numbers + "}";
}

inline Value value_named(const Graph& graph, std::string_view name) {
  for (const NodeId id : graph.order())
    for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k)
      if (graph.node(id).outputs[k] == name) return {id, k};
  throw std::runtime_error("no value is named " + std::string(name));
}

inline Node relu(Value input, std::string output) {
  Node node;
  node.op = "Relu";
  node.inputs = {input};
  node.outputs = {std::move(output)};
  return node;
}

// x -> Relu -> Relu -> ... -> v<length - 1>
inline Graph relu_chain(int length) {
  Graph graph = parsed(R"(<opset_import: ["" : 17]> chain (float[N, 4] x) => () {})");
  Value last = graph.inputs()[0];
  for (int i = 0; i < length; ++i) last = {graph.add(relu(last, "v" + std::to_string(i))), 0};
  graph.add_output(last);
  return graph;
}

// A graph of any shape: legal as a graph, not as a model (operators get inputs and attributes as they come).
Graph random_graph(std::mt19937_64& random, int operators);

// The same graph with one thing of its meaning changed, which some output depends on, and what that was;
// names stay.
struct Mutant {
  Graph graph;
  std::string what;
};
Mutant mutant(const Graph& graph, std::mt19937_64& random);
// The same graph with all names of nodes and values changed.
Graph renamed(const Graph& graph);

}  // namespace isomer::testing
