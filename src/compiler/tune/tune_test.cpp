#include "compiler/tune/tune.h"

#include <gtest/gtest.h>

#include <fstream>

#include "compiler/emit/compiler.h"
#include "compiler/tune/tuning_records.h"
#include "model/graph/text/text.h"
#include "runtime/judge/testing.h"

namespace isomer {
namespace {

using testing::TemporaryFolder;

constexpr char kProduct[] =
    "<ir_version: 8, opset_import: [\"\" : 20]> g (float[512, 256] x) => (float[512, 256] y) { s = "
    "Constant<value_ints = [256, 256]>() w = ConstantOfShape(s) y = MatMul(x, w) }";

std::vector<lower::Unit> units() {
  auto graph = parse_graph(kProduct);
  EXPECT_TRUE(graph);
  auto out = lower::units_of(*graph, {}, {}, lower::Exactness::Fast);
  EXPECT_TRUE(out);
  return std::move(*out);
}
// One row at a time, in many pieces: several times as slow as what is chosen.
constexpr char kSlow[] = "nest n0\nkeep\npack 16\ntensorize\nblock 1\ngroup 1\npieces 4\n";

TuneOptions options(const TemporaryFolder& folder, TuneSearch search = TuneSearch::Evolution) {
  TuneOptions out{.compile = {.folder = folder / "scratch", .target = "native"}, .runtime = {}};
  out.seconds = 12;
  out.search = search;
  out.records = folder / "records";
  return out;
}

TEST(Tune, ASlowScheduleIsReplaced) {
  if (find_compiler().empty()) GTEST_SKIP() << "no compiler";
  ISOMER_JUDGE_OR_SKIP(judge);
  auto all = units();
  ASSERT_EQ(all.size(), 1u);
  all[0].given = kSlow;
  for (const TuneSearch search : {TuneSearch::Evolution, TuneSearch::Random}) {
    // Twelve seconds are enough on an idle machine. A busy one gets more, and keeps what it has timed.
    const TemporaryFolder folder;
    TuneOptions given = options(folder, search);
    double expected = 0;
    for (; expected <= 1.3 && given.seconds < 100; given.seconds *= 2, ++given.seed) {
      const auto found = tune(*judge, all, given);
      ASSERT_TRUE(found) << found.error().what;
      EXPECT_GT(found->tried, 0u);
      expected = found->expected;
      EXPECT_EQ(found->lines.size(), expected > 1 ? 1u : 0u);
    }
    EXPECT_GT(expected, 1.3);
  }
}

// Records that say wonders of a slow schedule, or of one that is none: measured again, and not taken. What
// was measured is there for the next one.
TEST(Tune, RecordsAreNotBelieved) {
  if (find_compiler().empty()) GTEST_SKIP() << "no compiler";
  ISOMER_JUDGE_OR_SKIP(judge);
  const TemporaryFolder folder;
  const auto all = units();
  TuneOptions few = options(folder);
  few.seconds = 6;
  const auto first = tune(*judge, all, few);
  ASSERT_TRUE(first) << first.error().what;
  ASSERT_GT(first->tried, 0u);
  std::filesystem::path place;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "records"))
    if (entry.path().extension() == ".txt") {
      place = entry.path().parent_path();
      std::ifstream in(entry.path());
      std::int64_t when = 0;
      const auto records = parse_records({std::istreambuf_iterator<char>(in), {}}, when);
      ASSERT_FALSE(records.empty());
    }
  ASSERT_FALSE(place.empty());
  std::vector<TuneRecord> lies;
  for (const char* lines :
       {kSlow, "nest n0\nkeep\ntensorize F(4,3)\n", "nest n0\nnonsense\n", "nest n7\nkeep\n", ""})
    lies.push_back({.unit = all[0].key, .lines = lines, .ns = 1000, .ratio = 0.001});
  std::ofstream(place / "lies.txt") << text(lies, std::int64_t{1} << 60);
  std::ofstream(place / "broken.txt") << "isomer tuning 2\nwhen 3\nunit 12\nns nan\n";
  std::ofstream(place / "huge.txt") << std::string(std::size_t{2} << 20, 'x');
  const auto second = tune(*judge, all, few);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_GE(second->remembered, first->tried);
  for (const auto& [unit, lines] : second->lines) EXPECT_NE(lines, kSlow);
  EXPECT_LT(second->expected, 20);  // and not what the lies say
}

TEST(Tune, SaysThatTheLearnedSearchHasLeft) {
  const auto left = tune_search("learned");
  ASSERT_FALSE(left);
  EXPECT_NE(left.error().message.find("was removed"), std::string::npos);
  EXPECT_FALSE(tune_search("banana"));
  EXPECT_EQ(*tune_search("evolution"), TuneSearch::Evolution);
  EXPECT_EQ(*tune_search("random"), TuneSearch::Random);
}

TEST(Tune, RecordsSurviveTheirText) {
  const std::vector<TuneRecord> records{{.unit = "ab", .lines = "nest n0\nkeep\n", .ns = 12.5, .ratio = 0.75},
                                        {.unit = "cd", .lines = "", .ns = 1, .ratio = 2}};
  std::int64_t when = 0;
  const auto again = parse_records(text(records, 77), when);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(when, 77);
  EXPECT_EQ(again[0].lines, records[0].lines);
  EXPECT_EQ(again[1].ratio, 2);
  const std::string whole = text(records, 77);
  for (std::size_t k = 1; k + 1 < whole.size(); k += 3) {  // torn files are not there
    const auto torn = parse_records(whole.substr(0, k), when);
    EXPECT_LT(torn.size(), 2u);
  }
}

}  // namespace
}  // namespace isomer
