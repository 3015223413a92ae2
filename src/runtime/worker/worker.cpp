#include "runtime/worker/worker.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/own_file.h"
#include "runtime/engines/engines.h"
#include "runtime/worker/worker_state.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "isomer-worker";
constexpr int kFoldersUp = 3;  // from lib/x86_64-linux-gnu to the prefix, and one more

// Beside the program; of the library, beside it, in a bin beside it or in the bin of its prefix.
std::string find_program() {
  if (const char* named = std::getenv("ISOMER_WORKER"); named && *named) return named;
  std::error_code failure;
  const fs::path beside = fs::read_symlink("/proc/self/exe", failure).parent_path() / kProgram;
  if (fs::exists(beside, failure)) return beside.string();
  fs::path folder = own_file().parent_path();
  if (fs::exists(folder / kProgram, failure)) return (folder / kProgram).string();
  for (int up = 0; up <= kFoldersUp && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    if (fs::path found = folder / "bin" / kProgram; fs::exists(found, failure)) return found.string();
  }
  return beside.string();
}

constexpr std::int64_t kGlanceNs = 20'000'000;  // how late one may notice that the time is up

Failure stopped() { return {FailureKind::Stopped, "the time was up"}; }

}  // namespace

ModelSource ModelSource::memory(std::string serialized, std::string folder) {
  auto owner = std::make_shared<std::string>(std::move(serialized));
  Bytes bytes{owner, reinterpret_cast<const std::byte*>(owner->data()), owner->size()};
  return {{}, std::make_shared<const Bytes>(std::move(bytes)), std::move(folder)};
}

Outcome<SharedFeeds> SharedFeeds::make(const NamedTensors& feeds) {
  ISOMER_TRY(SharedTensors tensors, share(feeds));
  SharedFeeds shared;
  shared.state_ = std::make_shared<const State>(State{std::move(tensors)});
  return shared;
}

// The worker is gone or has to go: its own end says more than "otherwise", if it was first.
Failure Worker::State::bury(Failure otherwise) {
  if (otherwise.kind == FailureKind::Crashed) {
    // It closed its end; a process that does so and lives on is killed, too.
    for (int i = 0; i < 200 && child->is_alive(); ++i) ::usleep(10'000);
    const bool was_alive = child->is_alive();
    child->kill();
    const int status = child->wait();
    return was_alive ? otherwise : describe_end(status, child->last_words());
  }
  child->kill();
  child->wait();
  return otherwise;
}

Outcome<Done> Worker::State::send(const Json& request, const std::vector<int>& files) {
  if (!child->is_alive()) return Failure{FailureKind::Crashed, "the worker has ended"};
  if (!send_message(socket.get(), request, files))
    return bury({FailureKind::Crashed, "the worker closed its end"});
  return Done{};
}

Outcome<Message> Worker::State::receive() {
  const std::int64_t deadline = now_ns() + static_cast<std::int64_t>(options.call_seconds * 1e9);
  while (options.limit && !is_readable(socket.get(), std::min(deadline, now_ns() + kGlanceNs)) &&
         now_ns() < deadline)
    if (options.limit->is_over()) return bury(stopped());
  Message answer;
  switch (receive_message(socket.get(), answer, deadline)) {
    case Received::Closed: return bury({FailureKind::Crashed, "the worker closed its end"});
    case Received::Late:
      return bury({FailureKind::TimedOut, fmt::format("no answer within {:g} s", options.call_seconds)});
    case Received::Garbage: return bury({FailureKind::Garbled, "the answer is not one of ours"});
    case Received::Whole: break;
  }
  runtime_ns += integer_field(answer.body, "runtime_ns").value_or(0);
  auto failure = failure_from(answer.body);
  if (!failure) return answer;
  // A process that ran out of memory keeps it: its next answers would fail for that reason alone.
  return failure->kind == FailureKind::OutOfMemory ? bury(*failure) : *failure;
}

Outcome<Message> Worker::State::call(const Json& request, const std::vector<int>& files) {
  ISOMER_TRY_DO(send(request, files));
  return receive();
}

Outcome<std::unique_ptr<Worker>> Worker::start(const WorkerOptions& options) {
  const Engine* engine = engine_named(options.runtime);
  if (!engine) return Failure{FailureKind::Unavailable, fmt::format("no runtime '{}'", options.runtime)};
  if (options.limit && options.limit->is_over()) return stopped();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Failure{FailureKind::Unavailable, "no sockets left for a worker"};
  auto state = std::make_unique<State>();
  state->options = options;
  // Starting a program and loading a library is no call into a model: a busy machine may take its time.
  constexpr double kStartSeconds = 60;
  state->options.call_seconds = std::max(options.call_seconds, kStartSeconds);
  state->socket = Descriptor(ends[0]);
  const timeval patience{10, 0};  // for a worker that doesn't read; it does between requests
  (void)::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ISOMER_TRY(state->child,
             Child::start(options.program.empty() ? find_program() : options.program, Descriptor(ends[1])));
  ISOMER_TRY(const Message prepared, state->call({{"request", "prepare"}}));
  if (!bool_field(prepared.body, "private_scratch").value_or(false)) {
    std::error_code none;
    state->scratch = std::make_unique<TemporaryFolder>(std::filesystem::temp_directory_path(none), "isomer");
  }
  Json request{{"request", "open"},
               {"runtime", options.runtime},
               {"library", options.library.empty() ? find_library(*engine) : options.library},
               {"limits", to_json(options.limits)},
               {"faults", options.may_fault},
               {"scratch", state->scratch ? state->scratch->path() : ""}};
  ISOMER_TRY(const Message opened, state->call(request));
  state->runtime = text_field(opened.body, "name").value_or("");
  state->version = text_field(opened.body, "version").value_or("");
  const auto guard = integer_field(opened.body, "network").value_or(2);
  state->guard = guard == 0   ? NetworkGuard::Filter
                 : guard == 1 ? NetworkGuard::Namespace
                              : NetworkGuard::None;
  state->options.call_seconds = options.call_seconds;
  return std::unique_ptr<Worker>(new Worker(std::move(state)));
}

Worker::Worker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Worker::~Worker() = default;

const std::string& Worker::runtime() const { return state_->runtime; }
const std::string& Worker::version() const { return state_->version; }
NetworkGuard Worker::network_guard() const { return state_->guard; }
pid_t Worker::pid() const { return state_->child->pid(); }
bool Worker::is_alive() const { return state_->child->is_alive(); }
std::int64_t Worker::take_runtime_ns() { return std::exchange(state_->runtime_ns, 0); }

}  // namespace isomer
