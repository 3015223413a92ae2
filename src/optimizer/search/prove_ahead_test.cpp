#include "optimizer/search/prove_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "optimizer/search/steps.h"

namespace isomer {
namespace {

std::vector<Proposal> make_proposals(std::size_t count) {
  std::vector<Proposal> out(count);
  for (std::size_t k = 0; k < count; ++k) out[k].what = std::to_string(k);
  return out;
}

class ProveAheadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "there is one processor";
  }
};

TEST_F(ProveAheadTest, ProvesEachOnceExceptTheFirst) {
  const std::vector<Proposal> all = make_proposals(50);
  std::mutex mutex;
  std::vector<std::string> proved;
  std::atomic<std::size_t> count = 0;
  {
    const ProveAhead ahead(pointers_to(all), [&](const Proposal& p, const std::atomic<bool>&) {
      const std::scoped_lock lock(mutex);
      proved.push_back(p.what);
      ++count;
    });
    while (count < all.size() - 1) std::this_thread::yield();
  }
  std::ranges::sort(proved);
  EXPECT_EQ(proved.size(), all.size() - 1);
  EXPECT_EQ(std::ranges::adjacent_find(proved), proved.end());
  EXPECT_EQ(std::ranges::find(proved, "0"), proved.end());
}

TEST_F(ProveAheadTest, SkipsWhatTheSearchHasReached) {
  const std::vector<Proposal> all = make_proposals(50);
  constexpr std::size_t kReached = 40;
  std::atomic<bool> may_go_on = false;
  std::atomic<int> before = 0, behind = 0;
  {
    ProveAhead ahead(pointers_to(all), [&](const Proposal& p, const std::atomic<bool>&) {
      ++(std::stoul(p.what) <= kReached ? before : behind);
      while (!may_go_on) std::this_thread::yield();
    });
    ahead.reach(kReached);
    may_go_on = true;
    while (behind < 9) std::this_thread::yield();
  }
  EXPECT_EQ(behind, 9);
  EXPECT_LT(before, 40) << "at most one for each thread, and those that began before the call";
}

TEST_F(ProveAheadTest, StopsAtTheEnd) {
  const std::vector<Proposal> all = make_proposals(50);
  std::atomic<int> begun = 0;
  {
    const ProveAhead ahead(pointers_to(all), [&](const Proposal&, const std::atomic<bool>& stop) {
      ++begun;
      while (!stop) std::this_thread::yield();
    });
    while (begun == 0) std::this_thread::yield();
  }
  EXPECT_LE(begun, 8);
}

TEST_F(ProveAheadTest, LeavesFailuresToTheSearch) {
  const std::vector<Proposal> all = make_proposals(50);
  std::atomic<int> begun = 0;
  {
    const ProveAhead ahead(pointers_to(all), [&](const Proposal&, const std::atomic<bool>&) {
      ++begun;
      throw std::runtime_error("no memory, say");
    });
    while (begun == 0) std::this_thread::yield();
  }
  EXPECT_LE(begun, 8);
}

}  // namespace
}  // namespace isomer
