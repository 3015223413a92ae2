#include "app/api/compile/compile_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/compile_operators.h"
#include "app/api/compile/compile_tuning.h"
#include "app/api/compile/compiled_report.h"
#include "app/api/compile/sized_library.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/stopwatch.h"
#include "app/inputs/size_sets.h"
#include "io/onnx/size_arguments.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;
// The share of the time for the searches at each size, which do not compile cached objects again.
constexpr double kShareOfSizes = 0.6;
// The share of the time for a comparison at a size that is not given, where operators only must not be
// slower.
constexpr double kShareOfOtherSize = 0.3;
// The required gain of operators for one size over those for every size.
constexpr double kWorthItsOwn = 1.03;

// The search at one size.
struct Sized {
  Sized(const Model& model, CompileOptions given, double seconds, const fs::path& path,
        const SizedExtras& extras)
      : options(std::move(given)),
        budget(options.run.stop, seconds, extras.wants_bodies),
        folder(path),
        maker((options.run.stop = budget.token(), model), folder.scratch(), options, extras.known),
        tuning(maker, options),
        search(
            model, maker, tuning, options, budget, folder,
            {.equal = extras.equal, .wants_bodies = extras.wants_bodies, .skips_given = extras.skips_given}) {
    maker.take_exactness(extras.sums);
  }

  CompileOptions options;
  BudgetStop budget;
  OutputFolder folder;
  CandidateMaker maker;
  CompileTuning tuning;
  OperatorSearch search;
  Candidate joined = {};    // the model for every size, as it is at this one
  bool is_by_open = false;  // that takes the operators for every size here
};

// A joined model at one size.
struct Judged {
  std::string why_refused;  // "": it is right, and fast enough
  std::optional<Interval> ratio = {};
  std::optional<Compiled::Errors> errors = {};
  std::string note = {};
};

struct Compared {
  Compared(const Model& model, CompileOptions given, const fs::path& scratch,
           std::shared_ptr<KnownOutputs> known)
      : options(std::move(given)), maker(model, scratch, options, std::move(known)) {}

  CompileOptions options;
  CandidateMaker maker;
};

class SizedOperators {
 public:
  SizedOperators(const Model& model, const CompileOptions& options, const OutputFolder& folder,
                 SizedExtras extras = {})
      : model_(model),
        options_(options),
        folder_(folder),
        extras_(std::move(extras)),
        exactness_(extras_.sums) {}

  Compiled run();
  FoundOperators find();
  // Operators of all that can be compiled: one compilation, and no search.
  FoundOperators find_whole();

 private:
  // Compares at one size, for all that is tried there: float64 outputs of the model are computed once.
  CandidateMaker& maker_at(const Sized& like, const std::vector<std::string>& sizes, bool has_new_errors);
  void add_size(std::size_t number, std::size_t count, double seconds);
  void find_at_each_size();
  std::vector<CutModel> cut_at_each_size() const;
  void try_sums(const std::vector<CutModel>& cuts);
  bool try_all_of(const std::vector<CutModel>& cuts, const Sums& sums);
  void join(bool with_open);
  void join_in_time();
  void drop_guessed();
  Sized& find_all();
  Sized& slowest() const;
  Compiled told(const Candidate& made, const Sized& shown) const;
  void try_open(SizedLibrary& library);
  void try_open_in_time(SizedLibrary& library, const std::vector<Judged>& given);
  std::vector<Judged> judge_sizes(const SizedLibrary& library, bool with_open);
  void take_fast(const SizedLibrary& library, const std::vector<Judged>& given);
  Candidate without_model(const SizedLibrary& library) const;
  Candidate with_model(const SizedLibrary& library, const std::vector<bool>& taken, bool with_open) const;
  bool has_new_errors(const Sized& sized) const;
  Judged judge(Candidate joined, Sized& at, const std::vector<std::string>& sizes, bool has_new_errors);
  // Sizes to try operators for every size at, besides those that are given.
  std::vector<std::vector<std::string>> other_sizes(const SizedLibrary& library) const;
  ReportJson sizes_json() const;
  ReportJson open_json() const;

