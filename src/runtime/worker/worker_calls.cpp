// The requests to a worker, one by one (requests.h), and how its answers are read.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "runtime/worker/worker.h"
#include "runtime/worker/worker_state.h"

namespace isomer {
namespace {

// Adds a model to a request; the file, if any, is kept open by `keep` until it is sent.
Outcome<Done> add_model(Json& request, std::vector<int>& files, const ModelSource& model, Descriptor& keep) {
  if (!model.path.empty()) {
    std::error_code failure;
    request["path"] = std::filesystem::absolute(model.path, failure).string();
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

Outcome<Message> Worker::call_load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                                   const SharedFeeds* feeds) {
  Json request{{"request", "load"}, {"slot", slot}, {"options", to_json(options)}};
  std::vector<int> files;
  Descriptor keep;
  ISOMER_TRY_DO(add_model(request, files, model, keep));
  if (feeds) add_feeds(request, files, *feeds);
  return state_->call(request, files);
}

Outcome<Signature> Worker::load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                                const SharedFeeds* feeds) {
  ISOMER_TRY(const Message answer, call_load(slot, model, options, feeds));
  return signature_from(answer.body.value("signature", Json::object()));
}

Outcome<LegTime> Worker::time_load(std::int64_t slot, const ModelSource& model, const RuntimeOptions& options,
                                   const SharedFeeds* feeds) {
  ISOMER_TRY(const Message answer, call_load(slot, model, options, feeds));
  const auto times = times_of(answer);
  if (!times || times->size() != 1) return state_->bury({FailureKind::Garbled, "times that are none"});
  return times->front();
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
  std::vector<int> files;
  Descriptor keep;
  ISOMER_TRY_DO(add_model(request, files, model, keep));
  add_feeds(request, files, feeds);
  ISOMER_TRY(const Message answer, state_->call(request, files));
  return kinds_from(array_field(answer.body, "kinds"));
}

Outcome<DumpedModel> Worker::dump(const ModelSource& model, const RuntimeOptions& options,
                                  const std::string& weights) {
  Json request{{"request", "dump"}, {"options", to_json(options)}, {"weights", weights}};
  std::vector<int> files;
  Descriptor keep;
  ISOMER_TRY_DO(add_model(request, files, model, keep));
  ISOMER_TRY(const Message answer, state_->call(request, files));
  if (answer.files.empty()) return state_->bury({FailureKind::Garbled, "a model without its bytes"});
  DumpedModel dumped;
  ISOMER_TRY(dumped.graph, copy_file(answer.files[0]));
  if (answer.files.size() > 1) {
    ISOMER_TRY(dumped.weights, copy_file(answer.files[1]));
  }
  return dumped;
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
