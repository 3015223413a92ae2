// A candidate of `compile`: the model as a module, or regions of it as operators of a runtime. Each is made
// with the first sums that are accurate enough, and measured against the runtime. Internal to compile.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/api/compile/against_runtime.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"
#include "compiler/cover/compile_cover.h"
#include "compiler/cover/operator_functions.h"
#include "compiler/emit/compile_module.h"
#include "compiler/loops/nest.h"

namespace isomer::api {

struct Candidate {
  std::optional<Model> model = {};      // as the runtime sees it
  std::vector<lower::Plan> plans = {};  // of its operators; none: it is the runtime's as a whole
  std::size_t functions = 0;
  std::string compiler = {};
  double compiler_seconds = 0;
  std::filesystem::path library = {};
  std::uint64_t library_bytes = 0;
  std::string sums = {};
  std::optional<Compiled::Errors> errors = {};
  std::optional<Interval> ratio = {};
  std::string note = {};                   // what a user should know of its outputs
  std::optional<Cover> cover = {};         // of which regions it is; nullopt: of the whole model
  std::vector<LocalFunction> bodies = {};  // what its operators compute, for a runtime without the library

  double speed() const { return ratio ? ratio->estimate : 1; }
};

Model to_public(isomer::Model model);

ReportJson to_json(const Interval& interval);
ReportJson to_json(const Candidate& made, const CompileRequest& request);

// How sums of products are added up, and what --sums calls it.
struct Sums {
  lower::Exactness exactness = lower::Exactness::Fast;
  const char* word = "";
};
// Those with at most a runtime's error, the fastest first.
std::span<const Sums> exact_sums();

class CandidateMaker {
 public:
  // `folder`: for files that don't stay.
  CandidateMaker(const Model& model, const std::filesystem::path& folder, const CompileOptions& options,
                 std::shared_ptr<KnownOutputs> known = std::make_shared<KnownOutputs>());

  const CompileRequest& request() const { return request_; }
  bool can_compare() const { return against_.has_value(); }
  const std::string& not_compared() const { return not_compared_; }  // why it can't
  void leave_unmeasured(std::string why) { not_compared_ = std::move(why); }

  // Runs the model alone: what the runtime refuses later is what was made of it.
  void try_model();
  Candidate whole(const Graph& graph, const std::filesystem::path& folder);
  // `timer`: gives the errors of regions if there is no float64 of the whole; may be null.
  Candidate covered(const CoverMaker& maker, const Cover& cover, const std::filesystem::path& folder,
                    RegionTimer* timer);
  // Whether outputs and rounding errors are as they should be. Throws Differs.
  bool is_exact_enough(Candidate& made) { return keeps_errors(made, {}); }
  void measure(Candidate& made, bool confirms = true);
  // Once more, for longer, where the first time left open whether it is faster by enough.
  void confirm(Candidate& made);
  bool is_surely_faster(const Candidate& made) const;
  // Schedules for whatever is made from now on.
  void take_tuned(lower::TunedLines lines) { request_.tuned = std::move(lines); }
  void take_exactness(lower::Exactness exactness) { request_.exactness = exactness; }
  // Does it, unless the runtime fails. If it has compared nothing yet, it never will, and that is no error.
  void ask(const std::function<void(AgainstRuntime&)>& question);

 private:
  Candidate exact_enough(const std::function<Candidate()>& make,
                         const std::function<std::optional<Compiled::Errors>()>& errors_of_parts);
  bool keeps_errors(Candidate& made, const std::function<std::optional<Compiled::Errors>()>& errors_of_parts);

  const CompileOptions& options_;
  StoppableLimit limit_;
  CompileRequest request_;
  std::optional<AgainstRuntime> against_;
  std::string not_compared_;
  bool has_compared_ = false;
};

}  // namespace isomer::api
