// The search: simplify, propose, prove, choose, until nothing new pays. What is chosen is a runtime's word
// (assembly.h), or the analytic cost's.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model.h"
#include "search/steps.h"
#include "search/trials.h"

namespace isomer {

// How far to look; see strategy.h.
struct Strategy {
  enum class Kind : std::uint8_t { Greedy, Backtrack, Beam } kind = Kind::Greedy;
  double alpha = 1.05;     // Backtrack
  std::size_t width = 16;  // Beam
};
Result<Strategy> parse_strategy(std::string_view text);  // "greedy", "backtrack:1.05", "beam:16"

struct SearchOptions {
  Strategy strategy = {};
  double seconds = 300;                // --budget
  std::int64_t steps = 1 << 30;        // proposals to try
  bool any_price = false;              // every proved step is taken
  std::set<std::string> without = {};  // proposers that are not asked
  double max_error_growth = 2;
  std::uintmax_t more_bytes = std::numeric_limits<std::uintmax_t>::max();  // that constants may take
  std::uint64_t seed = 1;
  std::filesystem::path out;                // scratch files are its neighbours
  const std::atomic<bool>* stop = nullptr;  // Ctrl-C
  bool is_interrupted() const { return stop != nullptr && *stop; }
  std::function<double()> spent = [] { return 0.0; };  // seconds since the start
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct SearchReport {
  struct Region {
    std::string what, first;  // the like together; the one of them that was measured
    int places = 0;
    Interval ratio;
  };
  std::vector<Region> regions;  // as measured in their context, those that were not taken, too
  // One line for each proposal that was not proved, and for each region with none.
  std::vector<std::string> refused, declined;
  std::string stopped_by = "done";
  // Groups of equal steps, or regions that were searched; graphs that were looked at; proofs that were tried,
  // and what was known already.
  std::size_t unique_regions = 0, states = 0, proofs = 0, cache_hits = 0;
  double cost_before = 0, cost_after = 0;  // analytic, of the whole model
  Prices prices;
  std::size_t questions = 0;  // that the runtime was asked about kinds of nodes
};

// Trials: the runtime that has the last word; nullptr: the analytic cost has it.
struct SearchContext {
  const SearchOptions& options;
  const Model& model;
  Trials* trials;
  SearchReport& report;
  ProofCache proofs = {};
  std::int64_t tried = 0;
  int next_place = 0;  // for names that nobody has

  const Machine& machine() const { return trials ? trials->machine() : unknown_machine(); }
  // Whether to stop now; says why in the report.
  bool is_over();
};

// What was reached, step by step; the last is the best.
Result<std::vector<Draft>> search(const SearchOptions& options, const Model& model, Trials* trials,
                                  SearchReport& report);

}  // namespace isomer
