#include "runtime/judge/energy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& folder, const char* file, std::uint64_t number) {
  fs::create_directories(folder);
  std::ofstream(folder / file) << number << '\n';
}

TEST(EnergyCounter, AddsUpPackagesAndKnowsWhereTheyBeginAgain) {
  const TemporaryFolder top(fs::temp_directory_path(), "isomer-test");
  const fs::path first = fs::path(top.path()) / "intel-rapl:0",
                 second = fs::path(top.path()) / "intel-rapl:1",
                 part = fs::path(top.path()) / "intel-rapl:0:0";
  for (const fs::path& folder : {first, second, part}) {
    write(folder, "energy_uj", 9'000'000);
    write(folder, "max_energy_range_uj", 10'000'000);
  }
  auto counter = EnergyCounter::open(top.path());
  ASSERT_TRUE(counter);
  EXPECT_EQ(counter->joules(), 0.0);
  write(first, "energy_uj", 9'500'000);
  write(second, "energy_uj", 1'000'000);  // beyond its range
  write(part, "energy_uj", 9'900'000);    // counted in its package already
  EXPECT_DOUBLE_EQ(*counter->joules(), 2.5);
  fs::remove(second / "energy_uj");
  EXPECT_FALSE(counter->joules());
}

TEST(EnergyCounter, IsNotThereWhereNothingCounts) {
  const TemporaryFolder top(fs::temp_directory_path(), "isomer-test");
  EXPECT_FALSE(EnergyCounter::open(top.path()));
  EXPECT_FALSE(EnergyCounter::open(top.path() + "/nowhere"));
  fs::create_directories(top.path() + "/intel-rapl:0");  // as for users without permission to read it
  EXPECT_FALSE(EnergyCounter::open(top.path()));
}

}  // namespace
}  // namespace isomer
