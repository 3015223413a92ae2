#include "app/api/compile/optimize_kernels.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/api/compile/budget_stop.h"
#include "app/api/compile/compile_operators.h"
#include "app/api/compile/compile_sizes.h"
#include "app/api/compile/compiled_report.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/optimize_run.h"
#include "app/api/stopwatch.h"
#include "app/inputs/size_sets.h"
#include "app/optimize/guard.h"
#include "io/onnx/local_functions.h"
#include "kernel/certify/certificate.h"
#include "kernel/certify/check_files.h"
#include "kernel/certify/digest.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

// Shares of the time for kernels: a search for graphs with less work for any kernels; and the end, which
// proves, writes and measures the whole once more.
constexpr double kShareOfGraphs = 0.15, kMostOfGraphs = 30, kShareOfEnd = 0.15;
// For the proof after Ctrl-C, or after the time: most of it compares equal nodes. Three seconds are promised.
constexpr double kSecondsAfterStop = 1.5;
// To measure kernels of an earlier run again, at one size.
constexpr double kSecondsOfKept = 4;
// A gain beyond the wanted one by this factor that is not sure yet is worth the rest of the time.
constexpr double kWorthMoreTime = 1.02;
// Time for one comparison with the runtime; a clear result takes less.
constexpr double kShareOfComparison = 1.0 / 25, kLeastComparison = 0.5, kMostComparison = 5;

class KernelRun {
 public:
  explicit KernelRun(const KernelSearch& search) : search_(search), out_(search.folder) {}

