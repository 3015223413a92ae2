#include "optimizer/facts/nodes_saved.h"

#include "model/graph/infer.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

// Where `outputs` are computed by `program` instead.
std::int64_t saved(const std::string& body, const std::vector<std::string>& outputs,
                   const std::string& program) {
  const std::string head = R"(<ir_version: 8, opset_import: ["" : 18]> g )";
  const Graph graph = parsed(head + body);
  const auto inference = infer(graph);
  const Site site(graph, *inference, unknown_machine());
  Proposal proposal;
  proposal.claim.outputs = outputs;
  proposal.claim.after = parsed(head + program);
  return nodes_saved(site, proposal);
}

TEST(NodesSaved, CountsWhatNobodyReadsAnyMore) {
  const std::string chain = "(float[4] x) => (y) { a = Exp(x) b = Neg(a) y = Relu(b) }";
  EXPECT_EQ(saved(chain, {"y"}, "(float[4] x) => (z) { z = Abs(x) }"), 2);
  EXPECT_EQ(saved(chain, {"y"}, "(float[4] a) => (z) { z = Abs(a) }"), 1) << "Exp is still read";
}

TEST(NodesSaved, KeepsWhatOthersRead) {
  EXPECT_EQ(saved("(float[4] x) => (y, v) { a = Exp(x) y = Neg(a) v = Relu(a) }", {"y"},
                  "(float[4] x) => (z) { z = Abs(x) }"),
            0);
  EXPECT_EQ(saved("(float[4] x) => (y, a) { a = Exp(x) y = Neg(a) }", {"y"},
                  "(float[4] x) => (z) { b = Abs(x) z = Exp(b) }"),
            -1);
}

TEST(NodesSaved, DoesNotCountWhatFolds) {
  EXPECT_EQ(saved("(float[4] x) => (y) <float[4] w = {1, 2, 3, 4}> { a = Mul(x, w) y = Mul(a, w) }", {"y"},
                  "(float[4] x, float[4] w) => (z) { s = Mul(w, w) z = Mul(x, s) }"),
            1);
}

}  // namespace
}  // namespace isomer
