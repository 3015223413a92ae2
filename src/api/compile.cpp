#include "pipeline/compile_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "api/against_runtime.h"
#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "api/stoppable_limit.h"
#include "api/stopwatch.h"
#include "lower/nest.h"
#include "onnx/size_arguments.h"
#include "pipeline/compile_cover.h"

namespace isomer::api {
namespace {

using lower::Exactness;
namespace fs = std::filesystem;

// Of --seconds, for one kind of region.
constexpr double kTimedPart = 5;
// Several operators are worth their borders if they are so much faster than one; less is not seen.
constexpr double kWorthParts = 1.01;

ReportJson to_json(const Compiled::Errors& e) {
  return {{"module", e.module}, {"runtime", e.runtime}, {"kept", e.kept}};
}
ReportJson to_json(const Interval& i) { return {{"ratio", i.estimate}, {"low", i.low}, {"high", i.high}}; }

// What may be written: the whole model as a module, or some of its regions as operators.
struct Candidate {
  std::optional<Model> model = {};  // as the runtime sees it
  std::vector<lower::Plan> plans = {};
  std::size_t functions = 0;
  std::string compiler = {};
  fs::path library = {};
  std::uint64_t library_bytes = 0;
  std::string sums = {};
  std::optional<Compiled::Errors> errors = {};
  std::optional<Interval> ratio = {};

  double speed() const { return ratio ? ratio->estimate : 1; }
};

Model to_public(isomer::Model model) {
  return Model(std::make_shared<Model::State>(Model::State{.model = std::move(model)}));
}

ReportJson to_json(const Candidate& made, const CompileRequest& request, double ms) {
  std::size_t nests = 0, tiled = 0, winograd = 0;
  std::int64_t tensors = 0, workspace = 0, thread_workspace = 0, greedy = 0, least = 0, weights = 0;
  for (const lower::Plan& plan : made.plans) {
    for (const lower::Storage& buffer : plan.buffers)
      if (buffer.kind == lower::Storage::Kind::Local && buffer.offset >= 0)
        tensors += buffer.size * lower::stored_bytes(buffer.type);
    for (const lower::Nest& nest : plan.nests) {
      tiled += nest.tile ? 1 : 0;
      winograd += nest.winograd ? 1 : 0;
    }
    nests += plan.nests.size();
    workspace += plan.workspace;
    thread_workspace += plan.thread_workspace;
    greedy += plan.greedy_workspace;
    least += plan.least_workspace;
    weights += plan.weights;
  }
  return {{"folder", request.folder.string()},
          {"target", request.target},
          {"compiler", made.compiler},
          {"nests", nests},
          {"tiled", tiled},
          {"winograd", winograd},
          {"functions", made.functions},
          {"threads", request.threads},
          {"workspace_bytes", workspace},
          {"thread_workspace_bytes", thread_workspace},
          {"greedy_workspace_bytes", greedy},
          {"least_workspace_bytes", least},
          {"tensor_bytes", tensors},
          {"weight_bytes", weights},
          {"library_bytes", made.library_bytes},
          {"ms", ms}};
}

ReportJson to_json(const CoverMaker::Row& row) {
  const auto ms = [](double ns) { return ns / 1e6; };
  return {{"first", row.first},
          {"last", row.last},
          {"nodes", row.nodes},
          {"ours_ms", row.ours_ns ? ReportJson(ms(*row.ours_ns)) : ReportJson(nullptr)},
          {"runtime_ms", row.runtime_ns > 0 ? ReportJson(ms(row.runtime_ns)) : ReportJson(nullptr)},
          {"why", row.failure},
          {"operator", row.region ? ReportJson(*row.region) : ReportJson(nullptr)}};
}

struct Way {
  Exactness exactness;
  const char* word;
};
constexpr std::array kWays{Way{Exactness::Fast, "fast"}, Way{Exactness::ShortSums, "short"},
                           Way{Exactness::SmallTiles, "F(2,3)"}, Way{Exactness::Direct, "direct"},
                           Way{Exactness::Bfloat16, kBfloat16.data()}};

constexpr int kMostThreads = 1024;

bool has_winograd(const std::vector<lower::Plan>& plans) {
  return std::ranges::any_of(plans, [](const lower::Plan& plan) {
    return std::ranges::any_of(plan.nests, [](const lower::Nest& n) { return n.winograd.has_value(); });
  });
}

// Files that an earlier run may have left: of a module, or of several operators.
void remove_own_files(const fs::path& folder, const std::string& name) {
  const auto is_numbered = [&](const std::string& file) {
    if (!file.starts_with(name + "_")) return false;
    const std::string_view rest = std::string_view(file).substr(name.size() + 1);
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    return digits > 0 && (rest.substr(digits) == ".cpp" || rest.substr(digits) == ".weights");
  };
  std::error_code failure;
  std::vector<fs::path> files{folder / "interface.json", folder / (name + "_operators.cpp"),
                              folder / fmt::format("lib{}.a", name)};
  for (const char* extension : {".cpp", ".h", ".hpp", ".weights"})
    files.push_back(folder / (name + extension));
  for (const auto& entry : fs::directory_iterator(folder, failure))
    if (is_numbered(entry.path().filename().string())) files.push_back(entry.path());
  for (const fs::path& file : files) fs::remove(file, failure);
}

// Compiles a model in the first way that is exact enough.
class Compilation {
 public:
  Compilation(const Model& model, const fs::path& folder, const CompileOptions& options)
      : model_(model), options_(options) {
    request_ = {.folder = folder,
                .name = options.name,
                .target = options.target,
                .compiler = options.compiler,
                .sizes = options.sizes,
                .schedules = options.schedules,
                .threads = options.threads};
    if (options.seconds == 0) out_.not_compared = "not asked for";
    else if (!runs_here(options.target)) out_.not_compared = options.target + " does not run here";
    else against_.emplace(model, options);
  }

