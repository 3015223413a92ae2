#include "app/measure/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/graph/canonical_hash.h"
#include "runtime/engines/engines.h"

namespace isomer {
namespace {

std::map<std::string, std::uint64_t> count_operators(const Graph& graph) {
  std::map<std::string, std::uint64_t> counts;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) ++counts[graph.node(id).op];
  return counts;
}

std::string digest_of(const NamedTensors& feeds) {
  Hasher hasher;
  for (const auto& [name, tensor] : feeds) {
    hasher.add(std::string_view(name));
    add_content(hasher, tensor, ContentDigests::Full);
  }
  return hasher.digest().hex();
}

class Bench {
 public:
  Bench(const BenchRequest& request, const SharedFeeds& feeds) : request_(request), feeds_(feeds) {
    if (request.cache.empty()) return;
    cache_ = TimingCache::open(request.cache);
    feeds_digest_ = digest_of(request.feeds);
  }

  Outcome<BenchRun> run() {
    const std::string& runtime = request_.worker.runtime;
    ISOMER_TRY(judge_, Judge::start(request_.worker));
    run_ = {runtime,
            std::string(engine_named(runtime)->title),
            judge_->version(),
            request_.measure.runtime.threads,
            judge_->network_guard(),
            request_.inputs,
            request_.models,
            {},
            {}};
    for (BenchModel& model : run_.models) look_at(model);
    for (std::size_t i = 1; i < run_.models.size(); ++i) compare(i);
    // A model that was in no comparison is timed alone.
    for (std::size_t i = 0; i < run_.models.size(); ++i) {
      const auto is_mine = [i](const BenchPair& pair) {
        return (pair.a == i || pair.b == i) && !pair.failure;
      };
      if (!run_.models[i].failure && std::ranges::none_of(run_.pairs, is_mine)) time_alone(run_.models[i]);
    }
    if (cache_) run_.note = cache_->trouble();
    return std::move(run_);
  }

 private:
  void look_at(BenchModel& model) {
    request_.progress(fmt::format("{}: looking at {}", run_.runtime, model.path));
    auto facts = judge_->describe(model.source, feeds_, request_.measure.runtime);
    if (facts) model.facts = std::move(*facts);
    else model.failure = facts.error();
  }

  OnProgress progress_of(const std::string& what) {
    return [this, what](const MeasureProgress& now) {
      std::string line =
          fmt::format("{}: {} {}, round {}, {:.0f} %", run_.runtime,
                      now.confirming ? "confirming" : "measuring", what, now.rounds, 100 * now.share);
      if (now.ratio)
        line +=
            fmt::format(", {:.3f} [{:.3f}, {:.3f}]", now.ratio->estimate, now.ratio->low, now.ratio->high);
      request_.progress(line);
    };
  }

  void compare(std::size_t b) {
    if (run_.models[0].failure || run_.models[b].failure) return;
    BenchPair pair{0, b, {}, {}};
    const BenchModel &first = run_.models[0], &second = run_.models[b];
    const OnProgress progress = progress_of(second.path);
    auto measured =
        cache_ ? judge_->measure_pair(*cache_, {first.digest, second.digest, feeds_digest_}, first.source,
                                      second.source, feeds_, request_.measure, progress)
               : judge_->measure_pair(first.source, second.source, feeds_, request_.measure, progress);
    if (!measured) {
      pair.failure = measured.error();
    } else {
      pair.measured = std::move(*measured);
      if (b == 1 || run_.models[0].latency.wall_ns.high == 0)
        run_.models[0].latency = {pair.measured.a_wall_ns, pair.measured.a_cpu_ns};
      run_.models[b].latency = {pair.measured.b_wall_ns, pair.measured.b_cpu_ns};
    }
    run_.pairs.push_back(std::move(pair));
  }

  void time_alone(BenchModel& model) {
    auto latency = judge_->measure(model.source, feeds_, request_.measure, progress_of(model.path));
    if (latency) model.latency = *latency;
    else model.failure = latency.error();
  }

  const BenchRequest& request_;
  const SharedFeeds& feeds_;
  std::string feeds_digest_;
  std::unique_ptr<TimingCache> cache_;  // null: none is wanted
  std::unique_ptr<Judge> judge_;
  BenchRun run_;
};

}  // namespace

double kernel_ns(const BenchModel& model) {
  double total = 0;
  for (const KernelKind& kind : model.facts.kernels) total += kind.time_ns;
  return total;
}

std::uint64_t nodes_in_file(const BenchModel& model) {
  std::uint64_t nodes = 0;
  for (const auto& [op, count] : model.file_nodes) nodes += count;
  return nodes;
}

Outcome<BenchRun> bench(const BenchRequest& request) {
  ISOMER_TRY(const SharedFeeds feeds, SharedFeeds::make(request.feeds));
  return Bench(request, feeds).run();
}

const Failure* nothing_but_refusals(const std::vector<BenchRun>& runs) {
  const Failure* first = nullptr;
  for (const BenchRun& run : runs)
    for (const BenchModel& model : run.models) {
      if (!model.failure || is_deadly(*model.failure)) return nullptr;
      if (!first) first = &*model.failure;
    }
  return first;
}

BenchModel bench_model(std::string path, const Graph& graph, ModelSource source, bool wants_digest) {
  return {.path = std::move(path),
          .digest = wants_digest ? canonical_hashes(graph, ContentDigests::Full).graph.hex() : "",
          .file_nodes = count_operators(graph),
          .source = std::move(source)};
}

}  // namespace isomer
