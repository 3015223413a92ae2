#include "app/api/compile/compile_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/compile_operators.h"
#include "app/api/compile/compile_tuning.h"
#include "app/api/compile/compiled_report.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/stopwatch.h"
#include "app/inputs/size_sets.h"
#include "io/onnx/choose_by_size.h"
#include "io/onnx/size_arguments.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;
using Shapes = std::map<std::string, Extents>;

// Shapes of the inputs that the model leaves open; nullopt: one of them stays so.
std::optional<Shapes> open_shapes(const isomer::Graph& graph, const std::vector<std::string>& sizes) {
  const Inference as_it_is = take(infer(graph)), sized = take(infer(graph, take(parse_sizes(sizes, graph))));
  Shapes out;
  for (const Value& input : graph.inputs()) {
    if (concrete_shape(as_it_is.of(input))) continue;
    const auto shape = concrete_shape(sized.of(input));
    if (!shape) return std::nullopt;
    out.emplace(graph.name_of(input), *shape);
  }
  return out;
}

// The search at one size.
struct Sized {
  Sized(const Model& model, CompileOptions given, double seconds, const fs::path& path)
      : options(std::move(given)),
        budget(options.stop, seconds),
        folder(path),
        maker((options.stop = budget.token(), model), folder.scratch(), options),
        tuning(maker, options),
        search(model, maker, tuning, options, budget, folder) {}

  CompileOptions options;
  BudgetStop budget;
  OutputFolder folder;
  CandidateMaker maker;
  CompileTuning tuning;
  OperatorSearch search;
  Candidate joined = {};                       // the model for every size, as it is at this one
  std::unique_ptr<CandidateMaker> judge = {};  // of that: the time of the search may be over
};

class SizedOperators {
 public:
  SizedOperators(const Model& model, const CompileOptions& options, const OutputFolder& folder)
      : model_(model), options_(options), folder_(folder) {}

  Compiled run();

 private:
  void find_at_each_size();
  Candidate compile_all(std::vector<SizedFile>& cases) const;
  Candidate compile_first(std::vector<SizedFile>& cases) const;
  void join();
  Model write_joined(const std::vector<SizedFile>& cases) const;
  std::string why_refused(Sized& sized) const;
  ReportJson sizes_json() const;

  const Model& model_;
  const CompileOptions& options_;
  const OutputFolder& folder_;
  Stopwatch watch_;
  std::vector<std::unique_ptr<Sized>> all_;
  std::vector<Sized*> taken_;                            // those with operators
  lower::Exactness exactness_ = lower::Exactness::Fast;  // the most exact that one of them needs
};

void SizedOperators::find_at_each_size() {
  const auto sets = size_sets(options_.sizes);
  const double total = options_.budget + options_.tune_seconds + options_.optimize_seconds;
  for (std::size_t k = 0; k < sets.size(); ++k) {
    CompileOptions options = options_;
    options.sizes = sets[k];
    const std::string where = sets.size() > 1 ? fmt::format("{}: ", fmt::join(sets[k], " ")) : "";
    options.progress = [this, where](std::string_view now) {
      if (options_.progress) options_.progress(where + std::string(now));
    };
    // A share is left for compiling all of them into one library, and for measuring that.
    const double seconds = (total - watch_.ms() / 1000) / static_cast<double>(sets.size() - k + 1);
    all_.push_back(std::make_unique<Sized>(model_, std::move(options), seconds,
                                           folder_.scratch() / fmt::format("size{}", k)));
    all_.back()->search.find();
    if (all_.back()->search.has_operators()) taken_.push_back(all_.back().get());
  }
}

// The operators of one size are a library already.
Candidate SizedOperators::compile_first(std::vector<SizedFile>& cases) const {
  const Candidate& best = taken_[0]->search.best();
  const fs::path file = folder_.scratch() / "size0.onnx";
  save(*best.model, file);
  cases.push_back({file, *open_shapes(model_.state().model.graph, taken_[0]->options.sizes)});
  return best;
}

Candidate SizedOperators::compile_all(std::vector<SizedFile>& cases) const {
  std::vector<std::vector<RegionProgram>> programs;
  std::vector<const isomer::Graph*> graphs;
  CompileRequest request = taken_[0]->maker.request();
  request.exactness = exactness_;
  for (Sized* sized : taken_) {
    programs.push_back(sized->search.programs());
    const CompileRequest& one = sized->maker.request();
    request.tuned.insert(one.tuned.begin(), one.tuned.end());
  }
  for (const auto& list : programs)
    for (const RegionProgram& p : list) graphs.push_back(&p.graph);
  const StoppableLimit limit(options_.stop);  // of all sizes: the time of the first is over
  request.limit = limit.limit();
  request.folder = folder_.scratch() / "all";
  if (options_.progress) options_.progress("compiling the operators of all sizes");
  CompiledRegions library = take(compile_regions(graphs, request));
  Candidate out{.functions = library.functions,
                .compiler = library.compiler,
                .compiler_seconds = library.compiler_seconds,
                .library = library.library,
                .library_bytes = library.library_bytes,
                .sums = taken_[0]->search.best().sums};
  std::size_t number = 0;
  for (std::size_t k = 0; k < taken_.size(); ++k) {
    std::vector<OperatorPlace> places;
    for (const RegionProgram& p : programs[k]) {
      places.push_back({&p, library.regions[number].op, library.regions[number].weights});
      out.plans.push_back(std::move(library.regions[number++].plan));
    }
    const fs::path file = folder_.scratch() / fmt::format("size{}.onnx", k);
    take(write_model(take(with_operators(taken_[k]->search.cut(), places)), file));
    cases.push_back({file, *open_shapes(model_.state().model.graph, taken_[k]->options.sizes)});
  }
  return out;
}

