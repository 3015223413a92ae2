#include "optimizer/search/proof_memory.h"

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

using testing::parsed;

class ProofMemoryTest : public ::testing::Test {
 protected:
  const testing::TemporaryFolder folder_;
  const std::string path_ = (folder_ / "timings.sqlite").string();
  const Workpiece piece_ = *Workpiece::of(parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { a = Neg(x) y = Neg(a) })"));
  const Claim claim_{.inputs = {"x"}, .outputs = {"y"}, .after = parsed(R"(
    <ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] z) { z = Identity(x) })")};
};

TEST_F(ProofMemoryTest, RemembersAcrossRuns) {
  {
    const ProofMemory first(TimingCache::open(path_), 1);
    const std::string key = first.key(piece_, claim_);
    ASSERT_FALSE(key.empty());
    EXPECT_FALSE(first.find(key).attempt || first.find(key).refusal);
    first.keep_attempt(key, 3);
  }
  const ProofMemory again(TimingCache::open(path_), 1);
  EXPECT_EQ(again.find(again.key(piece_, claim_)).attempt, 3);
  again.keep_refusal(again.key(piece_, claim_), "why not");
  EXPECT_EQ(again.find(again.key(piece_, claim_)).refusal, "why not");
  const ProofMemory other(TimingCache::open(path_), 2);  // another seed has its own answers
  EXPECT_FALSE(other.find(other.key(piece_, claim_)).refusal);
}

TEST_F(ProofMemoryTest, WithoutACacheRemembersNothing) {
  const ProofMemory none(nullptr, 1);
  EXPECT_EQ(none.key(piece_, claim_), "");
  none.keep_attempt("", 1);
  EXPECT_FALSE(none.find("").attempt);
}

TEST_F(ProofMemoryTest, AWrongHintProvesNothing) {
  Claim claim = claim_;
  claim.attempt = 99;  // there is no such attempt
  EXPECT_TRUE(std::holds_alternative<std::string>(piece_.prove(claim)));
}

}  // namespace
}  // namespace isomer
