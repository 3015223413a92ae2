// `optimize` on files: the search for a graph, kernels, and the output files.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <stop_token>

#include "app/api/compile/compile_operators.h"
#include "app/api/compile/kept_kernels.h"
#include "app/api/compile/optimize_kernels.h"
#include "app/api/errors.h"
#include "app/api/optimize_run.h"
#include "app/inputs/size_sets.h"
#include "app/optimize/write_optimized.h"
#include "base/processor.h"
#include "base/temporary_folder.h"
#include "io/onnx/write_file.h"
#include "kernel/certify/certificate.h"
#include "optimizer/facts/denormal_products.h"
#include "optimizer/propose/proposer.h"
#include "optimizer/search/flush_weights.h"
#include "optimizer/search/steps.h"

namespace isomer::api {
namespace {

// Shares of the time, with kernels. The first kernels are measured by then: most models take a third, and
// where the compiler takes longer, to stop it is a waste.
constexpr double kShareOfFirst = 0.9;
// The search for a graph ends by then; where the first kernels are not faster, more are worth less. At least
// it has this share of the time that is left.
constexpr double kShareOfGraph = 0.6, kShareOfGraphAlone = 0.8, kLeastOfGraph = 0.4;
// The second kernels use objects and outputs of the first, and take at least this share of their time.
constexpr double kLeastOfFirst = 0.5;
// The output has the weights twice, in its graph and packed.
constexpr double kWrittenBytesPerSecond = 3e8;
// The share of the remaining time for kernels; the rest is for writing and reserve.
constexpr double kShareOfKernels = 0.93;
// The share of products with denormal weights that counts as many (optimizer/facts/denormal_products.h).
constexpr double kManyDenormals = 2e-4;
constexpr double kShareOfFlush = 0.5, kMostOfFlush = 30;  // of the time, to see that they are slow

// Looks for kernels, and for a faster graph where kernels do not run all of the model, or gain little.
class JointSearch {
 public:
  JointSearch(const OptimizeFiles& files, const OptimizeOptions& options, OptimizeRun& run,
              const Model& model, const std::filesystem::path& scratch)
      : files_(files),
        options_(options),
        run_(run),
        model_(model),
        scratch_(scratch),
        kept_(files, options, model),
        folder_(std::filesystem::absolute(files.out).parent_path(), kPrefix) {}

  static constexpr std::string_view kPrefix = ".isomer-kernels";

  // The result, and the kernels that are a part of it.
  std::pair<isomer::Optimized, FoundKernels> find() {
    if (FoundKernels kept = find_kept(); kept.is_taken) return alone(std::move(kept));
    auto found = search_all();
    kept_.keep(found.second);
    return found;
  }

 private:
  std::pair<isomer::Optimized, FoundKernels> search_all() {
    FoundKernels first;
    std::optional<isomer::Optimized> flushed;
    if (has_slow_weights()) flushed = flush();
    if (!flushed || is_improved(*flushed)) first = find_first(flushed);
    if (first.is_enough()) return alone(std::move(first));
    const bool is_alone = first.was_tried && !first.is_taken;
    const double end = std::max((is_alone ? kShareOfGraphAlone : kShareOfGraph) * options_.seconds,
                                run_.spent() + kLeastOfGraph * left());
    // What is too short for more kernels is for the graph.
    if (run_.spent() + left() - end > kLeastOfFirst * first.seconds) run_.end_graph_at(end);
    isomer::Optimized graph = run_.find(model_.state(), files_.in, scratch_);
    if (flushed && is_improved(*flushed) && !is_faster(graph, *flushed)) graph = std::move(*flushed);
    FoundKernels second;
    if (left() > kLeastOfFirst * first.seconds) second = find_beside(graph, first);
    else second.reason = first.is_taken ? "there was no time for kernels for the faster graph" : first.reason;
    const double graph_ratio = graph.report.ratio ? graph.report.ratio->estimate : 1;
    const bool is_first_best = first.is_taken && first.ratio->low > graph_ratio &&
                               (!second.is_taken || first.ratio->estimate > second.ratio->estimate);
    FoundKernels& best = is_first_best ? first : second;
    take(best, graph);
    return {std::move(graph), std::move(best)};
  }

  // Without what a search for a graph would find.
  std::pair<isomer::Optimized, FoundKernels> alone(FoundKernels kernels) {
    isomer::Optimized whole = run_.keep(model_.state(), files_.in);
    take(kernels, whole);
    return {std::move(whole), std::move(kernels)};
  }

  double left() const {
    const auto bytes = static_cast<double>(bytes_of_constants(model_.state().model.graph));
    return options_.seconds - run_.spent() - 2 * bytes / kWrittenBytesPerSecond;
  }

