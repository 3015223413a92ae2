#include "runtime/engines/library_names.h"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

TEST(LibraryNames, AreTextsThatEnd) {
  const testing::TemporaryFolder folder;
  const std::string path = (folder / "lib.so").string();
  using namespace std::string_literals;
  const std::string bytes =
      "\x7f"
      "ELF\0session.disable_prepacking\0\x01"
      "14MatmulBNFusionE\0ConvBNFusion\0"s;
  std::ofstream(path, std::ios::binary) << bytes;
  const auto names = LibraryNames::of(path);
  ASSERT_TRUE(names);
  EXPECT_TRUE(names->has("session.disable_prepacking"));
  EXPECT_FALSE(names->has("session.disable_prepackin"));
  EXPECT_FALSE(names->has("MatmulBNFusion"));
  EXPECT_TRUE(names->has_class("MatmulBNFusion"));
  EXPECT_TRUE(names->has_class("ConvBNFusion"));
  EXPECT_THAT(names->settings(), ::testing::ElementsAre("session.disable_prepacking"));
  EXPECT_THAT(names->optimizers(), ::testing::Contains("ConvBNFusion"));
}

TEST(LibraryNames, OfNoFileAreNotKnown) { EXPECT_FALSE(LibraryNames::of("/nowhere/lib.so")); }

}  // namespace
}  // namespace isomer
