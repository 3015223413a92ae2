// TimingCache: earlier measurements of any process of this user, in one SQLite file; and records of slow work
// without a result.
//
// Raw samples are kept, so that better statistics can be computed from old runs. An entry that `store` has
// acknowledged survives the death of any process. A damaged or foreign file is set aside and a new one begun;
// a cache that can't be opened at all is empty and reports that once, in `trouble`. Never an error to a user.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/judge/measure.h"

namespace isomer {

// Everything that a measurement depends on.
struct TimingKey {
  std::string a, b;        // canonical digests of the two models or regions; b is empty for one alone
  std::string feeds = {};  // of the inputs: shapes, or a digest
  std::string runtime, version;
  RuntimeOptions options = {};
  std::string text() const;  // with the machine and the protocol's version
};

// The conditions of a measurement, as one line: runtime, version, options, processor, instructions, and the
// version of the protocol.
std::string target_text(const std::string& runtime, const std::string& version,
                        const RuntimeOptions& options);

struct TimingSamples {
  std::vector<Round> explored, confirmed;
};

class TimingCache {
 public:
  // Makes the file and its folder where they are missing.
  static std::unique_ptr<TimingCache> open(const std::string& path);
  ~TimingCache();
  TimingCache(const TimingCache&) = delete;
  TimingCache& operator=(const TimingCache&) = delete;

  std::optional<TimingSamples> find(const TimingKey& key);
  // True: it is on the disk, or replaced what was there. False: it was not kept.
  bool store(const TimingKey& key, const TimingSamples& samples);
  std::size_t size();

  // A text under a key, as kept as a measurement is.
  std::optional<std::string> note(const std::string& key);
  bool keep_note(const std::string& key, const std::string& text);

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const;  // on the disk
  // Removes the oldest entries until at most `bytes` are used.
  void shrink_to(std::uint64_t bytes);

  const std::string& trouble() const { return trouble_; }  // what went wrong, for the log; or ""

 private:
  struct Database;
  TimingCache();
  bool connect();                   // under the lock
  bool reconnect_after(int code);   // true: there is a fresh file to try again with
  void set_aside(const char* why);  // under the lock

  std::mutex one_at_a_time_;
  std::string path_, trouble_;
  std::unique_ptr<Database> database_;  // null: nothing is kept
};

// For storing: bytes that only `samples_from` reads. nullopt if they are not such bytes.
std::string to_bytes(const TimingSamples& samples);
std::optional<TimingSamples> samples_from(const std::string& bytes);

}  // namespace isomer
