#include "compiler/emit/compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "io/onnx/descriptor.h"

extern char** environ;

namespace isomer {
namespace {

constexpr std::size_t kMostWords = 2000;  // of a compiler's messages

// Where it is in $PATH; "": nowhere.
std::string in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view left = path ? path : "";
  while (!left.empty()) {
    const std::size_t end = left.find(':');
    const std::string_view folder = left.substr(0, end);
    std::string file = std::string(folder) + '/' + program;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
  }
  return "";
}
bool is_in_path(const std::string& program) { return !in_path(program).empty(); }

// Whether that Python has the package ziglang.
bool has_zig(const std::string& python) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path prefix = fs::path(python).parent_path().parent_path();
  for (const auto& entry : fs::directory_iterator(prefix / "lib", failure))
    if (entry.path().filename().string().starts_with("python3") &&
        fs::exists(entry.path() / "site-packages" / "ziglang", failure))
      return true;
  return false;
}

std::vector<std::string> words_of(const std::string& command) {
  if (::access(command.c_str(), X_OK) == 0) return {command};  // a path may have blanks
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Until it ends, or the limit is over; nullopt: it was ended.
std::optional<int> wait_for(pid_t pid, const TimeLimit* limit) {
  constexpr std::chrono::milliseconds kGlance{5};
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, limit == nullptr ? 0 : WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return status;
    if (limit == nullptr) continue;
    if (limit->is_over()) break;
    if (ended == 0) std::this_thread::sleep_for(kGlance);
  }
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
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
  return find_cross_compiler();
}

std::string find_cross_compiler() {
  if (is_in_path("zig")) return "zig c++";
  for (const char* name : {"python3", "python"})
    if (const std::string python = in_path(name); !python.empty() && has_zig(python))
      return python + " -m ziglang c++";
  return "";
}

std::string program_of(const std::string& compiler) {
  const std::vector<std::string> words = words_of(compiler);
  if (words.empty()) return "";
  return words[0].find('/') == std::string::npos ? in_path(words[0]) : words[0];
}

std::string archiver_of(const std::string& compiler) {
  return compiler.ends_with("zig c++") || compiler.ends_with("ziglang c++")
             ? compiler.substr(0, compiler.size() - 3) + "ar"
             : "ar";
}

Status run_compiler(const std::string& compiler, const std::vector<std::string>& arguments,
                    const TimeLimit* limit) {
  const wire::Descriptor words(::memfd_create("isomer-compiler", MFD_CLOEXEC));
  std::vector<std::string> copies = words_of(compiler);
  if (copies.empty()) return Error{"no compiler is named"};
  const std::string program = copies.front();
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  for (std::string& a : copies) list.push_back(a.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, words.get(), STDERR_FILENO);
  // A group of its own: compilers start other programs, which have to end with them.
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failure = ::posix_spawnp(&pid, program.c_str(), &actions, &attributes, list.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    return Error{fmt::format("can't start {}: {}", compiler, std::generic_category().message(failure))};
  const std::optional<int> status = wait_for(pid, limit);
  if (!status) return Error{fmt::format("{} was stopped: the time is over", compiler)};
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return Done{};
  return Error{fmt::format("{} failed: {}", compiler, said_in(words.get()))};
}

}  // namespace isomer
