#include "runtime/worker/time_limit.h"

#include <chrono>
#include <thread>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

TEST(TimeLimit, IsOverWhenItsTimeIs) {
  TimeLimit limit(1000);
  EXPECT_FALSE(limit.is_over());
  EXPECT_GT(limit.seconds_left(), 900);
  limit.end_at(0);
  EXPECT_TRUE(limit.is_over());
  EXPECT_TRUE(*limit.flag());
  limit.end_at(1000);
  EXPECT_FALSE(*limit.flag());
}

TEST(TimeLimit, IsOverAtOnceWhenSomebodyInterrupts) {
  std::atomic<bool> interrupted{false};
  TimeLimit limit(1000, &interrupted);
  interrupted = true;
  EXPECT_TRUE(limit.is_over());
  EXPECT_EQ(limit.seconds_left(), 0);
  limit.refresh();
  EXPECT_TRUE(*limit.flag());
}

TEST(TimeLimit, EndsAWorkerThatSomebodyWaitsFor) {
  std::atomic<bool> interrupted{false};
  const auto limit = std::make_shared<TimeLimit>(1000, &interrupted);
  ISOMER_JUDGE_OR_SKIP(judge, {.may_fault = true, .limit = limit});
  auto worker = judge->worker();
  ASSERT_TRUE(worker.ok());
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    interrupted = true;
  });
  const auto answer = (*worker)->fault("hang", 0);
  later.join();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, FailureKind::Stopped);
  EXPECT_FALSE((*worker)->is_alive());
  // No further worker is started.
  const auto another = judge->worker();
  ASSERT_FALSE(another.ok());
  EXPECT_EQ(another.error().kind, FailureKind::Stopped);
  EXPECT_FALSE(is_deadly(another.error()));
}

}  // namespace
}  // namespace isomer