  FoundKernels run() {
    const double at_end = kShareOfEnd * search_.seconds;
    fill_options();
    FoundOperators operators{.base = search_.model};
    {
      const BudgetStop budget(search_.options.run.stop, search_.seconds - at_end, true);
      options_.run.stop = budget.token();
      options_.budget = search_.seconds - at_end;
      add_graphs();
      try {
        operators = operators_found(budget);
        found_.was_tried = !budget.is_time_over();
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::Stopped && !budget.token().stop_requested()) throw;
        return refused(search_.options.run.stop.stop_requested()
                           ? "Ctrl-C came before kernels were measured"
                           : "the time ran out while kernels were made");
      }
    }
    found_.is_whole = operators.is_whole;
    found_.sums = operators.sums;
    found_.json = ReportJson::parse(operators.told.json);
    found_.json.erase("folder");
    if (!operators.made)
      return refused(operators.reason.empty() ? "the time ran out while kernels were made"
                                              : operators.reason);
    const BudgetStop budget(search_.options.run.stop, search_.seconds - watch_.ms() / 1000, true);
    options_.run.stop = budget.token();
    const StoppableLimit limit(options_.run.stop);
    assemble(operators);
    // A proof may take longer than to see that they are not faster.
    measure(operators.made->ratio);
    if (!found_.is_taken) return std::move(found_);
    if (const std::string why = why_not_proved(operators); !why.empty())
      return refused("the model with kernels is not proved equal: " + why);
    return std::move(found_);
  }

  FoundKernels confirm(FoundKernels kept) {
    found_ = std::move(kept);
    fill_options();
    options_.seconds = std::min(options_.seconds, kSecondsOfKept / 2);
    const BudgetStop budget(search_.options.run.stop, search_.seconds, true);
    options_.run.stop = budget.token();
    const StoppableLimit limit(options_.run.stop);
    const Model made = load(found_.model);
    const isomer::Graph &from = search_.model.state().model.graph, &to = made.state().model.graph;
    if (!check_models(from, to, found_.certificate).report.accepted)
      return refused("the kernels of an earlier run are not proved equal");
    found_.is_kept = true;
    measure(std::exchange(found_.ratio, {}));
    return std::move(found_);
  }

  FoundKernels refused(const std::string& why) {
    unmeasured(why);
    return std::move(found_);
  }

 private:
  void fill_options() {
    const OptimizeOptions& given = search_.options;
    options_.name = "isomer";
    options_.compiler = search_.compiler;
    options_.objects =
        given.cache.empty() ? search_.folder / "objects" : given.cache.parent_path() / "objects";
    options_.inputs = given.inputs;
    options_.inputs.sizes = search_.sizes;
    options_.run = given.run;
    options_.as_operator = true;
    options_.threads = std::max(1, given.run.runtime.threads);
    options_.seconds = std::clamp(kShareOfComparison * search_.seconds, kLeastComparison, kMostComparison);
    options_.min_gain = given.min_gain;
    options_.max_error_growth = given.max_error_growth;
    options_.run.progress = [&given](std::string_view now) {
      if (given.run.progress) given.run.progress(fmt::format("kernels: {}", now));
    };
  }

  // Candidate graphs: the result for the runtime; and the graph with the least work for any kernels, without
  // rewrites that help only the runtime's kernels and are slow with ours.
  void add_graphs() {
    if (search_.found)
      extras_.equal.push_back({*search_.found, "optimize", search_.certificate, search_.ratio});
    extras_.otherwise = search_.found;
    extras_.certificate = search_.certificate;
    extras_.wants_bodies = true;
    extras_.sums = search_.sums;
    extras_.known = search_.known;
    const OptimizeOptions& given = search_.options;
    extras_.is_size_guessed = guesses_sizes(given.inputs);
    if (search_.found && !search_.is_for_runtime) {
      extras_.skips_given = true;
      return;
    }
    OptimizeOptions like = options_of_part(search_.options, search_.sizes,
                                           std::min(kMostOfGraphs, kShareOfGraphs * search_.seconds));
    like.judge = search_.is_quick ? isomer::api::Judge::Nodes : isomer::api::Judge::Cost;
    like.without.insert(like.without.end(), {"fastpath", "bilinear"});
    like.run.stop = options_.run.stop;
    try {
      Optimized less = optimize(search_.model, like);
      if (less.result != Optimized::Result::Unchanged)
        extras_.equal.insert(extras_.equal.begin(), {less.model, "optimize for kernels", less.certificate});
      extras_.skips_given = less.result != Optimized::Result::Unchanged;
      found_.is_graph_cut = less.stopped_by == Optimized::StoppedBy::Budget;
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::Internal) throw;
    }
  }

  FoundOperators operators_found(const BudgetStop& budget) {
    if (decides_by_size(search_.model, options_))
      return search_.is_quick ? find_whole_for_sizes(search_.model, options_, out_, extras_)
                              : find_for_sizes(search_.model, options_, out_, extras_);
    CandidateMaker maker(search_.model, out_.scratch(), options_, search_.known);
    maker.take_exactness(search_.sums);
    CompileTuning tuning(maker, options_);
    OperatorSearch search(search_.model, maker, tuning, options_, budget, out_,
                          {.equal = extras_.equal,
                           .wants_bodies = true,
                           .skips_given = extras_.skips_given,
                           .is_quick = search_.is_quick});
    search.find();
    FoundOperators out{.reason = search.reason(),
                       .base = search.graph(),
                       .certificate = search.certificate(),
                       .is_whole = search.is_whole(),
                       .sums = maker.request().exactness};
    if (search.has_operators()) out.made = search.best();
    out.told = compiled_of(
        search.best(),
        {.maker = maker, .tuning = tuning, .search = &search, .folder = search_.folder, .ms = watch_.ms()});
    return out;
  }

  // The files as they will be called.
  void assemble(const FoundOperators& operators) {
    const Candidate& made = *operators.made;
    const std::string stem = search_.out.stem().string();
    found_.model = search_.folder / search_.out.filename();
    save(*made.model, found_.model);
    take(add_functions(found_.model, made.bodies, search_.model.state().model));
    found_.library = search_.folder / (stem + ".kernels.so");
    fs::copy_file(made.library, found_.library, fs::copy_options::overwrite_existing);
    for (const auto& entry : fs::directory_iterator(made.library.parent_path()))
      if (entry.path().extension() == ".weights") {
        found_.weights = search_.folder / (stem + ".kernels.weights");
        fs::rename(entry.path(), found_.weights);
      }
    found_.errors = made.errors;
  }

  // The same nodes, once functions are written out. A checker sees that at once, where a prover would look
  // for pairs of values.
  bool is_plainly_equal(const FoundOperators& operators, const Model& made) {
    const isomer::Graph &from = search_.model.state().model.graph, &to = made.state().model.graph;
    Certificate whole;
    if (!operators.certificate.empty()) whole = take(parse_certificate(operators.certificate));
    if (whole.pairing) return false;
    whole.pairing.emplace();
    std::string text = to_text(with_digests(std::move(whole), from, to));
    if (!check_models(from, to, text).report.accepted) return false;
    found_.certificate = std::move(text);
    return true;
  }

  // The steps that lead to the graph that has the kernels, then value by value.
  std::string why_not_proved(const FoundOperators& operators) {
    const bool is_stopped = options_.run.stop.stop_requested();
    const double seconds = is_stopped ? kSecondsAfterStop : left();
    const std::stop_token stop = is_stopped ? std::stop_token() : options_.run.stop;
    const Model made = load(found_.model);
    options_.run.progress("proving that the model with kernels is equal");
    if (is_plainly_equal(operators, made)) return "";
    const isomer::Graph &from = search_.model.state().model.graph, &to = made.state().model.graph;
    const Proof proof = prove_equal(operators.base, made, {.seconds = seconds, .stop = stop});
    if (proof.verdict == Verdict::Proved) {
      Certificate whole = take(parse_certificate(proof.certificate));
      if (!operators.certificate.empty()) {
        Certificate steps = take(parse_certificate(operators.certificate));
        if (!steps.pairing) {
          std::ranges::move(whole.steps, std::back_inserter(steps.steps));
          steps.pairing = std::move(whole.pairing);
          whole = std::move(steps);
        }
      }
      found_.certificate = to_text(with_digests(std::move(whole), from, to));
      if (check_models(from, to, found_.certificate).report.accepted) return "";
    }
    const Proof other = prove_equal(search_.model, made, {.seconds = seconds, .stop = stop});
    if (other.verdict != Verdict::Proved) return proof.verdict != Verdict::Proved ? proof.why : other.why;
    found_.certificate = other.certificate;
    return "";
  }
  void unmeasured(const std::string& why) {
    found_.is_taken = false;
    found_.reason = why;
  }
  double left() const { return std::max(0.1, search_.seconds - watch_.ms() / 1000); }

  // `before`: what was measured until now.
  void measure(const std::optional<Interval>& before) {
    try {
      if (search_.options.run.stop.stop_requested()) take_unconfirmed(before);
      else measure_at_each_size();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Stopped) throw;
      take_unconfirmed(found_.time ? to_public(found_.time->ratio) : before);
    }
  }

  // As it is written, beside the model that was given and beside what the graph search found.
  void measure_at_each_size() {
    const Model made = load(found_.model);
    const auto sets = size_sets(search_.sizes);
    const double comparisons = static_cast<double>(sets.size()) * (search_.found ? 2 : 1);
    const double seconds = std::min(options_.seconds * 2, left() / (comparisons + 1));
    for (const auto& set : sets) {
      CompileOptions at = options_;
      at.inputs.sizes = set;
      AgainstRuntime before(search_.model, at, out_.scratch());
      PairMeasurement all = before.measured(made, found_.library, seconds);
      if (all.ratio.low <= options_.min_gain && all.ratio.estimate > kWorthMoreTime * options_.min_gain)
        all = before.measured(made, found_.library, left() / (comparisons + 1));
      if (!found_.time || all.ratio.estimate < found_.time->ratio.estimate) found_.time = all;
      if (all.ratio.low <= options_.min_gain) return unmeasured(why_not_faster(all.ratio, options_.min_gain));
      if (!search_.found) continue;
      at.min_gain = 1;
      AgainstRuntime graph(*search_.found, at, out_.scratch());
      const PairMeasurement more = graph.measured(made, found_.library, seconds);
      found_.json["beside_graph"] = {
          {"ratio", more.ratio.estimate}, {"low", more.ratio.low}, {"high", more.ratio.high}};
      if (more.ratio.low <= 1)
        return unmeasured("they do not make the result of the graph search faster with 95 % confidence");
    }
    found_.is_taken = true;
    found_.ratio = to_public(found_.time->ratio);
  }

  // After Ctrl-C, or after the time: what was measured until then decides.
  void take_unconfirmed(const std::optional<Interval>& ratio) {
    const double least = search_.ratio ? search_.ratio->estimate : 1;
    found_.is_taken = ratio && ratio->low > std::max(options_.min_gain, least);
    if (found_.is_taken) found_.ratio = ratio;
    else
      unmeasured(search_.options.run.stop.stop_requested()
                     ? "Ctrl-C came before the gain of kernels was confirmed"
                     : "the time ran out before the gain of kernels was confirmed");
  }

  const KernelSearch& search_;
  Stopwatch watch_;
  OutputFolder out_;
  CompileOptions options_;
  SizedExtras extras_;
  FoundKernels found_;
};

}  // namespace

