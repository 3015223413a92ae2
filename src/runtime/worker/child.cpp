#include "runtime/worker/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <system_error>

extern char** environ;

namespace isomer {
namespace {

class SpawnPlan {
 public:
  SpawnPlan(int socket, int words) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, words, STDERR_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kSocket);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int spawn(pid_t& pid, const std::string& program) {
    std::string name = program, parent = std::to_string(::getpid());
    char* arguments[] = {name.data(), parent.data(), nullptr};
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments, environ);
  }

 private:
  static constexpr int kSocket = 3;
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Outcome<std::unique_ptr<Child>> Child::start(const std::string& program, wire::Descriptor socket) {
  std::unique_ptr<Child> child(new Child);
  child->words_ = wire::Descriptor(::memfd_create("isomer-words", MFD_CLOEXEC));
  // dup2 onto itself would keep close-on-exec; a number above the child's own files never is that.
  wire::Descriptor moved(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 10));
  if (!child->words_.is_open() || !moved.is_open())
    return Failure{FailureKind::Unavailable, "no file descriptors left for a worker"};
  child->watcher_ =
      std::thread([raw = child.get(), program, file = std::move(moved)] { raw->watch(program, file); });
  std::unique_lock lock(child->mutex_);
  child->changed_.wait(lock, [&] { return child->start_error_ >= 0; });
  if (child->start_error_ > 0)
    return Failure{
        FailureKind::Unavailable,
        fmt::format("can't start {}: {}", program, std::generic_category().message(child->start_error_))};
  lock.unlock();
  return child;
}

void Child::watch(const std::string& program, const wire::Descriptor& socket) {
  pid_t pid = 0;
  const int error = SpawnPlan(socket.get(), words_.get()).spawn(pid, program);
  {
    const std::lock_guard lock(mutex_);
    pid_ = pid;
    start_error_ = error;
    if (error > 0) status_ = 0;
  }
  changed_.notify_all();
  if (error > 0) return;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // Until it is reaped, its number is not reused: the rest of the group can be killed by it.
  const std::lock_guard lock(mutex_);
  ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  status_ = status;
  changed_.notify_all();
}

Child::~Child() {
  kill();
  if (watcher_.joinable()) watcher_.join();
}

bool Child::is_alive() const {
  const std::lock_guard lock(mutex_);
  return !status_;
}

void Child::kill() {
  const std::lock_guard lock(mutex_);
  if (pid_ > 0 && !status_) ::kill(-pid_, SIGKILL);
}

int Child::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return status_.has_value(); });
  return *status_;
}

std::string Child::last_words() const {
  constexpr off_t kMost = 2000;
  struct stat status{};
  if (::fstat(words_.get(), &status) != 0) return "";
  const off_t start = status.st_size > kMost ? status.st_size - kMost : 0;
  std::string text(static_cast<std::size_t>(status.st_size - start), '\0');
  const ssize_t size = ::pread(words_.get(), text.data(), text.size(), start);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  text.erase(text.find_last_not_of(" \r\n\t") + 1);
  return text;
}

namespace {

// The signals that processes die of by themselves. glibc has names for all from 2.32 on, which is too new for
// older systems.
std::string name_of_signal(int signal) {
  switch (signal) {
    case SIGABRT: return "SIGABRT (Aborted)";
    case SIGBUS: return "SIGBUS (Bus error)";
    case SIGFPE: return "SIGFPE (Floating point exception)";
    case SIGILL: return "SIGILL (Illegal instruction)";
    case SIGSEGV: return "SIGSEGV (Segmentation fault)";
    case SIGSYS: return "SIGSYS (Bad system call)";
    case SIGTERM: return "SIGTERM (Terminated)";
    case SIGTRAP: return "SIGTRAP (Trace/breakpoint trap)";
    default: return fmt::format("signal {}", signal);
  }
}

}  // namespace

Failure describe_end(int status, const std::string& last_words) {
  Failure failure{FailureKind::Crashed, {}};
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    failure.what = "killed by " + name_of_signal(signal);
    if (signal == SIGXCPU) failure = {FailureKind::TimedOut, "reached its limit of CPU time"};
    // No code of ours killed it, so the kernel did.
    if (signal == SIGKILL)
      failure = {FailureKind::OutOfMemory, "killed by the kernel, because memory ran out"};
  } else {
    failure.what = fmt::format("ended itself with status {}", WEXITSTATUS(status));
  }
  if (last_words.find("bad_alloc") != std::string::npos) failure.kind = FailureKind::OutOfMemory;
  if (!last_words.empty()) failure.what += ": " + last_words.substr(0, last_words.find('\n'));
  return failure;
}

}  // namespace isomer
