#include "compiler/emit/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/emit/emit.h"
#include "compiler/emit/kernels_text.h"
#include "compiler/loops/intrinsic.h"
#include "compiler/loops/lower.h"
#include "compiler/schedule/layout.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {
namespace {

// Products that are added up in one go where a model has to be exact: sums of 32 and 16 had about the same
// error, of vgg16 and unet_bn, and 16 still costs little.
constexpr int kShortSum = 16;

constexpr char kHeader[] =
    R"(/* {0}: a compiled model. Needs libc, libm and threads. Calls are safe from many threads, each with a workspace of its own. */
#ifndef {1}_H
#define {1}_H
#include <stddef.h>
{7}#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {0}_module {0}_module;

/* Maps the weights; NULL: the file is not there, or is not this model's. A run has {2}. */
{0}_module* {0}_create(const char* weights_file);
/* The same with this number of threads in a run, the caller's included. Every number gives the same bits.
   Threads are started here and end with the module; of concurrent runs, one has them. */
{0}_module* {0}_create_with_threads(const char* weights_file, int threads);
void {0}_destroy({0}_module* module);
{5}/* Inputs and outputs in the order of interface.json, in the caller's memory; `workspace` at a multiple of 64.{4}
   0: done; 1: a computed index was outside of its tensor{6}. */
int {0}_run(const {0}_module* module, {3}const void* const* inputs, void* const* outputs, void* workspace);

#ifdef __cplusplus
}}
#endif
#endif
)";

constexpr char kWorkspaceHeader[] =
    R"(/* Bytes of memory that a run needs besides its inputs and outputs: more with more threads. */
size_t {0}_workspace_size(const {0}_module* module);
)";
constexpr char kSizesHeader[] =
    R"(/* `sizes`, here and below: {1}. */
/* Bytes of memory that a run at these sizes needs besides its inputs and outputs; 0: the model does not run at them. */
size_t {0}_workspace_size(const {0}_module* module, const int64_t* sizes);
/* The shape that an input or output has at these sizes; its rank, or -1: there is none of this number. */
int {0}_input_shape(const {0}_module* module, const int64_t* sizes, int input, int64_t* shape);
int {0}_output_shape(const {0}_module* module, const int64_t* sizes, int output, int64_t* shape);
)";

constexpr char kWrapper[] =
    R"(// {0} as a class of C++: weights, threads and a workspace that end with it. Runs are one at a time.
#ifndef {1}_HPP
#define {1}_HPP
#include <cstdlib>
#include <initializer_list>

{2}

class {0} {{
 public:
  explicit {0}(const char* weights_file, int threads = {3})
      : module_({0}_create_with_threads(weights_file, threads)),
        workspace_({7}) {{}}
  ~{0}() {{
    {0}_destroy(module_);
    std::free(workspace_);
  }}
  {0}(const {0}&) = delete;
  {0}& operator=(const {0}&) = delete;

  // Whether the weights were found and there was memory; without that it must not run.
  explicit operator bool() const {{ return module_ != nullptr && workspace_ != nullptr; }}
{6}  bool run({4}std::initializer_list<const void*> inputs, std::initializer_list<void*> outputs) {{
    return run({5}inputs.begin(), outputs.begin());
  }}

 private:
  {0}_module* module_;
  void* workspace_;
{8}}};
#endif
)";
constexpr char kWrapperRun[] =
    R"(  // Inputs and outputs in the order of interface.json, in the caller's memory. False: a computed index was outside of its tensor.
  bool run({1}const void* const* inputs, void* const* outputs) {{ return {0}_run(module_, {2}inputs, outputs, workspace_) == 0; }}
)";
constexpr char kWrapperWorkspace[] =
    R"(module_ == nullptr ? nullptr : std::aligned_alloc(64, ({0}_workspace_size(module_) + 127) / 64 * 64))";
// Memory as the largest sizes need it that a run has had.
constexpr char kWrapperRunSizes[] =
    R"(  // Sizes, inputs and outputs in the order of interface.json, in the caller's memory. False: the model does not run at these sizes,
  // there is no memory, or a computed index was outside of its tensor.
  bool run(const int64_t* sizes, const void* const* inputs, void* const* outputs) {{
    const size_t bytes = {0}_workspace_size(module_, sizes);
    if (bytes > bytes_) {{
      void* more = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
      if (more == nullptr) return false;
      std::free(workspace_);
      workspace_ = more;
      bytes_ = bytes;
    }}
    return {0}_run(module_, sizes, inputs, outputs, workspace_) == 0;
  }}
)";

