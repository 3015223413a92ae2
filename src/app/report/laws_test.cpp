#include "app/report/laws.h"

#include <gmock/gmock.h>

#include "app/optimize/proposer_names.h"

namespace isomer {
namespace {

TEST(Laws, EveryProposerHasOneAndNoOtherDoes) {
  std::vector<std::string> kinds;
  for (const Law& law : laws()) {
    kinds.emplace_back(law.kind);
    EXPECT_FALSE(law.title.empty() || law.formula.empty() || law.says.empty()) << law.kind;
  }
  EXPECT_THAT(kinds, testing::UnorderedElementsAreArray(proposer_names()));
}

TEST(Laws, AKindThatNobodyKnowsHasTheOneThatIsAlwaysTrue) { EXPECT_EQ(law_of("no such kind").kind, ""); }

}  // namespace
}  // namespace isomer
