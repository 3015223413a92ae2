#include "runtime/worker/scratch.h"

#include <fmt/format.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace isomer {
namespace {

// A tmpfs that is mounted nowhere: its root is a descriptor.
int detached_tmpfs() {
  const auto context = static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  int mount = -1;
  if (::syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0)
    mount = static_cast<int>(::syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0));
  ::close(context);
  return mount;
}

}  // namespace

std::string private_scratch() {
  int mount = detached_tmpfs();
  if (mount < 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) mount = detached_tmpfs();
  if (mount < 0) return "";
  std::string path = fmt::format("/proc/self/fd/{}", mount);
  if (::access(path.c_str(), W_OK) == 0) return path;
  ::close(mount);
  return "";
}

}  // namespace isomer