  Compiled run() {
    const Stopwatch watch;
    if (options_.as_operator) cut();
    if (cover_) remove_own_files(request_.folder, request_.name);
    if (!is_open()) {
      chosen_ = exact_enough([&] { return whole(); });
      ask([&] { chosen_.ratio = against_->ratio(*chosen_.model, chosen_.library); });
    }
    if (cover_) choose_regions();
    tell(watch.ms());
    return std::move(out_);
  }

 private:
  const Graph& graph() const { return model_.state().model.graph; }
  void show(const std::string& now) const {
    if (options_.progress) options_.progress(now);
  }

  // Without a runtime that runs the model there is nothing to keep.
  template <class Ask>
  void ask(const Ask& question) {
    if (!against_) return;
    try {
      question();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Runtime) throw;
      out_.not_compared = e.what();
      against_.reset();
    }
  }

  // ---- One operator, or several of them, in the first way that keeps errors

  template <class Make>
  Candidate exact_enough(const Make& make) {
    Candidate made;
    bool is_made = false;
    for (const Way& way : kWays) {
      if (options_.sums.empty() ? way.exactness == Exactness::Bfloat16 : options_.sums != way.word) continue;
      if (way.exactness < request_.exactness) continue;
      // Without Winograd, the rest is the same.
      if (is_made && way.exactness > Exactness::ShortSums && !has_winograd(made.plans)) break;
      show(fmt::format("compiling, sums {}", way.word));
      request_.exactness = way.exactness;
      made = make();
      made.sums = way.word;
      is_made = true;
      if (keeps_errors(made)) break;
    }
    return made;
  }

  Candidate whole() {
    CompiledModule module = take(compile_module(graph(), request_));
    Candidate out{.model = to_public(take(operator_model(module.texts.plan, options_.name))),
                  .functions = module.texts.functions,
                  .compiler = module.compiler,
                  .library = module.library,
                  .library_bytes = module.library_bytes};
    out.plans.push_back(std::move(module.texts.plan));
    return out;
  }

  Candidate covered(const Cover& cover, const fs::path& folder) {
    CompileRequest request = request_;
    request.folder = folder;
    built_ = take(cover_->build(cover, request));
    Candidate out{.model = to_public(built_.model),
                  .functions = built_.library.functions,
                  .compiler = built_.library.compiler,
                  .library = built_.library.library,
                  .library_bytes = built_.library.library_bytes};
    for (const CompiledRegions::Region& region : built_.library.regions) out.plans.push_back(region.plan);
    return out;
  }