  const Model& model_;
  const CompileOptions& options_;
  const OutputFolder& folder_;
  SizedExtras extras_;
  Stopwatch watch_;
  std::vector<std::unique_ptr<Sized>> all_;
  std::map<std::pair<std::vector<std::string>, bool>, std::unique_ptr<Compared>> compared_;  // by maker_at
  std::vector<Sized*> taken_;   // those with operators
  lower::Exactness exactness_;  // the most exact that one of them needs
  // Operators for every size: whether they are taken, why not, and what was measured where.
  bool is_open_ = false;
  bool is_quick_ = false;  // candidates come without errors that were measured before
  std::string why_not_open_;
  std::vector<SizedLibrary::Size> open_sizes_;
  std::vector<std::pair<std::vector<std::string>, Judged>> measured_open_;
};

void SizedOperators::add_size(std::size_t number, std::size_t count, double seconds) {
  CompileOptions options = options_;
  options.inputs.sizes = size_sets(options_.inputs.sizes)[number];
  const std::string where = count > 1 ? fmt::format("{}: ", fmt::join(options.inputs.sizes, " ")) : "";
  options.run.progress = [this, where](std::string_view now) {
    if (options_.run.progress) options_.run.progress(where + std::string(now));
  };
  all_.push_back(std::make_unique<Sized>(model_, std::move(options), seconds,
                                         folder_.scratch() / fmt::format("size{}", number), extras_));
}

void SizedOperators::find_at_each_size() {
  const std::size_t count = size_sets(options_.inputs.sizes).size();
  const double total = options_.budget + options_.tune_seconds;
  for (std::size_t k = 0; k < count; ++k) {
    // A share is left for compiling all of them into one library, and for measuring that.
    const auto left = static_cast<double>(count - k);
    const double spent = watch_.ms() / 1000,
                 seconds = extras_.wants_bodies ? std::max(1.0, kShareOfSizes * total - spent) / left
                                                : (total - spent) / (left + 1);
    add_size(k, count, seconds);
    all_.back()->search.find();
    if (all_.back()->search.has_operators()) taken_.push_back(all_.back().get());
  }
}

Candidate SizedOperators::without_model(const SizedLibrary& library) const {
  Candidate out = library.compiled();
  out.sums = taken_[0]->search.best().sums;
  return out;
}

Candidate SizedOperators::with_model(const SizedLibrary& library, const std::vector<bool>& taken,
                                     bool with_open) const {
  Candidate out = without_model(library);
  out.model = library.choose(taken, with_open);
  return out;
}

CandidateMaker& SizedOperators::maker_at(const Sized& like, const std::vector<std::string>& sizes,
                                         bool has_new_errors) {
  std::unique_ptr<Compared>& kept = compared_[{sizes, has_new_errors}];
  if (kept) return kept->maker;
  CompileOptions options = options_;
  options.inputs.sizes = sizes;
  if (sizes != like.options.inputs.sizes) options.seconds *= kShareOfOtherSize;
  if (!has_new_errors) options.max_error_growth = 0;
  kept = std::make_unique<Compared>(model_, std::move(options), folder_.scratch(), extras_.known);
  return kept->maker;
}

// Measured as it will run.
Judged SizedOperators::judge(Candidate joined, Sized& at, const std::vector<std::string>& sizes,
                             bool has_new_errors) {
  Judged out;
  if (options_.seconds == 0) {
    const auto why = at.search.why_not_loaded(joined);
    if (why) out.why_refused = "the runtime does not load the compiled model: " + *why;
    return out;
  }
  CandidateMaker& maker = maker_at(at, sizes, has_new_errors);
  try {
    if (!maker.is_exact_enough(joined)) {
      out.errors = joined.errors;
      out.why_refused = "the rounding error is more than --max-error-growth allows";
      return out;
    }
    maker.measure(joined, !extras_.wants_bodies);  // then the result is measured again
    if (!joined.ratio) out.why_refused = maker.not_compared();
    else maker.confirm(joined);
  } catch (const Error& e) {
    const bool is_its_own = e.kind() == ErrorKind::Runtime || dynamic_cast<const Differs*>(&e) != nullptr;
    if (options_.run.stop.stop_requested() || !is_its_own) throw;
    out.why_refused = e.what();
  }
  out.ratio = joined.ratio;
  out.errors = joined.errors;
  out.note = joined.note;
  if (out.why_refused.empty() && !maker.is_surely_faster(joined))
    out.why_refused = at.search.why_not_fast_enough(joined);
  return out;
}

