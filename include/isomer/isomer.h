// Isomer as a library, for C++20: makes ONNX models faster and proves that they compute the same.
//
//   auto model = isomer::api::load("model.onnx");
//   auto faster = isomer::api::optimize(model);
//   isomer::api::save(faster.model, "faster.onnx");
//
// A failure is thrown as an Error; an answer ("undecided", "not faster") is a value. No function prints or
// ends the process. None leaves a thread behind, except optimize with may_leave_thread in its options.
// Functions may be called from many threads at once, also with the same model.
// docs/reference/cpp.md states the promises about later versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#ifndef ISOMER_API
#if defined(__GNUC__)
#define ISOMER_API __attribute__((visibility("default")))
#else
#define ISOMER_API
#endif
#endif

namespace isomer::api {

// The version of the loaded library: "0.2.0".
ISOMER_API std::string_view version() noexcept;

enum class ErrorKind : int {
  BadInput = 1,     // a file, an option or an argument is at fault
  NotModelled = 2,  // the model has a node that has no meaning here, or no certain one
  Runtime = 3,      // the runtime is not there, refuses the model, or died of it
  OutOfMemory = 4,
  Internal = 5,  // a bug of Isomer's
  Stopped = 6,   // by the caller, where nothing can be given back
};

class ISOMER_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string node = {}, std::string attribute = {});
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& node() const noexcept { return node_; }            // "": none to name
  const std::string& attribute() const noexcept { return attribute_; }  // of the node; "": none to name

 private:
  ErrorKind kind_;
  std::string node_, attribute_;
};

// A node of the model has no meaning here, so that it can't be run: ErrorKind::NotModelled.
class ISOMER_API NotModelledError : public Error {
 public:
  NotModelledError(std::string node, std::string op, std::string reason);
  NotModelledError(const NotModelledError&) = default;
  NotModelledError& operator=(const NotModelledError&) = default;
  ~NotModelledError() override;
  const std::string& op() const noexcept { return op_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string op_, reason_;
};

// ---- Models

// A model that was read or made; it never changes, and copies are cheap.
class ISOMER_API Model {
 public:
  Model(const Model&);
  Model(Model&&) noexcept;
  Model& operator=(const Model&);
  Model& operator=(Model&&) noexcept;
  ~Model();

  struct State;
  explicit Model(std::shared_ptr<const State> state);  // Isomer's own
  const State& state() const;

 private:
  std::shared_ptr<const State> state_;
};

// Sizes are "x=1x3x224x224" (an input) or "batch=8" (a dimension that inputs name). Where inputs are made up,
// those that are not given are found: docs/guides/sizes.md.
struct LoadOptions {
  std::vector<std::string> sizes = {};   // the model at these: another model, for these sizes only
  std::vector<std::string> values = {};  // inputs that have one value, "sr=16000": the model without them
  // Other sizes are 1 for a first axis and 128 for others, or what the model's constants demand.
  bool assume_sizes = false;
  // Sizes that stay open are at least this, 0 or 1, in all that is proved of the model
  // (docs/concepts/equality.md).
  int sizes_from = 1;
  // Shape and formula of custom operators, as text (docs/guides/custom-operator.md): this model uses them
  // like all others, and certificates carry them as assumptions. ErrorKind::BadInput, with line and column.
  std::string operators = {};
};

// External data is looked for beneath the model's own folder. The file must stay as it is while the model is
// used: one that has changed is refused.
ISOMER_API Model load(const std::filesystem::path& path, const LoadOptions& options = {});

// Two models at the same sizes, with the same custom operators; a name that only one of them has is no
// mistake. LoadOptions::assume_sizes is ignored.
struct ModelPair {
  Model a, b;
};
ISOMER_API ModelPair load_pair(const std::filesystem::path& a, const std::filesystem::path& b,
                               const LoadOptions& options = {});

// Whole or not at all; the weights of large models beside it, in PATH.data. A model that was loaded and not
// changed is written byte by byte as it was.
ISOMER_API void save(const Model& model, const std::filesystem::path& path);

// ---- Tensors

// Numbered as ONNX numbers them (TensorProto.DataType); types without a name here are possible.
enum class ElementType : std::int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  BFloat16 = 16,
};

