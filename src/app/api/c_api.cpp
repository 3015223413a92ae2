// The C interface, on top of the C++ one: handles are boxes, exceptions become codes.
#include "isomer/isomer_c.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stop_token>
#include <string>
#include <utility>

#include "isomer/isomer.h"

namespace api = isomer::api;

struct isomer_model {
  api::Model model;
};
struct isomer_tensors {
  api::Tensors tensors;
};
struct isomer_stop {
  std::stop_source source;
};

namespace {

constexpr const char* kNoMemory = "not enough memory";

// Per thread; `text` is the result of isomer_last_error.
struct LastError {
  std::string message;
  const char* text = "";
};
thread_local LastError last_error;

isomer_status failed(isomer_status status, const char* why) noexcept {
  try {
    last_error.message = why;
    last_error.text = last_error.message.c_str();
  } catch (const std::bad_alloc&) {
    last_error.text = kNoMemory;
  }
  return status;
}

template <class Function>
isomer_status answer(const Function& function) noexcept {
  try {
    function();
    return ISOMER_OK;
  } catch (const api::Error& e) {
    return failed(static_cast<isomer_status>(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return failed(ISOMER_OUT_OF_MEMORY, kNoMemory);
  } catch (const std::exception& e) {
    return failed(ISOMER_INTERNAL_ERROR, e.what());
  } catch (...) {
    return failed(ISOMER_INTERNAL_ERROR, "something was thrown that is no exception of ours");
  }
}

static_assert(static_cast<int>(api::ErrorKind::BadInput) == ISOMER_BAD_INPUT &&
              static_cast<int>(api::ErrorKind::NotModelled) == ISOMER_NOT_MODELLED &&
              static_cast<int>(api::ErrorKind::Runtime) == ISOMER_RUNTIME_FAILED &&
              static_cast<int>(api::ErrorKind::OutOfMemory) == ISOMER_OUT_OF_MEMORY &&
              static_cast<int>(api::ErrorKind::Internal) == ISOMER_INTERNAL_ERROR &&
              static_cast<int>(api::ErrorKind::Stopped) == ISOMER_STOPPED);
static_assert(static_cast<int>(api::Verdict::Proved) == ISOMER_PROVED &&
              static_cast<int>(api::Verdict::Refuted) == ISOMER_REFUTED &&
              static_cast<int>(api::Verdict::Undecided) == ISOMER_UNDECIDED);

[[noreturn]] void refuse(const char* why) { throw api::Error(api::ErrorKind::BadInput, why); }

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) refuse(what);
  return *pointer;
}

const api::Model& model_of(const isomer_model* model) { return given(model, "the model is NULL").model; }
std::string text_of(const char* text) { return text == nullptr ? "" : text; }
const char* path_of(const char* path) { return &given(path, "the path is NULL"); }

std::vector<std::string> sizes_of(const char* const* sizes, std::size_t count) {
  std::vector<std::string> out;
  if (count > 0 && sizes == nullptr) refuse("the sizes are NULL");
  for (std::size_t k = 0; k < count; ++k) out.push_back(text_of(sizes[k]));
  return out;
}

// Results that are written together, once nothing can fail any more; what is not wanted is let go.
class Text {
 public:
  explicit Text(const std::string& text) : text_(static_cast<char*>(std::malloc(text.size() + 1))) {
    if (text_ == nullptr) throw std::bad_alloc();
    std::memcpy(text_, text.c_str(), text.size() + 1);
  }
  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(Text&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~Text() { std::free(text_); }
  void give(char** to) noexcept {
    if (to != nullptr) *to = std::exchange(text_, nullptr);
  }

 private:
  char* text_ = nullptr;
};

template <class T>
void give(std::unique_ptr<T> box, T** to) noexcept {
  if (to != nullptr) *to = box.release();
}

// The options as this version has them: what the caller's version did not know has its default.
template <class T>
T complete(const T* options, void (*init)(T*)) {
  T out;
  init(&out);
  if (options == nullptr) return out;
  if (options->struct_size < sizeof(options->struct_size))
    refuse("the options were not made by their _init function");
  if (options->struct_size > sizeof(T)) refuse("the options are those of a later version of Isomer");
  std::memcpy(&out, options, options->struct_size);
  out.struct_size = sizeof(T);
  return out;
}

api::RuntimeOptions runtime_of(const isomer_runtime_options* options) {
  const auto all = complete(options, isomer_runtime_options_init);
  api::RuntimeOptions out;
  if (const std::string name = text_of(all.name); !name.empty()) out.name = name;
  out.library = text_of(all.library);
  out.worker = text_of(all.worker);
  out.threads = all.threads;
  out.memory_gib = all.memory_gib;
  out.call_seconds = all.call_seconds;
  return out;
}

api::Progress progress_of(isomer_progress progress, void* user) {
  if (progress == nullptr) return {};
  return [progress, user](std::string_view now) { progress(user, std::string(now).c_str()); };
}

std::stop_token stop_of(const isomer_stop* stop) {
  return stop == nullptr ? std::stop_token() : stop->source.get_token();
}

std::optional<api::Tensors> feeds_of(const isomer_tensors* feeds) {
  return feeds == nullptr ? std::nullopt : std::optional(feeds->tensors);
}

// The common options of optimize, bench, compare and compile.
template <class To, class From>
void take_shared(To& to, const From& from) {
  to.inputs.feeds = feeds_of(from.feeds);
  to.inputs.sizes = sizes_of(from.sizes, from.size_count);
  to.run.runtime = runtime_of(from.runtime);
  to.run.scratch = text_of(from.scratch);
  to.run.progress = progress_of(from.progress, from.user);
  if constexpr (requires { from.seed; }) to.inputs.seed = from.seed;
  if constexpr (requires { from.stop; }) to.run.stop = stop_of(from.stop);
}

api::Judge judge_of(isomer_judge judge) {
  switch (judge) {
    case ISOMER_JUDGE_RUNTIME: return api::Judge::Runtime;
    case ISOMER_JUDGE_COST: return api::Judge::Cost;
    case ISOMER_JUDGE_NODES: return api::Judge::Nodes;
  }
  refuse("there is no such judge");
}

api::OptimizeOptions optimize_options_of(const isomer_optimize_options* options) {
  const auto all = complete(options, isomer_optimize_options_init);
  api::OptimizeOptions out;
  take_shared(out, all);
  out.seconds = all.seconds;
  out.cache = text_of(all.cache);
  out.judge = judge_of(all.judge);
  out.min_gain = all.min_gain;
  out.max_error_growth = all.max_error_growth;
  if (all.max_size_growth != 0) out.max_size_growth = all.max_size_growth;
  out.simplify = all.simplify != 0;
  if (const std::string strategy = text_of(all.strategy); !strategy.empty()) out.strategy = strategy;
  out.steps = all.steps;
  return out;
}

}  // namespace

const char* isomer_version(void) { return api::version().data(); }
const char* isomer_last_error(void) { return last_error.text; }
void isomer_string_free(char* text) { std::free(text); }

isomer_status isomer_load(const char* path, const char* const* sizes, size_t size_count,
                          isomer_model** model) {
  return answer([&] {
    give(std::make_unique<isomer_model>(
             isomer_model{api::load(path_of(path), {.sizes = sizes_of(sizes, size_count)})}),
         model);
  });
}

isomer_status isomer_save(const isomer_model* model, const char* path) {
  return answer([&] { api::save(model_of(model), path_of(path)); });
}

void isomer_model_free(isomer_model* model) { delete model; }

isomer_status isomer_inspect(const isomer_model* model, const char* const* sizes, size_t size_count,
                             char** json) {
  return answer([&] { Text(api::inspect(model_of(model), sizes_of(sizes, size_count)).json).give(json); });
}

isomer_status isomer_tensors_new(isomer_tensors** tensors) {
  return answer([&] { give(std::make_unique<isomer_tensors>(), tensors); });
}

isomer_status isomer_tensors_load(const char* path, isomer_tensors** tensors) {
  return answer([&] {
    give(std::make_unique<isomer_tensors>(isomer_tensors{api::load_tensors(path_of(path))}), tensors);
  });
}

isomer_status isomer_tensors_save(const isomer_tensors* tensors, const char* path) {
  return answer([&] { api::save_tensors(given(tensors, "the tensors are NULL").tensors, path_of(path)); });
}

isomer_status isomer_tensors_add(isomer_tensors* tensors, const isomer_tensor* tensor) {
  return answer([&] {
    api::Tensors& to = given(tensors, "the tensors are NULL").tensors;
    const isomer_tensor& t = given(tensor, "the tensor is NULL");
    if ((t.shape == nullptr && t.rank > 0) || (t.bytes == nullptr && t.byte_count > 0) || t.name == nullptr)
      refuse("the tensor has no name, shape or bytes");
    api::Tensor made{.type = static_cast<api::ElementType>(t.type)};
    if (t.rank > 0) made.shape.assign(t.shape, t.shape + t.rank);
    made.bytes.resize(t.byte_count);
    if (t.byte_count > 0) std::memcpy(made.bytes.data(), t.bytes, t.byte_count);
    if (!to.emplace(t.name, std::move(made)).second) refuse("there is a tensor of this name already");
  });
}

size_t isomer_tensors_count(const isomer_tensors* tensors) {
  return tensors == nullptr ? 0 : tensors->tensors.size();
}

isomer_status isomer_tensors_at(const isomer_tensors* tensors, size_t k, isomer_tensor* tensor) {
  return answer([&] {
    const api::Tensors& all = given(tensors, "the tensors are NULL").tensors;
    if (k >= all.size()) refuse("there are fewer tensors");
    const auto& [name, t] = *std::next(all.begin(), static_cast<std::ptrdiff_t>(k));
    given(tensor, "the tensor is NULL") = {name.c_str(),   static_cast<std::int32_t>(t.type),
                                           t.shape.data(), t.shape.size(),
                                           t.bytes.data(), t.bytes.size()};
  });
}

void isomer_tensors_free(isomer_tensors* tensors) { delete tensors; }

isomer_status isomer_stop_new(isomer_stop** stop) {
  return answer([&] { give(std::make_unique<isomer_stop>(), stop); });
}

void isomer_stop_request(isomer_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}

void isomer_stop_free(isomer_stop* stop) { delete stop; }

void isomer_runtime_options_init(isomer_runtime_options* options) {
  const api::RuntimeOptions usual;
  *options = {.struct_size = sizeof(*options),
              .name = "ort",
              .library = "",
              .worker = "",
              .threads = usual.threads,
              .memory_gib = usual.memory_gib,
              .call_seconds = usual.call_seconds};
}

isomer_status isomer_run(const isomer_model* model, const isomer_tensors* feeds, isomer_engine engine,
                         const isomer_runtime_options* runtime, isomer_tensors** outputs) {
  return answer([&] {
    const api::RunOptions options{.engine = static_cast<api::Engine>(engine), .runtime = runtime_of(runtime)};
    const api::Tensors none;
    give(std::make_unique<isomer_tensors>(
             isomer_tensors{api::run(model_of(model), feeds == nullptr ? none : feeds->tensors, options)}),
         outputs);
  });
}

void isomer_optimize_options_init(isomer_optimize_options* options) {
  const api::OptimizeOptions usual;
  *options = {.struct_size = sizeof(*options),
              .seconds = usual.seconds,
              .judge = ISOMER_JUDGE_RUNTIME,
              .min_gain = usual.min_gain,
              .max_error_growth = usual.max_error_growth,
              .max_size_growth = 0,
              .simplify = 0,
              .strategy = "greedy",
              .steps = 0,
              .seed = usual.inputs.seed,
              .feeds = nullptr,
              .sizes = nullptr,
              .size_count = 0,
              .runtime = nullptr,
              .cache = "",
              .scratch = "",
              .progress = nullptr,
              .user = nullptr,
              .stop = nullptr};
}

isomer_status isomer_optimize(const isomer_model* in, const isomer_optimize_options* options,
                              isomer_model** model, char** certificate, char** report_json) {
  return answer([&] {
    api::Optimized found = api::optimize(model_of(in), optimize_options_of(options));
    Text proof(found.certificate), report(found.json);
    give(std::make_unique<isomer_model>(isomer_model{std::move(found.model)}), model);
    proof.give(certificate);
    report.give(report_json);
  });
}

isomer_status isomer_optimize_file(const char* in, const char* out, const char* certificate,
                                   const isomer_optimize_options* options, char** report_json) {
  return answer([&] {
    const api::OptimizeFiles files{
        .in = path_of(in), .out = path_of(out), .certificate = text_of(certificate)};
    Text(api::optimize_file(files, optimize_options_of(options)).json).give(report_json);
  });
}

void isomer_prove_options_init(isomer_prove_options* options) {
  const api::ProveOptions usual;
  *options = {.struct_size = sizeof(*options),
              .seconds = usual.seconds,
              .certificate = "",
              .progress = nullptr,
              .user = nullptr,
              .stop = nullptr};
}

isomer_status isomer_prove_equal(const isomer_model* a, const isomer_model* b,
                                 const isomer_prove_options* options, isomer_verdict* verdict,
                                 char** certificate, isomer_tensors** counterexample, char** json) {
  return answer([&] {
    const auto all = complete(options, isomer_prove_options_init);
    const api::ProveOptions how{.seconds = all.seconds,
                                .certificate = text_of(all.certificate),
                                .progress = progress_of(all.progress, all.user),
                                .stop = stop_of(all.stop)};
    api::Proof found = api::prove_equal(model_of(a), model_of(b), how);
    Text proof, report(found.json);
    if (found.verdict == api::Verdict::Proved) proof = Text(found.certificate);
    std::unique_ptr<isomer_tensors> feeds;
    if (!found.counterexample.empty())
      feeds = std::make_unique<isomer_tensors>(isomer_tensors{std::move(found.counterexample)});
    if (verdict != nullptr) *verdict = static_cast<isomer_verdict>(found.verdict);
    proof.give(certificate);
    give(std::move(feeds), counterexample);
    report.give(json);
  });
}

isomer_status isomer_check(const isomer_model* in, const isomer_model* out, const char* certificate,
                           int* accepted, char** json) {
  return answer([&] {
    const api::Checked found =
        api::check(model_of(in), model_of(out), &given(certificate, "the certificate is NULL"));
    Text report(found.json);
    if (accepted != nullptr) *accepted = found.accepted ? 1 : 0;
    report.give(json);
  });
}

isomer_status isomer_explain(const char* certificate, char** json) {
  return answer([&] { Text(api::explain(&given(certificate, "the certificate is NULL")).json).give(json); });
}

void isomer_compare_options_init(isomer_compare_options* options) {
  const api::CompareOptions usual;
  *options = {.struct_size = sizeof(*options),
              .engine = ISOMER_ENGINE_RUNTIME,
              .tolerance = -1,
              .seed = usual.inputs.seed,
              .feeds = nullptr,
              .sizes = nullptr,
              .size_count = 0,
              .runtime = nullptr,
              .scratch = "",
              .progress = nullptr,
              .user = nullptr};
}

isomer_status isomer_compare(const isomer_model* a, const isomer_model* b,
                             const isomer_compare_options* options, int* differ, char** json) {
  return answer([&] {
    const auto all = complete(options, isomer_compare_options_init);
    api::CompareOptions how;
    take_shared(how, all);
    how.engine = static_cast<api::Engine>(all.engine);
    if (all.tolerance >= 0) how.tolerance = all.tolerance;
    const api::Comparison found = api::compare(model_of(a), model_of(b), how);
    Text report(found.json);
    if (differ != nullptr) *differ = found.differ ? 1 : 0;
    report.give(json);
  });
}

isomer_status isomer_prove_rules(const char* path, char** json) {
  return answer([&] { Text(api::prove_rules(path_of(path)).json).give(json); });
}

void isomer_bench_options_init(isomer_bench_options* options) {
  const api::BenchOptions usual;
  *options = {.struct_size = sizeof(*options),
              .seconds = usual.seconds,
              .seed = usual.inputs.seed,
              .feeds = nullptr,
              .sizes = nullptr,
              .size_count = 0,
              .runtime = nullptr,
              .cache = "",
              .scratch = "",
              .progress = nullptr,
              .user = nullptr};
}

isomer_status isomer_bench(const isomer_model* const* models, size_t count,
                           const isomer_bench_options* options, char** json) {
  return answer([&] {
    const auto all = complete(options, isomer_bench_options_init);
    std::vector<api::Model> of;
    for (std::size_t k = 0; k < count; ++k) of.push_back(model_of(models == nullptr ? nullptr : models[k]));
    api::BenchOptions how;
    take_shared(how, all);
    how.seconds = all.seconds;
    how.cache = text_of(all.cache);
    Text(api::bench(of, how).json).give(json);
  });
}

void isomer_compile_options_init(isomer_compile_options* options) {
  const api::CompileOptions usual;
  *options = {.struct_size = sizeof(*options),
              .name = "model",
              .target = "native",
              .compiler = "",
              .schedules = "",
              .as_operator = 0,
              .threads = usual.threads,
              .seconds = usual.seconds,
              .sums = "",
              .max_error_growth = usual.max_error_growth,
              .feeds = nullptr,
              .sizes = nullptr,
              .size_count = 0,
              .runtime = nullptr,
              .scratch = "",
              .progress = nullptr,
              .user = nullptr,
              .stop = nullptr};
}

isomer_status isomer_compile(const isomer_model* model, const char* folder,
                             const isomer_compile_options* options, char** report_json) {
  return answer([&] {
    const auto all = complete(options, isomer_compile_options_init);
    api::CompileOptions wanted{.name = text_of(all.name),
                               .target = text_of(all.target),
                               .compiler = text_of(all.compiler),
                               .schedules = text_of(all.schedules),
                               .as_operator = all.as_operator != 0,
                               .threads = all.threads,
                               .seconds = all.seconds,
                               .sums = text_of(all.sums),
                               .max_error_growth = all.max_error_growth};
    take_shared(wanted, all);
    Text(api::compile(model_of(model), path_of(folder), wanted).json).give(report_json);
  });
}
