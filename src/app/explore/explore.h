// explore: finds by trials which of a runtime's own passes and settings help one model.
//
// Each optimizer is left out once. If the runtime then makes the same graph of the model, byte by byte, there
// is nothing to measure; else it is compared with the default settings, in pairs, each side in a separate
// process. Settings that help are then combined. The best set is measured once more, in fresh processes, and
// only that figure is reported, since the winner among many may have been lucky.
//
// Idea: "Neural Architecture-Aware Exploration of Compiler Optimizations", whose classes of passes were made
// by hand.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/explore/passes.h"
#include "runtime/judge/judge.h"

namespace isomer {

enum class Objective : std::uint8_t { Latency, LoadTime, Memory, Size, Energy };
std::string_view text(Objective objective);

// Fast: what helps alone, all of it together. Mixed: one after the other, while it helps. Full: all subsets
// of the few that help most, then as Mixed.
enum class ExploreMode : std::uint8_t { Fast, Mixed, Full };
std::string_view text(ExploreMode mode);

struct ExploreRequest {
  ModelSource model;
  std::string model_digest = {};  // of all of it: what records are about
  const NamedTensors& feeds;
  std::string inputs;  // the feeds, in words
  WorkerOptions worker = {};
  MeasureOptions measure = {};  // .runtime: what is compared with; .seconds: of one trial
  Objective objective = Objective::Latency;
  ExploreMode mode = ExploreMode::Mixed;
  double min_gain = 1.02;
  bool control = false;  // only passes that change nothing: whatever is found is noise
  std::filesystem::path records = {};
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Some passes left out or set, against the runtime as it is.
struct ExploreTrial {
  std::vector<Pass> passes;
  std::optional<bool> changes_graph = {};  // nullopt: a setting, which no graph shows
  std::int64_t bytes = 0;                  // of the graph and its weights, as the runtime writes them
  std::optional<Interval> ratio = {};      // above 1: better; nullopt: nothing to measure, or a failure
  std::string failure = {};
};

struct ExploreRun {
  std::string version;
  std::int64_t bytes = 0;             // of the graph with all passes
  std::vector<ExploreTrial> singles;  // each pass, in the registry's order
  std::vector<ExploreTrial> sets;     // combinations, in the order of trial
  std::vector<Pass> best;             // of the last comparison; none: nothing was worth one
  std::optional<Interval> ratio;      // of it
  bool is_better = false;             // with 95 % confidence, and by min_gain
  RuntimeOptions runtime;             // to be used: with the best set if it is better
  bool counts_energy = false;         // by the processor's own counter; otherwise CPU time stands for it
  std::size_t resumed = 0;            // answers that were known
  std::string note;
};

Outcome<ExploreRun> explore(const ExploreRequest& request);

// The digest of the graph and its weights, as the runtime wrote them.
std::string digest_of(const DumpedModel& dumped);

constexpr double kSettling = 4;  // times the seconds of a trial for a last comparison

// The question that records answer, for all objectives.
nlohmann::json question_of(const ExploreRequest& request, const std::string& version);

}  // namespace isomer
