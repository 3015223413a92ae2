#include "provider/prepare.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/own_file.h"
#include "provider/ort.h"

extern char** environ;

namespace isomer::provider {
namespace {

namespace fs = std::filesystem;

constexpr int kNoGain = 4;  // exit code of `optimize --require-gain`
// In the folder of the work: the files of the entry, how the program ended, what it said, which file it read.
constexpr char kFiles[] = "files", kStatus[] = "status", kLog[] = "log", kSource[] = "source";

// Held as long as a process has it open: the one that made it, and those that it started with it.
class Lock {
 public:
  Lock(const fs::path& file, bool waits) : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw Reason(file.string() + " can't be written");
    while ((is_held_ = ::flock(file_, waits ? LOCK_EX : LOCK_EX | LOCK_NB) == 0),
           !is_held_ && errno == EINTR) {
    }
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool is_held() const { return is_held_; }
  int file() const { return file_; }

 private:
  int file_;
  bool is_held_ = false;
};

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A program's last message: lines that begin with a blank continue the one before.
std::string last_words_of(const fs::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    last = begin == 0 ? line : last + " " + line.substr(begin);
  }
  for (const std::string_view known : {"isomer: ", "no gain: "})
    if (last.starts_with(known)) last.erase(0, known.size());
  return last;
}

// The file and its state: a changed state means that the file was written to.
std::string state_of(const fs::path& file) {
  struct stat s = {};
  if (::stat(file.c_str(), &s) != 0) throw Reason(file.string() + " can't be read");
  std::ostringstream out;
  out << file.string() << '\n'
      << s.st_dev << ' ' << s.st_ino << ' ' << s.st_size << ' ' << s.st_mtim.tv_sec << '.'
      << s.st_mtim.tv_nsec;
  return out.str();
}

// $ISOMER, else the program beside this library or in the wheel that both are in, else the one in the path.
std::string program() {
  if (const char* named = std::getenv("ISOMER"); named && *named) return named;
  const fs::path folder = own_file().parent_path();
  for (const fs::path& file : {folder / "isomer", folder.parent_path() / "bin" / "isomer"})
    if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file)) return file.string();
  return "isomer";
}

std::vector<std::string> command_of(const fs::path& model, const fs::path& work, const fs::path& library,
                                    const PrepareOptions& options) {
  // The shell outlives this process, if it has to, and writes down how the program ended.
  const bool waits = options.when != Prepare::InBackground;
  const std::string script = R"(cd "$1" && shift && ( "$@" 2>log >/dev/null </dev/null; echo $? >status ))";
  std::vector<std::string> out{"/bin/sh", "-c", script + (waits ? "" : " &"), "sh", work.string(), "env"};
  if (!library.empty()) out.push_back("ISOMER_ORT_LIBRARY=" + library.string());
  for (const std::string& word :
       {program(), std::string("optimize"), fs::absolute(model).string(), std::string("-o"),
        std::string(kFiles) + "/fast.onnx", std::string("--kernels"), std::string("--require-gain"),
        std::string("--quiet"), "--budget=" + options.budget})
    out.push_back(word);
  std::istringstream more(options.arguments);
  for (std::string word; more >> word;) out.push_back(word);
  return out;
}

}  // namespace

Prepare prepare_of(const std::string& word) {
  if (word == "never" || word.empty()) return Prepare::Never;
  if (word == "on_first_load") return Prepare::OnFirstLoad;
  if (word == "in_background") return Prepare::InBackground;
  if (word == "anew") return Prepare::Anew;
  throw Reason("prepare is never, on_first_load or in_background, not '" + word + "'");
}

bool Preparation::take_finished() const {
  if (!fs::exists(work() / kStatus)) return false;
  const Lock lock(place_.string() + ".lock", false);
  if (!lock.is_held() || !fs::exists(work() / kStatus)) return false;
  take_finished_locked();
  return true;
}

// Either way the work is done with.
void Preparation::take_finished_locked() const {
  const int status = std::atoi(text_of(work() / kStatus).c_str());
  const std::string said = last_words_of(work() / kLog);
  const std::string source = text_of(work() / kSource);
  const bool is_same = source == state_of(source.substr(0, source.find('\n')));
  const bool has_entry = is_same && (status == 0 || status == kNoGain);
  if (has_entry) cache_.add(fingerprint_, work() / kFiles, status == 0 ? "" : said);
  fs::remove_all(work());
  if (!is_same) throw Reason("its file was written to while it was prepared");
  if (!has_entry) throw Reason("it can't be prepared: " + said);
}

void Preparation::take(const Entry& other) const {
  fs::create_directories(place_.parent_path());
  const Lock lock(place_.string() + ".lock", true);
  fs::remove_all(work());
  fs::create_directories(work() / kFiles);
  for (const auto& file : fs::directory_iterator(other.model.parent_path()))
    if (file.path().filename() != EntryCache::kManifest)
      fs::create_hard_link(file, work() / kFiles / file.path().filename());
  cache_.add(fingerprint_, work() / kFiles);
  fs::remove_all(work());
}

bool Preparation::has_entry() const try {
  cache_.find(fingerprint_);
  return true;
} catch (const NoEntry& none) {
  return none.is_expected;
}

void Preparation::start(const fs::path& model, const PrepareOptions& options) const {
  const bool waits = options.when != Prepare::InBackground;
  fs::create_directories(place_.parent_path());
  const Lock lock(place_.string() + ".lock", waits);
  if (!lock.is_held()) throw Reason("it is being prepared in the background", true);
  if (fs::exists(work() / kStatus)) return take_finished_locked();
  if (options.when == Prepare::OnFirstLoad && has_entry()) return;  // another process was faster
  fs::remove_all(work());
  fs::create_directories(work() / kFiles);
  std::ofstream(work() / kSource) << state_of(fs::absolute(model));
  launch(model, options, lock.file());
  if (!waits) throw Reason("it is being prepared in the background", true);
  take_finished_locked();
}

void Preparation::launch(const fs::path& model, const PrepareOptions& options, int lock) const {
  std::vector<std::string> words = command_of(model, work(), runtime_library_, options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, lock, lock);  // stays open in the child
  if (options.when == Prepare::InBackground) ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failure != 0) throw Reason("no process could be started to prepare it");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace isomer::provider
