#include "runtime/worker.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/child.h"
#include "runtime/engines.h"
#include "runtime/requests.h"
#include "runtime/shared_tensors.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

std::string find_program() {
  if (const char* named = std::getenv("ISOMER_WORKER"); named && *named) return named;
  std::error_code failure;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  return (self.parent_path() / "isomer-worker").string();
}

// A folder that is removed with its owner: for workers that can have no file system of their own.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failure;
    std::string name = (fs::temp_directory_path(failure) / "isomer-XXXXXX").string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code failure;
    if (!path_.empty()) fs::remove_all(path_, failure);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

struct SharedFeeds::State {
  SharedTensors tensors;
};

struct Worker::State {
  WorkerOptions options;
  std::unique_ptr<TemporaryFolder> scratch;
  Descriptor socket;
  std::unique_ptr<Child> child;
  std::string runtime, version;
  NetworkGuard guard = NetworkGuard::None;
  std::int64_t runtime_ns = 0;

  Outcome<Done> send(const Json& request, const std::vector<int>& files = {});
  Outcome<Message> receive();
  Outcome<Message> call(const Json& request, const std::vector<int>& files = {});
  Failure bury(Failure otherwise);
};

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
  // A process that ran out of memory holds on to it: what it says next would be about that.
  return failure->kind == FailureKind::OutOfMemory ? bury(*failure) : *failure;
}

Outcome<Message> Worker::State::call(const Json& request, const std::vector<int>& files) {
  ISOMER_TRY_DO(send(request, files));
  return receive();
}

namespace {

// Adds a model to a request; the file, if any, is kept open by `keep` until it is sent.
Outcome<Done> add_model(Json& request, std::vector<int>& files, const ModelSource& model, Descriptor& keep) {
  if (!model.path.empty()) {
    std::error_code failure;
    request["path"] = fs::absolute(model.path, failure).string();
    return Done{};
  }
  ISOMER_CHECK(model.bytes != nullptr, "a model is a path or bytes");
  ISOMER_TRY(keep, shared_bytes(model.bytes->data, model.bytes->size, "isomer-model"));
  files.push_back(keep.get());
  request["folder"] = model.folder;
  return Done{};
}

Outcome<std::vector<LegTime>> times_of(const Message& answer) {
  const auto wall = integers_field(answer.body, "wall_ns"), cpu = integers_field(answer.body, "cpu_ns");
  if (!wall || !cpu || wall->size() != cpu->size())
    return Failure{FailureKind::Garbled, "times that are none"};
  std::vector<LegTime> times;
  for (std::size_t i = 0; i < wall->size(); ++i) times.push_back({(*wall)[i], (*cpu)[i]});
  return times;
}

Outcome<Round> round_of(const Message& answer, bool a_made_first) {
  const auto repetitions = integers_field(answer.body, "repetitions").value_or(std::vector<std::int64_t>{});
  ISOMER_TRY(const auto legs, times_of(answer));
  if (repetitions.size() != 2 || std::ranges::min(repetitions) < 1 || legs.empty() ||
      legs.size() % kBlockOrder.size() != 0)
    return Failure{FailureKind::Garbled, "a round that is none"};
  Round round{a_made_first, {}};
  for (std::size_t i = 0; i < legs.size(); i += kBlockOrder.size()) {
    BlockTimes block{repetitions[0], repetitions[1], {}, {}};
    std::size_t next[2] = {};
    for (std::size_t k = 0; k < kBlockOrder.size(); ++k) {
      const int which = kBlockOrder[k];
      (which == 0 ? block.a : block.b)[next[which]++] = legs[i + k];
    }
    round.blocks.push_back(block);
  }
  return round;
}

void add_feeds(Json& request, std::vector<int>& files, const SharedFeeds& feeds) {
  request["tensors"] = feeds.state().tensors.table;
  files.push_back(feeds.state().tensors.file.get());
}

}  // namespace

Outcome<std::unique_ptr<Worker>> Worker::start(const WorkerOptions& options) {
  const Engine* engine = engine_named(options.runtime);
  if (!engine) return Failure{FailureKind::Unavailable, fmt::format("no runtime '{}'", options.runtime)};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Failure{FailureKind::Unavailable, "no sockets left for a worker"};
  auto state = std::make_unique<State>();
  state->options = options;
  state->socket = Descriptor(ends[0]);
  const timeval patience{10, 0};  // for a worker that doesn't read; it does between requests
  (void)::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ISOMER_TRY(state->child,
             Child::start(options.program.empty() ? find_program() : options.program, Descriptor(ends[1])));
  Json request{{"request", "open"},
               {"runtime", options.runtime},
               {"library", options.library.empty() ? find_library(*engine) : options.library},
               {"limits", to_json(options.limits)},
               {"faults", options.may_fault}};
  ISOMER_TRY(const Message opened, state->call(request));
  state->runtime = text_field(opened.body, "name").value_or("");
  state->version = text_field(opened.body, "version").value_or("");
  const auto guard = integer_field(opened.body, "network").value_or(2);
  state->guard = guard == 0   ? NetworkGuard::Filter
                 : guard == 1 ? NetworkGuard::Namespace
                              : NetworkGuard::None;
  if (!bool_field(opened.body, "private_scratch").value_or(false))
    state->scratch = std::make_unique<TemporaryFolder>();
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

Outcome<Signature> Worker::load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                                const SharedFeeds* feeds) {
  Json request{{"request", "load"}, {"slot", slot}, {"options", to_json(options)}};
  std::vector<int> files;
  Descriptor keep;
  ISOMER_TRY_DO(add_model(request, files, model, keep));
  if (feeds) add_feeds(request, files, *feeds);
  ISOMER_TRY(const Message answer, state_->call(request, files));
  return signature_from(answer.body.value("signature", Json::object()));
}

