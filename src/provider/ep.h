// The provider of one session: claims the whole graph of a model that has an entry in the cache, else
// nothing.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/entry_cache.h"
#include "provider/inner_session.h"
#include "provider/ort.h"
#include "provider/prepare.h"

namespace isomer::provider {

// Makes the runtime load a model from its file without any options, and returns its fingerprint.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::string fingerprint_of_file(const std::filesystem::path& model,
                                          GraphOptimizationLevel level) = 0;
  virtual void tell(const std::string& fingerprint) = 0;  // called by the provider of the probing session
};

class Ep : public OrtEp {
 public:
  Ep(const Ort& ort, Probe& probe, const OrtSessionOptions* options, const OrtLogger* logger);

 private:
  void claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info);
  void open(const Fingerprint& graph, const std::filesystem::path& model);
  Entry find_entry(const std::string& fingerprint, const std::filesystem::path& model) const;
  bool take_optimized(const Preparation& preparation, const std::string& fingerprint,
                      const std::filesystem::path& model) const;
  bool is_file_of(const std::string& fingerprint, const std::filesystem::path& model) const;
  EntryCache::Machine machine() const;
  OrtNodeComputeInfo* compile(const OrtNode* fused);
  void tell_reason();
  bool report(const std::string& text) const;
  std::string option(const std::string& key) const;
  std::string own_option(const std::string& key) const { return option("ep.isomerexecutionprovider." + key); }

  const Ort& ort_;
  Probe& probe_;
  const OrtLogger* logger_;
  Owned<OrtSessionOptions> options_;
  std::optional<Reason> reason_;  // why nothing is claimed, until a warning says so
  std::atomic<bool> is_told_ = false;
  std::string opened_;  // the fingerprint of the model that the session below is for
  std::shared_ptr<InnerSession> inner_;
};

}  // namespace isomer::provider
