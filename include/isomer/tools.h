// What surrounds the work: speed, gates, settings, rules, models on a disk, caches and plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "isomer/model.h"

namespace isomer::api {

// ---- Speed

// The clock of a ratio of latencies. Auto: CPU time with one thread, else wall time.
enum class Clock : int { Auto = 0, Wall = 1, Cpu = 2 };

struct BenchOptions {
  double seconds = 20;  // of one comparison, at most
  Clock clock = Clock::Auto;
  std::filesystem::path cache = {};  // comparisons that need not be made again; "": none
  Inputs inputs = {.seed = 0};
  Run run = {};
};

struct BenchReport {
  struct Of {
    std::string failure = {};  // not "": it was not measured, and this is why
    Interval latency_ns = {};
    std::int64_t peak_bytes = 0, load_ns = 0;
  };
  struct Pair {
    std::size_t a = 0, b = 0;  // numbers of models
    std::string failure = {};  // not "": they were not compared
    Interval ratio = {};       // latency(a) / latency(b)
    enum class Verdict : int {
      NoDifference = 0,
      Faster = 1,
      Slower = 2
    } verdict = Verdict::NoDifference;  // b
  };
  std::string runtime_version = {};
  std::vector<Of> models = {};
  std::vector<Pair> pairs = {};  // the first with each other one
  std::string json = {};         // what `isomer bench --json` prints
};
ISOMER_API BenchReport bench(const std::vector<Model>& models, const BenchOptions& options = {});
// On several runtimes, one after the other; options.runtime is not looked at.
ISOMER_API std::vector<BenchReport> bench_on(const std::vector<RuntimeOptions>& runtimes,
                                             const std::vector<Model>& models,
                                             const BenchOptions& options = {});

struct ProfileOptions {
  Inputs inputs = {.seed = 0};
  Run run = {};
};

// JSON for viewers of other people.
struct Profile {
  std::string node_data = {};  // microseconds of each node, for Model Explorer
  std::string trace = {};      // the kernels of a run as trace events, for ui.perfetto.dev
};
// How long each node takes, by the runtime's own profile. Fused nodes share a kernel's time by what they
// cost.
ISOMER_API Profile profile(const Model& model, const ProfileOptions& options = {});

// ---- Whether a model may take another one's place

struct GateOptions {
  double min_ratio = 0.98;       // latency(base) / latency(candidate) must not be below
  bool equal = false;            // they must be equal, too
  double seconds = 60;           // of measuring, at most
  double prove_seconds = 300;    // of proving, at most
  std::string certificate = {};  // as in ProveOptions
  Clock clock = Clock::Auto;
  std::optional<RuntimeOptions> base_runtime = {};  // of the base, if it is another one
  Inputs inputs = {.seed = 0};
  Run run = {};  // `stop` ends proving
};

struct GateReport {
  // Unsure: not decided in time. Fails: slower with 95 % confidence, or different, or it does not run.
  enum class Verdict : int { Passes = 0, Fails = 1, Unsure = 2 } verdict = Verdict::Unsure;
  std::string line = {};               // the answer and why
  std::optional<Interval> ratio = {};  // latency(base) / latency(candidate); nullopt: it does not run
  std::string markdown = {};           // for a pull request
  std::string json = {};               // what `isomer gate --json` prints
};
ISOMER_API GateReport gate(const Model& base, const Model& candidate, const GateOptions& options = {});

// ---- Which of the runtime's own passes and settings help a model

enum class Objective : int {
  Latency = 0,
  LoadTime = 1,  // a model with the runtime's passes done and its weights mapped
  Memory = 2,    // at most in use
  Size = 3,      // of the model that the runtime writes
  Energy = 4,    // by the processor's counter if it may be read, else CPU time
};
enum class ExploreMode : int {
  Fast = 0,   // all passes that help alone, together
  Mixed = 1,  // one after the other, while it helps
  Full = 2,   // all subsets of the five that help most, then as Mixed
};

struct ExploreOptions {
  Objective objective = Objective::Latency;
  ExploreMode mode = ExploreMode::Mixed;
  double seconds = 5;      // of one trial, at most; the last comparison may take four times that
  double min_gain = 1.02;  // less is no gain
  Clock clock = Clock::Auto;
  bool control = false;                // only passes that change nothing: what is found then is noise
  std::filesystem::path records = {};  // what was found so far, for a run that goes on; "": not kept
  std::filesystem::path output = {};   // of load-time: the prepared model, if it is better; "": not kept
  bool this_machine = false;           // of load-time: it may be for processors like this one only
  double prove_seconds = 60;           // of load-time: for proving that it is equal
  Inputs inputs = {.seed = 0};
  Run run = {};  // `runtime` is what is compared with; ONNX Runtime only
};

struct ExploreReport {
  bool is_better = false;              // with 95 % confidence, and by min_gain
  std::optional<Interval> ratio = {};  // times better; nullopt: nothing was worth a last comparison
  RuntimeOptions runtime = {};         // what to use
  std::string python = {}, cpp = {};   // the same, to paste
  std::string configuration = {};      // the same, for `--runtime-config-file`
  std::string line = {};               // the answer in words
  std::string html = {};               // the result as a page, with a picture of each pass's effect
  std::string json = {};               // what `isomer explore --json` prints
};
ISOMER_API ExploreReport explore(const Model& model, const ExploreOptions& options = {});

// ---- Rewrite rules as text (docs/reference/rules.md)

struct DecidedRule {
  enum class Outcome : int { Proved = 0, Conditional = 1, Refuted = 2, Undecided = 3 };
  std::string name = {};
  Outcome outcome = Outcome::Undecided;
  std::string why = {};                  // it is undecided
  std::optional<bool> as_expected = {};  // nullopt: its text expects nothing
};

struct DecidedRules {
  std::vector<DecidedRule> rules = {};
  std::string json = {};  // what `isomer rules prove --json` prints
};
// Decides each rule of a file, for all sizes.
ISOMER_API DecidedRules prove_rules(const std::filesystem::path& file);

struct TestedProposer {
  std::string name;  // of the test
  bool as_expected = false;
  std::string found;  // the operators after the best proposal, or why it was refused
};
struct TestedProposers {
  std::vector<TestedProposer> tests = {};
  std::string json = {};  // what `isomer propose --json` prints
};
// Runs the tests of proposers in a file (docs/developers/proposer.md).
ISOMER_API TestedProposers test_proposers(const std::filesystem::path& file);

struct GenerateRulesOptions {
  int operators = 3;                             // of either side, at most
  int threads = 2;                               // the pack is the same for any number
  std::uint64_t most_terms = 10'000'000'000;     // of one number of operators; what is left out is counted
  std::uint64_t most_candidates = 400'000;       // candidates that are decided; the same
  std::uint64_t most_doubtful = 10'000'000'000;  // that follow from what is not decided; the same
  // Part `shard` of `shards` of the largest number of operators, for merge_rules; 0: all of it. A file that
  // has it already is left as it is.
  int shard = 0, shards = 0;
  Progress progress = {};
  std::stop_token stop = {};  // the pack then says that it is incomplete
};
struct GeneratedRules {
  std::size_t rules = 0;
  bool is_complete = true;
  std::string json = {};  // what `isomer rules generate --json` prints
};
// Finds rules by enumeration, proves them for all sizes, and writes those that do not follow from others.
ISOMER_API GeneratedRules generate_rules(const std::filesystem::path& file,
                                         const GenerateRulesOptions& options = {});

struct MergeRulesOptions {
  int threads = 2;
  Progress progress = {};
  std::stop_token stop = {};  // the pack then says that it is incomplete
};
// Writes the pack that one run would have made of all shards, which must be there.
ISOMER_API GeneratedRules merge_rules(const std::vector<std::filesystem::path>& shards,
                                      const std::filesystem::path& file,
                                      const MergeRulesOptions& options = {});

// The rules of a file, as `isomer rules list --json` prints them.
ISOMER_API std::string list_rules(const std::filesystem::path& file);
// Whether each rule of a file follows from those of a pack in at most this number of steps, as `isomer rules
// derive --json` prints it.
ISOMER_API std::string derive_rules(const std::filesystem::path& file, const std::filesystem::path& pack,
                                    int steps = 3);

// ---- Models on a disk

struct ScanOptions {
  // Time for each model, to estimate the gain of `optimize` by an analytic cost; nothing is measured. 0: no
  // estimate.
  double seconds_per_model = 5;
  Progress progress = {};
  std::stop_token stop = {};      // what was found until then is the answer
  bool may_leave_thread = false;  // as in OptimizeOptions
};

struct ScanReport {
  struct Found {
    std::filesystem::path path = {};
    std::string package = {};                        // "": none
    std::uint64_t bytes = 0;                         // with those of files that its weights are in
    std::vector<std::filesystem::path> copies = {};  // with the same bytes
    std::optional<double> estimate = {};             // cost(before) / cost(after); nullopt: not estimated
  };
  std::vector<Found> models = {};  // in the order of their paths
  struct Skipped {
    std::filesystem::path path = {};
    std::string reason = {};
  };
  std::vector<Skipped> skipped = {};  // files that are called models and can't be read
  bool is_interrupted = false;
  bool leaves_thread = false;  // see ScanOptions::may_leave_thread
  std::string json = {};       // what `isomer scan --json` prints
};
// Finds the ONNX models beneath folders, and says what each is. A file that is no model is no error.
ISOMER_API ScanReport scan(const std::vector<std::filesystem::path>& folders,
                           const ScanOptions& options = {});

// ---- What is remembered of earlier runs

// $ISOMER_CACHE, else a file in the user's cache folder; "": none is wanted, or there is no such folder.
ISOMER_API std::filesystem::path default_cache();

struct CacheState {
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t kernel_bytes = 0;  // of `optimize --kernels`, in the folder CACHE.kernels
};
ISOMER_API CacheState cache_state(const std::filesystem::path& cache);
ISOMER_API void clear_cache(const std::filesystem::path& cache);

// ---- Plans: what was found before for blocks that other models have, too (docs/guides/plans.md)

struct PlanStoreState {
  // Plans; entries, under which they are found; files that are not what they should be; plans and entries
  // without each other.
  std::uint64_t plans = 0, entries = 0, invalid = 0, orphans = 0;
  std::uint64_t proved = 0, refused = 0;  // plans, by verify_plans
  std::uint64_t bytes = 0;
  std::string json = {};  // what `isomer plans list --json` prints
};
// Every file is read and checked. A missing store is empty.
ISOMER_API PlanStoreState plan_store_state(const std::filesystem::path& store);
// The same, and every plan is proved again by itself, at weights that are drawn.
ISOMER_API PlanStoreState verify_plans(const std::filesystem::path& store, std::uint64_t seed = 1);
// Removes invalid files, halves without their other half, and the oldest files beyond the limit in MiB (0: no
// limit); returns the number of files.
ISOMER_API std::uint64_t clean_plans(const std::filesystem::path& store, double mebibytes = 0);
// Copies what is valid and missing; how many files.
ISOMER_API std::uint64_t copy_plans(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace isomer::api