// Half and one and a half of the given sizes, except for the batch; within the limits of the operators.
std::vector<std::vector<std::string>> SizedOperators::other_sizes(const SizedLibrary& library) const {
  std::vector<std::vector<std::string>> out;
  const isomer::Graph& graph = model_.state().model.graph;
  const OpenShapes given = *open_shapes(graph, taken_[0]->options.inputs.sizes);
  for (const auto& [times, by] : {std::pair{1, 2}, std::pair{3, 2}}) {
    OpenShapes shapes = given;
    for (const SizedLibrary::Size& size : library.open_sizes()) {
      for (const OrtSize& at : size.at) {
        std::int64_t& extent = shapes.at(library.inputs()[at.input])[at.axis];
        if (at.axis == 0) continue;
        const std::int64_t most = size.most / size.step, least = (size.least + size.step - 1) / size.step;
        extent = std::clamp(extent * times / by / size.step, least, most) * size.step;
      }
    }
    if (shapes == given) continue;
    out.emplace_back();
    for (const auto& [input, shape] : shapes)
      out.back().push_back(fmt::format("{}={}", input, fmt::join(shape, "x")));
  }
  return out;
}

// Operators for every size: faster at the given sizes, and not slower at others.
void SizedOperators::try_open(SizedLibrary& library) {
  why_not_open_ = library.why_not_open();
  if (!library.has_open()) return;
  open_sizes_ = library.open_sizes();
  const Candidate joined = with_model(library, std::vector<bool>(taken_.size(), false), true);
  const auto refuses = [&](Sized& at, const std::vector<std::string>& sizes, bool is_given) {
    Judged found = judge(joined, at, sizes, is_given);
    const bool is_slower = found.ratio && found.ratio->high < 1;
    const bool is_refused = !found.why_refused.empty() && (is_given || !found.ratio || is_slower);
    if (is_refused) why_not_open_ = fmt::format("at {}: {}", fmt::join(sizes, " "), found.why_refused);
    measured_open_.emplace_back(sizes, std::move(found));
    return is_refused;
  };
  for (Sized* sized : taken_)
    if (refuses(*sized, sized->options.inputs.sizes, true)) return;
  for (const auto& sizes : other_sizes(library))
    if (refuses(*taken_[0], sizes, false)) return;
  is_open_ = true;
}

// The same kernels have the errors that were measured.
bool SizedOperators::has_new_errors(const Sized& sized) const {
  return is_quick_ || sized.maker.request().exactness != exactness_;
}

// Operators for given sizes, at these; if the library has none, those for every size.
std::vector<Judged> SizedOperators::judge_sizes(const SizedLibrary& library, bool with_open) {
  std::vector<Judged> out;
  const std::vector<bool> all(library.has_given() ? taken_.size() : 0, true);
  const Candidate joined = with_model(library, all, with_open);
  for (std::size_t k = 0; k < taken_.size(); ++k)
    out.push_back(library.has_given()
                      ? judge(joined, *taken_[k], taken_[k]->options.inputs.sizes, has_new_errors(*taken_[k]))
                      : measured_open_[k].second);
  return out;
}

// Those that are faster than the model, and than operators for every size.
void SizedOperators::take_fast(const SizedLibrary& library, const std::vector<Judged>& given) {
  std::vector<Sized*> fast;
  std::vector<bool> is_fast;
  const Candidate joined = without_model(library);
  for (std::size_t k = 0; k < taken_.size(); ++k) {
    Sized& sized = *taken_[k];
    const Judged& found = given[k];
    const bool is_worth = !is_open_ || !found.ratio ||
                          found.ratio->estimate > kWorthItsOwn * measured_open_[k].second.ratio->estimate;
    sized.joined = joined;
    const Judged& shown = is_worth ? found : measured_open_[k].second;
    sized.joined.ratio = shown.ratio;
    sized.joined.errors = has_new_errors(sized) || !is_worth ? shown.errors : sized.search.best().errors;
    sized.joined.note = shown.note;
    is_fast.push_back(found.why_refused.empty() && is_worth);
    sized.is_by_open = is_open_ && !is_fast.back();
    if (!is_fast.back() && !is_open_) sized.search.keep_given(found.why_refused);
    else fast.push_back(&sized);
  }
  if (!fast.empty()) {
    const Model model = library.choose(is_fast, is_open_);
    for (Sized* sized : fast) sized->joined.model = model;
  }
  taken_ = std::move(fast);
}

