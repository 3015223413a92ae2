// A store of plans in a directory; to read from, also in an OCI image layout ("oci:DIR"). The same files may
// lie in a bucket or on a web server (python/isomer/fleet/plans.py).
//
//   DIR/v1/objects/<2 digits>/<64 digits>   a plan (plan.h), named by its digest
//   DIR/v1/index/<anchor>/<64 digits>       where it is looked for (places.h): {"key", "object", "target",
//                                           "ratio"}, named by its digest
//   DIR/v1/signatures/<entry>/<64 digits>   a detached signature of an entry, by the 64 digits of its name:
//                                           it signs the measurement (python/isomer/fleet/signatures.py). Not
//                                           read here.
//
// Every file is named by what it says and written at once (a temporary file, synced, renamed): two writers
// never write different things under one name, and nothing is ever changed. What can't be read, is no such
// file, is too large or has another name than its digest is not there. Never an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "optimizer/plans/plan.h"

namespace isomer {

// A place of a plan in the index, and its measurement.
struct PlanEntry {
  std::string anchor, key, object;
  std::string target;  // processor, runtime, version, options; "" if not measured
  double ratio = 0;    // speedup of a region; 0: not measured
};

class PlanStore {
 public:
  // Files beyond these are not there: no anchor of the zoo has a tenth of it.
  static constexpr std::size_t kMostEntries = 256, kMostEntryBytes = 4096;
  static constexpr std::size_t kMostSignatureBytes = 16384;

  // A directory, or "oci:DIR".
  explicit PlanStore(const std::filesystem::path& place);

  std::vector<PlanEntry> find(const std::string& anchor) const;
  std::optional<Plan> plan(const std::string& object) const;

  // Whether it is on the disk; a directory that can't be written is a reason to go on without.
  bool keep(const std::string& anchor, const Plan& plan, const std::string& target, double ratio);

  struct Contents {
    std::uint64_t plans = 0, entries = 0, signatures = 0, bytes = 0, invalid = 0, orphans = 0;
    std::vector<PlanEntry> list;
    std::vector<std::string> objects;  // plans by their names
  };
  // All of it, every file read and checked. Orphans: plans that no entry names, entries without their plan,
  // signatures without their entry.
  Contents contents() const;
  // Removes invalid files and orphans, then the oldest files until at most `most_bytes` are used (0: no
  // limit); returns what was removed.
  std::uint64_t clean(std::uint64_t most_bytes);
  // Copies what the other has and this one lacks, each file checked; how many.
  std::uint64_t take_from(const PlanStore& other);

 private:
  struct Named {
    std::string name;
    std::filesystem::path path;
  };
  // Names that files of a store may have, in the order of the names; folders of a kind.
  std::vector<Named> files(const std::string& folder, std::size_t most) const;
  std::vector<std::string> folders(const std::string& kind) const;
  std::optional<std::string> text_of(const std::string& folder, const std::string& name,
                                     std::size_t most) const;
  struct File;
  std::vector<File> all_files() const;
  static std::set<std::filesystem::path> orphans_of(const std::vector<File>& files);
  static std::string signed_entry(const File& signature);

  std::filesystem::path root_;
  // Files of an OCI layout, by their names below v1/. Nothing is written there.
  std::optional<std::map<std::string, std::filesystem::path>> blobs_;
};

}  // namespace isomer
