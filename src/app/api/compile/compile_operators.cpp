#include "app/api/compile/compile_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "compiler/cover/mix_models.h"
#include "io/onnx/size_arguments.h"
#include "model/graph/canonical_hash.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

// The part of --seconds for one kind of region.
constexpr double kTimedPart = 5;
// Several operators are used only if they are faster than one by this; smaller gains are not visible.
constexpr double kWorthParts = 1.01;
// The same of a mixture, which must be proved first; by what its parts take.
constexpr double kWorthMix = 1.005;
constexpr double kProofSeconds = 120;
constexpr int kMostCovers = 2;
constexpr double kLeastShareOfCovers = 0.5;
// Regions of several segments that are timed for one cover.
constexpr int kMostRuns = 6;
// The sum of the parts' times is less than the time of the whole: a cover that promises less than this is not
// tried.
constexpr double kPromise = 1.03;

// The last message, of a runtime's messages about a node in a branch in a branch.
std::string innermost(const std::string& words) {
  const std::size_t at = words.rfind("Non-zero status code");
  return at == std::string::npos ? words : words.substr(at);
}

const isomer::Graph& graph_of(const Model& model) { return model.state().model.graph; }

Digest digest_of(const Model& model) { return canonical_hashes(graph_of(model), ContentDigests::Full).graph; }

}  // namespace

void check_not_overwritten(const Model& model, const fs::path& folder) {
  const fs::path& file = model.state().file;
  std::error_code failure;
  if (!file.empty() && fs::equivalent(file, folder / "model.onnx", failure))
    throw Error(ErrorKind::BadInput,
                fmt::format("{} would be overwritten: write into another folder", file.string()));
}

OperatorSearch::OperatorSearch(const Model& model, CandidateMaker& maker, CompileTuning& tuning,
                               const CompileOptions& options, const BudgetStop& budget,
                               const OutputFolder& folder, OperatorExtras extras)
    : model_(model),
      maker_(maker),
      tuning_(tuning),
      options_(options),
      budget_(budget),
      folder_(folder),
      extras_(std::move(extras)),
      limit_(options.run.stop) {
  graphs_.push_back({.model = model_, .name = ""});
  best_.model = model_;
}

void OperatorSearch::show(const std::string& now) const {
  if (options_.run.progress) options_.run.progress(now);
}

void OperatorSearch::find() {
  cut(graphs_[0], {});
  if (graphs_[0].cover && graphs_[0].is_open() && graphs_[0].cover->cut().segments.empty())
    objection_ = "no region is worth an operator: its nodes have no formula, or compute too little";
  if (options_.seconds == 0) {
    add_equal();
    wholes_.resize(graphs_.size());
    take_unmeasured();
  } else {
    search();
    confirm_best();
  }
  timer_.reset();
  has_operators_ = !best_.plans.empty();
}

bool OperatorSearch::is_whole() const {
  const Graph& graph = graphs_[best_graph_];
  return has_operators_ && graph.cover && !graph.is_open() &&
         (!best_.cover || std::ranges::all_of(best_.cover->ours, std::identity{}));
}

std::vector<RegionProgram> OperatorSearch::programs() const {
  const CoverMaker& maker = *graphs_[best_graph_].cover;
  const Cover whole{.ours = std::vector<bool>(maker.cut().segments.size(), true)};
  return take(maker.programs(best_.cover.value_or(whole)));
}

// Ends with what was found when the time is over.
void OperatorSearch::search() {
  try {
    add_equal();
    wholes_.resize(graphs_.size());
    maker_.try_model();
    if (maker_.can_compare()) measure_all();
    else
      objection_ = "the model as it is does not run: " + innermost(maker_.not_compared()) +
                   (has_feeds(options_.inputs) ? "" : "; --feeds gives real inputs");
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::Stopped || !budget_.is_time_over()) throw;
    has_run_out_ = true;
    objection_ = "the time ran out before an operator was measured; try a longer --budget";
  }
  wholes_.resize(graphs_.size());
}

// A schedule may name a nest in any region, so the model stays whole.
void OperatorSearch::cut(Graph& graph, const std::vector<Border>& borders) {
  if (!options_.schedules.empty()) return;
  const InferOptions sizes = take(parse_sizes(options_.inputs.sizes, graph_of(graph.model)));
  auto made = cut_model(graph.model.state().model, sizes, {.borders = borders});
  if (made.ok()) graph.cover.emplace(std::move(*made));
}

