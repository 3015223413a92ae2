#include "runtime/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <vector>

#include "runtime/runtime.h"

namespace isomer {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;  // no filter here
#endif

void limit(int resource, std::uint64_t most) {
  const rlimit value{most, most};
  (void)::setrlimit(static_cast<__rlimit_resource>(resource), &value);
}

sock_filter load(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter answer(std::uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }

void deny(std::vector<sock_filter>& program, long call, int error) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
  program.push_back(answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)));
}

// The system calls that reach another machine, program or process are answered with an error.
std::vector<sock_filter> filter() {
  std::vector<sock_filter> program{
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      answer(SECCOMP_RET_KILL_PROCESS),
      load(offsetof(seccomp_data, nr)),
  };
#if defined(__x86_64__)
  constexpr std::uint32_t kX32 = 0x40000000;  // a second numbering of the same calls
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1));
  program.push_back(answer(SECCOMP_RET_ERRNO | ENOSYS));
  deny(program, SYS_fork, EPERM);
  deny(program, SYS_vfork, EPERM);
#endif
  deny(program, SYS_socket, EACCES);
  deny(program, SYS_io_uring_setup, EACCES);
  deny(program, SYS_execve, EPERM);
  deny(program, SYS_execveat, EPERM);
  deny(program, SYS_ptrace, EPERM);
  deny(program, SYS_kill, EPERM);
  deny(program, SYS_clone3, ENOSYS);  // its flags can't be seen here; the C library then uses clone
  // clone makes threads only.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  program.push_back(load(offsetof(seccomp_data, args)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  program.push_back(answer(SECCOMP_RET_ALLOW));
  return program;
}

bool install_filter() {
  if (kArchitecture == 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  std::vector<sock_filter> program = filter();
  const sock_fprog description{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &description, 0, 0) == 0;
}

bool leave_network() { return ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

std::uint64_t machine_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// If the machine runs out of memory, the kernel takes this process and not one that matters.
void volunteer() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!::write(file, "1000", 4);
  ::close(file);
}

}  // namespace

bool die_with(pid_t parent) { return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent; }

NetworkGuard restrict_process(const Limits& limits) {
  volunteer();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, limits.file_bytes);
  // Private writable memory, not address space: a mapped model of 30 GB costs none of it.
  limit(RLIMIT_DATA, limits.memory_bytes > 0 ? limits.memory_bytes : machine_bytes() / 4 * 3);
  if (install_filter()) return NetworkGuard::Filter;
  return leave_network() ? NetworkGuard::Namespace : NetworkGuard::None;
}

void allow_cpu(std::uint64_t seconds) {
  rlimit value{};
  (void)::getrlimit(RLIMIT_CPU, &value);
  value.rlim_cur = static_cast<std::uint64_t>(cpu_ns() / 1'000'000'000) + seconds + 1;
  (void)::setrlimit(RLIMIT_CPU, &value);
}

}  // namespace isomer
