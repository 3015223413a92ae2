#include "runtime/compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "onnx/descriptor.h"

extern char** environ;

namespace isomer {
namespace {

constexpr std::size_t kMostWords = 2000;  // of what a compiler says

bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view left = path ? path : "";
  while (!left.empty()) {
    const std::size_t end = left.find(':');
    const std::string_view folder = left.substr(0, end);
    if (!folder.empty() && ::access((std::string(folder) + '/' + program).c_str(), X_OK) == 0) return true;
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
  }
  return false;
}

std::string said_in(int file) {
  std::string words(kMostWords, '\0');
  const ssize_t size = ::pread(file, words.data(), words.size(), 0);
  words.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return words;
}

}  // namespace

std::string find_compiler() {
  if (const char* named = std::getenv("CXX"); named && *named) return named;
  for (int version = 25; version >= 14; --version)
    if (const std::string name = fmt::format("clang++-{}", version); is_in_path(name)) return name;
  for (const char* name : {"clang++", "g++"})
    if (is_in_path(name)) return name;
  return "";
}

Status run_compiler(const std::string& compiler, const std::vector<std::string>& arguments) {
  const wire::Descriptor words(::memfd_create("isomer-compiler", MFD_CLOEXEC));
  std::string program = compiler;
  std::vector<std::string> copies = arguments;
  std::vector<char*> list{program.data()};
  for (std::string& a : copies) list.push_back(a.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, words.get(), STDERR_FILENO);
  pid_t pid = 0;
  const int failure = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, list.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    return Error{fmt::format("can't start {}: {}", compiler, std::generic_category().message(failure))};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Done{};
  return Error{fmt::format("{} failed: {}", compiler, said_in(words.get()))};
}

}  // namespace isomer