// A library for several kinds of processors has the code once for each (IM_PART is its name there), and the
// ends once.
constexpr char kPart[] = R"(
#endif  // of IM_DISPATCH
#if IM_SHARE == 0
#if defined(IM_PART)
extern "C" __attribute__((visibility("hidden"))) int IM_PART({1}const void* const* inputs, void* const* outputs, char* workspace,
                                                             const char* weights, im_team* team) {{
  return {0}_all({2}inputs, outputs, workspace, weights, team);
}}
#endif
#if !defined(IM_PART)
#if defined(IM_DISPATCH)
#include <stdint.h>
#include <string.h>
extern "C" {{
int {0}_v3({3}const void* const*, void* const*, char*, const char*, im_team*);
int {0}_v4({3}const void* const*, void* const*, char*, const char*, im_team*);
}}
static int {0}_all({1}const void* const* inputs, void* const* outputs, char* workspace, const char* weights, im_team* team) {{
  static const int is_wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return (is_wide ? {0}_v4 : {0}_v3)({2}inputs, outputs, workspace, weights, team);
}}
#endif
)";

constexpr char kEnds[] = R"(
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#if !defined(__wasm__)
#include <sys/mman.h>
#endif

extern "C" {{
struct {0}_module {{
  char* weights;
  long begin;  // of the weights in their file, which is mapped from its first byte on
  im_team* team;
}};

__attribute__((visibility("default"))) void {0}_destroy({0}_module* module) {{
  if (module == NULL) return;
  im_team_destroy(module->team);
#if defined(__wasm__)
  free(module->weights);
#else
  if (module->weights != NULL) munmap(module->weights - module->begin, {1} + module->begin);
#endif
  free(module);
}}

// `begin`: where they are in a file of several modules' weights; 0: the file is this module's alone.
static {0}_module* {0}_open(const char* weights_file, long begin) {{
  {0}_module* module = ({0}_module*)calloc(1, sizeof({0}_module));
  if (module == NULL || {1} == 0) return module;
  module->begin = begin;
  const int file = open(weights_file, O_RDONLY);
  struct stat about;
  if (file >= 0 && fstat(file, &about) == 0 && (begin > 0 ? about.st_size >= begin + {1} : about.st_size == {1})) {{
#if defined(__wasm__)
    module->weights = (char*)malloc({1});
    for (long done = 0, more = 1; module->weights != NULL && done < {1}; done += more)
      if ((more = read(file, module->weights + done, {1} - done)) <= 0) break;
#else
    void* mapped = mmap(NULL, {1} + begin, PROT_READ, MAP_PRIVATE, file, 0);
    module->weights = mapped == MAP_FAILED ? NULL : (char*)mapped + begin;
#endif
  }}
  if (file >= 0) close(file);
  if (module->weights != NULL) return module;
  free(module);
  return NULL;
}}

__attribute__((visibility("default"))) {0}_module* {0}_create_with_threads(const char* weights_file, int threads) {{
  {0}_module* module = {0}_open(weights_file, 0);
  if (module != NULL) module->team = im_team_create(threads);
  return module;
}}
__attribute__((visibility("default"))) {0}_module* {0}_create(const char* weights_file) {{
  return {0}_create_with_threads(weights_file, {2});
}}
__attribute__((unused)) static {0}_module* {0}_create_at(const char* weights_file, long begin) {{
  {0}_module* module = {0}_open(weights_file, begin);
  if (module != NULL) module->team = im_team_create({2});
  return module;
}}

)";

constexpr char kWorkspace[] =
    R"(__attribute__((visibility("default"))) size_t {0}_workspace_size(const {0}_module* module) {{
  return {1} + {2} * (size_t)(im_team_size(module->team) - 1);
}}

)";

constexpr char kRun[] = R"(
__attribute__((visibility("default"))) int {0}_run(const {0}_module* module, const void* const* inputs, void* const* outputs,
                                                   void* workspace) {{
  const im_flush_denormals flush;
  im_team* team = im_team_enter(module->team);
  const int failed = {0}_all(inputs, outputs, (char*)workspace, module->weights, team);
  im_team_leave(team);
  return failed;
}}
)";

