#include "pipeline/optimize.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <set>

#include "onnx/model.h"
#include "onnx/write_file.h"
#include "propose/list.h"
#include "prove/shrink.h"

namespace isomer {
namespace {

constexpr double kLeastGain = 1.02;
constexpr std::uintmax_t kFreeGrowth = 16u << 20u;
constexpr double kMostReferenceOperations = 3e9;

class Clockwork {
 public:
  explicit Clockwork(const OptimizeRequest& request) : request_(request) {}
  // Why to stop now, or "".
  std::string stopped(std::int64_t steps) const {
    if (request_.stop != nullptr && *request_.stop) return "interrupt";
    if (steps >= request_.steps || spent() > request_.seconds) return "budget";
    return "";
  }
  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const OptimizeRequest& request_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int operator_count(const Graph& graph) { return static_cast<int>(graph.operator_count()); }

// Proposes, proves and folds until nothing new is proved.
class Search {
 public:
  Search(const OptimizeRequest& request, const Clockwork& clock, OptimizeReport& report)
      : request_(request), clock_(clock), report_(report) {}

  Result<Graph> run(Graph graph) {
    bool progress = true;
    while (progress) {
      progress = false;
      ISOMER_TRY(const Inference inference, infer(graph));
      const Proposals found =
          propose_all(graph, inference, {.any_price = request_.any_price, .without = request_.without});
      report_.declined = found.declined;
      for (const Proposal& p : found.list) {
        if (report_.stopped_by = clock_.stopped(tried_); !report_.stopped_by.empty()) return graph;
        const std::string key = p.kind + " " + p.claim.outputs[0] + " " + p.claim.inputs[0];
        if (!request_.measure && !request_.any_price && p.gain <= 0) continue;
        if (!seen_.insert(key).second) continue;
        ++tried_;
        request_.progress(fmt::format("proving: {}", p.what));
        if (auto next = take(graph, p)) {
          graph = std::move(*next);
          progress = true;
        }
      }
    }
    report_.stopped_by = "done";
    return graph;
  }
  Certificate certificate;

 private:
  std::optional<Graph> take(const Graph& graph, const Proposal& p) {
    const auto proved = prove_claim(graph, p.claim, {.key = request_.seed, .refute = false}, &proofs_);
    if (const auto* why = std::get_if<std::string>(&proved)) {
      report_.refused.push_back(p.what + ": " + *why);
      return std::nullopt;
    }
    const Graph& with_program = std::get<ProvedStep>(proved).result();
    auto folded = fold_constants(with_program, p.folds);
    if (!folded.ok()) {
      report_.refused.push_back(p.what + ": " + folded.error().message);
      return std::nullopt;
    }
    certificate.steps.emplace_back(p.claim);
    certificate.steps.emplace_back(FoldStep{p.folds});
    certificate.notes.push_back({.kind = p.kind, .what = p.what});
    report_.told.push_back(p.what);
    const int fewer = operator_count(graph) - operator_count(*folded);
    for (OptimizeReport::Kind& k : report_.steps) {
      if (k.kind != p.kind) continue;
      ++k.count;
      k.nodes += fewer;
      return std::move(*folded);
    }
    report_.steps.push_back({.kind = p.kind, .count = 1, .nodes = fewer});
    return std::move(*folded);
  }

  const OptimizeRequest& request_;
  const Clockwork& clock_;
  OptimizeReport& report_;
  std::set<std::string> seen_;
  ProofCache proofs_;
  std::int64_t tried_ = 0;
};

// max |y - y64| / max |y64|, the worst output.
std::optional<double> error_of(const NamedTensors& outputs, const NamedTensors& exact) {
  double worst = 0;
  for (const auto& [name, right] : exact) {
    const auto at = outputs.find(name);
    if (at == outputs.end()) return std::nullopt;
    const auto y = at->second.doubles(), z = right.doubles();
    if (!y || !z || y->size() != z->size()) return std::nullopt;
    double scale = 0, gap = 0;
    for (std::size_t i = 0; i < y->size(); ++i) {
      if (!std::isfinite((*z)[i])) continue;
      scale = std::max(scale, std::abs((*z)[i]));
      const double d = std::abs((*y)[i] - (*z)[i]);
      gap = std::isfinite(d) ? std::max(gap, d) : HUGE_VAL;
    }
    if (scale > 0) worst = std::max(worst, gap / scale);
  }
  return worst;
}

bool affordable(const Graph& graph, const NamedTensors& feeds) {
  InferOptions options;
  for (const auto& [name, tensor] : feeds) options.shapes.emplace(name, tensor.extents());
  const auto info = infer(graph, options);
  if (!info.ok()) return false;
  const auto price = operations(graph, *info);
  return price && *price < kMostReferenceOperations;
}

// Why the new model is not taken, or "".
class Guard {
 public:
  Guard(const OptimizeRequest& request, OptimizeReport& report, std::filesystem::path candidate)
      : request_(request), report_(report), candidate_(std::move(candidate)) {}