  bool keeps_errors(Candidate& made) {
    ask([&] {
      against_->compare_outputs(*made.model, made.library);
      if (options_.max_error_growth <= 0) return;
      made.errors = against_->errors(*made.model, made.library);
      if (!made.errors && timer_) made.errors = errors_of_regions(made);
    });
    return !against_ || !made.errors || made.errors->kept;
  }

  // Where no float64 is known of the whole model: the region that is the farthest from what is allowed.
  std::optional<Compiled::Errors> errors_of_regions(const Candidate& made) {
    std::optional<Compiled::Errors> worst;
    double most = -1;
    for (std::size_t k = 0; k < built_.programs.size(); ++k) {
      const auto errors = take(timer_->errors(cover_->cut(), built_.programs[k], built_.library.regions[k],
                                              static_cast<std::int64_t>(k), made.library));
      if (!errors) continue;
      const double share = errors->after / errors->allowed(options_.max_error_growth);
      if (share <= most) continue;
      most = share;
      worst = {errors->after, errors->before, errors->within(options_.max_error_growth)};
    }
    return worst;
  }

  // ---- Regions

  // What a schedule names may lie in any region: then the model stays whole.
  void cut() {
    if (!options_.schedules.empty()) return;
    const InferOptions sizes = take(parse_sizes(options_.sizes, graph()));
    auto cut = cut_model(model_.state().model, sizes);
    if (cut.ok()) cover_.emplace(std::move(*cut));
  }
  // Some nodes can only be run by the runtime.
  bool is_open() const { return cover_ && cover_->cut().closed > 0; }

  void choose_regions() {
    if (against_) ask([&] { search_regions(); });
    if (against_ || !is_open()) return;
    // Not measured: all that can be compiled.
    chosen_ = exact_enough([&] { return covered(cover_->all(), request_.folder); });
    cover_rows_ = cover_->all();
    is_cover_ = true;
  }

  void search_regions() {
    const StoppableLimit limit(options_.stop);
    RuntimeOptions runtime = options_.runtime;
    runtime.threads = 1;
    const RuntimeRequest request = request_of(runtime);
    WorkerOptions worker = worker_options(request, runtime.name);
    worker.limit = limit.limit();
    const auto judge = limit.take(isomer::Judge::start(worker));
    timer_.emplace(*judge, RegionTimer::Options{.compile = request_,
                                                .runtime = take(runtime_options(request)),
                                                .seconds = checked_seconds(options_.seconds) / kTimedPart});
    const NamedTensors feeds = take(feeds_for({&graph()}, std::nullopt, options_.sizes, 1)).tensors;
    limit.take(cover_->time(*timer_, feeds, [&](const std::string& now) { show(now); }));
    const RegionTime all = limit.take(timer_->time_whole(
        cover_->cut(), feeds, chosen_.model ? &chosen_.model->state().model : nullptr, chosen_.library));
    cover_->calibrate(all.runtime_ns, all.ours_ns);
    try_covers();
    timer_.reset();
  }

  // The cheapest cover; where it is slower than what there is, one of fewer regions.
  void try_covers() {
    constexpr int kMostTries = 3;
    const fs::path folder = request_.folder / ".operators";
    Cover cover = cover_->best();
    cover_rows_ = cover;
    const bool has_whole = chosen_.model.has_value();
    for (int k = 0; k < kMostTries && !cover_->regions(cover).empty(); ++k) {
      const bool is_whole = has_whole && std::ranges::all_of(cover.ours, std::identity{});
      if (!is_whole) {
        const fs::path own = folder / std::to_string(k);
        Candidate made = exact_enough([&] { return covered(cover, own); });
        made.ratio = against_->ratio(*made.model, made.library);
        ReportJson tried = to_json(*made.ratio);
        tried["operators"] = made.plans.size();
        tried_.push_back(std::move(tried));
        const bool is_better = made.speed() > std::max(1.0, kWorthParts * chosen_.speed());
        if (is_better || !chosen_.model) {
          chosen_ = std::move(made);
          is_cover_ = is_better;
          cover_rows_ = cover;
          if (is_better) {
            take_files(own);
            break;
          }
        }
      } else if (chosen_.speed() >= 1) {
        break;
      }
      cover = cover_->fewer(cover);
    }
    std::error_code failure;
    fs::remove_all(folder, failure);
    if (!is_cover_ && !has_whole) {
      // A library that has no operator, so that a program that registers it runs.
      Cover none{.ours = std::vector<bool>(cover.ours.size())};
      chosen_.library = take(cover_->build(none, request_)).library.library;
    }
    if (!is_cover_) cover_rows_ = Cover{.ours = std::vector<bool>(cover.ours.size(), is_taken())};
  }