void SizedOperators::join(bool with_open) {
  std::vector<SizedLibrary::Source> sources;
  CompileRequest request = taken_[0]->maker.request();
  for (const Sized* sized : taken_) {
    exactness_ = std::max(exactness_, sized->maker.request().exactness);
    const CompileRequest& one = sized->maker.request();
    request.tuned.insert(one.tuned.begin(), one.tuned.end());
    sources.push_back({sized->options.inputs.sizes, &sized->search.cut(), sized->search.programs()});
  }
  const StoppableLimit limit(options_.run.stop);  // of all sizes: the time of the first is over
  request.limit = limit.limit();
  request.folder = folder_.scratch() / (with_open ? "all" : "sizes");
  request.exactness = exactness_;
  if (options_.run.progress) options_.run.progress("compiling the operators of all sizes");
  const fs::path models = folder_.scratch() / (with_open ? "models" : "models of sizes");
  fs::create_directories(models);
  SizedLibrary library(taken_[0]->search.graph(), extras_.otherwise.value_or(model_), models,
                       options_.run.scratch);
  library.compile(std::move(sources), request,
                  with_open ? SizedLibrary::Wanted::Both : SizedLibrary::Wanted::Given);
  if (with_open) try_open(library);
  if (with_open && !is_open_ && extras_.wants_bodies) return;  // what was joined without them is kept
  take_fast(library, judge_sizes(library, is_open_));
}

void SizedOperators::try_open_in_time(SizedLibrary& library, const std::vector<Judged>& given) {
  try {
    try_open(library);
  } catch (const Error&) {
    const bool is_any_fast =
        std::ranges::any_of(given, [](const Judged& found) { return found.why_refused.empty(); });
    if (!options_.run.stop.stop_requested() || !is_any_fast) throw;
    why_not_open_ = "the time ran out while they were tried";
  }
}

ReportJson SizedOperators::sizes_json() const {
  ReportJson out = ReportJson::array();
  for (const auto& sized : all_) {
    const bool is_taken = sized->search.has_operators();
    const Candidate& made = is_taken ? sized->joined : sized->search.best();
    out.push_back({{"sizes", sized->options.inputs.sizes},
                   {"speed", made.ratio ? to_json(*made.ratio) : ReportJson(nullptr)},
                   {"errors", made.errors ? to_json(*made.errors) : ReportJson(nullptr)},
                   {"is_operator", is_taken},
                   {"is_for_every_size", sized->is_by_open},
                   {"reason", sized->search.reason()}});
  }
  return out;
}

ReportJson SizedOperators::open_json() const {
  ReportJson sizes = ReportJson::array(), measured = ReportJson::array();
  for (const SizedLibrary::Size& size : open_sizes_)
    sizes.push_back({{"name", size.name}, {"least", size.least}, {"most", size.most}, {"step", size.step}});
  for (const auto& [at, found] : measured_open_)
    measured.push_back({{"sizes", at},
                        {"speed", found.ratio ? to_json(*found.ratio) : ReportJson(nullptr)},
                        {"errors", found.errors ? to_json(*found.errors) : ReportJson(nullptr)},
                        {"reason", found.why_refused}});
  return {{"is_taken", is_open_}, {"reason", why_not_open_}, {"sizes", sizes}, {"measured", measured}};
}

// First what is compiled already, which is kept where there is no time for operators of every size.
void SizedOperators::join_in_time() {
  join(false);
  if (taken_.empty()) return;
  const std::vector<Sized*> taken = taken_;
  std::vector<Candidate> joined;
  for (const Sized* sized : taken) joined.push_back(sized->joined);
  const auto restore = [&](const std::string& why) {
    taken_ = taken;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      taken[k]->joined = joined[k];
      taken[k]->is_by_open = false;
    }
    is_open_ = false;
    if (why_not_open_.empty()) why_not_open_ = why;
  };
  try {
    join(true);
    if (!is_open_) restore("");
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::Internal && !options_.run.stop.stop_requested()) throw;
    restore(options_.run.stop.stop_requested() ? "the time ran out while they were made" : e.what());
  }
}