struct Tensor {
  ElementType type = ElementType::Undefined;
  std::vector<std::int64_t> shape = {};
  std::vector<std::byte> bytes = {};  // row-major, little-endian
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

// npz files, as numpy.savez writes and numpy.load reads them.
ISOMER_API Tensors load_tensors(const std::filesystem::path& path);
ISOMER_API void save_tensors(const Tensors& tensors, const std::filesystem::path& path);

ISOMER_API std::string_view name(ElementType type) noexcept;  // "float", "int64"
// The elements as numbers; nullopt: they are none, or the bytes don't fit the shape.
ISOMER_API std::optional<std::vector<double>> numbers(const Tensor& tensor);

// ---- What a model is

struct Port {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::optional<std::vector<std::string>> shape = {};  // "3", "batch"; nullopt: the rank is not known
};

struct Inspection {
  std::int64_t ir_version = 0;
  std::map<std::string, int> opsets = {};  // by domain; "" is ONNX's own
  std::uint64_t nodes = 0;
  std::vector<Port> inputs = {}, outputs = {};
  std::uint64_t float_nodes = 0, float_nodes_defined = 0;  // that have a meaning here
  struct Opaque {
    std::string node, op, reason;
  };
  std::vector<Opaque> opaque = {};         // nodes that have none
  std::optional<std::int64_t> flops = {};  // nullopt: sizes are not known, or too many
  std::uint64_t weight_bytes = 0;
  std::string json = {};  // what `isomer inspect --json` prints
};

// At these sizes, where they matter.
ISOMER_API Inspection inspect(const Model& model, const std::vector<std::string>& sizes = {});

// ---- Runtimes, always in a process of their own (isomer-worker)

struct RuntimeOptions {
  std::string name = "ort";  // or "openvino"
  std::filesystem::path library =
      {};  // of the runtime; "": $ISOMER_ORT_LIBRARY (or _OPENVINO_), else that of the Python package
  std::filesystem::path worker =
      {};  // the program; "": $ISOMER_WORKER, else isomer-worker beside this program or in this library's bin
  int threads = 1;                         // 0: as many as the runtime likes
  std::string optimization_level = "all";  // of ONNX Runtime's own passes: none, basic, extended, all
  std::vector<std::string> disabled_optimizers = {}, custom_op_libraries = {};
  std::map<std::string, std::string> config = {};  // as the runtime spells it
  double memory_gib = 0;                           // 0: three quarters of the machine's
  double call_seconds = 600;                       // until one call counts as a hang
};

// The names that RuntimeOptions::name may have here.
ISOMER_API std::vector<std::string> runtimes();

enum class Engine : int { Reference = 0, ReferenceInDouble = 1, Runtime = 2 };

struct RunOptions {
  Engine engine = Engine::Reference;  // the operators' own formulas: slow, and what "equal" is about
  RuntimeOptions runtime = {};        // of Engine::Runtime
  std::stop_token stop = {};          // ErrorKind::Stopped; formulas are not interrupted
};
ISOMER_API Tensors run(const Model& model, const Tensors& feeds, const RunOptions& options = {});

// ---- A faster model

// What is going on: "proving: 5 nodes are one convolution". Called while the function works, one call at a
// time, and maybe by another thread; it should return soon and must not throw.
using Progress = std::function<void(std::string_view now)>;

struct Interval {
  double estimate = 0, low = 0, high = 0;  // 95 %
};

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
  std::int64_t steps = 0;  // proposals to try, for repeatable runs; 0: as time allows
  std::uint64_t seed = 1;
  std::optional<Tensors> feeds = {};      // to measure with; nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  RuntimeOptions runtime = {};
  std::filesystem::path cache = {};  // what was measured before; "": nothing is remembered
  double cache_mebibytes = 0;        // the oldest of it is forgotten beyond this size; 0: no limit
  // A store of plans (docs/guides/plans.md): what others found for the same blocks is proved and measured
  // first, and what is found is written there; "": none.
  std::filesystem::path plans = {};
  std::filesystem::path scratch = {};  // a folder for models that are measured; "": that of temporary files
  Progress progress = {};
  Progress notice = {};  // what is known before the search and worth saying now: a rule that is false
  std::function<void(double)> on_best = {};  // gets the speedup of the best so far; called as progress
  std::stop_token stop = {};                 // the best so far is then the result
  // A proof can't be interrupted. true: where one takes too long, it is not waited for; its thread still runs
  // (Optimized::leaves_thread), and the process should end soon, by std::_Exit.
  bool may_leave_thread = false;
};