  Result<std::string> objection(const Graph& original) {
    const auto allowed = std::max(
        static_cast<std::uintmax_t>(static_cast<double>(report_.bytes_in) * request_.max_size_growth),
        report_.bytes_in + kFreeGrowth);
    if (report_.bytes_out > allowed)
      return fmt::format("it would grow from {} to {} bytes", report_.bytes_in, report_.bytes_out);
    if (!request_.measure) return std::string();
    request_.progress("starting the runtime");
    auto judge = Judge::start(request_.worker);
    if (!judge.ok()) return to_error(judge.error());
    const auto before = ModelSource::file(request_.in.string()),
               after = ModelSource::file(candidate_.string());
    const auto first = (*judge)->run(before, request_.feeds, request_.runtime);
    if (!first.ok()) return "the runtime does not run the original: " + first.error().what;
    if (const auto loads = (*judge)->check_loads(after, request_.runtime); !loads.ok())
      return "the runtime does not load the result: " + loads.error().what;
    const auto second = (*judge)->run(after, request_.feeds, request_.runtime);
    if (!second.ok()) return "the runtime does not run the result: " + second.error().what;
    if (affordable(original, request_.feeds)) {
      request_.progress("evaluating the original in float64");
      const auto exact = interpret(original, request_.feeds, Arithmetic::Double);
      if (exact.ok() && !exact->opaque) {
        report_.error_before = error_of(*first, exact->outputs);
        report_.error_after = error_of(*second, exact->outputs);
      }
    }
    if (report_.error_before && report_.error_after &&
        *report_.error_after > std::max(request_.max_error_growth * *report_.error_before, 1e-6))
      return fmt::format("its error would be {:.1e} instead of {:.1e}", *report_.error_after,
                         *report_.error_before);
    auto feeds = SharedFeeds::make(request_.feeds);
    if (!feeds.ok()) return to_error(feeds.error());
    const auto measured = (*judge)->measure_pair(
        before, after, *feeds, {.runtime = request_.runtime, .seed = request_.seed},
        [&](const MeasureProgress& now) {
          request_.progress(fmt::format("measuring the whole model, {:.0f} %{}", 100 * now.share,
                                        now.ratio ? fmt::format(", {:.3f}", now.ratio->estimate) : ""));
        });
    if (!measured.ok()) return "it could not be measured: " + measured.error().what;
    report_.ratio = measured->ratio;
    if (measured->ratio.low <= kLeastGain)
      return fmt::format("it is not faster: {:.3f} [{:.3f}, {:.3f}]", measured->ratio.estimate,
                         measured->ratio.low, measured->ratio.high);
    return std::string();
  }

 private:
  const OptimizeRequest& request_;
  OptimizeReport& report_;
  std::filesystem::path candidate_;
};

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  return a.lexically_normal() == b.lexically_normal() || std::filesystem::equivalent(a, b, error);
}

// The new model beside OUT, under a name that goes with this object.
class Candidate {
 public:
  static Result<Candidate> write(const Model& model, const std::filesystem::path& out) {
    ISOMER_TRY(wire::OutputFile lease, wire::OutputFile::create(out));
    Candidate made(std::move(lease));
    ISOMER_TRY_DO(write_model(model, made.path()));
    return made;
  }
  Candidate(Candidate&&) noexcept = default;
  Candidate& operator=(Candidate&&) = delete;
  ~Candidate() {
    if (lease_.temporary().empty()) return;
    std::error_code error;
    std::filesystem::remove(path(), error);
    std::filesystem::remove(path().string() + ".data", error);
  }
  std::filesystem::path path() const {
    return std::filesystem::path(lease_.temporary()).replace_extension(".onnx");
  }

 private:
  explicit Candidate(wire::OutputFile lease) : lease_(std::move(lease)) {}
  wire::OutputFile lease_;  // locked: nobody takes the file for one that was left behind
};

std::uintmax_t bytes_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto model = std::filesystem::file_size(path, error);
  return error ? 0 : model;
}

}  // namespace

Result<OptimizeReport> optimize(const OptimizeRequest& request) {
  OptimizeReport report;
  const Clockwork clock(request);
  if (is_same_file(request.in, request.out)) return Error{"the output is the input's own file"};
  if (is_same_file(request.in, request.certificate) || is_same_file(request.out, request.certificate))
    return Error{"the certificate needs a file of its own"};
  ISOMER_TRY(Model model, read_model(request.in));
  wire::remove_stale_outputs(request.out.parent_path());
  report.bytes_in = bytes_of(request.in);

  Search search(request, clock, report);
  ISOMER_TRY(Graph best, search.run(model.graph));
  Model changed = model;
  if (search.certificate.steps.empty()) {
    report.reason = report.refused.empty() ? "nothing to collapse was found" : "no proposal was proved";
  } else {
    changed.graph = std::move(best);
    ISOMER_TRY(const Candidate candidate, Candidate::write(changed, request.out));
    report.bytes_out = bytes_of(candidate.path());
    ISOMER_TRY(report.reason, Guard(request, report, candidate.path()).objection(model.graph));
  }
  report.improved = report.reason.empty();
  Certificate certificate = report.improved ? search.certificate : Certificate{};
  if (!report.improved) report.steps.clear();
  if (report.ratio && report.improved)
    certificate.notes.push_back({"measured", "the whole model", report.ratio->estimate});
  report.certificate = request.certificate;
  // The certificate is on the disk before OUT is, so that a full one leaves neither.
  ISOMER_TRY(wire::OutputFile proof, wire::written_output(request.certificate, to_text(certificate)));
  ISOMER_TRY_DO(report.improved ? write_model(changed, request.out)
                                : copy_model(model, request.in, request.out));
  ISOMER_TRY_DO(proof.rename());
  report.bytes_out = bytes_of(request.out);
  return report;
}

}  // namespace isomer