Outcome<Done> Worker::unload(std::int64_t slot) {
  ISOMER_TRY_DO(state_->call({{"request", "unload"}, {"slot", slot}}));
  return Done{};
}

Outcome<WarmUp> Worker::warm(std::int64_t slot, std::int64_t least_runs, std::int64_t least_ns) {
  ISOMER_TRY(const Message answer,
             state_->call(
                 {{"request", "warm"}, {"slot", slot}, {"least_runs", least_runs}, {"least_ns", least_ns}}));
  return WarmUp{integer_field(answer.body, "runs").value_or(0),
                integer_field(answer.body, "fastest_ns").value_or(0)};
}

Outcome<std::vector<LegTime>> Worker::time(const std::vector<Leg>& legs) {
  Json list = Json::array();
  for (const Leg& leg : legs) list.push_back({leg.slot, leg.repetitions});
  ISOMER_TRY(const Message answer, state_->call({{"request", "time"}, {"legs", list}}));
  auto times = times_of(answer);
  if (!times || times->size() != legs.size())
    return state_->bury({FailureKind::Garbled, "times that are none"});
  return times;
}

Outcome<Round> Worker::round(const ModelSource& a, const ModelSource& b, const RuntimeOptions& options,
                             const SharedFeeds& feeds, const RoundPlan& plan) {
  const ModelSource* models[] = {&a, &b};
  std::vector<int> subjects;  // of each request, the model that it is about
  for (const int turn : {0, 1}) {
    const int which = plan.a_made_first ? turn : 1 - turn;
    Json load{{"request", "load"}, {"slot", which}, {"options", to_json(options)}};
    std::vector<int> files;
    Descriptor keep;
    ISOMER_TRY_DO(add_model(load, files, *models[which], keep));
    add_feeds(load, files, feeds);
    ISOMER_TRY_DO(state_->send(load, files));
    ISOMER_TRY_DO(state_->send(
        {{"request", "warm"}, {"slot", which}, {"least_runs", plan.warm_runs}, {"least_ns", plan.warm_ns}}));
    subjects.insert(subjects.end(), {which, which});
  }
  ISOMER_TRY_DO(state_->send({{"request", "pair"},
                              {"slots", {0, 1}},
                              {"leg_ns", plan.leg_ns},
                              {"fewest", plan.fewest_blocks},
                              {"most", plan.most_blocks}}));
  subjects.push_back(-1);
  for (const int slot : {0, 1}) ISOMER_TRY_DO(state_->send({{"request", "unload"}, {"slot", slot}}));
  subjects.insert(subjects.end(), {0, 1});

  std::optional<Failure> first_failure;
  std::optional<Round> round;
  for (const int subject : subjects) {
    auto answer = state_->receive();
    if (!answer && !first_failure) {
      first_failure = answer.error();
      first_failure->model = subject;
    }
    if (!is_alive()) break;
    if (answer && subject == -1) {
      auto read = round_of(*answer, plan.a_made_first);
      if (!read) return state_->bury(read.error());
      round = std::move(*read);
    }
  }
  if (first_failure) return *first_failure;
  if (!round) return state_->bury({FailureKind::Garbled, "answers out of order"});
  return std::move(*round);
}

Outcome<NamedTensors> Worker::run(std::int64_t slot) {
  ISOMER_TRY(const Message answer, state_->call({{"request", "run"}, {"slot", slot}}));
  if (answer.files.empty()) return state_->bury({FailureKind::Garbled, "outputs without their bytes"});
  auto outputs = copy_tensors(array_field(answer.body, "tensors"), answer.files.front());
  if (!outputs) return state_->bury(outputs.error());
  return outputs;
}

Outcome<std::vector<KernelKind>> Worker::profile(const ModelSource& model, const RuntimeOptions& options,
                                                 const SharedFeeds& feeds, std::int64_t least_ns) {
  Json request{{"request", "profile"}, {"options", to_json(options)}, {"least_ns", least_ns}};
  if (state_->scratch) request["scratch"] = state_->scratch->path();
  std::vector<int> files;
  Descriptor keep;
  ISOMER_TRY_DO(add_model(request, files, model, keep));
  add_feeds(request, files, feeds);
  ISOMER_TRY(const Message answer, state_->call(request, files));
  return kinds_from(array_field(answer.body, "kinds"));
}

Outcome<ProcessMemory> Worker::memory() {
  ISOMER_TRY(const Message answer, state_->call({{"request", "memory"}}));
  return ProcessMemory{integer_field(answer.body, "resident").value_or(0),
                       integer_field(answer.body, "peak").value_or(0)};
}

Outcome<Done> Worker::fault(const std::string& kind, std::int64_t delay_us) {
  ISOMER_TRY_DO(state_->call({{"request", "fault"}, {"kind", kind}, {"delay_us", delay_us}}));
  return Done{};
}

}  // namespace isomer
