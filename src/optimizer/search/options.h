// The options of a search, and its report.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "optimizer/facts/machine.h"
#include "optimizer/search/steps.h"
#include "runtime/judge/statistics.h"
#include "runtime/judge/timing_cache.h"
#include "runtime/worker/time_limit.h"

namespace isomer {

namespace rules {
class RuleBook;  // rules/text/rule_book.h
}  // namespace rules
class PlanStore;  // optimizer/plans/store.h

// How far to look; see strategy.h.
struct Strategy {
  enum class Kind : std::uint8_t { Greedy, Backtrack, Saturate } kind = Kind::Greedy;
  double alpha = 1.05;  // Backtrack
};
// "greedy", "backtrack:1.05", "saturate"
Result<Strategy> parse_strategy(std::string_view text);

struct SearchOptions {
  Strategy strategy = {};
  std::int64_t steps = 1 << 30;                            // proposals to try
  bool any_price = false;                                  // every proved step is taken
  bool fewer_nodes = false;                                // only steps that leave fewer nodes are taken
  std::set<std::string> without = {};                      // proposers that are not used
  std::shared_ptr<const rules::RuleBook> user_rules = {};  // null: none
  double max_error_growth = 2;
  std::uintmax_t more_bytes = std::numeric_limits<std::uintmax_t>::max();  // by which constants may grow
  std::uint64_t seed = 1;
  std::filesystem::path out;  // scratch files are its neighbours
  // The limit of the search, without later work; null: none. The owner refreshes its flag.
  std::shared_ptr<TimeLimit> limit = {};
  double seconds_left() const { return limit ? limit->seconds_left() : std::numeric_limits<double>::max(); }
  const std::atomic<bool>* stop() const { return limit ? limit->flag() : nullptr; }
  // Where it is remembered how slow proofs went (proof_memory.h); null: nowhere.
  std::shared_ptr<TimingCache> cache = {};
  // A store of plans, read first and written afterwards (plan_search.h); null: none.
  struct Plans {
    std::shared_ptr<PlanStore> store = {};
    std::string target = {};  // what is measured on: processor, runtime, version, options; "": nothing is
    std::string by = {};      // the name of the writer
  };
  Plans plans = {};
  // Progress: "proving: collapse, at stages.0/Add".
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  // Called for a draft that is better than all before, as far as the search knows.
  std::function<void(const Draft&)> on_draft = [](const Draft&) {};
};

// Done: nothing was left to try.
enum class StoppedBy : std::uint8_t { Done, Budget, Interrupt };
std::string_view name(StoppedBy by);  // "done", ...

struct SearchReport {
  struct Region {
    Change change;      // of a group of equals
    std::string first;  // the one of them that was measured, in the words of its proposer
    int places = 0;
    Interval ratio;
  };
  std::vector<Region> regions;  // as measured in their context, those that were not taken, too
  // One line for each proposal that was not proved, and for each region with none.
  std::vector<std::string> refused, declined;
  // By proposer: what it proposed and was tried, and how much of that was proved.
  struct Asked {
    int tried = 0, proved = 0;
    double seconds = 0;  // of proposing and of proving
  };
  std::map<std::string, Asked> asked;
  // The best so far, whenever there was a better one.
  struct Told {
    double seconds = 0, cpu_seconds = 0;  // since the run began; of this process
    std::int64_t tried = 0;               // proposals
    double cost = 0;                      // analytic
    std::optional<double> ratio = {};     // if it was measured as faster with 95 % confidence
  };
  std::vector<Told> told;
  StoppedBy stopped_by = StoppedBy::Done;
  bool is_out_of_steps = false;  // stopped by the budget of --steps, not of time
  // Groups of equal steps, or regions that were searched; graphs that were looked at; proofs that were tried,
  // and what was known already.
  std::size_t unique_regions = 0, states = 0, proofs = 0, cache_hits = 0;
  double cost_before = 0, cost_after = 0;  // analytic, of the whole model
  // Counts of the strategy `saturate`: nodes of all e-graphs and classes of equal values; regions that were
  // explored completely; chosen programs that were proved, or not; regions whose last choice was exact, or
  // only greedy.
  struct Saturation {
    std::size_t nodes = 0, classes = 0, complete = 0, proved = 0, not_proved = 0, exact = 0, greedy = 0;
  };
  Saturation saturation;
  Prices prices;
  std::size_t questions = 0;  // small models that the runtime ran, for prices and layouts
  // Counts of the store of plans: plans whose region the model has, and the number of their places; those
  // that were not proved; those that were applied; those that were written.
  struct Plans {
    std::size_t found = 0, places = 0, refused = 0, taken = 0, kept = 0;
  };
  Plans plans;
  // Hits in the cache of earlier runs: measurements; claims with the attempt that proves them; claims that no
  // attempt proves.
  std::size_t known_measurements = 0, known_proofs = 0, known_refusals = 0;
};

}  // namespace isomer
