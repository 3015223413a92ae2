#include "runtime/worker/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>

#include "runtime/engines/engines.h"
#include "runtime/worker/fault.h"
#include "runtime/worker/requests.h"
#include "runtime/worker/scratch.h"
#include "runtime/worker/shared_tensors.h"
#include "runtime/worker/time_session.h"

namespace isomer {
namespace {

Failure refusal(std::string what) { return {FailureKind::Refused, std::move(what)}; }

// A line of /proc/self/status in bytes.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return 1024 * std::strtoll(line.c_str() + key.size() + 1, nullptr, 10);
  return 0;
}

struct LoadedModel {
  Bytes bytes;  // what the session may still point to
  TimedSession timed;
};

class Server {
 public:
  explicit Server(int socket) : socket_(socket) {}

  Outcome<Json> answer(const Message& message) {
    next_file_ = 0;
    const std::string what = text_field(message.body, "request").value_or("");
    if (what == "prepare") return prepare();
    if (what == "open") return open(message.body);
    if (!runtime_) return refusal("no runtime is open");
    allow_cpu(limits_.cpu_seconds_per_call);
    if (what == "load") return load(message);
    if (what == "unload") return unload(message.body);
    if (what == "warm") return warm(message.body);
    if (what == "time") return time(message.body);
    if (what == "pair") return pair(message.body);
    if (what == "run") return run(message.body);
    if (what == "profile") return profile(message);
    if (what == "dump") return dump(message);
    if (what == "memory") return Json{{"resident", status_bytes("VmRSS")}, {"peak", status_bytes("VmHWM")}};
    if (what == "fault" && may_fault_) return fault(message.body);
    return refusal(fmt::format("no such request: {}", what));
  }

  std::int64_t take_runtime_ns() { return std::exchange(runtime_ns_, 0); }
  std::vector<Descriptor> take_files() { return std::move(files_); }

 private:
  // Calls into the runtime, timed: the rest is our own cost.
  template <class Call>
  auto in_runtime(const Call& call) {
    const std::int64_t start = now_ns();
    auto result = call();
    runtime_ns_ += now_ns() - start;
    return result;
  }

  Outcome<Json> prepare() {
    scratch_ = private_scratch();
    return Json{{"private_scratch", !scratch_.empty()}};
  }

  Outcome<Json> open(const Json& request) {
    const Engine* engine = engine_named(text_field(request, "runtime").value_or(""));
    if (!engine) return Failure{FailureKind::Unavailable, "no such runtime"};
    limits_ = limits_from(request.value("limits", Json::object()));
    may_fault_ = bool_field(request, "faults").value_or(false);
    if (scratch_.empty()) scratch_ = text_field(request, "scratch").value_or("");
    // Runtimes leave files in the temporary folder, too: ONNX Runtime 1.31 a ".ses".
    ::setenv("TMPDIR", scratch_.c_str(), 1);
    const NetworkGuard guard = restrict_process(limits_, scratch_);
    allow_cpu(limits_.cpu_seconds_per_call);
    auto opened = in_runtime([&] { return engine->open(text_field(request, "library").value_or("")); });
    if (!opened) return opened.error();
    runtime_ = std::move(*opened);
    return Json{
        {"name", runtime_->name()}, {"version", runtime_->version()}, {"network", static_cast<int>(guard)}};
  }

  Outcome<const Descriptor*> next_file(const Message& message) {
    if (next_file_ >= message.files.size()) return refusal("a file is missing");
    return &message.files[next_file_++];
  }

  Outcome<ModelPlace> place(const Message& message, Bytes& keep) {
    ModelPlace place;
    place.path = text_field(message.body, "path").value_or("");
    place.folder = text_field(message.body, "folder").value_or("");
    if (!place.path.empty()) return place;
    ISOMER_TRY(const Descriptor* file, next_file(message));
    ISOMER_TRY(keep, map_file(*file));
    place.data = keep.data;
    place.size = keep.size;
    return place;
  }

  Outcome<NamedTensors> tensors(const Message& message) {
    ISOMER_TRY(const Descriptor* file, next_file(message));
    return map_tensors(array_field(message.body, "tensors"), *file);
  }

  Outcome<Json> load(const Message& message) {
    LoadedModel loaded;
    ISOMER_TRY(const ModelPlace model, place(message, loaded.bytes));
    const RuntimeOptions options = options_from(message.body.value("options", Json::object()));
    const std::int64_t cpu_start = cpu_ns(), start = now_ns();
    ISOMER_TRY(loaded.timed.session, in_runtime([&] { return runtime_->load(model, options); }));
    const LegTime time{now_ns() - start, cpu_ns() - cpu_start};
    loaded.timed.preparing_ns = time.wall_ns;
    if (message.body.contains("tensors")) {
      ISOMER_TRY(const NamedTensors feeds, tensors(message));
      ISOMER_TRY_DO(loaded.timed.session->bind(feeds));
    }
    Json answer = times_json({time});
    answer["signature"] = to_json(loaded.timed.session->signature());
    const auto slot = integer_field(message.body, "slot").value_or(0);
    slots_.erase(slot);
    slots_.emplace(slot, std::move(loaded));
    return answer;
  }

  Outcome<Json> unload(const Json& request) {
    const auto slot = integer_field(request, "slot").value_or(0);
    return in_runtime([&]() -> Outcome<Json> {
      slots_.erase(slot);
      return Json::object();
    });
  }

  Outcome<LoadedModel*> loaded(std::int64_t slot) {
    const auto found = slots_.find(slot);
    if (found == slots_.end()) return refusal(fmt::format("slot {} is empty", slot));
    return &found->second;
  }