// Operators for a size at which no call may come cost every call a comparison of sizes.
void SizedOperators::drop_guessed() {
  if (!extras_.is_size_guessed || is_open_ || options_.seconds == 0) return;
  for (Sized* sized : taken_)
    sized->search.keep_given(
        fmt::format("kernels are faster at {}, a size that was guessed, and can't be made for every size "
                    "({}); give the size with --shape",
                    fmt::join(sized->options.inputs.sizes, " "), why_not_open_));
  taken_.clear();
}

Sized& SizedOperators::find_all() {
  find_at_each_size();
  if (!taken_.empty() && extras_.wants_bodies) join_in_time();
  else if (!taken_.empty()) join(true);
  drop_guessed();
  return slowest();
}

// It speaks for all that are taken.
Sized& SizedOperators::slowest() const {
  Sized* shown = all_[0].get();
  for (Sized* sized : taken_)
    if (!shown->search.has_operators() || sized->joined.speed() < shown->joined.speed()) shown = sized;
  return *shown;
}

// One for each given size.
std::vector<CutModel> SizedOperators::cut_at_each_size() const {
  const isomer::Model& base = extras_.graph_for_kernels(model_).state().model;
  std::vector<CutModel> out;
  for (const auto& sized : all_)
    out.push_back(take(cut_model(base, take(parse_sizes(sized->options.inputs.sizes, base.graph)))));
  return out;
}

// False: sums have to be more exact.
bool SizedOperators::try_all_of(const std::vector<CutModel>& cuts, const Sums& sums) {
  CompileRequest request = all_[0]->maker.request();
  const StoppableLimit limit(options_.run.stop);
  request.limit = limit.limit();
  request.exactness = exactness_ = sums.exactness;
  request.folder = folder_.scratch() / fmt::format("every size, {}", sums.word);
  const fs::path models = folder_.scratch() / fmt::format("models, {}", sums.word);
  fs::create_directories(models);
  if (options_.run.progress) options_.run.progress("compiling kernels for the whole model");
  std::vector<SizedLibrary::Source> sources;
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const Cover all{.ours = std::vector<bool>(cuts[k].segments.size(), true)};
    sources.push_back({all_[k]->options.inputs.sizes, &cuts[k], take(CoverMaker(cuts[k]).programs(all))});
  }
  SizedLibrary library(extras_.graph_for_kernels(model_), extras_.otherwise.value_or(model_), models,
                       options_.run.scratch);
  // Kernels for a guessed size are not taken.
  const bool with_given = !extras_.is_size_guessed;
  library.compile(std::move(sources), request,
                  with_given ? SizedLibrary::Wanted::Both : SizedLibrary::Wanted::Every);
  measured_open_.clear();
  taken_.clear();
  for (const auto& sized : all_) taken_.push_back(sized.get());
  // Operators for given sizes are a result if there is no time for others.
  std::vector<Judged> given;
  if (with_given) given = judge_sizes(library, false);
  const auto is_inexact = [](const std::optional<Compiled::Errors>& errors) {
    return errors && !errors->kept;
  };
  if (!given.empty() && std::ranges::all_of(given, is_inexact, &Judged::errors)) {
    why_not_open_ = given[0].why_refused;
    taken_.clear();
    return false;
  }
  try_open_in_time(library, given);
  if (is_open_ && !with_given) given = judge_sizes(library, true);
  if (is_open_ || with_given) take_fast(library, given);
  if (taken_.empty())
    return std::ranges::none_of(measured_open_, [&](const auto& m) { return is_inexact(m.second.errors); }) &&
           std::ranges::none_of(all_, [&](const auto& sized) { return is_inexact(sized->joined.errors); });
  for (Sized* sized : taken_) {
    sized->joined.sums = sums.word;
    sized->search.take_best(sized->joined);
  }
  return true;
}

