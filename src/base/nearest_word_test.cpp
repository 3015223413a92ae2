#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> words{"optimize", "inspect", "prove"};
  EXPECT_EQ(nearest("optimise", words), "optimize");
  EXPECT_EQ(nearest("porve", words), "prove");
  EXPECT_EQ(nearest("inspct", words), "inspect");
}

TEST(Nearest, GuessesNothingFarAway) {
  EXPECT_EQ(nearest("nonsense", {"optimize", "inspect", "prove"}), "");
  EXPECT_EQ(nearest("run", {"bench"}), "");
}

}  // namespace
}  // namespace isomer