// Samples one by one, each thread its own; threads divide the loops of the remaining samples.
constexpr char kRunBatch[] = R"(
static int {0}_samples(const {0}_module* module, int64_t first, int64_t end, const void* const* inputs, void* const* outputs,
                       char* workspace, im_team* team) {{
  static const int64_t in_bytes[] = {{{1}}}, out_bytes[] = {{{2}}};
  const void* in[{3} + 1];
  void* out[{4} + 1];
  for (int64_t sample = first; sample < end; ++sample) {{
    for (int64_t k = 0; k < {3}; ++k) in[k] = (const char*)inputs[k] + sample * in_bytes[k];
    for (int64_t k = 0; k < {4}; ++k) out[k] = (char*)outputs[k] + sample * out_bytes[k];
    if ({0}_all(in, out, workspace, module->weights, team) != 0) return 1;
  }}
  return 0;
}}
__attribute__((visibility("default"))) int {0}_run(const {0}_module* module, size_t batch, const void* const* inputs,
                                                   void* const* outputs, void* workspace) {{
  const im_flush_denormals flush;
  im_team* team = im_team_enter(module->team);
  const int64_t threads = im_team_size(team), all = (int64_t)batch, together = all / threads * threads;
  int failed = im_for(team, together, 1, [&](int64_t low, int64_t high, int64_t thread) {{
    return {0}_samples(module, low, high, inputs, outputs, (char*)workspace + thread * {5}, NULL);
  }});
  if (failed == 0) failed = {0}_samples(module, together, all, inputs, outputs, (char*)workspace, team);
  im_team_leave(team);
  return failed;
}}
)";

constexpr char kRunSizes[] =
    R"(__attribute__((visibility("default"))) size_t {0}_workspace_size(const {0}_module* module, const int64_t* sizes) {{
  int64_t places[{1} + 1];
  (void)module;
  return {0}_may_have(sizes) ? (size_t){0}_places(sizes, places) : 0;
}}
__attribute__((visibility("default"))) int {0}_input_shape(const {0}_module* module, const int64_t* sizes, int input, int64_t* shape) {{
  (void)module;
  return {0}_shape_in(sizes, input, shape);
}}
__attribute__((visibility("default"))) int {0}_output_shape(const {0}_module* module, const int64_t* sizes, int output, int64_t* shape) {{
  (void)module;
  return {0}_shape_out(sizes, output, shape);
}}
__attribute__((visibility("default"))) int {0}_run(const {0}_module* module, const int64_t* sizes, const void* const* inputs,
                                                   void* const* outputs, void* workspace) {{
  if (!{0}_may_have(sizes)) return 2;
  const im_flush_denormals flush;
  im_team* team = im_team_enter(module->team);
{2}  im_team_leave(team);
  return failed;
}}
)";

constexpr char kRunOnce[] =
    R"(  const int failed = {0}_all(sizes, inputs, outputs, (char*)workspace, module->weights, team);
)";
// Samples one by one, of whose loops threads have parts.
constexpr char kRunEach[] = R"(  const int64_t in_bytes[] = {{{1}}}, out_bytes[] = {{{2}}};
  const void* in[{3} + 1];
  void* out[{4} + 1];
  int failed = 0;
  for (int64_t sample = 0; sample < sizes[{5}] && failed == 0; ++sample) {{
    for (int64_t k = 0; k < {3}; ++k) in[k] = (const char*)inputs[k] + sample * in_bytes[k];
    for (int64_t k = 0; k < {4}; ++k) out[k] = (char*)outputs[k] + sample * out_bytes[k];
    failed = {0}_all(sizes, in, out, (char*)workspace, module->weights, team);
  }}
)";

constexpr char kEnd[] = R"(
}}
#endif  // of IM_PART
#endif  // of IM_SHARE
)";

// How many bytes of each input or output belong to one sample.
std::string sample_bytes(const Plan& plan, const std::vector<Port>& ports) {
  std::vector<std::string> out;
  for (const Port& p : ports) {
    const Storage& s = plan.buffer(p.buffer);
    out.push_back(p.by_sample ? size_text(plan, product(s.extents) * Dim(stored_bytes(s.type))) : "0");
  }
  return out.empty() ? "0" : fmt::format("{}", fmt::join(out, ", "));
}

