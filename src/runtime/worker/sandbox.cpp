#include "runtime/worker/sandbox.h"

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
#include <initializer_list>
#include <vector>

#include "runtime/engines/runtime.h"
#include "runtime/worker/file_guard.h"

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

// A call whose first argument must be one of these numbers.
void only_for(std::vector<sock_filter>& program, long call, std::initializer_list<std::uint32_t> numbers) {
  const auto count = static_cast<std::uint8_t>(numbers.size());
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0,
                             static_cast<std::uint8_t>(count + 3)));
  program.push_back(load(offsetof(seccomp_data, args)));
  for (std::uint8_t left = count; const std::uint32_t number : numbers)
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, left--, 0));
  program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  program.push_back(answer(SECCOMP_RET_ALLOW));
}

// Numbers of calls that older headers don't know; the same on all machines.
constexpr long kPidfdSendSignal = 424, kPidfdOpen = 434, kPidfdGetfd = 438;

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
  // Other processes of this user: their memory, their files, their end.
  for (const long call : {long{SYS_kill}, long{SYS_tkill}, long{SYS_rt_sigqueueinfo},
                          long{SYS_rt_tgsigqueueinfo}, kPidfdSendSignal, kPidfdOpen, kPidfdGetfd,
                          long{SYS_process_vm_readv}, long{SYS_process_vm_writev}, long{SYS_kcmp}})
    deny(program, call, EPERM);
  only_for(program, SYS_tgkill, {static_cast<std::uint32_t>(::getpid())});  // abort and raise are for oneself
  only_for(program, SYS_prlimit64, {0, static_cast<std::uint32_t>(::getpid())});
  // The kernel's rarer doors, which no runtime needs.
  for (const long call : {long{SYS_bpf},
                          long{SYS_perf_event_open},
                          long{SYS_userfaultfd},
                          long{SYS_keyctl},
                          long{SYS_add_key},
                          long{SYS_request_key},
                          long{SYS_unshare},
                          long{SYS_setns},
                          long{SYS_mount},
                          long{SYS_umount2},
                          long{SYS_pivot_root},
                          long{SYS_chroot},
                          long{SYS_open_by_handle_at},
                          long{SYS_init_module},
                          long{SYS_finit_module},
                          long{SYS_delete_module},
                          long{SYS_kexec_load},
                          long{SYS_reboot},
                          long{SYS_swapon},
                          long{SYS_swapoff},
                          long{SYS_acct},
                          long{SYS_quotactl},
                          long{SYS_settimeofday},
                          long{SYS_clock_settime},
                          long{SYS_sethostname},
                          long{SYS_setdomainname},
                          long{SYS_mknodat}})
    deny(program, call, EPERM);
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

NetworkGuard restrict_process(const Limits& limits, const std::string& writable) {
  volunteer();
  (void)keep_writes_below(writable);
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