void OperatorSearch::add_equal() {
  known_.insert(digest_of(model_));
  for (const EqualModel& other : extras_.equal) {
    if (!known_.insert(digest_of(other.model)).second) continue;
    graphs_.push_back(
        {.model = other.model, .name = other.name, .certificate = other.certificate, .ratio = other.ratio});
    cut(graphs_.back(), graphs_[0].cover ? borders_of(graphs_[0].cover->cut()) : std::vector<Border>{});
  }
}

void OperatorSearch::measure_all() {
  RuntimeOptions runtime = options_.run.runtime;
  runtime.threads = options_.threads;
  const RuntimeRequest request = request_of(runtime);
  WorkerOptions worker = worker_options(request, runtime.name);
  worker.limit = limit_.limit();
  judge_ = limit_.take(isomer::Judge::start(worker));
  const NamedTensors feeds = feeds_of(options_.inputs, {}, {model_}).tensors;
  if (is_tried(0)) trying([&] { consider_whole(0); });
  for (std::size_t k = 1; k < graphs_.size(); ++k) {
    if (!extras_.is_quick)
      trying([&] { consider({.model = graphs_[k].model, .ratio = graphs_[k].ratio}, k, kWorthParts); });
    trying([&] { consider_whole(k); });
  }
  if (extras_.is_quick) return;
  const CompileRequest compile = maker_.request();
  timer_.emplace(*judge_, RegionTimer::Options{.compile = compile,
                                               .runtime = take(runtime_options(request)),
                                               .seconds = checked_seconds(options_.seconds) / kTimedPart});
  // Timing regions takes much longer than the whole: skip it if it would leave no time for the end, or if the
  // whole is enough faster that few regions could be faster on the runtime.
  const bool is_enough = best_.ratio && best_.ratio->low >= kEnoughGain;
  const bool is_late = budget_.share_left() < kLeastShareOfCovers;
  if (extras_.wants_bodies && !best_.plans.empty() && (is_enough || is_late)) return;
  for (std::size_t k = 0; k < graphs_.size(); ++k)
    if (is_tried(k)) trying([&] { consider_covers(k, feeds); });
  trying([&] { consider_mix(feeds); });
  trying([&] { consider_tuned(); });
}

// The best of those with operators, with schedules that are looked for.
void OperatorSearch::consider_tuned() {
  if (options_.tune_seconds <= 0) return;
  std::size_t number = best_graph_;
  const Candidate* base = &best_;
  if (best_.plans.empty()) {
    base = nullptr;
    for (std::size_t k = 0; k < wholes_.size(); ++k)
      if (wholes_[k] && (base == nullptr || wholes_[k]->speed() > base->speed())) {
        base = &*wholes_[k];
        number = k;
      }
    if (base == nullptr) return;
  }
  const Graph& graph = graphs_[number];
  std::vector<RegionProgram> regions;
  if (base->cover) regions = take(graph.cover->programs(*base->cover));
  std::vector<const isomer::Graph*> programs;
  for (const RegionProgram& r : regions) programs.push_back(&r.graph);
  if (!base->cover) programs.push_back(&graph_of(graph.model));
  const auto again = [&] {
    return base->cover ? maker_.covered(*graph.cover, *base->cover, next_folder(), &*timer_)
                       : maker_.whole(graph_of(graph.model), next_folder());
  };
  const bool is_best = base == &best_;
  auto tuned = tuning_.faster(*base, programs,
                              base->cover ? std::vector<std::string>{} : options_.inputs.sizes, again);
  if (!tuned) return;
  tuned->cover = base->cover;
  if (!is_best) {
    consider(std::move(*tuned), number, 1);
    return;
  }
  best_ = std::move(*tuned);
}

// A region that can't be compiled, or run, is left out; the rest continues.
template <class Trial>
void OperatorSearch::trying(const Trial& trial) {
  try {
    trial();
  } catch (const Error& e) {
    if (options_.run.stop.stop_requested()) throw Error(ErrorKind::Stopped, "it was stopped");
    // The runtime has run the model: what it refuses now is what was made of it.
    const bool is_its_own = e.kind() == ErrorKind::BadInput || e.kind() == ErrorKind::Runtime ||
                            dynamic_cast<const Differs*>(&e) != nullptr;
    if (!is_its_own) throw;
    if (objection_.empty()) objection_ = e.what();
  }
}

// Whether it is the best now, by at least `worth`.
bool OperatorSearch::consider(Candidate made, std::size_t number, double worth) {
  if (!made.ratio) maker_.measure(made);
  if (!made.ratio) throw Error(ErrorKind::Runtime, maker_.not_compared());
  ReportJson tried{{"graph", graphs_[number].name}, {"operators", made.plans.size()}};
  tried.update(to_json(*made.ratio));
  tried_.push_back(std::move(tried));
  const bool is_kept = !made.errors || made.errors->kept;
  if (!is_kept || made.speed() < std::max(1.0, worth * best_.speed())) {
    if (!refused_ || made.speed() > refused_->speed()) {
      refused_ = std::move(made);
      refused_graph_ = number;
    }
    return false;
  }
  best_ = std::move(made);
  best_graph_ = number;
  return true;
}

