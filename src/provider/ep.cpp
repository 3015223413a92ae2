#include "provider/ep.h"

#include <dlfcn.h>

#include <fstream>

#include "base/cache_place.h"
#include "base/processor.h"
#include "provider/fingerprint.h"

namespace isomer::provider {
namespace {

namespace fs = std::filesystem;

// One node that runs the inner session.
struct Node : OrtNodeComputeInfo {
  Node(const Ort& with, std::shared_ptr<InnerSession> runs)
      : OrtNodeComputeInfo{}, ort(with), session(std::move(runs)) {
    ort_version_supported = ORT_API_VERSION;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) noexcept -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) noexcept {
      const auto* node = static_cast<Node*>(self);
      return node->ort.guard([&] { node->session->run(context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) noexcept {};
  }
  const Ort& ort;
  std::shared_ptr<InnerSession> session;
};

// The library that this runtime is in, for programs that load it; in Python's packages it is beside another
// one.
fs::path runtime_library(const OrtApi& api) {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<const void*>(api.CreateSession), &info) == 0 || !info.dli_fname) return "";
  fs::path file = fs::absolute(info.dli_fname);
  const auto is_it = [](const fs::path& path) {
    return path.filename().string().starts_with("libonnxruntime.so");
  };
  if (is_it(file)) return file;
  std::error_code failure;
  for (const auto& beside : fs::directory_iterator(file.parent_path(), failure))
    if (is_it(beside)) return beside;
  return "";
}

fs::path cache_file() {
  fs::path place = cache_place();
  if (place.empty()) throw Reason("there is no cache: $ISOMER_CACHE is \"none\", or there is no home");
  return place;
}

std::vector<std::string> names_of(const Ort& ort, const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> out;
  for (const OrtValueInfo* value : values)
    out.emplace_back(ort.ask<const char*>(ort.api.GetValueInfoName, value));
  return out;
}

}  // namespace

