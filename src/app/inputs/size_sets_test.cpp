#include "app/inputs/size_sets.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

using Sets = std::vector<std::vector<std::string>>;

TEST(SizeSets, AreOneWhereEachNameIsSaidOnce) {
  EXPECT_EQ(size_sets({}), Sets{{}});
  EXPECT_EQ(size_sets({"batch=1", "x=1x3"}), (Sets{{"batch=1", "x=1x3"}}));
}

TEST(SizeSets, BeginAnewWithANameThatComesAgain) {
  EXPECT_EQ(size_sets({"batch=1", "batch=8", "batch=64"}), (Sets{{"batch=1"}, {"batch=8"}, {"batch=64"}}));
  EXPECT_EQ(size_sets({"x=1x3", "y=2", "x=8x3", "y=4"}), (Sets{{"x=1x3", "y=2"}, {"x=8x3", "y=4"}}));
}

TEST(SizeSets, KeepWhatIsNotSaidAgain) {
  EXPECT_EQ(size_sets({"batch=1", "seq=128", "batch=8"}),
            (Sets{{"batch=1", "seq=128"}, {"batch=8", "seq=128"}}));
  EXPECT_EQ(size_sets({"seq=128", "past=0", "seq=1", "past=128", "past=1024"}),
            (Sets{{"seq=128", "past=0"}, {"seq=1", "past=128"}, {"seq=1", "past=1024"}}));
}

// Names of inputs may hold one, too.
TEST(SizeSets, SplitAtTheLastEqualsSign) {
  EXPECT_EQ(size_sets({"a=b=1", "a=c=2", "a=b=3"}), (Sets{{"a=b=1", "a=c=2"}, {"a=b=3", "a=c=2"}}));
}

}  // namespace
}  // namespace isomer
