// Worker: a runtime in a process of its own, as its owner sees it. Stays warm for many requests.
//
// Whatever the process does (crashes, hangs, writes nonsense, eats all memory) comes back as a Failure; after
// that the worker is dead and another one is started. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/graph/interpret.h"
#include "runtime/engines/outcome.h"
#include "runtime/engines/runtime.h"
#include "runtime/worker/sandbox.h"
#include "runtime/worker/time_limit.h"

namespace isomer {

struct Message;

struct WorkerOptions {
  std::string runtime = "ort";
  std::string library = {};  // "": find_library
  std::string program = {};  // "": $ISOMER_WORKER, else isomer-worker beside this program or in bin
  Limits limits = {};
  double call_seconds = 600;  // a request that takes longer counts as a hang
  bool may_fault = false;     // for tests
  // When it is over, the caller that waits for an answer gives up, and the process ends.
  std::shared_ptr<const TimeLimit> limit = {};
};

// A model as its owner has it. Bytes are handed over as a file in memory; weights in external files are read
// by the runtime itself.
struct ModelSource {
  std::string path = {};                    // a file; or
  std::shared_ptr<const Bytes> bytes = {};  // a serialised model in memory, and
  std::string folder = {};                  // where its external data is
  static ModelSource file(std::string path) { return {std::move(path), {}, {}}; }
  static ModelSource memory(std::string serialized, std::string folder = "");
};

// Feeds in memory that workers map. Cheap to copy; made once, used for many models.
class SharedFeeds {
 public:
  static Outcome<SharedFeeds> make(const NamedTensors& feeds);
  struct State;
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

struct Leg {
  std::int64_t slot = 0;
  std::int64_t repetitions = 1;
};

struct LegTime {
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;  // of all threads
};

// One block, as measured: A B B A and its mirror image. The i-th leg of A is a[i].
struct BlockTimes {
  std::int64_t a_repetitions = 1, b_repetitions = 1;  // of each leg
  LegTime a[4], b[4];
};
inline constexpr std::array kBlockOrder = {0, 1, 1, 0, 1, 0, 0, 1};  // 0: a leg of A

// Two sessions made anew, warmed up, and timed by turns.
struct Round {
  bool a_made_first = true;
  std::vector<BlockTimes> blocks;
};

struct RoundPlan {
  bool a_made_first = true;
  std::int64_t warm_runs = 3, warm_ns = 0;
  std::int64_t leg_ns = 0;
  std::int64_t fewest_blocks = 1, most_blocks = 1;
};

struct WarmUp {
  std::int64_t runs = 0;
  std::int64_t fastest_ns = 0;
};

// A model as a runtime runs it, after its own passes, as two files; the second may be empty.
struct DumpedModel {
  Bytes graph, weights;
};

struct ProcessMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t peak_bytes = 0;
};

class Worker {
 public:
  static Outcome<std::unique_ptr<Worker>> start(const WorkerOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& runtime() const;
  const std::string& version() const;
  NetworkGuard network_guard() const;
  pid_t pid() const;
  bool is_alive() const;

  Outcome<Signature> load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                          const SharedFeeds* feeds);
  // The same, and how long the runtime took for it.
  Outcome<LegTime> time_load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                             const SharedFeeds* feeds);
  Outcome<Done> unload(std::int64_t slot);
  Outcome<WarmUp> warm(std::int64_t slot, std::int64_t least_runs, std::int64_t least_ns);
  Outcome<std::vector<LegTime>> time(const std::vector<Leg>& legs);
  // All of a round in one go: the process never waits for us in between. A failure says which model it was.
  Outcome<Round> round(const ModelSource& a, const ModelSource& b, const RuntimeOptions& options,
                       const SharedFeeds& feeds, const RoundPlan& plan);
  Outcome<NamedTensors> run(std::int64_t slot);
  Outcome<std::vector<KernelKind>> profile(const ModelSource& model, const RuntimeOptions& options,
                                           const SharedFeeds& feeds, std::int64_t least_ns);
  // `weights`: what the file of weights will be called.
  Outcome<DumpedModel> dump(const ModelSource& model, const RuntimeOptions& options,
                            const std::string& weights);
  Outcome<ProcessMemory> memory();
  Outcome<Done> fault(const std::string& kind, std::int64_t delay_us);  // for tests: see fault.h

  // Time that was spent inside the runtime since the last call: all else is our own cost.
  std::int64_t take_runtime_ns();

 private:
  struct State;
  explicit Worker(std::unique_ptr<State> state);
  Outcome<Message> call_load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                             const SharedFeeds* feeds);
  std::unique_ptr<State> state_;
};

}  // namespace isomer