Ep::Ep(const Ort& ort, Probe& probe, const OrtSessionOptions* options, const OrtLogger* logger)
    : OrtEp{},
      ort_(ort),
      probe_(probe),
      logger_(logger),
      options_(ort.own(ort.ask<OrtSessionOptions*>(ort.api.CloneSessionOptions, options),
                       ort.api.ReleaseSessionOptions)) {
  ort_version_supported = ORT_API_VERSION;
  GetName = [](const OrtEp*) noexcept { return kName; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
    auto* ep = static_cast<Ep*>(self);
    return ep->ort_.guard([&] { ep->claim(graph, info); });
  };
  Compile = [](OrtEp* self, const OrtGraph**, const OrtNode** nodes, std::size_t count,
               OrtNodeComputeInfo** out, OrtNode**) noexcept {
    auto* ep = static_cast<Ep*>(self);
    return ep->ort_.guard([&] {
      for (std::size_t k = 0; k < count; ++k) out[k] = ep->compile(nodes[k]);
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, std::size_t count) noexcept {
    for (std::size_t k = 0; k < count; ++k) delete static_cast<Node*>(infos[k]);
  };
  OnRunStart = [](OrtEp* self, const OrtRunOptions*) noexcept -> OrtStatus* {
    auto* ep = static_cast<Ep*>(self);
    return ep->ort_.guard([&] { ep->tell_reason(); });
  };
}

// Called for each graph inside of the model, for the model while it has functions, and when those are written
// out.
void Ep::claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  const OrtApi& api = ort_.api;
  if (!option(kOwnSession).empty() || ort_.ask<const OrtNode*>(api.Graph_GetParentNode, graph)) return;
  const auto nodes = ort_.list<OrtNode>(api.Graph_GetNumNodes, api.Graph_GetNodes, graph);
  if (nodes.empty()) return;
  try {
    for (const OrtNode* node : nodes) {
      const char* taken_by = ort_.ask<const char*>(api.Node_GetEpName, node);
      if (taken_by && std::string(taken_by) == kName) return;
      if (taken_by && *taken_by && reason_) return;  // that is why
      if (taken_by && *taken_by) throw Reason(std::string(taken_by) + " runs a part of it");
    }
    const Fingerprint found = fingerprint_of(ort_, graph);
    if (!own_option("probe").empty()) return probe_.tell(found.digest);
    if (option("session.disable_aot_function_inlining") == "1") throw Reason("its functions are not inlined");
    open(found, ort_.ask<const ORTCHAR_T*>(api.Graph_GetModelPath, graph));
    const OrtNodeFusionOptions fusion{.ort_version_supported = ORT_API_VERSION,
                                      .drop_constant_initializers = true};
    ort_.check(ort_.ep.EpGraphSupportInfo_AddNodesToFuse(info, nodes.data(), nodes.size(), &fusion));
    reason_.reset();
    report("used");
    return;
  } catch (const UnknownOperator& function) {
    reason_ = function;
    return;  // it may be written out when this is called again; if not, the first run warns
  } catch (const NoEntry& none) {
    reason_.emplace(none.what(), none.is_expected);
  } catch (const std::exception& e) {
    reason_.emplace(e.what());
  }
  tell_reason();
}

void Ep::open(const Fingerprint& graph, const fs::path& model) {
  if (opened_ == graph.digest) return;
  const Entry entry = find_entry(graph.digest, model);
  auto inner = std::make_shared<InnerSession>(ort_, options_.get(), entry.model, entry.library);
  inner->check_ports(graph);
  inner_ = std::move(inner);
  opened_ = graph.digest;
}

Entry Ep::find_entry(const std::string& fingerprint, const fs::path& model) const {
  const EntryCache cache(prepared_beside(cache_file()), machine());
  const Preparation preparation(cache, fingerprint, runtime_library(ort_.api));
  PrepareOptions options{.when = prepare_of(own_option("prepare")), .arguments = own_option("arguments")};
  if (const std::string budget = own_option("budget"); !budget.empty()) options.budget = budget;
  try {
    if (options.when != Prepare::Anew) return cache.find(fingerprint);
  } catch (const NoEntry& none) {
    if (preparation.take_finished() || take_optimized(preparation, fingerprint, model))
      return cache.find(fingerprint);
    if (none.is_expected || options.when == Prepare::Never) throw;
  }
  if (model.empty()) throw Reason("a model that is given as bytes is prepared by isomer.prepare");
  if (!is_file_of(fingerprint, model))
    throw Reason("it can't be prepared: options of the session make another model of its file");
  preparation.start(model, options);
  return cache.find(fingerprint);
}

// The result of `optimize --kernels` for the model's file.
bool Ep::take_optimized(const Preparation& preparation, const std::string& fingerprint,
                        const fs::path& model) const try {
  const fs::path folder = optimized_beside(cache_file());
  if (model.empty() || !fs::exists(folder)) return false;
  const Entry made = EntryCache(folder, machine()).find(digest_of_file(model));
  if (!is_file_of(fingerprint, model)) return false;
  preparation.take(made);
  return true;
} catch (const NoEntry&) {
  return false;
}

// Whether the file has this model, whatever the options of the session do to it.
bool Ep::is_file_of(const std::string& fingerprint, const fs::path& model) const {
  return probe_.fingerprint_of_file(model, ORT_ENABLE_ALL) == fingerprint ||
         probe_.fingerprint_of_file(model, ORT_DISABLE_ALL) == fingerprint;
}

EntryCache::Machine Ep::machine() const {
  return {.runtime = ort_.version, .processor = processor_features()};
}

OrtNodeComputeInfo* Ep::compile(const OrtNode* fused) {
  const OrtApi& api = ort_.api;
  inner_->bind(names_of(ort_, ort_.list<OrtValueInfo>(api.Node_GetNumInputs, api.Node_GetInputs, fused)),
               names_of(ort_, ort_.list<OrtValueInfo>(api.Node_GetNumOutputs, api.Node_GetOutputs, fused)));
  return new Node(ort_, inner_);
}

void Ep::tell_reason() {
  if (!reason_ || is_told_.exchange(true)) return;  // runs may begin at the same time
  if (report(reason_->what())) return;
  const auto level = reason_->is_expected ? ORT_LOGGING_LEVEL_INFO : ORT_LOGGING_LEVEL_WARNING;
  const std::string text = std::string(kName) + " leaves this model to other providers: " + reason_->what();
  ort_.check(ort_.api.Logger_LogMessage(logger_, level, text.c_str(), "isomer", 0, "claim"));
}

// To a file that a program names, instead of the log; false: it names none.
bool Ep::report(const std::string& text) const {
  const std::string file = own_option("report");
  if (!file.empty()) std::ofstream(file) << text;
  return !file.empty();
}

std::string Ep::option(const std::string& key) const {
  if (ort_.ask<int>(ort_.api.HasSessionConfigEntry, options_.get(), key.c_str()) == 0) return "";
  std::size_t bytes = 0;
  if (OrtStatus* too_short = ort_.api.GetSessionConfigEntry(options_.get(), key.c_str(), nullptr, &bytes))
    ort_.api.ReleaseStatus(too_short);
  std::string value(bytes, '\0');
  ort_.check(ort_.api.GetSessionConfigEntry(options_.get(), key.c_str(), value.data(), &bytes));
  value.resize(bytes > 0 ? bytes - 1 : 0);  // the zero at the end
  return value;
}

}  // namespace isomer::provider