  KernelSearch search(const char* folder, double seconds) const {
    const std::filesystem::path place = std::filesystem::path(folder_.path()) / folder;
    std::filesystem::create_directories(place);
    return {.model = model_,
            .sizes = run_.sizes(model_),
            .options = options_,
            .compiler = files_.compiler,
            .folder = place,
            .out = files_.out,
            .seconds = seconds,
            .known = known_};
  }

  static bool is_improved(const isomer::Optimized& found) {
    return found.report.result == OptimizeReport::Result::Improved;
  }
  static bool is_faster(const isomer::Optimized& a, const isomer::Optimized& b) {
    return is_improved(a) && a.report.ratio && a.report.ratio->estimate > b.report.ratio->estimate;
  }

  // The graph without denormal weights, if that is faster: they slow down kernels, too, and cost more than
  // kernels gain.
  isomer::Optimized flush() const {
    OptimizeOptions like = options_of_part(options_, run_.sizes(model_),
                                           std::min(kMostOfFlush, kShareOfFlush * options_.seconds));
    like.only = {std::string(kDenormals.name)};
    like.strategy = "greedy";
    like.rules.clear();
    // The first measurement that is sure is enough.
    std::stop_source enough;
    const std::stop_callback on_stop(options_.run.stop, [&] { enough.request_stop(); });
    like.run.stop = enough.get_token();
    like.on_best = [&](double) { enough.request_stop(); };
    OptimizeRun run(like);
    run.prepare(model_, like.inputs.sizes);
    isomer::Optimized found = run.find(model_.state(), files_.in, scratch_);
    if (!options_.run.stop.stop_requested()) found.report.search.stopped_by = StoppedBy::Done;
    return found;
  }

  bool has_slow_weights() const {
    const isomer::Graph& graph = model_.state().model.graph;
    if (kDenormals(graph, isomer::api::take(infer(graph))).list.empty()) return false;
    const std::vector<std::string> sizes = size_sets(run_.sizes(model_))[0];
    const LoadOptions at{.sizes = sizes, .sizes_from = files_.sizes_from, .operators = files_.operators};
    const Model sized = sizes.empty() ? model_ : load(files_.in, at);
    const isomer::Graph& at_sizes = sized.state().model.graph;
    const auto share = share_of_denormal_products(at_sizes, isomer::api::take(infer(at_sizes)));
    return share.value_or(0) > kManyDenormals;
  }

  // The result of the same command in an earlier run.
  FoundKernels find_kept() const {
    const KernelSearch wanted = search("kept", kShareOfFirst * options_.seconds - run_.spent());
    std::optional<FoundKernels> kept = kept_.find(wanted.folder, wanted.out);
    return kept ? confirm_kernels(wanted, std::move(*kept)) : FoundKernels();
  }

  void begin_with(const isomer::Optimized& graph, KernelSearch& wanted) const {
    wanted.found = run_.to_public(model_, graph).model;
    wanted.certificate = graph.certificate;
    if (const auto& ratio = graph.report.ratio) wanted.ratio = to_public(*ratio);
  }

  // Kernels for all that can be compiled, without timing parts of it.
  FoundKernels find_first(const std::optional<isomer::Optimized>& flushed) const {
    KernelSearch wanted = search("first", kShareOfFirst * options_.seconds - run_.spent());
    wanted.is_quick = true;
    if (flushed) begin_with(*flushed, wanted);
    const double start = run_.spent();
    FoundKernels found = find_kernels(wanted);
    found.seconds = run_.spent() - start;
    return found;
  }

  FoundKernels find_beside(const isomer::Optimized& graph, const FoundKernels& first) const {
    KernelSearch wanted = search("second", kShareOfKernels * left());
    wanted.sums = first.sums;
    if (is_improved(graph)) {
      begin_with(graph, wanted);
      wanted.is_for_runtime = std::ranges::any_of(graph.report.steps, [](const auto& step) {
        return step.kind == "fastpath" || step.kind == "bilinear";
      });
    }
    if (!options_.run.stop.stop_requested()) return find_kernels(wanted);
    FoundKernels none;
    none.reason = "Ctrl-C came before kernels were made";
    return none;
  }

  // Makes them a part of the result.
  void take(FoundKernels& kernels, isomer::Optimized& found) const {
    kernels.json["is_taken"] = kernels.is_taken;
    kernels.json["reason"] = kernels.reason;
    kernels.json["is_kept"] = kernels.is_kept;
    if (!kernels.is_taken) return;
    OptimizeReport& report = found.report;
    report.result = OptimizeReport::Result::Improved;
    report.reason.clear();
    report.ratio = isomer::Interval{kernels.ratio->estimate, kernels.ratio->low, kernels.ratio->high};
    report.sizes.clear();
    report.before.reset();
    report.after.reset();
    if (kernels.time) {
      report.before = RunCost{kernels.time->a_wall_ns, {}};
      report.after = RunCost{kernels.time->b_wall_ns, {}};
    }
    report.error_before.reset();
    report.error_after.reset();
    if (kernels.errors) {
      report.error_before = kernels.errors->runtime;
      report.error_after = kernels.errors->module;
    }
    found.certificate = kernels.certificate;
    const Certificate proof = isomer::api::take(parse_certificate(kernels.certificate));
    report.flushed = isomer::api::take(count_flushed(model_.state().model.graph, proof.steps));
  }