struct Optimized {
  enum class Result : int { Unchanged = 0, Improved = 1, Simplified = 2 } result = Result::Unchanged;
  std::string reason = {};             // why it is not improved; or ""
  Model model;                         // the one that was given, if it is unchanged
  std::string certificate = {};        // for `check` and for the program isomer-check
  std::optional<Interval> ratio = {};  // latency(before) / latency(after), if it was measured
  bool leaves_thread = false;          // see OptimizeOptions::may_leave_thread
  std::string json = {};               // what `isomer optimize --json` prints
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

// ---- Models on a disk

struct ScanOptions {
  // Time for each model, to estimate the gain of `optimize` by an analytic cost; nothing is measured. 0: no
  // estimate.
  double seconds_per_model = 5;
  Progress progress = {};
  std::stop_token stop = {};      // what was found until then is the answer
  bool may_leave_thread = false;  // as in OptimizeOptions
};

struct ScanReport {
  struct Found {
    std::filesystem::path path = {};
    std::string package = {};                        // "": none
    std::uint64_t bytes = 0;                         // with those of files that its weights are in
    std::vector<std::filesystem::path> copies = {};  // with the same bytes
    std::optional<double> estimate = {};             // cost(before) / cost(after); nullopt: not estimated
  };
  std::vector<Found> models = {};  // in the order of their paths
  struct Skipped {
    std::filesystem::path path = {};
    std::string reason = {};
  };
  std::vector<Skipped> skipped = {};  // files that are called models and can't be read
  bool is_interrupted = false;
  bool leaves_thread = false;  // see ScanOptions::may_leave_thread
  std::string json = {};       // what `isomer scan --json` prints
};
// Finds the ONNX models beneath folders, and says what each is. A file that is no model is no error.
ISOMER_API ScanReport scan(const std::vector<std::filesystem::path>& folders,
                           const ScanOptions& options = {});

// ---- A page that shows what was done

struct ReportOptions {
  std::string optimized = {};  // Optimized::json of the run that made it; "": none, and less is shown
  std::filesystem::path certificate_file = {};  // its name in the page's command for checking
  bool measure = true;  // measure the time of each node on the runtime; if that fails, use an analytic cost
  std::optional<Tensors> feeds = {};      // to measure with; nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  std::uint64_t seed = 1;                 // of made-up feeds
  RuntimeOptions runtime = {};
  std::filesystem::path scratch = {};  // as in OptimizeOptions
  Progress progress = {};
  std::stop_token stop = {};  // of measuring
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

// ---- What is remembered of earlier runs

// $ISOMER_CACHE, else a file in the user's cache folder; "": none is wanted, or there is no such folder.
ISOMER_API std::filesystem::path default_cache();

struct CacheState {
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t kernel_bytes = 0;  // of `optimize --kernels`, in the folder CACHE.kernels
};
ISOMER_API CacheState cache_state(const std::filesystem::path& cache);
ISOMER_API void clear_cache(const std::filesystem::path& cache);

// ---- Plans: what was found before for blocks that other models have, too (docs/guides/plans.md)

struct PlanStoreState {
  // Plans; entries, under which they are found; files that are not what they should be; plans and entries
  // without each other.
  std::uint64_t plans = 0, entries = 0, invalid = 0, orphans = 0;
  std::uint64_t proved = 0, refused = 0;  // plans, by verify_plans
  std::uint64_t bytes = 0;
  std::string json = {};  // what `isomer plans list --json` prints
};
// Every file is read and checked. A missing store is empty.
ISOMER_API PlanStoreState plan_store_state(const std::filesystem::path& store);
// The same, and every plan is proved again by itself, at weights that are drawn.
ISOMER_API PlanStoreState verify_plans(const std::filesystem::path& store, std::uint64_t seed = 1);
// Removes invalid files, halves without their other half, and the oldest files beyond the limit in MiB (0: no
// limit); returns the number of files.
ISOMER_API std::uint64_t clean_plans(const std::filesystem::path& store, double mebibytes = 0);
// Copies what is valid and missing; how many files.
ISOMER_API std::uint64_t copy_plans(const std::filesystem::path& from, const std::filesystem::path& to);

// ---- Equality, in the sense of docs/concepts/equality.md

enum class Verdict : int { Proved = 0, Refuted = 1, Undecided = 2 };

struct ProveOptions {
  double seconds = 300;
  std::string certificate = {};  // tried first: a proof that need not be found, only checked; "": none
  bool by_position = false;  // outputs are matched by position, also where both models have the same names
  bool exact_constants = false;  // models that are equal but for rounding of constants are undecided
  Progress progress = {};
  Progress notice = {};  // what is seen at once and is worth saying now: "w differs in 1 of 9 elements, ..."
  Progress trace = {};   // every pair of values that is tried
  std::stop_token stop = {};
};

struct Proof {
  Verdict verdict = Verdict::Undecided;
  std::string why = {};          // the reason if it is not proved
  int rounded_constants = 0;     // if it is proved: constants of b that are a's but for rounding
  std::uint64_t flushed = 0;     // if it is proved: denormal numbers of a's constants that are zero in b
  bool by_position = false;      // outputs were matched by position
  int sizes_from = 0;            // open sizes are taken to be at least this
  std::string certificate = {};  // if it is, for `check`
  Tensors counterexample = {};   // feeds on which the models differ, if it is refuted and some were found
  std::string json = {};         // what `isomer prove --json` prints
};
// Inputs are matched by name; outputs, too, if both models have the same names of them, else by position.
ISOMER_API Proof prove_equal(const Model& a, const Model& b, const ProveOptions& options = {});

struct Checked {
  bool accepted = false;    // `out` equals `in`: every step was proved again
  std::string reason = {};  // why not
  std::string text = {};    // the answer as one line, as the program isomer-check prints it
  std::string json = {};    // what `isomer check --json` prints
};
// A certificate that does not cover size 0 is rejected if `in` was loaded with `sizes_from` 0.
ISOMER_API Checked check(const Model& in, const Model& out, std::string_view certificate);
// The same of files, as the program isomer-check does it; both models at these sizes and values
// (LoadOptions), if the certificate is about them.
ISOMER_API Checked check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                               const std::filesystem::path& certificate,
                               const std::vector<std::string>& sizes = {},
                               const std::vector<std::string>& values = {}, int sizes_from = 1);

// Whole or not at all; whether it is a certificate is not looked at.
ISOMER_API std::string load_certificate(const std::filesystem::path& path);
ISOMER_API void save_certificate(std::string_view certificate, const std::filesystem::path& path);

// The same of any other text.
ISOMER_API void save_text(std::string_view text, const std::filesystem::path& path);

// The steps that a certificate states. They are not proved here.
struct Explanation {
  struct Note {
    std::string kind, what;  // the proposer's name; what became what, the same at equal places
    std::string where;       // the value that was replaced; "": none
    std::string words;       // both, for people
    double ratio = 0;        // speedup, as measured; 0: not measured
  };
  std::vector<Note> notes = {};
  std::uint64_t steps = 0;
  std::optional<std::uint64_t> pairs = {};  // of two models that were proved equal: pairs of values
  int sizes_from = 0;                       // open sizes of inputs are taken to be at least this
  std::string told = {};                    // what the checker reads: each step, its program as text
  std::string json = {};                    // what `isomer explain --json` prints
};
ISOMER_API Explanation explain(std::string_view certificate);

// ---- How far apart two models are, on one input

struct CompareOptions {
  Engine engine = Engine::Runtime;
  std::optional<Tensors> feeds = {};      // nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  std::optional<double> tolerance = {};   // of the largest value; nullopt: what is usual for its type
  std::uint64_t seed = 1;                 // of made-up feeds
  bool outputs_only = false;              // the first value where the models part is not looked for
  RuntimeOptions runtime = {};            // of Engine::Runtime
  std::filesystem::path scratch = {};     // as in OptimizeOptions
  Progress progress = {};
  std::stop_token stop = {};  // as in RunOptions
};

struct Comparison {
  bool differ = false;  // by more than the tolerance
  struct Output {
    std::string a, b;         // its names
    std::string misfit = {};  // not "": types or shapes differ, and no number is known
    std::uint64_t differing = 0, elements = 0;
    double largest_absolute = 0, largest_relative = 0;
    double of_scale = 0;  // the largest difference, of the largest value
  };
  std::vector<Output> outputs = {};
  std::string json = {};  // what `isomer compare --json` prints; with the first value where they part
};
// Inputs are the same by name, outputs by position.
ISOMER_API Comparison compare(const Model& a, const Model& b, const CompareOptions& options = {});

// ---- Rewrite rules as text (docs/reference/rules.md)

struct DecidedRule {
  enum class Outcome : int { Proved = 0, Conditional = 1, Refuted = 2, Undecided = 3 };
  std::string name = {};
  Outcome outcome = Outcome::Undecided;
  std::string why = {};                  // it is undecided
  std::optional<bool> as_expected = {};  // nullopt: its text expects nothing
};

struct DecidedRules {
  std::vector<DecidedRule> rules = {};
  std::string json = {};  // what `isomer rules prove --json` prints
};
// Decides each rule of a file, for all sizes.
ISOMER_API DecidedRules prove_rules(const std::filesystem::path& file);

struct TestedProposer {
  std::string name;  // of the test
  bool as_expected = false;
  std::string found;  // the operators after the best proposal, or why it was refused
};
struct TestedProposers {
  std::vector<TestedProposer> tests = {};
  std::string json = {};  // what `isomer propose --json` prints
};
// Runs the tests of proposers in a file (docs/developers/proposer.md).
ISOMER_API TestedProposers test_proposers(const std::filesystem::path& file);

struct GenerateRulesOptions {
  int operators = 3;                             // of either side, at most
  int threads = 2;                               // the pack is the same for any number
  std::uint64_t most_terms = 10'000'000'000;     // of one number of operators; what is left out is counted
  std::uint64_t most_candidates = 400'000;       // candidates that are decided; the same
  std::uint64_t most_doubtful = 10'000'000'000;  // that follow from what is not decided; the same
  // Part `shard` of `shards` of the largest number of operators, for merge_rules; 0: all of it. A file that
  // has it already is left as it is.
  int shard = 0, shards = 0;
  Progress progress = {};
  std::stop_token stop = {};  // the pack then says that it is incomplete
};
struct GeneratedRules {
  std::size_t rules = 0;
  bool is_complete = true;
  std::string json = {};  // what `isomer rules generate --json` prints
};
// Finds rules by enumeration, proves them for all sizes, and writes those that do not follow from others.
ISOMER_API GeneratedRules generate_rules(const std::filesystem::path& file,
                                         const GenerateRulesOptions& options = {});

struct MergeRulesOptions {
  int threads = 2;
  Progress progress = {};
  std::stop_token stop = {};  // the pack then says that it is incomplete
};
// Writes the pack that one run would have made of all shards, which must be there.
ISOMER_API GeneratedRules merge_rules(const std::vector<std::filesystem::path>& shards,
                                      const std::filesystem::path& file,
                                      const MergeRulesOptions& options = {});

// The rules of a file, as `isomer rules list --json` prints them.
ISOMER_API std::string list_rules(const std::filesystem::path& file);
// Whether each rule of a file follows from those of a pack in at most this number of steps, as `isomer rules
// derive --json` prints it.
ISOMER_API std::string derive_rules(const std::filesystem::path& file, const std::filesystem::path& pack,
                                    int steps = 3);

// ---- A model as a library of its own

struct CompileOptions {
  std::string name = "model";     // what every symbol begins with: a C identifier
  std::string target = "native";  // one of compile_targets()
  std::string compiler = {};      // a C++ compiler; "": $CXX, else clang++ or g++ of $PATH
  // Sizes of inputs that the model leaves open. With as_operator: a repeated name begins another size
  // ("x=1x3x48x160", "x=1x3x48x320"); model.onnx has operators for each, and runs at every other size as
  // before. Without it: an extent may be ?, which leaves it open ("x=?x3x48x?").
  std::vector<std::string> sizes = {};
  bool fixed_sizes = false;              // of as_operator: model.onnx is for the one size that is given
  std::vector<std::string> values = {};  // of made-up feeds: "sr=16000" fills an input with that number
  std::string schedules = {};  // how loops run, where it is not left to Isomer: docs/guides/compile.md
  // Also model.onnx, in which the regions that are faster so are operators of ONNX Runtime.
  bool as_operator = false;
  // Seconds of looking for faster schedules of loops, by measuring; 0: those that Isomer chooses are taken.
  double tune_seconds = 0;
  std::string tune_search = "evolution";  // one of tune_searches()
  std::filesystem::path tuning = {};   // a folder that remembers what was measured; "": nothing is remembered
  std::filesystem::path objects = {};  // a folder that remembers what was compiled; "": nothing is remembered
  int threads = 1;                     // of a run, if its user says nothing else; the runtime has as many
  double budget = 300;                 // seconds of the whole run, but for tune_seconds
  // Time to compare its speed with ONNX Runtime, and six times that where it leaves open whether operators
  // are faster; 0: no comparison.
  double seconds = 5;
  double min_gain = 1.02;                 // as in OptimizeOptions, for operators
  std::optional<Tensors> feeds = {};      // to compare and to measure with; nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::string sums =
      {};  // how products are added, one of sums_of_products(); "": as max_error_growth requires
  // Rounding error against float64, compared with the runtime's (or 1e-6, if that is more): the first way of
  // sums_of_products() that keeps it is taken. 0: it is not measured.
  double max_error_growth = 2;
  RuntimeOptions runtime = {};         // that it is compared with, on `threads`
  std::filesystem::path scratch = {};  // as in OptimizeOptions
  Progress progress = {};
  std::stop_token stop = {};  // ErrorKind::Stopped
};

struct Compiled {
  struct Nest {
    std::string name, text;  // the loops that compute one tensor
  };
  std::vector<Nest> nests = {};
  // max |y - y64| / max |y64|, the worst output; nullopt: not measured.
  struct Errors {
    double module = 0, runtime = 0;
    bool kept = true;  // it is within max_error_growth
  };
  std::optional<Errors> errors = {};
  std::string sums = {};               // the way that was taken
  std::optional<Interval> ratio = {};  // of the runtime's latency to the module's: more than 1 is faster
  std::string not_compared = {};       // why there is no ratio
  bool is_operator = false;            // model.onnx has operators; else it is a given one
  std::string reason = {};             // of as_operator: why model.onnx is the model as it was; or ""
  std::string json = {};               // what `isomer compile --json` prints
};

ISOMER_API std::vector<std::string> compile_targets();
// Ways of looking for schedules.
ISOMER_API std::vector<std::string> tune_searches();
// The folder of this user's records: beside the cache of measurements; "" where that is none.
ISOMER_API std::filesystem::path default_tuning();
ISOMER_API std::filesystem::path default_objects();  // the same for compiled objects
// Each rounds less than the one before, and takes longer: docs/reference/json.md.
ISOMER_API std::vector<std::string> sums_of_products();
// Writes libNAME.so, libNAME.a, NAME.h, NAME.hpp, NAME.weights, NAME.cpp and interface.json into the folder,
// or nothing. Where the model can be run here, outputs are compared with the runtime's first: Error, if they
// differ by more than rounding can do.
ISOMER_API Compiled compile(const Model& model, const std::filesystem::path& folder,
                            const CompileOptions& options = {});

// ---- Speed

// The clock of a ratio of latencies. Auto: CPU time with one thread, else wall time.
enum class Clock : int { Auto = 0, Wall = 1, Cpu = 2 };

struct BenchOptions {
  std::optional<Tensors> feeds = {};      // nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  double seconds = 20;                    // of one comparison, at most
  Clock clock = Clock::Auto;
  std::uint64_t seed = 0;
  RuntimeOptions runtime = {};
  std::filesystem::path cache = {};    // comparisons that need not be made again; "": none
  std::filesystem::path scratch = {};  // as in OptimizeOptions
  Progress progress = {};
  std::stop_token stop = {};  // ErrorKind::Stopped
};

struct BenchReport {
  struct Of {
    std::string failure = {};  // not "": it was not measured, and this is why
    Interval latency_ns = {};
    std::int64_t peak_bytes = 0, load_ns = 0;
  };
  struct Pair {
    std::size_t a = 0, b = 0;  // numbers of models
    std::string failure = {};  // not "": they were not compared
    Interval ratio = {};       // latency(a) / latency(b)
    enum class Verdict : int {
      NoDifference = 0,
      Faster = 1,
      Slower = 2
    } verdict = Verdict::NoDifference;  // b
  };
  std::string runtime_version = {};
  std::vector<Of> models = {};
  std::vector<Pair> pairs = {};  // the first with each other one
  std::string json = {};         // what `isomer bench --json` prints
};
ISOMER_API BenchReport bench(const std::vector<Model>& models, const BenchOptions& options = {});
// On several runtimes, one after the other; options.runtime is not looked at.
ISOMER_API std::vector<BenchReport> bench_on(const std::vector<RuntimeOptions>& runtimes,
                                             const std::vector<Model>& models,
                                             const BenchOptions& options = {});

struct ProfileOptions {
  std::optional<Tensors> feeds = {};      // nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  std::uint64_t seed = 0;                 // of made-up feeds
  RuntimeOptions runtime = {};
  std::filesystem::path scratch = {};  // as in OptimizeOptions
  std::stop_token stop = {};           // ErrorKind::Stopped
};

// JSON for viewers of other people.
struct Profile {
  std::string node_data = {};  // microseconds of each node, for Model Explorer
  std::string trace = {};      // the kernels of a run as trace events, for ui.perfetto.dev
};
// How long each node takes, by the runtime's own profile. Fused nodes share a kernel's time by what they
// cost.
ISOMER_API Profile profile(const Model& model, const ProfileOptions& options = {});

// ---- Whether a model may take another one's place

struct GateOptions {
  double min_ratio = 0.98;                // latency(base) / latency(candidate) must not be below
  bool equal = false;                     // they must be equal, too
  std::optional<Tensors> feeds = {};      // nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  double seconds = 60;                    // of measuring, at most
  double prove_seconds = 300;             // of proving, at most
  std::string certificate = {};           // as in ProveOptions
  Clock clock = Clock::Auto;
  std::uint64_t seed = 0;
  RuntimeOptions runtime = {};
  std::optional<RuntimeOptions> base_runtime = {};  // of the base, if it is another one
  std::filesystem::path scratch = {};               // as in OptimizeOptions
  Progress progress = {};
  std::stop_token stop = {};  // of proving
};

struct GateReport {
  // Unsure: not decided in time. Fails: slower with 95 % confidence, or different, or it does not run.
  enum class Verdict : int { Passes = 0, Fails = 1, Unsure = 2 } verdict = Verdict::Unsure;
  std::string line = {};               // the answer and why
  std::optional<Interval> ratio = {};  // latency(base) / latency(candidate); nullopt: it does not run
  std::string markdown = {};           // for a pull request
  std::string json = {};               // what `isomer gate --json` prints
};
ISOMER_API GateReport gate(const Model& base, const Model& candidate, const GateOptions& options = {});

// ---- Which of the runtime's own passes and settings help a model

struct ExploreOptions {
  std::string objective = "latency";      // load-time, memory, size, energy
  std::string mode = "mixed";             // fast, full
  std::optional<Tensors> feeds = {};      // nullopt: made up, at `sizes`
  std::filesystem::path feeds_file = {};  // the npz file that they are in; "": none
  std::vector<std::string> sizes = {};    // of made-up feeds
  std::vector<std::string> values = {};   // of made-up feeds: "sr=16000" fills an input with that number
  double seconds = 5;      // of one trial, at most; the last comparison may take four times that
  double min_gain = 1.02;  // less is no gain
  Clock clock = Clock::Auto;
  std::uint64_t seed = 0;
  bool control = false;                // only passes that change nothing: what is found then is noise
  RuntimeOptions runtime = {};         // what is compared with; ONNX Runtime only
  std::filesystem::path records = {};  // what was found so far, for a run that goes on; "": not kept
  std::filesystem::path output = {};   // of load-time: the prepared model, if it is better; "": not kept
  bool this_machine = false;           // of load-time: it may be for processors like this one only
  double prove_seconds = 60;           // of load-time: for proving that it is equal
  std::filesystem::path scratch = {};  // as in OptimizeOptions
  Progress progress = {};
  std::stop_token stop = {};  // ErrorKind::Stopped
};

struct ExploreReport {
  bool is_better = false;              // with 95 % confidence, and by min_gain
  std::optional<Interval> ratio = {};  // times better; nullopt: nothing was worth a last comparison
  RuntimeOptions runtime = {};         // what to use
  std::string python = {}, cpp = {};   // the same, to paste
  std::string configuration = {};      // the same, for `--runtime-config-file`
  std::string line = {};               // the answer in words
  std::string html = {};               // the result as a page, with a picture of each pass's effect
  std::string json = {};               // what `isomer explore --json` prints
};
ISOMER_API ExploreReport explore(const Model& model, const ExploreOptions& options = {});

}  // namespace isomer::api
