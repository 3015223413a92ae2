#include "runtime/worker/file_guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "io/onnx/descriptor.h"

namespace isomer {
namespace {

// As the kernel has them (linux/landlock.h), here because older headers know only some.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1, kBelowPath = 1;

struct Ruleset {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

constexpr std::uint64_t kWriteFile = 1ULL << 1;
constexpr std::uint64_t kRemoveAndMake = 0x1ff0;  // bits 4 to 12: directories, files, links, pipes, devices
constexpr std::uint64_t kRefer = 1ULL << 13;      // to other directories; from version 2 on
constexpr std::uint64_t kTruncate = 1ULL << 14;   // from version 3 on
constexpr std::uint64_t kTcp = 3;                 // bind and connect; from version 4 on
constexpr std::uint64_t kScopes = 3;              // abstract sockets and signals; from version 6 on

bool allow(int ruleset, const char* path, std::uint64_t what) {
  const wire::Descriptor place(::open(path, O_PATH | O_CLOEXEC));
  const PathRule rule{what, place.get()};
  return place.is_open() && ::syscall(kAddRule, ruleset, kBelowPath, &rule, 0) == 0;
}

}  // namespace

bool keep_writes_below(const std::string& folder) {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1 || folder.empty()) return false;
  Ruleset rules{.files = kWriteFile | kRemoveAndMake | (version >= 2 ? kRefer : 0) |
                         (version >= 3 ? kTruncate : 0)};
  std::size_t size = sizeof(std::uint64_t);
  if (version >= 4) rules.network = kTcp, size = 2 * sizeof(std::uint64_t);
  if (version >= 6) rules.scoped = kScopes, size = sizeof rules;
  const wire::Descriptor ruleset(static_cast<int>(::syscall(kCreateRuleset, &rules, size, 0)));
  if (!ruleset.is_open() || !allow(ruleset.get(), folder.c_str(), rules.files)) return false;
  (void)allow(ruleset.get(), "/dev/null", rules.files & (kWriteFile | kTruncate));
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::syscall(kRestrictSelf, ruleset.get(), 0) == 0;
}

}  // namespace isomer