  const OptimizeFiles& files_;
  const OptimizeOptions& options_;
  OptimizeRun& run_;
  const Model& model_;
  const std::filesystem::path& scratch_;
  const KeptKernels kept_;
  const std::shared_ptr<KnownOutputs> known_ = std::make_shared<KnownOutputs>();
  const TemporaryFolder folder_;
};

// The result, with the paths of its files.
ReportJson tell_places(const FoundKernels& kernels, const OptimizedFiles& places) {
  const bool has_weights = kernels.is_taken && !kernels.weights.empty();
  ReportJson told = kernels.json;
  told["library"] = kernels.is_taken ? places.library().string() : "";
  told["weights"] = has_weights ? places.weights().string() : "";
  told["weight_bytes"] = has_weights ? std::filesystem::file_size(kernels.weights) : std::uintmax_t{0};
  return told;
}

void check_report_place(const std::filesystem::path& report, const OptimizedFiles& places) {
  if (report.empty()) return;
  take(wire::check_target(report, {}));
  for (const std::filesystem::path& other : {places.in, places.out, places.certificate})
    if (std::filesystem::weakly_canonical(report) == std::filesystem::weakly_canonical(other))
      throw Error(ErrorKind::BadInput, fmt::format("{} can't be the report, too", other.string()));
}

// The page about a run whose model and certificate are written.
void write_report(const OptimizeFiles& files, const OptimizeOptions& options, const OptimizedFiles& places,
                  const Model& model, const Optimized& found) {
  ReportOptions wanted{.optimized = found.json,
                       .certificate_file = places.certificate,
                       .measure = options.judge == Judge::Runtime,
                       .inputs = options.inputs,
                       .run = options.run};
  wanted.inputs.sizes = files.fix_sizes ? std::vector<std::string>{} : size_sets(options.inputs.sizes)[0];
  if (wanted.run.scratch.empty()) wanted.run.scratch = files.out.parent_path();
  save_text(report(model, load(files.out), found.certificate, wanted).html, files.report);
}

}  // namespace

Optimized optimize_file(const OptimizeFiles& files, const OptimizeOptions& options) {
  return guarded([&] {
    if (files.kernels) check_kernel_options(files, options);
    OptimizeRun run(options);
    OptimizedFiles places{.in = files.in, .out = files.out, .certificate = files.certificate};
    if (places.certificate.empty()) places.certificate = files.out.string() + ".cert";
    places.writes_unchanged = files.fix_sizes;
    places.version = version();
    places.wants_kernels = files.kernels;
    if (files.fix_sizes && size_sets(options.inputs.sizes).size() > 1)
      throw Error(ErrorKind::BadInput, "a model is fixed to one size, and --shape says several");
    const Model model = files.fix_sizes
                            ? run.prepare_fixed(files)
                            : load(files.in, {.sizes_from = files.sizes_from, .operators = files.operators});
    if (!files.fix_sizes) run.prepare(model, options.inputs.sizes);
    take(check_places(places));
    check_report_place(files.report, places);
    const std::filesystem::path scratch =
        options.run.scratch.empty() ? files.out : scratch_name(options.run.scratch);
    isomer::Optimized found;
    std::optional<JointSearch> joint;  // its files are there until they are written
    if (files.kernels) {
      TemporaryFolder::remove_stale(std::filesystem::absolute(files.out).parent_path(), JointSearch::kPrefix);
      joint.emplace(files, options, run, model, scratch);
      auto [best, kernels] = joint->find();
      found = std::move(best);
      run.set_kernels(tell_places(kernels, places));
      if (kernels.is_taken)
        places.kernels = KernelFiles{kernels.model, kernels.library, kernels.weights, processor_features()};
    } else {
      found = run.find(model.state(), files.in, scratch);
    }
    OptimizeReport& report = found.report;
    const bool is_wanted = report.result == OptimizeReport::Result::Improved || !files.require_gain;
    if (is_wanted) take(write_optimized(places, found));
    else report.bytes_out = report.bytes_in;
    if (places.kernels && !options.cache.empty() && !files.fix_sizes && files.operators.empty())
      keep_for_provider(options.cache, places, report.runtime_version);
    if (report.is_abandoned) wire::remove_own_outputs(files.out.parent_path());
    report.seconds = run.spent();
    Optimized out = run.to_public(model, std::move(found));
    if (places.kernels) out.model = load(files.out);
    if (is_wanted && !files.report.empty()) write_report(files, options, places, model, out);
    return out;
  });
}

}  // namespace isomer::api
