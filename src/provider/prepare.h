// Makes entries of the cache. The program `isomer` works in a separate process, in a folder beside the
// entry's place; its finished work becomes the entry at the next lookup. A lock, which the process holds,
// marks work in progress; if a process dies, no partial entry is left.
#pragma once

#include <filesystem>
#include <string>

#include "base/entry_cache.h"

namespace isomer::provider {

// Anew: also if there is an entry.
enum class Prepare { Never, OnFirstLoad, InBackground, Anew };

struct PrepareOptions {
  Prepare when = Prepare::Never;
  std::string budget = "5m";
  std::string arguments = {};  // more of `isomer optimize`, with blanks between them
};

// Throws a Reason if there is no such word.
Prepare prepare_of(const std::string& word);

class Preparation {
 public:
  Preparation(const EntryCache& cache, std::string fingerprint, std::filesystem::path runtime_library)
      : cache_(cache),
        fingerprint_(std::move(fingerprint)),
        place_(cache.place(fingerprint_)),
        runtime_library_(std::move(runtime_library)) {}

  // Makes an entry from the result of an earlier preparation, if there is one.
  bool take_finished() const;
  // Makes an entry of the files of another one.
  void take(const Entry& other) const;
  // Prepares the model in this file. Throws a Reason: it failed, or goes on in the background.
  void start(const std::filesystem::path& model, const PrepareOptions& options) const;

 private:
  std::filesystem::path work() const { return place_.string() + ".work"; }
  bool has_entry() const;
  void take_finished_locked() const;
  void launch(const std::filesystem::path& model, const PrepareOptions& options, int lock) const;

  const EntryCache& cache_;
  std::string fingerprint_;
  std::filesystem::path place_, runtime_library_;
};

}  // namespace isomer::provider
