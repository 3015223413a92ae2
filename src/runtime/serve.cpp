#include "runtime/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>

#include "runtime/engines.h"
#include "runtime/fault.h"
#include "runtime/requests.h"
#include "runtime/scratch.h"
#include "runtime/shared_tensors.h"
#include "runtime/worker.h"

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
  std::unique_ptr<Session> session;
  std::int64_t preparing_ns = 0;  // loading and warming up
  std::int64_t fastest_ns = 1;    // run while warming up
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
    const NetworkGuard guard = restrict_process(limits_);
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
    const std::int64_t start = now_ns();
    ISOMER_TRY(loaded.session, in_runtime([&] { return runtime_->load(model, options); }));
    loaded.preparing_ns = now_ns() - start;
    if (message.body.contains("tensors")) {
      ISOMER_TRY(const NamedTensors feeds, tensors(message));
      ISOMER_TRY_DO(loaded.session->bind(feeds));
    }
    Json answer{{"signature", to_json(loaded.session->signature())}};
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
    const std::int64_t start = now_ns();
    std::int64_t runs = 0, fastest = 0;
    while (runs < least_runs || now_ns() - start < least_ns) {
      const std::int64_t begin = now_ns();
      ISOMER_TRY_DO(model->session->run());
      fastest = runs == 0 ? now_ns() - begin : std::min(fastest, now_ns() - begin);
      ++runs;
    }
    const std::int64_t spent = now_ns() - start;
    runtime_ns_ += spent;
    model->preparing_ns += spent;
    model->fastest_ns = std::max<std::int64_t>(1, fastest);
    return Json{{"runs", runs}, {"fastest_ns", model->fastest_ns}};
  }

  Outcome<LegTime> time_leg(Session& model, std::int64_t repetitions) {
    const std::int64_t cpu_start = cpu_ns(), start = now_ns();
    for (std::int64_t i = 0; i < repetitions; ++i) ISOMER_TRY_DO(model.run());
    const std::int64_t end = now_ns(), cpu_end = cpu_ns();
    runtime_ns_ += end - start;
    return LegTime{end - start, cpu_end - cpu_start};
  }

  Outcome<Json> time(const Json& request) {
    Json wall = Json::array(), cpu = Json::array();
    for (const Json& leg : array_field(request, "legs")) {
      if (!leg.is_array() || leg.size() != 2 || !leg[0].is_number_integer() || !leg[1].is_number_integer())
        return refusal("a leg that is no pair");
      ISOMER_TRY(LoadedModel * model, loaded(leg[0].get<std::int64_t>()));
      ISOMER_TRY(const LegTime time, time_leg(*model->session, leg[1].get<std::int64_t>()));
      wall.push_back(time.wall_ns);
      cpu.push_back(time.cpu_ns);
    }
    return Json{{"wall_ns", wall}, {"cpu_ns", cpu}};
  }

  // One stretch without a pause. The first leg after a pause is slower than others, and so is one after a leg
  // of the other model, whose data fill the caches: in A B B A B A A B, after a leg of B, both models have
  // the same share of each kind. A round is worth its preparation: it lasts as long, within `fewest` and
  // `most`.
  Outcome<Json> pair(const Json& request) {
    const auto slots = integers_field(request, "slots").value_or(std::vector<std::int64_t>{});
    if (slots.size() != 2) return refusal("a pair that is none");
    const std::int64_t leg_ns = integer_field(request, "leg_ns").value_or(1);
    LoadedModel* models[2] = {};
    ISOMER_TRY(models[0], loaded(slots[0]));
    ISOMER_TRY(models[1], loaded(slots[1]));
    const auto [fast, slow] = std::minmax(models[0]->fastest_ns, models[1]->fastest_ns);
    std::int64_t repetitions[2] = {}, block_ns = 0;
    for (const int i : {0, 1}) {
      // Equal numbers, so that both pay equally for cold caches, unless one is much slower.
      constexpr std::int64_t kMuchSlower = 4;
      const std::int64_t run_ns = slow > kMuchSlower * fast ? models[i]->fastest_ns : fast;
      repetitions[i] = std::max<std::int64_t>(1, (leg_ns + run_ns - 1) / run_ns);
      block_ns += 4 * repetitions[i] * models[i]->fastest_ns;
    }
    const std::int64_t preparing_ns = models[0]->preparing_ns + models[1]->preparing_ns;
    constexpr std::int64_t kLongNs = 800'000'000;  // such blocks average enough by themselves
    const std::int64_t fewest = block_ns > kLongNs ? 1 : integer_field(request, "fewest").value_or(1);
    const std::int64_t most = integer_field(request, "most").value_or(1);
    const std::int64_t blocks = std::max(fewest, std::min(most, preparing_ns / block_ns));
    Json wall = Json::array(), cpu = Json::array();
    ISOMER_TRY_DO(time_leg(*models[1]->session, repetitions[1]));
    for (std::int64_t block = 0; block < blocks; ++block)
      for (const int which : kBlockOrder) {
        ISOMER_TRY(const LegTime time, time_leg(*models[which]->session, repetitions[which]));
        wall.push_back(time.wall_ns);
        cpu.push_back(time.cpu_ns);
      }
    return Json{{"repetitions", {repetitions[0], repetitions[1]}}, {"wall_ns", wall}, {"cpu_ns", cpu}};
  }

  Outcome<Json> run(const Json& request) {
    ISOMER_TRY(LoadedModel * model, loaded(integer_field(request, "slot").value_or(0)));
    ISOMER_TRY_DO(in_runtime([&] { return model->session->run(); }));
    ISOMER_TRY(const NamedTensors outputs, model->session->outputs());
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
