// `optimize --kernels`: adds kernels to the result of `optimize`, for regions of the model, or of one that is
// equal to it, if the whole is faster with 95 % confidence. The model has them as operators, and as local
// functions, so that it also runs and is proved equal without their library.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/api/compile/compile_operators.h"
#include "app/api/report_json.h"
#include "isomer/isomer.h"
#include "runtime/judge/judge.h"

namespace isomer::api {

// The graph's result must be written by then; files are in the given folder.
struct FoundKernels {
  bool is_taken = false;
  std::string reason = {};                          // why not
  std::filesystem::path model, library, weights{};  // "": it has none
  std::string certificate = {};                     // that the model is equal
  std::optional<Interval> ratio = {};               // to the model that was given, where it gains least
  std::optional<PairMeasurement> time = {};         // the same; nullopt: Ctrl-C came before
  std::optional<Compiled::Errors> errors = {};
  ReportJson json;
  bool was_tried = false;                          // time is not the reason why they are not taken
  bool is_whole = false;                           // all of the model runs on kernels
  double seconds = 0;                              // that it took
  bool is_graph_cut = false;                       // the time ended the search for a graph with less work
  lower::Exactness sums = lower::Exactness::Fast;  // the least exact that may keep errors
  bool is_kept = false;                            // they are of an earlier run

  // Whether a longer search is worth little.
  bool is_enough() const { return is_taken && is_whole && !is_graph_cut && ratio->low >= kEnoughGain; }
};

struct KernelSearch {
  const Model& model;
  // The result of the graph search, with its certificate; nullopt: none.
  std::optional<Model> found = {};
  std::string certificate = {};
  std::optional<Interval> ratio = {};  // of it, as it was measured
  // Whether it has what helps the runtime's kernels alone, and may be in the way of ours.
  bool is_for_runtime = false;
  std::vector<std::string> sizes = {};  // of all inputs that the model leaves open; sets of them, as --shape
  const OptimizeOptions& options;
  std::string compiler = {};
  std::filesystem::path folder;  // for files; what is taken stays in it
  std::filesystem::path out;     // what the model will be called
  double seconds = 0;            // for all of it
  // Only kernels for all that can be compiled at once, at every size: no region is timed.
  bool is_quick = false;
  lower::Exactness sums = lower::Exactness::Fast;  // no sums that are less exact are tried
  std::shared_ptr<KnownOutputs> known = std::make_shared<KnownOutputs>();
};
// Never throws for what a model, a runtime or a compiler does: that is a reason.
FoundKernels find_kernels(const KernelSearch& search);
// The same of kernels that are there: they are proved and measured again.
FoundKernels confirm_kernels(const KernelSearch& search, FoundKernels kept);

// Why kernels are not made for such options; throws ErrorKind::BadInput.
void check_kernel_options(const OptimizeFiles& files, const OptimizeOptions& options);

}  // namespace isomer::api
