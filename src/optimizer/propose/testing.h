// For tests of proposers: small programs with made-up weights; propose, prove, fold.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "kernel/prove/step.h"
#include "model/graph/testing.h"
#include "optimizer/propose/proposer.h"

namespace isomer::testing {

// $ISOMER_KEEP_PROGRAMS names a folder: the programs of each test are kept there as text, for
// bench/rules_cover.py.
inline void keep_program(const std::string& text) {
  const char* folder = std::getenv("ISOMER_KEEP_PROGRAMS");
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (folder == nullptr || test == nullptr) return;
  static int number = 0;
  std::ofstream(std::string(folder) + "/" + test->test_suite_name() + "." + test->name() + "." +
                std::to_string(number++) + ".txt")
      << text;
}

inline Graph program(const std::string& text) {
  const std::string whole = "<ir_version: 8, opset_import: [\"\" : 18]>\n" + text;
  keep_program(whole);
  return parsed(whole);
}

inline std::string integers(const std::string& name, const std::vector<int>& values) {
  std::string numbers;
  for (const int v : values) numbers += (numbers.empty() ? "" : ", ") + std::to_string(v);
  return "int64[" + std::to_string(values.size()) + "] " + name + " = {" + numbers + "}";
}

// The graph with one proposal of this proposer proved, taken and folded; nullopt: there is none of that
// number, or it is not proved (`why`).
inline std::optional<Graph> taken(const Proposer& propose, const Graph& graph, std::string* why = nullptr,
                                  bool any_price = false, std::size_t number = 0) {
  const auto inference = infer(graph);
  EXPECT_TRUE(inference.ok());
  if (!inference.ok()) return std::nullopt;
  const auto proposals = propose(graph, *inference, {.any_price = any_price}).list;
  if (proposals.size() <= number) return std::nullopt;
  const Proposal& p = proposals[number];
  const auto proved = prove_claim(graph, p.claim);
  if (const auto* reason = std::get_if<std::string>(&proved)) {
    if (why) *why = *reason;
    return std::nullopt;
  }
  auto folded = fold_constants(std::get<Graph>(proved), p.folds);
  EXPECT_TRUE(folded.ok());
  return folded.ok() ? std::optional(*folded) : std::nullopt;
}

// Operators in order: "Slice Conv Relu".
inline std::string operators(const Graph& graph) {
  std::string out;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) out += (out.empty() ? "" : " ") + graph.node(id).op;
  return out;
}

// After the best proposal; why it is not proved.
inline std::string best_operators(const Proposer& propose, const std::string& text) {
  std::string why = "no proposal";
  const auto result = taken(propose, program(text), &why);
  return result ? operators(*result) : why;
}

}  // namespace isomer::testing