std::string include_of(const std::string& name) { return fmt::format("#include \"{}.h\"", name); }

std::string arithmetic_of(Exactness exactness) {
  std::string text = kKernelsText;
  switch (exactness) {
    case Exactness::Fast: break;
    case Exactness::ShortSums:
    case Exactness::SmallTiles:
    case Exactness::Direct: text = fmt::format("#define IM_STEPS {}\n", kShortSum) + text; break;
    case Exactness::Bfloat16: text += std::string("\n") + kBfloat16Text; break;
  }
  return text + "\n";
}

std::string upper_case(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name;
}

// A name must not end the comment that it is in.
std::string comment_text(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c > '~' || c == '*' || c == '/' || c == '\\' || c == '?'; }, '.');
  return name;
}

Result<Plan> plan_module(const Graph& graph, const InferOptions& sizes, const std::string& schedules,
                         Exactness exactness, const std::optional<Batch>& batch, const TunedLines& tuned,
                         const Sizes& open) {
  AxisNumbers numbers;
  ISOMER_TRY(Plan plan, lower_graph(graph, batch ? batch->one : sizes, numbers, open));
  if (batch) {
    plan.batch = batch->name;
    for (Port& p : plan.inputs) p.by_sample = batch->inputs.contains(p.name);
    for (Port& p : plan.outputs) p.by_sample = true;
  }
  if (!plan.sizes.batch.empty()) {
    for (Port& p : plan.inputs) p.by_sample = plan.sizes.batched.contains(p.name);
    for (Port& p : plan.outputs) p.by_sample = true;
  }
  compose_nests(plan, numbers);
  choose_layouts(plan, numbers);
  ISOMER_TRY(Schedules own, parse_schedules(schedules));
  if (!tuned.empty()) own.merge(as_schedules(tuned, units_of(plan, exactness), plan, own));
  ISOMER_TRY(plan.intrinsics, parse_intrinsics(schedules));
  ISOMER_TRY_DO(choose_strips(plan, {}, own));
  ISOMER_TRY_DO(schedule_nests(plan, numbers, exactness, own));
  ISOMER_TRY_DO(apply_schedules(plan, own, numbers));
  share_nests(plan, own);
  place_buffers(plan);
  if (const auto wrong = illegal(plan)) return Error{fmt::format("the plan was refused: {}", *wrong)};
  return plan;
}

}  // namespace

std::string kernels_of(Exactness exactness) {
  return std::string(kThreadsText) + "\n" + arithmetic_of(exactness);
}

// Scratch memory, or, where each thread has samples of its own, all of a workspace.
std::int64_t thread_bytes(const Plan& plan) {
  return plan.batch.empty() ? plan.thread_workspace : std::max(plan.workspace, plan.thread_workspace);
}

