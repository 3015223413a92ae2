#include "app/api/compile/compile_candidate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>

#include "app/api/errors.h"
#include "app/api/model_state.h"

namespace isomer::api {
namespace {

using lower::Exactness;
namespace fs = std::filesystem;

constexpr std::array kWays{Sums{Exactness::Fast, "fast"}, Sums{Exactness::ShortSums, "short"},
                           Sums{Exactness::SmallTiles, "F(2,3)"}, Sums{Exactness::Direct, "direct"},
                           Sums{Exactness::Bfloat16, kBfloat16}};

bool has_winograd(const std::vector<lower::Plan>& plans) {
  return std::ranges::any_of(plans, [](const lower::Plan& plan) {
    return std::ranges::any_of(plan.nests, [](const lower::Nest& n) { return n.winograd.has_value(); });
  });
}

}  // namespace

Model to_public(isomer::Model model) {
  return Model(std::make_shared<Model::State>(Model::State{.model = std::move(model)}));
}

std::span<const Sums> exact_sums() { return std::span(kWays).first(kWays.size() - 1); }

std::vector<std::string> sums_of_products() {
  std::vector<std::string> words;
  for (const Sums& way : kWays)
    if (way.exactness != Exactness::Bfloat16) words.emplace_back(way.word);
  return words;
}

ReportJson to_json(const Interval& i) { return {{"ratio", i.estimate}, {"low", i.low}, {"high", i.high}}; }

ReportJson to_json(const Candidate& made, const CompileRequest& request) {
  std::size_t nests = 0, tiled = 0, winograd = 0;
  std::int64_t tensors = 0, workspace = 0, thread_workspace = 0, greedy = 0, least = 0, weights = 0;
  std::string batch;
  std::vector<std::string> sizes;
  for (const lower::Plan& plan : made.plans) {
    for (const lower::OpenSize& size : plan.sizes.open) sizes.push_back(size.name);
    if (!plan.batch.empty()) batch = plan.batch;
    for (const lower::Storage& buffer : plan.buffers)  // all that is in the workspace at some time
      if (buffer.kind == lower::Storage::Kind::Local && buffer.offset >= 0)
        tensors += plan.sizes.usual(lower::byte_size(buffer));
    for (const lower::Nest& nest : plan.nests) {
      tiled += nest.tile ? 1 : 0;
      winograd += nest.winograd ? 1 : 0;
    }
    nests += plan.nests.size();
    workspace += plan.workspace;
    thread_workspace += lower::thread_bytes(plan);
    greedy += plan.greedy_workspace;
    least += plan.least_workspace;
    weights += plan.weights;
  }
  return {{"target", request.target},
          {"compiler", made.compiler},
          {"compiler_ms", made.compiler_seconds * 1000},
          {"nests", nests},
          {"tiled", tiled},
          {"winograd", winograd},
          {"functions", made.functions},
          {"threads", request.threads},
          {"workspace_bytes", workspace},
          {"thread_workspace_bytes", thread_workspace},
          {"open_sizes", sizes},
          {"batch", batch.empty() ? ReportJson(nullptr) : ReportJson(batch)},
          {"greedy_workspace_bytes", greedy},
          {"least_workspace_bytes", least},
          {"tensor_bytes", tensors},
          {"weight_bytes", weights},
          {"library_bytes", made.library_bytes}};
}

CandidateMaker::CandidateMaker(const Model& model, const fs::path& folder, const CompileOptions& options,
                               std::shared_ptr<KnownOutputs> known)
    : options_(options), limit_(options.run.stop) {
  request_ = {.folder = folder,
              .name = options.name,
              .target = options.target,
              .compiler = options.compiler,
              .sizes = options.inputs.sizes,
              .schedules = options.schedules,
              .threads = options.threads,
              .objects = options.objects,
              .limit = limit_.limit()};
  if (options.seconds == 0) not_compared_ = "--seconds is 0";
  else if (!runs_here(options.target)) not_compared_ = options.target + " does not run here";
  else against_.emplace(model, options, folder, std::move(known));
}

void CandidateMaker::ask(const std::function<void(AgainstRuntime&)>& question) {
  if (!against_) return;
  try {
    question(*against_);
  } catch (const Error& e) {
    if (options_.run.stop.stop_requested()) throw Error(ErrorKind::Stopped, "it was stopped");
    if (e.kind() != ErrorKind::Runtime || has_compared_) throw;
    not_compared_ = e.what();
    against_.reset();
  }
}

void CandidateMaker::try_model() {
  ask([&](AgainstRuntime& against) {
    against.try_model();
    has_compared_ = true;
  });
}

void CandidateMaker::measure(Candidate& made, bool confirms) {
  ask([&](AgainstRuntime& against) {
    made.ratio = against.ratio(*made.model, made.library, options_.seconds, confirms);
    has_compared_ = true;
  });
}

bool CandidateMaker::is_surely_faster(const Candidate& made) const {
  return made.ratio && made.ratio->low > options_.min_gain;
}

void CandidateMaker::confirm(Candidate& made) {
  // As a multiple of --seconds. Models of half a second a run then have six rounds, which show a gain of a
  // fifth.
  constexpr double kLonger = 6;
  const bool is_open = made.ratio && !is_surely_faster(made) && made.ratio->estimate > options_.min_gain;
  if (!is_open) return;
  ask([&](AgainstRuntime& against) {
    made.ratio = against.ratio(*made.model, made.library, kLonger * options_.seconds);
  });
}

bool CandidateMaker::keeps_errors(Candidate& made,
                                  const std::function<std::optional<Compiled::Errors>()>& errors_of_parts) {
  ask([&](AgainstRuntime& against) {
    const std::string difference = against.difference(*made.model, made.library);
    made.note = against.note();
    if (options_.max_error_growth > 0) {
      made.errors = against.errors(*made.model, made.library);
      if (!made.errors && errors_of_parts) made.errors = errors_of_parts();
    }
    // A model that makes rounding errors large: how far both are from float64 decides.
    if (!difference.empty() && !made.errors) against.need_usual_sensitivity(difference);
  });
  return !against_ || !made.errors || made.errors->kept;
}

Candidate CandidateMaker::exact_enough(
    const std::function<Candidate()>& make,
    const std::function<std::optional<Compiled::Errors>()>& errors_of_parts) {
  Candidate made;
  bool is_made = false;
  for (const Sums& way : kWays) {
    if (options_.sums.empty() ? way.exactness == Exactness::Bfloat16 : options_.sums != way.word) continue;
    // A model that was not accurate enough as a whole won't be in parts.
    if (way.exactness < request_.exactness) continue;
    // Without Winograd, the rest is the same.
    if (is_made && way.exactness > Exactness::ShortSums && !has_winograd(made.plans)) break;
    if (options_.run.progress) options_.run.progress(fmt::format("compiling, sums {}", way.word));
    request_.exactness = way.exactness;
    made = make();
    made.sums = way.word;
    is_made = true;
    if (keeps_errors(made, errors_of_parts)) break;
  }
  return made;
}

Candidate CandidateMaker::whole(const Graph& graph, const fs::path& folder) {
  const auto make = [&] {
    CompileRequest request = request_;
    request.folder = folder;
    CompiledModule module = take(compile_module(graph, request));
    if (against_) against_->take_sizes(module.texts.plan);
    Candidate out{.model = to_public(take(operator_model(module.texts.plan, options_.name))),
                  .functions = module.texts.functions,
                  .compiler = module.compiler,
                  .compiler_seconds = module.compiler_seconds,
                  .library = module.library,
                  .library_bytes = module.library_bytes};
    out.plans.push_back(std::move(module.texts.plan));
    return out;
  };
  return exact_enough(make, {});
}

Candidate CandidateMaker::covered(const CoverMaker& maker, const Cover& cover, const fs::path& folder,
                                  RegionTimer* timer) {
  CoverMaker::Built built;
  const auto make = [&] {
    CompileRequest request = request_;
    request.folder = folder;
    built = take(maker.build(cover, request));
    Candidate out{.model = to_public(built.model),
                  .functions = built.library.functions,
                  .compiler = built.library.compiler,
                  .compiler_seconds = built.library.compiler_seconds,
                  .library = built.library.library,
                  .library_bytes = built.library.library_bytes,
                  .cover = cover};
    for (std::size_t k = 0; k < built.programs.size(); ++k) {
      out.plans.push_back(built.library.regions[k].plan);
      out.bodies.push_back(function_of(built.programs[k], built.library.regions[k].op));
    }
    return out;
  };
  // The region that is the farthest from what is allowed.
  const auto errors_of_parts = [&]() {
    std::optional<Compiled::Errors> worst;
    double most = -1;
    for (std::size_t k = 0; k < built.programs.size(); ++k) {
      const auto errors = take(
          timer->errors(maker.cut(), built.programs[k], built.library.regions[k], built.library.library));
      if (!errors) continue;
      const double share = errors->after / errors->allowed(options_.max_error_growth);
      if (share <= most) continue;
      most = share;
      worst = {errors->after, errors->before, errors->within(options_.max_error_growth)};
    }
    return worst;
  };
  return timer == nullptr ? exact_enough(make, {}) : exact_enough(make, errors_of_parts);
}

}  // namespace isomer::api
