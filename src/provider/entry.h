// An entry of the cache: the model that `optimize --kernels` made of another, for this machine and this
// runtime. A folder with a manifest, which has a digest of each file and of itself.
#pragma once

#include <filesystem>
#include <string>

namespace isomer::provider {

// What an entry is made for.
struct Machine {
  std::string runtime;    // the version of ONNX Runtime
  std::string processor;  // what it offers to compiled code
};

struct Entry {
  std::filesystem::path model;
  std::filesystem::path library{};  // of its kernels; "": it has none
};

class EntryCache {
 public:
  EntryCache(std::filesystem::path folder, Machine machine);

  // Throws a Reason: there is none, it is damaged, or it was found that nothing is faster.
  Entry find(const std::string& fingerprint) const;

  // Where such an entry is, or will be; what is being made for it has the same name and an ending.
  std::filesystem::path place(const std::string& fingerprint) const;

  // Makes an entry of a folder with its files. `why_none`: why it has no model. What was used least goes,
  // where all entries take too much room.
  void add(const std::string& fingerprint, const std::filesystem::path& files,
           const std::string& why_none) const;

 private:
  void shrink(const std::filesystem::path& keep) const;

  std::filesystem::path folder_;
  Machine machine_;
};

}  // namespace isomer::provider
