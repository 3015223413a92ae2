#include "app/scan/find_models.h"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

FoundFiles find(const fs::path& place) {
  return find_models({place}, [] { return false; }).value();
}

TEST(FindModels, FindsEachFileOnceInSpiteOfLinks) {
  const TemporaryFolder folder;
  write(folder / "a/m.onnx", "x");
  fs::create_directory_symlink(folder / "a", folder / "a/loop");
  fs::create_directory_symlink(folder / "a", folder / "b");
  fs::create_symlink(folder / "a/m.onnx", folder / "c.onnx");
  fs::create_hard_link(folder / "a/m.onnx", folder / "a/z.onnx");
  const FoundFiles found = find(folder / "");
  ASSERT_EQ(found.models.size(), 1U);
  EXPECT_TRUE(found.skipped.empty());
}

TEST(FindModels, FollowsALinkToAFileThatHasAnotherName) {
  const TemporaryFolder folder;
  write(folder / "blobs/3fa9", "x");
  fs::create_directories(folder / "snapshots");
  fs::create_symlink(folder / "blobs/3fa9", folder / "snapshots/model.ONNX");
  ASSERT_EQ(find(folder / "").models.size(), 1U);
}

TEST(FindModels, NamesFilesThatCannotBeRead) {
  const TemporaryFolder folder;
  write(folder / "m.ort", "x");
  fs::create_symlink(folder / "nowhere", folder / "broken.onnx");
  const FoundFiles found = find(folder / "");
  EXPECT_TRUE(found.models.empty());
  ASSERT_EQ(found.skipped.size(), 2U);
  EXPECT_EQ(found.skipped[0].path.filename(), "broken.onnx");
  EXPECT_NE(found.skipped[1].reason.find("not an ONNX file"), std::string::npos);
}

TEST(FindModels, RefusesAFolderThatIsNotThere) {
  const auto found = find_models({"/nowhere/at/all"}, [] { return false; });
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("/nowhere/at/all"), std::string::npos);
}

TEST(FindModels, EndsWhenItIsStopped) {
  const TemporaryFolder folder;
  write(folder / "a/m.onnx", "x");
  EXPECT_TRUE(find_models({folder / ""}, [] { return true; }).value().models.empty());
}

TEST(PackageOf, IsTheFirstFolderOfTheInnermostPackages) {
  EXPECT_EQ(package_of("/v/lib/python3.11/site-packages/ocr/models/m.onnx", "/v"), "ocr");
  EXPECT_EQ(package_of("/v/lib/python3.11/site-packages/ocr/models/m.onnx",
                       "/v/lib/python3.11/site-packages/ocr/models"),
            "ocr");
  EXPECT_EQ(package_of("/w/node_modules/a/node_modules/b/m.onnx", "/w"), "b");
  EXPECT_EQ(package_of("/w/node_modules/@scope/vad/dist/m.onnx", "/w"), "@scope/vad");
  EXPECT_EQ(package_of("/w/node_modules/m.onnx", "/w"), "");
}

TEST(PackageOf, IsOtherwiseTheFirstFolderOfThePlace) {
  EXPECT_EQ(package_of("/cache/ocr/v1/m.onnx", "/cache"), "ocr");
  EXPECT_EQ(package_of("/cache/ocr/v1/m.onnx", "/cache/"), "ocr");
  EXPECT_EQ(package_of("/cache/m.onnx", "/cache"), "");
}

}  // namespace
}  // namespace isomer