Model SizedOperators::write_joined(const std::vector<SizedFile>& cases) const {
  const RunnableFile otherwise(model_.state(), options_.scratch);
  const fs::path file = folder_.scratch() / "joined.onnx";
  take(write_choice(otherwise.path(), cases, file));
  return load(file);
}

// Measured once more as it will run. "": it is right, and surely faster.
std::string SizedOperators::why_refused(Sized& sized) const {
  const auto is_stopped = [&] { return options_.stop.stop_requested(); };
  if (options_.seconds == 0) {
    const auto why = sized.search.why_not_loaded(sized.joined);
    return why ? "the runtime does not load what was compiled: " + *why : "";
  }
  sized.options.stop = options_.stop;
  // The same kernels have the errors that were measured.
  if (sized.maker.request().exactness == exactness_) sized.options.max_error_growth = 0;
  sized.judge = std::make_unique<CandidateMaker>(model_, folder_.scratch(), sized.options);
  try {
    if (!sized.judge->is_exact_enough(sized.joined))
      return "the rounding error is more than --max-error-growth allows";
    sized.judge->measure(sized.joined);
    if (!sized.joined.ratio) return sized.judge->not_compared();
    sized.judge->confirm(sized.joined);
  } catch (const Error& e) {
    const bool is_its_own = e.kind() == ErrorKind::Runtime || dynamic_cast<const Differs*>(&e) != nullptr;
    if (is_stopped() || !is_its_own) throw;
    return e.what();
  }
  return sized.judge->is_surely_faster(sized.joined) ? "" : sized.search.why_not_fast_enough(sized.joined);
}

void SizedOperators::join() {
  std::vector<SizedFile> cases;
  for (const Sized* sized : taken_) exactness_ = std::max(exactness_, sized->maker.request().exactness);
  Candidate made = taken_.size() == 1 ? compile_first(cases) : compile_all(cases);
  made.model = write_joined(cases);
  std::vector<SizedFile> kept;
  std::vector<Sized*> fast;
  for (std::size_t k = 0; k < taken_.size(); ++k) {
    taken_[k]->joined = made;
    taken_[k]->joined.errors = taken_[k]->search.best().errors;
    taken_[k]->joined.note = taken_[k]->search.best().note;
    if (const std::string why = why_refused(*taken_[k]); !why.empty()) {
      taken_[k]->search.keep_given(why);
      continue;
    }
    kept.push_back(cases[k]);
    fast.push_back(taken_[k]);
  }
  if (!kept.empty() && kept.size() < cases.size()) made.model = write_joined(kept);
  for (Sized* sized : fast) sized->joined.model = made.model;
  taken_ = std::move(fast);
}

ReportJson SizedOperators::sizes_json() const {
  ReportJson out = ReportJson::array();
  for (const auto& sized : all_) {
    const bool is_taken = sized->search.has_operators();
    const Candidate& made = is_taken ? sized->joined : sized->search.best();
    out.push_back({{"sizes", sized->options.sizes},
                   {"speed", made.ratio ? to_json(*made.ratio) : ReportJson(nullptr)},
                   {"errors", made.errors ? to_json(*made.errors) : ReportJson(nullptr)},
                   {"is_operator", is_taken},
                   {"reason", sized->search.reason()}});
  }
  return out;
}

Compiled SizedOperators::run() {
  find_at_each_size();
  if (!taken_.empty()) join();
  // The slowest of them speaks for all.
  Sized* shown = all_[0].get();
  for (Sized* sized : taken_)
    if (!shown->search.has_operators() || sized->joined.speed() < shown->joined.speed()) shown = sized;
  if (!taken_.empty()) shown->search.take_best(shown->joined);
  const Candidate& written = shown->search.write(folder_);
  return compiled_of(written, {.maker = shown->maker,
                               .tuning = shown->tuning,
                               .search = &shown->search,
                               .folder = folder_.path(),
                               .ms = watch_.ms(),
                               .sizes = sizes_json()});
}

}  // namespace

bool decides_by_size(const Model& model, const CompileOptions& options) {
  const auto refuse = [](const char* why) { throw Error(ErrorKind::BadInput, why); };
  const auto sets = size_sets(options.sizes);
  if (sets.size() > 1) {
    if (!options.as_operator) refuse("a module is of one size: several need --as custom-op");
    if (options.fixed_sizes) refuse("--fixed-sizes is for one size: --shape gives several");
    if (!options.schedules.empty()) refuse("schedules are of one size: --shape gives several");
    if (options.feeds || !options.feeds_file.empty()) refuse("feeds have one size: --shape gives several");
    if (!options.equal.empty() || options.optimize_seconds > 0)
      refuse("equal models are offered at one size: --shape gives several");
  }
  if (!options.as_operator || options.fixed_sizes || !options.schedules.empty()) return false;
  const isomer::Graph& graph = model.state().model.graph;
  for (const auto& set : sets) {
    const auto shapes = open_shapes(graph, set);
    if (shapes && !shapes->empty()) continue;
    if (sets.size() > 1) refuse("of several sizes, each must say all that the model leaves open");
    return false;
  }
  return true;
}

Compiled compile_for_sizes(const Model& model, const CompileOptions& options, const OutputFolder& folder) {
  return SizedOperators(model, options, folder).run();
}

}  // namespace isomer::api