// The first way to add up that is exact enough, while there is time for another one.
void SizedOperators::try_sums(const std::vector<CutModel>& cuts) {
  double seconds = 0;  // of the last one
  for (const Sums& sums : exact_sums()) {
    if (sums.exactness < extras_.sums) continue;
    const double start = watch_.ms() / 1000;
    if (options_.budget - start < seconds || try_all_of(cuts, sums)) return;
    seconds = watch_.ms() / 1000 - start;
  }
}

FoundOperators SizedOperators::find_whole() {
  is_quick_ = true;
  const std::size_t count = size_sets(options_.inputs.sizes).size();
  for (std::size_t k = 0; k < count; ++k) add_size(k, count, options_.budget);
  FoundOperators out{.base = extras_.otherwise.value_or(model_), .certificate = extras_.certificate};
  const std::vector<CutModel> cuts = cut_at_each_size();
  if (std::ranges::any_of(cuts, [](const CutModel& cut) { return cut.segments.empty(); }))
    why_not_open_ = "no region can be an operator";
  else try_sums(cuts);
  drop_guessed();
  Sized& shown = slowest();
  out.reason = taken_.empty() && !shown.search.reason().empty() ? shown.search.reason() : why_not_open_;
  if (!taken_.empty()) {
    out.made = shown.joined;
    out.is_whole = taken_.size() == all_.size() &&
                   std::ranges::all_of(cuts, [](const CutModel& cut) { return cut.closed == 0; });
  }
  out.sums = exactness_;
  out.told = told(taken_.empty() ? shown.search.best() : shown.joined, shown);
  return out;
}

Compiled SizedOperators::told(const Candidate& made, const Sized& shown) const {
  return compiled_of(made, {.maker = shown.maker,
                            .tuning = shown.tuning,
                            .search = &shown.search,
                            .folder = folder_.path(),
                            .ms = watch_.ms(),
                            .sizes = sizes_json(),
                            .every_size = open_json()});
}

Compiled SizedOperators::run() {
  Sized& shown = find_all();
  if (!taken_.empty()) shown.search.take_best(shown.joined);
  return told(shown.search.write(folder_), shown);
}

FoundOperators SizedOperators::find() {
  Sized& shown = find_all();
  FoundOperators out{.reason = shown.search.reason(), .base = extras_.otherwise.value_or(model_)};
  out.certificate = extras_.certificate;
  if (!taken_.empty()) out.made = shown.joined;
  out.sums = exactness_;
  out.told = told(taken_.empty() ? shown.search.best() : shown.joined, shown);
  return out;
}

}  // namespace

bool decides_by_size(const Model& model, const CompileOptions& options) {
  const auto refuse = [](const char* why) { throw Error(ErrorKind::BadInput, why); };
  const auto sets = size_sets(options.inputs.sizes);
  if (sets.size() > 1) {
    if (!options.as_operator) refuse("a module has one size; several sizes need --as custom-op");
    if (options.fixed_sizes) refuse("--fixed-sizes is for one size: --shape gives several");
    if (!options.schedules.empty()) refuse("schedules are for one size: --shape gives several");
    if (has_feeds(options.inputs)) refuse("feeds have one size: --shape gives several");
  }
  if (!options.as_operator || options.fixed_sizes || !options.schedules.empty()) return false;
  const isomer::Graph& graph = model.state().model.graph;
  for (const auto& set : sets) {
    const auto shapes = open_shapes(graph, set);
    if (shapes && !shapes->empty()) continue;
    if (sets.size() > 1) refuse("with several sizes, each must give all open sizes of the model");
    return false;
  }
  return true;
}

Compiled compile_for_sizes(const Model& model, const CompileOptions& options, const OutputFolder& folder,
                           bool is_size_guessed) {
  return SizedOperators(model, options, folder, {.is_size_guessed = is_size_guessed}).run();
}

FoundOperators find_for_sizes(const Model& model, const CompileOptions& options, const OutputFolder& folder,
                              SizedExtras extras) {
  return SizedOperators(model, options, folder, std::move(extras)).find();
}

FoundOperators find_whole_for_sizes(const Model& model, const CompileOptions& options,
                                    const OutputFolder& folder, SizedExtras extras) {
  return SizedOperators(model, options, folder, std::move(extras)).find_whole();
}

}  // namespace isomer::api