  Outcome<Json> warm(const Json& request) {
    ISOMER_TRY(LoadedModel * model, loaded(integer_field(request, "slot").value_or(0)));
    const std::int64_t least_runs = integer_field(request, "least_runs").value_or(1);
    const std::int64_t least_ns = integer_field(request, "least_ns").value_or(0);
    ISOMER_TRY(const WarmUp warm, in_runtime([&] { return warm_up(model->timed, least_runs, least_ns); }));
    return Json{{"runs", warm.runs}, {"fastest_ns", warm.fastest_ns}};
  }

  static Json times_json(const std::vector<LegTime>& legs) {
    Json wall = Json::array(), cpu = Json::array();
    for (const LegTime& leg : legs) wall.push_back(leg.wall_ns), cpu.push_back(leg.cpu_ns);
    return {{"wall_ns", std::move(wall)}, {"cpu_ns", std::move(cpu)}};
  }

  Outcome<Json> time(const Json& request) {
    std::vector<LegTime> legs;
    for (const Json& leg : array_field(request, "legs")) {
      if (!leg.is_array() || leg.size() != 2 || !leg[0].is_number_integer() || !leg[1].is_number_integer())
        return refusal("a leg that is no pair");
      ISOMER_TRY(LoadedModel * model, loaded(leg[0].get<std::int64_t>()));
      const auto repetitions = leg[1].get<std::int64_t>();
      ISOMER_TRY(const LegTime time,
                 in_runtime([&] { return time_leg(*model->timed.session, repetitions); }));
      legs.push_back(time);
    }
    return times_json(legs);
  }

  Outcome<Json> pair(const Json& request) {
    const auto slots = integers_field(request, "slots").value_or(std::vector<std::int64_t>{});
    if (slots.size() != 2) return refusal("a pair that is none");
    ISOMER_TRY(const LoadedModel* a, loaded(slots[0]));
    ISOMER_TRY(const LoadedModel* b, loaded(slots[1]));
    RoundPlan plan;
    plan.leg_ns = integer_field(request, "leg_ns").value_or(1);
    plan.fewest_blocks = integer_field(request, "fewest").value_or(1);
    plan.most_blocks = integer_field(request, "most").value_or(1);
    ISOMER_TRY(const PairTimes times, in_runtime([&] { return time_pair(a->timed, b->timed, plan); }));
    Json answer = times_json(times.legs);
    answer["repetitions"] = {times.repetitions[0], times.repetitions[1]};
    return answer;
  }

  Outcome<Json> run(const Json& request) {
    ISOMER_TRY(LoadedModel * model, loaded(integer_field(request, "slot").value_or(0)));
    ISOMER_TRY_DO(in_runtime([&] { return model->timed.session->run(); }));
    ISOMER_TRY(const NamedTensors outputs, model->timed.session->outputs());
    ISOMER_TRY(SharedTensors shared, share(outputs));
    files_.push_back(std::move(shared.file));
    return Json{{"tensors", std::move(shared.table)}};
  }

  Outcome<Json> profile(const Message& message) {
    Bytes keep;
    ISOMER_TRY(const ModelPlace model, place(message, keep));
    const RuntimeOptions options = options_from(message.body.value("options", Json::object()));
    ISOMER_TRY(const NamedTensors feeds, tensors(message));
    const std::int64_t least_ns = integer_field(message.body, "least_ns").value_or(0);
    ISOMER_TRY(const auto kinds,
               in_runtime([&] { return runtime_->profile(model, options, feeds, least_ns, scratch_); }));
    return Json{{"kinds", to_json(kinds)}};
  }

  // The files are removed from the folder before they are sent: open descriptors keep them.
  Outcome<Json> dump(const Message& message) {
    Bytes keep;
    ISOMER_TRY(const ModelPlace model, place(message, keep));
    const RuntimeOptions options = options_from(message.body.value("options", Json::object()));
    const std::string weights = text_field(message.body, "weights").value_or("");
    if (weights.empty() || weights.find('/') != std::string::npos) return refusal("a file name that is none");
    ISOMER_TRY(const DumpedFiles files,
               in_runtime([&] { return runtime_->dump(model, options, weights, scratch_); }));
    for (const std::string& path : {files.graph, files.weights}) {
      Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (file.is_open()) files_.push_back(std::move(file));
      (void)::unlink(path.c_str());
    }
    return Json::object();
  }

  Outcome<Json> fault(const Json& request) {
    const std::chrono::microseconds delay(integer_field(request, "delay_us").value_or(0));
    if (!commit_fault(text_field(request, "kind").value_or(""), delay, socket_))
      return refusal("no such fault");
    return Json::object();
  }

  int socket_;
  Limits limits_;
  bool may_fault_ = false;
  std::string scratch_;
  std::unique_ptr<Runtime> runtime_;
  std::map<std::int64_t, LoadedModel> slots_;
  std::vector<Descriptor> files_;  // of the answer
  std::size_t next_file_ = 0;
  std::int64_t runtime_ns_ = 0;
};

Outcome<Json> answer_safely(Server& server, const Message& message) {
  try {
    return server.answer(message);
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::OutOfMemory, "the worker reached its limit of memory"};
  } catch (const std::exception& thrown) {
    return Failure{FailureKind::Refused, thrown.what()};
  }
}

}  // namespace

void serve(int socket) {
  Server server(socket);
  for (Message message; receive_message(socket, message, std::nullopt) == Received::Whole;) {
    const auto answer = answer_safely(server, message);
    Json body = answer ? *answer : to_json(answer.error());
    body["runtime_ns"] = server.take_runtime_ns();
    const std::vector<Descriptor> files = server.take_files();
    std::vector<int> numbers;
    for (const Descriptor& file : files) numbers.push_back(file.get());
    if (!send_message(socket, body, numbers)) return;
  }
}

}  // namespace isomer