  void take_files(const fs::path& from) {
    remove_own_files(request_.folder, request_.name);
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(from, failure))
      fs::rename(entry.path(), request_.folder / entry.path().filename(), failure);
    if (failure) throw Error(ErrorKind::BadInput, "can't write " + request_.folder.string());
    chosen_.library = request_.folder / chosen_.library.filename();
  }

  // ---- What is told

  // Never slower: else model.onnx is the model that was given.
  bool is_taken() const {
    return !chosen_.plans.empty() && (is_cover_ || !is_open()) && chosen_.speed() >= 1;
  }

  void tell(double ms) {
    ReportJson json = to_json(chosen_, request_, ms);
    for (const lower::Plan& plan : chosen_.plans)
      for (const lower::Nest& nest : plan.nests) out_.nests.push_back({nest.name, lower::text(nest, plan)});
    out_.sums = chosen_.sums;
    out_.errors = chosen_.errors;
    out_.ratio = chosen_.ratio;
    json["sums"] = out_.sums;
    json["errors"] = out_.errors ? to_json(*out_.errors) : ReportJson(nullptr);
    json["speed"] = out_.ratio ? to_json(*out_.ratio) : ReportJson(nullptr);
    json["not_compared"] = out_.not_compared;
    json["regions"] = ReportJson::array();
    json["tried"] = tried_;
    if (options_.as_operator) {
      out_.is_operator = is_taken();
      save(out_.is_operator ? *chosen_.model : model_, request_.folder / "model.onnx");
      if (cover_ && (is_cover_ || cover_rows_))
        for (const CoverMaker::Row& row : cover_->rows(*cover_rows_)) json["regions"].push_back(to_json(row));
    }
    json["is_operator"] = out_.is_operator;
    json["operators"] = !out_.is_operator ? 0 : is_cover_ ? chosen_.plans.size() : 1;
    out_.json = json_text(json);
  }

  const Model& model_;
  const CompileOptions& options_;
  CompileRequest request_;
  std::optional<AgainstRuntime> against_;
  Candidate chosen_;
  std::optional<CoverMaker> cover_;
  std::optional<RegionTimer> timer_;
  CoverMaker::Built built_;                 // the last one
  std::optional<Cover> cover_rows_;         // that the rows tell of
  ReportJson tried_ = ReportJson::array();  // covers that were measured as a whole
  bool is_cover_ = false;                   // several operators, with nodes of the runtime between them
  Compiled out_;
};

}  // namespace

std::vector<std::string> compile_targets() { return isomer::compile_targets(); }

std::vector<std::string> sums_of_products() {
  std::vector<std::string> words;
  for (const Way& way : kWays)
    if (way.exactness != Exactness::Bfloat16) words.emplace_back(way.word);
  return words;
}

Compiled compile(const Model& model, const std::filesystem::path& folder, const CompileOptions& options) {
  return guarded([&] {
    if (!options.sums.empty() && std::ranges::find(kWays, options.sums, &Way::word) == kWays.end())
      throw Error(ErrorKind::BadInput, fmt::format("sums can't be {}", options.sums));
    if (options.threads < 1 || options.threads > kMostThreads)
      throw Error(ErrorKind::BadInput,
                  fmt::format("threads can't be {}: 1 to {}", options.threads, kMostThreads));
    if (options.as_operator && !runs_here(options.target))
      throw Error(ErrorKind::BadInput,
                  fmt::format("an operator is measured before it is written, and {} does not run here",
                              options.target));
    return Compilation(model, folder, options).run();
  });
}

}  // namespace isomer::api
