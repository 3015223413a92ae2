// Preloaded (LD_PRELOAD) into a program: makes one call of the system fail, as on a full disk or with no
// memory left.
//   ISOMER_FAIL=KIND:N    the N-th call of this kind fails, once; N+: all calls from there on
//   ISOMER_FAIL_IN=NAME   only in programs of this name; others run undisturbed
//   ISOMER_FAIL_COUNTS=F  at the end of the program, a line is added to F: its name, then KIND=CALLS for each
//   kind
// Kinds: see kKinds. Calls that libc makes inside of itself are not seen: a file that fopen opens counts as
// an open.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The functions below malloc: dlsym itself allocates, so that it can't return them.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): these are their names
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace {

enum Kind {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kRename,
  kTruncate,
  kMap,
  kMalloc,
  kFork,
  kPoll,
  kFolder,
  kKindCount
};
constexpr std::array<const char*, kKindCount> kKinds = {
    "open", "read", "write", "fsync", "rename", "truncate", "mmap", "malloc", "fork", "poll", "mkdir"};
constexpr std::array<int, kKindCount> kErrors = {EMFILE, EIO,    ENOSPC, EIO,    EACCES, ENOSPC,
                                                 ENOMEM, ENOMEM, EAGAIN, ENOMEM, ENOSPC};

std::array<std::atomic<long>, kKindCount> calls;
std::atomic<int> failing_kind = kKindCount;  // none
long failing_call = 0;
bool stays_broken = false;

__attribute__((constructor)) void begin() {
  const char* name = std::getenv("ISOMER_FAIL_IN");
  if (name && std::strcmp(name, program_invocation_short_name) != 0) return;
  const char* asked = std::getenv("ISOMER_FAIL");
  if (!asked) return;
  const char* colon = std::strchr(asked, ':');
  if (!colon) return;
  char* end = nullptr;
  failing_call = std::strtol(colon + 1, &end, 10);
  stays_broken = *end == '+';
  for (int k = 0; k < kKindCount; ++k)
    if (std::strncmp(asked, kKinds[k], colon - asked) == 0 && kKinds[k][colon - asked] == '\0')
      failing_kind = k;
}

__attribute__((destructor)) void tell_counts() {
  failing_kind = kKindCount;
  const char* path = std::getenv("ISOMER_FAIL_COUNTS");
  if (!path) return;
  std::array<char, 1024> line{};
  int length = std::snprintf(line.data(), line.size(), "%s", program_invocation_short_name);
  for (int k = 0; k < kKindCount; ++k)
    length +=
        std::snprintf(line.data() + length, line.size() - length, " %s=%ld", kKinds[k], calls[k].load());
  line[length++] = '\n';
  const int file = ::openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) return;
  if (::write(file, line.data(), length) != length) std::abort();
  ::close(file);
}

thread_local bool is_spared = false;  // see isl_ctx_alloc

bool fails(Kind kind) {
  const long call = calls[kind].fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_spared) return false;
  if (failing_kind.load(std::memory_order_relaxed) != kind) return false;
  if (call != failing_call && !(stays_broken && call > failing_call)) return false;
  errno = kErrors[kind];
  return true;
}

// The function of this name that would have been called.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// NEXT(name): that function, looked up once.
#define NEXT(name)                                            \
  (*[]() {                                                    \
    static const auto found = next<decltype(&::name)>(#name); \
    return found;                                             \
  }())

extern "C" {

// isl 0.25 reads a null pointer if the second or third allocation in here fails (isl_handle_error before
// there are options). src/kernel/normal/sets.cpp makes sure that there is memory before it calls it, which
// one failing call in the middle would not respect.
struct isl_ctx* isl_ctx_alloc();
struct isl_ctx* isl_ctx_alloc() {
  is_spared = true;
  struct isl_ctx* made = NEXT(isl_ctx_alloc)();
  is_spared = false;
  return made;
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return fails(kOpen) ? -1 : NEXT(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return fails(kOpen) ? -1 : NEXT(open64)(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return fails(kOpen) ? -1 : NEXT(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return fails(kOpen) ? -1 : NEXT(openat64)(folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) { return fails(kOpen) ? nullptr : NEXT(fopen)(path, mode); }
FILE* fopen64(const char* path, const char* mode) {
  return fails(kOpen) ? nullptr : NEXT(fopen64)(path, mode);
}
int memfd_create(const char* name, unsigned flags) {
  return fails(kOpen) ? -1 : NEXT(memfd_create)(name, flags);
}

ssize_t read(int file, void* to, std::size_t size) { return fails(kRead) ? -1 : NEXT(read)(file, to, size); }
ssize_t pread(int file, void* to, std::size_t size, off_t at) {
  return fails(kRead) ? -1 : NEXT(pread)(file, to, size, at);
}
ssize_t pread64(int file, void* to, std::size_t size, off64_t at) {
  return fails(kRead) ? -1 : NEXT(pread64)(file, to, size, at);
}
ssize_t write(int file, const void* from, std::size_t size) {
  return fails(kWrite) ? -1 : NEXT(write)(file, from, size);
}
ssize_t pwrite(int file, const void* from, std::size_t size, off_t at) {
  return fails(kWrite) ? -1 : NEXT(pwrite)(file, from, size, at);
}
ssize_t pwrite64(int file, const void* from, std::size_t size, off64_t at) {
  return fails(kWrite) ? -1 : NEXT(pwrite64)(file, from, size, at);
}
int fsync(int file) { return fails(kSync) ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return fails(kSync) ? -1 : NEXT(fdatasync)(file); }
int rename(const char* from, const char* to) { return fails(kRename) ? -1 : NEXT(rename)(from, to); }
int ftruncate(int file, off_t size) { return fails(kTruncate) ? -1 : NEXT(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return fails(kTruncate) ? -1 : NEXT(ftruncate64)(file, size); }
void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  return fails(kMap) ? MAP_FAILED : NEXT(mmap)(at, size, protection, flags, file, offset);
}
void* mmap64(void* at, std::size_t size, int protection, int flags, int file, off64_t offset) {
  return fails(kMap) ? MAP_FAILED : NEXT(mmap64)(at, size, protection, flags, file, offset);
}
pid_t fork() { return fails(kFork) ? -1 : NEXT(fork)(); }
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  return fails(kFork) ? EAGAIN : NEXT(posix_spawn)(pid, path, actions, attributes, arguments, environment);
}
int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  return fails(kFork) ? EAGAIN : NEXT(posix_spawnp)(pid, file, actions, attributes, arguments, environment);
}
int poll(pollfd* entries, nfds_t count, int milliseconds) {
  return fails(kPoll) ? -1 : NEXT(poll)(entries, count, milliseconds);
}
int ppoll(pollfd* entries, nfds_t count, const timespec* time, const sigset_t* mask) {
  return fails(kPoll) ? -1 : NEXT(ppoll)(entries, count, time, mask);
}
int mkdir(const char* path, mode_t mode) { return fails(kFolder) ? -1 : NEXT(mkdir)(path, mode); }
char* mkdtemp(char* pattern) { return fails(kFolder) ? nullptr : NEXT(mkdtemp)(pattern); }

void* malloc(std::size_t size) { return fails(kMalloc) ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return fails(kMalloc) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  return fails(kMalloc) ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails(kMalloc) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  if (fails(kMalloc)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"
