#include "base/temporary_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

namespace isomer {
namespace {

namespace fs = std::filesystem;

void make_old(const fs::path& folder) {
  fs::last_write_time(folder / ".isomer-owner", fs::file_time_type::clock::now() - std::chrono::hours(1));
}

// A folder as a process leaves it that is killed.
fs::path left_behind(const fs::path& parent, const std::string& name, bool is_old = true) {
  fs::create_directories(parent / name / "inside");
  std::ofstream(parent / name / ".isomer-owner").close();
  if (is_old) make_old(parent / name);
  return parent / name;
}

TEST(TemporaryFolder, GoesWithItsOwner) {
  std::string path;
  {
    const TemporaryFolder folder(fs::temp_directory_path(), "isomer-test");
    path = folder.path();
    std::ofstream(path + "/file") << "text";
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  const TemporaryFolder parent(fs::temp_directory_path(), "isomer-test");
  const TemporaryFolder held(parent.path(), "work");
  make_old(held.path());
  const fs::path stale = left_behind(parent.path(), "work-stale"),
                 young = left_behind(parent.path(), "work-young", false),
                 other = left_behind(parent.path(), "other-stale"), foreign = parent.path() + "/work-foreign";
  fs::create_directory(foreign);
  TemporaryFolder::remove_stale(parent.path(), "work");
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(held.path())) << "its owner is alive";
  EXPECT_TRUE(fs::exists(young)) << "its owner may be about to lock it";
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(foreign)) << "somebody else's";
}

TEST(TemporaryFolder, WhereNoneCanBeMadeThereIsNone) {
  const TemporaryFolder folder("/nowhere/at/all", "work");
  EXPECT_EQ(folder.path(), "");
  TemporaryFolder::remove_stale("/nowhere/at/all", "work");
}

}  // namespace
}  // namespace isomer
