// What a library inside the runtime's process could try, one attempt for each run:
// tests/suites/sandbox_test.py loads it as a library of custom operators. It does what $ISOMER_ATTEMPT says
// and returns the outcome to the runtime as an error.
#include <arpa/inet.h>
#include <fcntl.h>
#include <onnxruntime/onnxruntime_c_api.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// 0 if it went well, else errno.
int told(long result) { return result < 0 ? errno : 0; }

int ended(long child) {
  if (child < 0) return errno;
  if (child == 0) ::_exit(0);
  ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return 0;
}

int written(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  const int result = told(::write(file, "x", 1));
  ::close(file);
  return result;
}

// A process that is not ours: the calling script gives its number.
pid_t other() { return static_cast<pid_t>(std::atoi(variable("ISOMER_ATTEMPT_PROCESS").c_str())); }
std::string outside(const char* name) { return variable("ISOMER_ATTEMPT_FOLDER") + "/" + name; }

const std::map<std::string, std::function<int()>>& attempts() {
  static const std::map<std::string, std::function<int()>> all{
      // What must be possible, or nothing works.
      {"may start a thread",
       [] {
         std::thread([] {}).join();
         return 0;
       }},
      {"may write a temporary file",
       [] { return written(variable("TMPDIR") + "/attempt", O_CREAT | O_RDWR); }},
      {"may read the model's folder", [] { return told(::open(outside("read").c_str(), O_RDONLY)); }},
      {"may make memory", [] { return told(::memfd_create("attempt", 0)); }},
      {"may ask for its limits",
       [] {
         rlimit limit{};
         return told(::getrlimit(RLIMIT_NOFILE, &limit));
       }},
      {"may write to nowhere", [] { return written("/dev/null", O_WRONLY); }},
      // The network.
      {"socket tcp", [] { return told(::socket(AF_INET, SOCK_STREAM, 0)); }},
      {"socket tcp 6", [] { return told(::socket(AF_INET6, SOCK_STREAM, 0)); }},
      {"socket udp", [] { return told(::socket(AF_INET, SOCK_DGRAM, 0)); }},
      {"socket unix", [] { return told(::socket(AF_UNIX, SOCK_STREAM, 0)); }},
      {"socket netlink", [] { return told(::socket(AF_NETLINK, SOCK_RAW, 0)); }},
      {"io_uring",
       [] {
         char parameters[120] = {};
         return told(::syscall(SYS_io_uring_setup, 4, parameters));
       }},
      // Programs and processes.
      {"fork", [] { return ended(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }},
      {"clone3",
       [] {
         std::uint64_t parameters[8] = {0, 0, 0, 0, SIGCHLD};
         return ended(::syscall(SYS_clone3, parameters, sizeof parameters));
       }},
#ifdef SYS_fork
      {"old fork", [] { return ended(::syscall(SYS_fork)); }},
#endif
      {"system",
       [] {
         const int result = std::system("exit 0");
         return result == 0 ? 0 : result < 0 ? errno : EPERM;
       }},
      {"popen",
       [] {
         std::FILE* pipe = ::popen("true", "r");
         return pipe && ::pclose(pipe) == 0 ? 0 : EPERM;
       }},
      {"execveat",
       [] {
         const char* none[] = {nullptr};
         return told(::syscall(SYS_execveat, -1, "/nowhere", none, none, 0)) == ENOENT ? 0 : EPERM;
       }},
      {"ptrace", [] { return told(::ptrace(PTRACE_SEIZE, other(), nullptr, nullptr)); }},
      {"signal to another", [] { return told(::kill(other(), 0)); }},
      {"signal to its thread", [] { return told(::syscall(SYS_tgkill, other(), other(), 0)); }},
      {"signal by its file",
       [] {
         const long file = ::syscall(434, other(), 0);
         return file < 0 ? errno : told(::syscall(424, file, 0, nullptr, 0));
       }},
      {"memory of another",
       [] {
         char byte = 0;
         const auto number = std::strtoull(variable("ISOMER_ATTEMPT_ADDRESS").c_str(), nullptr, 10);
         void* address =
             reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): of another process
         const iovec own{&byte, 1}, theirs{address, 1};
         return told(::process_vm_readv(other(), &own, 1, &theirs, 1, 0));
       }},
      {"limits of another",
       [] {
         rlimit limit{};
         return told(::prlimit(other(), RLIMIT_NOFILE, nullptr, &limit));
       }},
      // Files.
      {"write a new file", [] { return written(outside("new"), O_CREAT | O_WRONLY); }},
      {"write over a file", [] { return written(outside("kept"), O_WRONLY); }},
      {"append to a file", [] { return written(outside("kept"), O_WRONLY | O_APPEND); }},
      {"truncate a file", [] { return told(::truncate(outside("kept").c_str(), 1)); }},
      {"remove a file", [] { return told(::unlink(outside("kept").c_str())); }},
      {"rename a file", [] { return told(::rename(outside("kept").c_str(), outside("moved").c_str())); }},
      {"link a file", [] { return told(::link(outside("kept").c_str(), outside("linked").c_str())); }},
      {"make a link", [] { return told(::symlink("/etc/passwd", outside("link").c_str())); }},
      {"make a folder", [] { return told(::mkdir(outside("folder").c_str(), 0755)); }},
      {"make a pipe", [] { return told(::mkfifo(outside("pipe").c_str(), 0644)); }},
      {"write by /proc/self/root",
       [] { return written("/proc/self/root" + outside("new"), O_CREAT | O_WRONLY); }},
      {"write shared memory", [] { return written("/dev/shm/isomer_attempt", O_CREAT | O_WRONLY); }},
      // The kernel's rarer doors.
      {"mount",
       [] {
         const int result = told(::mount("none", outside("").c_str(), "tmpfs", 0, nullptr));
         if (result == 0) ::umount2(outside("").c_str(), MNT_DETACH);
         return result;
       }},
      {"unshare", [] { return told(::unshare(CLONE_NEWUSER)); }},
      {"bpf",
       [] {
         char parameters[128] = {};
         return told(::syscall(SYS_bpf, 0, parameters, sizeof parameters)) == EPERM ? EPERM : 0;
       }},
      {"perf",
       [] {
         char parameters[128] = {};
         return told(::syscall(SYS_perf_event_open, parameters, 0, -1, -1, 0)) == EPERM ? EPERM : 0;
       }},
      {"keys", [] { return told(::syscall(SYS_keyctl, 0, -3, 0)); }},
      {"userfaultfd", [] { return told(::syscall(SYS_userfaultfd, 1)); }},
      {"core files",
       [] {
         const rlimit limit{1, 1};
         return told(::setrlimit(RLIMIT_CORE, &limit));
       }},
      {"more memory",
       [] {
         const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
         return told(::setrlimit(RLIMIT_DATA, &limit));
       }},
  };
  return all;
}

}  // namespace

// For a process that is not restricted: how it goes there.
extern "C" int isomer_attempt(const char* name) {
  const auto found = attempts().find(name);
  return found == attempts().end() ? -1 : found->second();
}

extern "C" const char* isomer_attempt_names() {
  static const std::string names = [] {
    std::string out;
    for (const auto& [name, attempt] : attempts()) out += name + '\n';
    return out;
  }();
  return names.c_str();
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that the runtime looks for
extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* /*options*/, const OrtApiBase* base) {
  const std::string text =
      "attempt answered " + std::to_string(isomer_attempt(variable("ISOMER_ATTEMPT").c_str())) + ".";
  return base->GetApi(1)->CreateStatus(ORT_FAIL, text.c_str());
}