namespace {

// "batch, length, in this order; batch at least 1; length 1 to 512"
std::string sizes_words(const Sizes& sizes) {
  std::vector<std::string> names;
  std::string bounds;
  for (const OpenSize& s : sizes.open) {
    names.push_back(comment_text(s.name));
    bounds += s.most ? fmt::format("; {} {} to {}", names.back(), s.least * s.step, *s.most * s.step)
                     : fmt::format("; {} at least {}", names.back(), s.least * s.step);
    if (s.step > 1) bounds += fmt::format(", a multiple of {}", s.step);
  }
  return fmt::format("{}, in this order{}", fmt::join(names, ", "), bounds);
}

std::string header_of(const Plan& plan, const std::string& name, int threads) {
  const bool is_open = !plan.sizes.is_empty(), has_batch = !plan.batch.empty();
  const std::string batch_words =
      has_batch
          ? fmt::format("\n   `batch`: the first extent of all that interface.json says has {}; may be 0.",
                        comment_text(plan.batch))
          : "";
  return fmt::format(
      kHeader, name, upper_case(name), threads == 1 ? "one thread" : fmt::format("{} threads", threads),
      has_batch ? "size_t batch, "
      : is_open ? "const int64_t* sizes, "
                : "",
      batch_words,
      is_open ? fmt::format(kSizesHeader, name, sizes_words(plan.sizes))
              : fmt::format(kWorkspaceHeader, name),
      is_open ? "; 2: the model does not run at these sizes" : "", is_open ? "#include <stdint.h>\n" : "");
}

std::string wrapper_of(const Plan& plan, const std::string& name, int threads) {
  const bool is_open = !plan.sizes.is_empty(), has_batch = !plan.batch.empty();
  const std::string parameter = has_batch ? "size_t batch, "
                                : is_open ? "const int64_t* sizes, "
                                          : "",
                    argument = has_batch ? "batch, "
                               : is_open ? "sizes, "
                                         : "";
  return fmt::format(
      kWrapper, name, upper_case(name), include_of(name), threads, parameter, argument,
      is_open ? fmt::format(kWrapperRunSizes, name) : fmt::format(kWrapperRun, name, parameter, argument),
      is_open ? "std::aligned_alloc(64, 64)" : fmt::format(kWrapperWorkspace, name),
      is_open ? "  size_t bytes_ = 64;\n" : "");
}

std::string run_at_sizes(const Plan& plan, const std::string& name) {
  if (plan.sizes.batch.empty()) return fmt::format(kRunOnce, name);
  const auto batch = std::ranges::find(plan.sizes.open, plan.sizes.batch, &OpenSize::name);
  return fmt::format(kRunEach, name, sample_bytes(plan, plan.inputs), sample_bytes(plan, plan.outputs),
                     plan.inputs.size(), plan.outputs.size(), batch - plan.sizes.open.begin());
}

// The functions that run a module and return the needs of a run.
std::string run_of(const Plan& plan, const std::string& name) {
  if (!plan.sizes.is_empty())
    return fmt::format(kRunSizes, name, plan.placed.size(), run_at_sizes(plan, name));
  const std::string workspace = fmt::format(kWorkspace, name, plan.workspace, thread_bytes(plan));
  if (plan.batch.empty()) return workspace + fmt::format(kRun, name);
  return workspace + fmt::format(kRunBatch, name, sample_bytes(plan, plan.inputs),
                                 sample_bytes(plan, plan.outputs), plan.inputs.size(), plan.outputs.size(),
                                 plan.workspace);
}

}  // namespace

Result<ModuleTexts> module_of(const Graph& graph, const InferOptions& sizes, const std::string& name,
                              const std::string& schedules, Exactness exactness, int threads,
                              const std::optional<Batch>& batch, const TunedLines& tuned, const Sizes& open) {
  ISOMER_TRY(Plan plan, plan_module(graph, sizes, schedules, exactness, batch, tuned, open));
  Emitted emitted = emit(plan, name);
  const bool is_open = !plan.sizes.is_empty();
  ModuleTexts out;
  out.header = header_of(plan, name, threads);
  out.wrapper = wrapper_of(plan, name, threads);
  out.code = std::string(kThreadsText) +
             (is_open ? "\n" + std::string(kSizesText) + emit_sizes(plan, name) : "") +
             "\n#if !defined(IM_DISPATCH)\n" + arithmetic_of(exactness) +
             (is_open ? std::string(kOpenSizesText) + "\n" : "") + emitted.code +
             fmt::format(kPart, name, is_open ? "const int64_t* sizes, " : "", is_open ? "sizes, " : "",
                         is_open ? "const int64_t*, " : "") +
             "\n" + include_of(name) + "\n" + fmt::format(kEnds, name, plan.weights, threads) +
             run_of(plan, name) + fmt::format(kEnd);
  out.functions = emitted.functions;
  out.plan = std::move(plan);
  return out;
}

void for_each_weight(const Plan& plan, const std::function<void(const void*, std::size_t)>& write) {
  std::vector<const Storage*> order;
  for (const Storage& s : plan.buffers)
    if (s.kind == Storage::Kind::Weight && s.offset >= 0) order.push_back(&s);
  std::ranges::sort(order, {}, &Storage::offset);
  static constexpr std::array<char, 64> kZeros{};
  std::int64_t at = 0;
  for (const Storage* s : order) {
    if (s->offset > at) write(kZeros.data(), static_cast<std::size_t>(s->offset - at));
    write(s->value.bytes().data, s->value.bytes().size);
    at = s->offset + byte_size(*s).concrete();
  }
  if (plan.weights > at) write(kZeros.data(), static_cast<std::size_t>(plan.weights - at));
}

}  // namespace isomer::lower
