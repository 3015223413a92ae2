// Models that `optimize --kernels` made of others, for this machine and this runtime, in a folder. An entry
// is a folder with a manifest, which has a digest of each file and of itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace isomer {

// Why there is none that can be taken. Something to warn of, unless it was to be expected.
class NoEntry : public std::runtime_error {
 public:
  explicit NoEntry(const std::string& why, bool expected = false)
      : std::runtime_error(why), is_expected(expected) {}
  bool is_expected;
};

struct Entry {
  std::filesystem::path model;
  std::filesystem::path library{};  // of its kernels; "": it has none
};

std::string digest_of_file(const std::filesystem::path& file);
// The size of all files in a folder.
std::uintmax_t bytes_in(const std::filesystem::path& folder);

class EntryCache {
 public:
  // The keys of entries.
  struct Machine {
    std::string runtime;    // the version of ONNX Runtime
    std::string processor;  // what it offers to compiled code
  };
  static constexpr char kManifest[] = "manifest";  // the file of an entry that lists the others
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 30;
  EntryCache(std::filesystem::path folder, Machine machine, std::uintmax_t most_bytes = kMostBytes);

  // Throws NoEntry: there is none, it is damaged, or it was found that nothing is faster.
  Entry find(const std::string& fingerprint) const;

  // Where such an entry is, or will be; what is being made for it has the same name and an ending.
  std::filesystem::path place(const std::string& fingerprint) const;

  // Makes an entry of a folder with its files. `why_none`: why it has no model. The least recently used
  // entries are removed if all together are too large.
  void add(const std::string& fingerprint, const std::filesystem::path& files,
           const std::string& why_none = "") const;

 private:
  void shrink(const std::filesystem::path& keep) const;

  std::filesystem::path folder_;
  Machine machine_;
  std::uintmax_t most_bytes_;
};

}  // namespace isomer
