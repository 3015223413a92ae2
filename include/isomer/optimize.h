// A faster model, proved equal; the page that shows its changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "isomer/model.h"

namespace isomer::api {

// ---- A faster model

enum class Judge : int {
  Runtime = 0,  // by measuring: a result must be faster with 95 % confidence
  Cost = 1,     // an analytic cost, which measures nothing
  Any = 2,      // whatever is proved is taken, also what costs more: for tests of the proposers
  Nodes = 3,    // the analytic cost, and only what leaves fewer nodes
};

// The names that OptimizeOptions::without and ::only may have.
ISOMER_API std::vector<std::string> proposers();

struct OptimizeOptions {
  double seconds = 300;  // for all of it; a proof that can't be interrupted may end a little later
  Judge judge = Judge::Runtime;
  double min_gain = 1.02;                      // the lower end of the gain's 95 % interval must exceed it
  double max_error_growth = 2;                 // rounding error against float64, compared with the original's
  std::optional<double> max_size_growth = {};  // nullopt: 1.1, or 16 MiB more where that is larger
  bool simplify = false;                       // keep what is simpler and not slower, where nothing is faster
  std::string strategy = "greedy";             // or "backtrack:ALPHA", "saturate"
  std::vector<std::string> without = {};       // proposers that are not used
  std::vector<std::string> only = {};          // the only proposers that are used; empty: all
  // Rules of the user (docs/reference/rules.md): a file, or a folder of files *.rules; "": none. Each is
  // decided first; those that are not refuted are for the proposer `user`.
  std::filesystem::path rules = {};
  std::int64_t steps = 0;            // proposals to try, for repeatable runs; 0: as time allows
  std::filesystem::path cache = {};  // what was measured before; "": nothing is remembered
  double cache_mebibytes = 0;        // the oldest of it is forgotten beyond this size; 0: no limit
  // A store of plans (docs/guides/plans.md): what others found for the same blocks is proved and measured
  // first, and what is found is written there; "": none.
  std::filesystem::path plans = {};
  Progress notice = {};  // what is known before the search and worth saying now: a rule that is false
  std::function<void(double)> on_best = {};  // gets the speedup of the best so far; called as progress
  // A proof can't be interrupted. true: where one takes too long, it is not waited for; its thread still runs
  // (Optimized::leaves_thread), and the process should end soon, by std::_Exit.
  bool may_leave_thread = false;
  Inputs inputs = {};
  Run run = {};
};

struct Optimized {
  enum class Result : int { Unchanged = 0, Improved = 1, Simplified = 2 } result = Result::Unchanged;
  std::string reason = {};             // why it is not improved; or ""
  Model model;                         // the one that was given, if it is unchanged
  std::string certificate = {};        // for `check` and for the program isomer-check
  std::optional<Interval> ratio = {};  // latency(before) / latency(after), if it was measured
  struct AtSize {
    std::string size;  // "x=1x3x224x224"
    Interval ratio;
  };
  std::vector<AtSize> sizes = {};  // of several sizes, each that was measured; the first has `ratio`
  struct Side {
    std::uint64_t nodes = 0, bytes = 0;           // bytes: of the file and its weights; 0: it is no file
    std::optional<Interval> latency_ns = {};      // of one run; nullopt: not measured
    std::optional<std::int64_t> peak_bytes = {};  // the most memory that it used
    std::optional<double> error = {};  // of rounding, against float64; a share of the largest value
  };
  Side before = {}, after = {};  // the model that was given, and the result
  struct Change {
    std::string kind, words;           // the proposer's name; what became what
    int places = 0, fewer_nodes = 0;   // places: of equal changes
    std::optional<double> ratio = {};  // speedup of one of them, measured alone
  };
  std::vector<Change> changes = {};  // empty if it is unchanged
  std::uint64_t flushed = 0;         // denormal numbers of weights that are zero in the result
  struct Advice {
    std::string option, value, why;  // an option of the runtime
    Interval ratio;                  // speedup of the given model with it
  };
  std::vector<Advice> advice = {};
  enum class StoppedBy : int { Done = 0, Budget = 1, Interrupt = 2 } stopped_by = StoppedBy::Done;
  double seconds = 0;          // of all of it
  bool leaves_thread = false;  // see OptimizeOptions::may_leave_thread
  std::string json = {};       // what `isomer optimize --json` prints: all this, and how the search went
};
ISOMER_API Optimized optimize(const Model& model, const OptimizeOptions& options = {});

struct OptimizeFiles {
  std::filesystem::path in, out;
  std::string operators = {};              // as in LoadOptions
  int sizes_from = 1;                      // as in LoadOptions
  std::filesystem::path certificate = {};  // "": OUT.cert
  bool fix_sizes = false;                  // a model for one size: options.sizes, and others are found
  bool require_gain = false;               // nothing is written unless the result is faster
  std::filesystem::path report = {};       // where a page about it goes, as `report` makes it; "": nowhere
  // Also kernels of ONNX Runtime for regions of the model that are faster so: a library OUT.kernels.so (with
  // OUT's name without its ending) and its weights, OUT.kernels.weights. `out` has them as functions of its
  // own, so that it runs, and is proved equal, without the library, too; metadata says which library it is.
  bool kernels = false;
  std::string compiler = {};  // of C++, for kernels; "": $CXX, else clang++ or g++ of $PATH
};
// The same from file to file: the model and its certificate are written, or neither. `seconds` are those of
// reading and writing, too; `scratch`, if it is "", is the folder of `out`.
ISOMER_API Optimized optimize_file(const OptimizeFiles& files, const OptimizeOptions& options = {});

// ---- A page that shows what was done

struct ReportOptions {
  std::string optimized = {};  // Optimized::json of the run that made it; "": none, and less is shown
  std::filesystem::path certificate_file = {};  // its name in the page's command for checking
  bool measure = true;  // measure the time of each node on the runtime; if that fails, use an analytic cost
  Inputs inputs = {};
  Run run = {};
};

struct Report {
  std::string html = {};     // one file that fetches nothing
  bool is_measured = false;  // its widths are times
  std::string why = {};      // why widths are not times although options require it
  std::string json = {};     // what `isomer report --json` prints
};
// The changes of a certificate from `in` to `out`: which nodes became which, by which law, and their times.
// The models are compared with the certificate's digests; nothing is proved again: `check` does that.
ISOMER_API Report report(const Model& in, const Model& out, std::string_view certificate,
                         const ReportOptions& options = {});

}  // namespace isomer::api