namespace {

template <class Work>
FoundKernels found_by(const KernelSearch& search, const Work& work) {
  KernelRun run(search);
  try {
    return work(run);
  } catch (const Error& e) {
    return run.refused(e.kind() == ErrorKind::Stopped ? "it was stopped before kernels were measured"
                                                      : e.what());
  } catch (const fs::filesystem_error& e) {
    return run.refused(e.what());
  }
}

}  // namespace

FoundKernels find_kernels(const KernelSearch& search) {
  return found_by(search, [](KernelRun& run) { return run.run(); });
}

FoundKernels confirm_kernels(const KernelSearch& search, FoundKernels kept) {
  return found_by(search, [&](KernelRun& run) { return run.confirm(std::move(kept)); });
}

void check_kernel_options(const OptimizeFiles& files, const OptimizeOptions& options) {
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::BadInput, "--kernels: " + why); };
  if (options.judge != Judge::Runtime)
    refuse("kernels are chosen by measuring, and --judge cost measures nothing");
  if (options.run.runtime.name != "ort")
    refuse(
        fmt::format("kernels are operators of ONNX Runtime, but --runtime is {}", options.run.runtime.name));
  if (files.sizes_from == 0) refuse("kernels are not made for sizes of 0");
}

}  // namespace isomer::api
