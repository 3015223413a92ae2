#include "app/api/compile/kept_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "app/api/compile/compile_candidate.h"
#include "app/api/model_state.h"
#include "app/optimize/guard.h"
#include "base/blake2b.h"
#include "base/cache_place.h"
#include "base/processor.h"
#include "base/temporary_folder.h"
#include "kernel/certify/digest.h"
#include "runtime/judge/judge.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNew = ".new";
constexpr std::string_view kModel = "model.onnx", kLibrary = "kernels.so", kWeights = "kernels.weights",
                           kCertificate = "certificate", kFound = "found.json";

// Files whose contents the key does not have.
bool has_other_files(const OptimizeFiles& files, const OptimizeOptions& options) {
  return has_feeds(options.inputs) || !options.rules.empty() || !options.plans.empty() ||
         !files.operators.empty() || !options.run.runtime.custom_op_libraries.empty();
}

// Whatever leads to other kernels, or to other measurements.
std::string key_of(const OptimizeFiles& files, const OptimizeOptions& options, const Model& model) {
  const RuntimeOptions& runtime = options.run.runtime;
  std::vector<std::string> words{std::string(version()), model_digest(model.state().model.graph),
                                 files.compiler, options.strategy, runtime.library.string()};
  for (const auto* list : {&options.without, &options.only, &options.inputs.sizes, &options.inputs.values,
                           &runtime.disabled_optimizers})
    words.push_back(fmt::format("{}", fmt::join(*list, " ")));
  for (const auto& [name, value] : runtime.config) words.push_back(name + "=" + value);
  words.push_back(fmt::format("{} {} {} {} {} {} {} {} {} {}", options.seconds, options.min_gain,
                              options.max_error_growth, options.max_size_growth.value_or(0), options.steps,
                              options.inputs.seed, files.sizes_from, files.fix_sizes, runtime.threads,
                              runtime.optimization_level));
  Blake2b key;
  for (const std::string& word : words) key.add(word.c_str(), word.size() + 1);
  return key.hex();
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

ReportJson json_of(const FoundKernels& found) {
  ReportJson out{{"is_whole", found.is_whole}, {"ratio", to_json(*found.ratio)}, {"told", found.json}};
  if (const auto& errors = found.errors) out["errors"] = {errors->module, errors->runtime};
  return out;
}

void read_json(const ReportJson& json, FoundKernels& found) {
  found.is_whole = json["is_whole"];
  const ReportJson& ratio = json["ratio"];
  found.ratio = Interval{ratio["ratio"], ratio["low"], ratio["high"]};
  found.json = json["told"];
  if (json.contains("errors"))
    found.errors = Compiled::Errors{.module = json["errors"][0], .runtime = json["errors"][1]};
}

// Adds the files that `fill` puts into a folder; adds none if the disk is full or read-only.
void add_entry(const EntryCache& cache, const std::string& key,
               const std::function<void(const fs::path&)>& fill) {
  try {
    const fs::path place = cache.place(key).parent_path();
    fs::create_directories(place);
    TemporaryFolder::remove_stale(place, kNew);
    const TemporaryFolder made(place, kNew);
    const fs::path files = fs::path(made.path()) / "files";
    fs::create_directory(files);
    fill(files);
    cache.add(key, files);
  } catch (const std::exception&) {
    return;  // as if there were no cache
  }
}

}  // namespace

KeptKernels::KeptKernels(const OptimizeFiles& files, const OptimizeOptions& options, const Model& model) {
  if (options.cache.empty() || has_other_files(files, options)) return;
  const auto judge =
      isomer::Judge::start(worker_options(request_of(options.run.runtime), options.run.runtime.name));
  if (!judge.ok()) return;
  key_ = key_of(files, options, model);
  cache_.emplace(kernels_beside(options.cache),
                 EntryCache::Machine{.runtime = (*judge)->version(), .processor = processor_features()});
}

std::optional<FoundKernels> KeptKernels::find(const fs::path& folder, const fs::path& out) const {
  if (!cache_) return std::nullopt;
  try {
    const fs::path kept = cache_->find(key_).model.parent_path();
    const fs::path stem = folder / out.stem();
    FoundKernels found;
    found.model = folder / out.filename();
    found.library = stem.string() + ".kernels.so";
    fs::copy_file(kept / kModel, found.model);
    fs::copy_file(kept / kLibrary, found.library);
    if (fs::exists(kept / kWeights)) {
      found.weights = stem.string() + ".kernels.weights";
      fs::copy_file(kept / kWeights, found.weights);
    }
    found.certificate = text_of(kept / kCertificate);
    read_json(ReportJson::parse(text_of(kept / kFound)), found);
    return found;
  } catch (const std::exception&) {  // there are none, they are damaged, or the disk is full
    return std::nullopt;
  }
}

void KeptKernels::keep(const FoundKernels& found) const {
  if (!cache_ || !found.is_taken || !found.time || fs::exists(found.model.string() + ".data")) return;
  add_entry(*cache_, key_, [&](const fs::path& files) {
    fs::copy_file(found.model, files / kModel);
    fs::copy_file(found.library, files / kLibrary);
    if (!found.weights.empty()) fs::copy_file(found.weights, files / kWeights);
    write(files / kCertificate, found.certificate);
    write(files / kFound, json_of(found).dump());
  });
}

void keep_for_provider(const fs::path& cache, const OptimizedFiles& files,
                       const std::string& runtime_version) {
  if (bytes_of(files.in) != fs::file_size(files.in) || bytes_of(files.out) != fs::file_size(files.out))
    return;
  const std::string own = fs::absolute(prepared_beside(cache)).string() + "/";
  if (fs::absolute(files.out).string().starts_with(own)) return;  // the provider keeps its own
  const EntryCache entries(optimized_beside(cache),
                           {.runtime = runtime_version, .processor = files.kernels->processor});
  add_entry(entries, digest_of_file(files.in), [&](const fs::path& made) {
    fs::copy_file(files.out, made / kModel);
    fs::copy_file(files.library(), made / kLibrary);
    if (!files.kernels->weights.empty()) fs::copy_file(files.weights(), made / kWeights);
  });
}

}  // namespace isomer::api