void OperatorSearch::consider_whole(std::size_t number) {
  const Graph& graph = graphs_[number];
  if (graph.is_open()) return;
  if (!extras_.wants_bodies) {
    wholes_[number] = maker_.whole(graph_of(graph.model), next_folder());
  } else {
    if (!graph.cover || graph.cover->cut().segments.empty()) return;
    const Cover all{.ours = std::vector<bool>(graph.cover->cut().segments.size(), true)};
    wholes_[number] = maker_.covered(*graph.cover, all, next_folder(), nullptr);
  }
  if (extras_.is_quick) return take_quick(number);
  maker_.measure(*wholes_[number]);
  consider(*wholes_[number], number, 1);
}

void OperatorSearch::take_quick(std::size_t number) {
  const Candidate& made = *wholes_[number];
  if (made.errors && !made.errors->kept) {
    objection_ = why_inexact(*made.errors);
    return;
  }
  best_ = made;
  best_graph_ = number;
}

void OperatorSearch::time(Graph& graph, const Candidate* whole, const NamedTensors& feeds) {
  if (const auto timed = graph.cover->time(*timer_, feeds, [&](const std::string& now) { show(now); });
      !timed)
    limit_.take(Outcome<Done>(
        Failure{timed.error().kind, "with these sizes written into it, " + timed.error().what}));
  const RegionTime all = limit_.take(timer_->time_whole(graph.cover->cut(), feeds,
                                                        whole ? &whole->model->state().model : nullptr,
                                                        whole ? whole->library : fs::path()));
  graph.cover->calibrate(all.runtime_ns, all.ours_ns);
}

// The cheapest cover; where it is slower than what there is, one of fewer regions.
void OperatorSearch::consider_covers(std::size_t number, const NamedTensors& feeds) {
  Graph& graph = graphs_[number];
  if (!graph.cover) return;
  const std::optional<Candidate>& whole = wholes_[number];
  time(graph, whole ? &*whole : nullptr, feeds);
  Cover cover = graph.cover->best();
  if (cover.ns * kPromise <= graph.cover->least_of_one_engine())
    cover = limit_.take(
        graph.cover->best_of_measured(*timer_, kMostRuns, [&](const std::string& now) { show(now); }));
  if (cover.ns * kPromise > graph.cover->least_of_one_engine()) return;
  for (int k = 0; k < kMostCovers && !graph.cover->regions(cover).empty(); ++k) {
    const bool is_whole = whole && std::ranges::all_of(cover.ours, std::identity{});
    if (is_whole && whole->speed() >= 1) return;
    if (!is_whole &&
        consider(maker_.covered(*graph.cover, cover, next_folder(), &*timer_), number, kWorthParts))
      return;
    cover = graph.cover->fewer(cover);
  }
}

// Segments of several equal models, if that promises more than each by itself.
void OperatorSearch::consider_mix(const NamedTensors& feeds) {
  std::vector<const CoverMaker*> covers;
  double least = HUGE_VAL;
  for (const Graph& graph : graphs_) {
    if (extras_.skips_given && &graph == &graphs_.front()) continue;
    if (!graph.cover || graph.is_open() || graph.cover->cut().segments.empty()) return;
    covers.push_back(&*graph.cover);
    least = std::min(least, graph.cover->best().ns);
  }
  if (covers.size() < 2) return;
  const Mix mix = cheapest_mix(covers);
  if (mix.ns * kWorthMix > least || mix.parts.size() < 2) return;
  auto made = mixed_model(covers, mix.parts);
  if (!made.ok()) return;
  Graph graph{.model = Model(std::make_shared<Model::State>(Model::State{.model = std::move(*made)})),
              .name = "mixture"};
  show("proving a mixture of equal models");
  Proof proof = prove_equal(model_, graph.model, {.seconds = kProofSeconds, .stop = options_.run.stop});
  if (proof.verdict != Verdict::Proved) return;
  graph.certificate = std::move(proof.certificate);
  cut(graph, {});
  graphs_.push_back(std::move(graph));
  wholes_.emplace_back();
  consider({.model = graphs_.back().model}, graphs_.size() - 1, kWorthParts);
  consider_whole(graphs_.size() - 1);
  consider_covers(graphs_.size() - 1, feeds);
}

}  // namespace isomer::api
