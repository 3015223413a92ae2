#include <gtest/gtest.h>

#include "model/graph/testing.h"
#include "optimizer/propose/list.h"

namespace isomer {
namespace {

Graph model(const std::string& body) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[2] x) => (float[2] y) " +
                         body);
}

std::vector<std::string> flushed(const std::string& body) {
  const Graph graph = model(body);
  const Proposals found = kDenormals(graph, *infer(graph));
  return found.list.empty() ? std::vector<std::string>{} : found.list[0].flushes;
}

using Names = std::vector<std::string>;

TEST(Denormals, AreFoundInCoefficientsAndTerms) {
  EXPECT_EQ(flushed("<float[2] w = {1e-40, 1}, float[2] b = {1e-42, 0}> {\na = Mul(x, w)\ny = Add(a, b)}"),
            (Names{"w", "b"}));
  EXPECT_EQ(flushed("<float[2] w = {1, 2}> {\ny = Mul(x, w)}"), Names{});
  // After what only constants go into, too.
  EXPECT_EQ(flushed("<float[2] w = {1e-40, 1}, float[2] k = {2, 2}> {\na = Mul(w, k)\ny = Mul(x, a)}"),
            Names{"w"});
}

TEST(Denormals, StayWhereTheyDecide) {
  for (const char* body : {
           "<float[2] w = {1e-40, 1}> {\ny = Div(x, w)}",
           "<float[2] w = {1e-40, 1}> {\na = Log(w)\ny = Mul(x, a)}",
           "<float[2] w = {1e-40, 1}> {\na = Sqrt(w)\ny = Mul(x, a)}",
           "<float[2] w = {1e-40, 1}, float[2] z = {0, 0}> {\nc = Greater(w, z)\ny = Where(c, x, z)}",
           "<float[2] w = {1e-40, 1}> {\na = Sign(w)\ny = Mul(x, a)}",
           "<float[2] w = {1e-40, 1}, float[2] k = {2, 2}> {\na = Mul(w, k)\ny = Div(x, a)}",
       })
    EXPECT_EQ(flushed(body), Names{}) << body;
}

}  // namespace
}  // namespace isomer
