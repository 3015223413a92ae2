// isomer-judge: sends the judge many requests with one warm worker, for the evidence scripts judge_*.py.
//
//   isomer-judge pairs RUNTIME SECONDS     reads lines "A.onnx<TAB>B.onnx", answers each with a line of JSON
//   isomer-judge faults COUNT MODEL        makes workers die in every way at random moments; a line of JSON
//   at the end
//   isomer-judge cache FILE SECONDS        stores and looks up until the time is over or it is killed
//   isomer-judge fill-cache FILE COUNT     stores COUNT entries
//   isomer-judge damaged-caches COUNT      reads lines that name caches which were filled so and then damaged
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "io/onnx/model.h"
#include "runtime/judge/feeds.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/timing_cache.h"

namespace isomer {
namespace {

using Line = nlohmann::ordered_json;

void say(const Line& line) {
  std::cout << line.dump(-1, ' ', false, Line::error_handler_t::replace) << std::endl;
}

int fail(const std::string& why) {
  std::cerr << "isomer-judge: " << why << '\n';
  return 2;
}

Result<SharedFeeds> feeds_of(const std::string& path) {
  ISOMER_TRY(const Model model, read_model(path));
  ISOMER_TRY(const GeneratedFeeds feeds, generate_feeds(model.graph, {}, 0));
  auto shared = SharedFeeds::make(feeds.tensors);
  if (!shared) return to_error(shared.error());
  return std::move(*shared);
}

int judge_pairs(const std::string& runtime, double seconds) {
  auto judge = Judge::start({.runtime = runtime});
  if (!judge) return fail(judge.error().what);
  MeasureOptions options;
  options.seconds = seconds;
  std::map<std::string, SharedFeeds> known;
  for (std::string line; std::getline(std::cin, line);) {
    const auto tab = line.find('\t');
    const std::string a = line.substr(0, tab), b = tab == std::string::npos ? a : line.substr(tab + 1);
    if (!known.contains(a)) {
      auto feeds = feeds_of(a);
      if (!feeds) return fail(feeds.error().message);
      known.emplace(a, *feeds);
    }
    const std::int64_t cpu_start = cpu_ns();
    const auto measured =
        (*judge)->measure_pair(ModelSource::file(a), ModelSource::file(b), known.at(a), options);
    if (!measured) {
      say({{"a", a}, {"b", b}, {"failure", name(measured.error().kind)}, {"what", measured.error().what}});
      continue;
    }
    say({{"a", a},
         {"b", b},
         {"ratio", measured->ratio.estimate},
         {"low", measured->ratio.low},
         {"high", measured->ratio.high},
         {"verdict", text(measured->verdict)},
         {"wall_ratio", measured->wall_ratio.estimate},
         {"wall_low", measured->wall_ratio.low},
         {"wall_high", measured->wall_ratio.high},
         {"a_ns", measured->a_wall_ns.estimate},
         {"rounds", measured->explored.size() + measured->confirmed.size()},
         {"confirmed", measured->confirmed.size()},
         {"seconds", measured->seconds},
         {"own_ms", 1e3 * measured->own_seconds},
         {"own_cpu_ms", 1e-6 * static_cast<double>(cpu_ns() - cpu_start)}});
  }
  return 0;
}

int commit_faults(int count, const std::string& model) {
  auto feeds = feeds_of(model);
  if (!feeds) return fail(feeds.error().message);
  WorkerOptions options;
  options.may_fault = true;
  options.limits.memory_bytes = 600 << 20;
  options.call_seconds = 1.5;  // a hang costs the test this time
  auto judge = Judge::start(options);
  if (!judge) return fail(judge.error().what);
  const std::string kinds[] = {"segfault", "abort", "divide", "memory", "hang", "garbage", "exit"};
  std::mt19937 random(1);
  std::map<std::string, std::map<std::string, int>> seen;
  int survived = 0, too_late = 0;
  for (int i = 0; i < count; ++i) {
    const std::string& kind = kinds[static_cast<std::size_t>(i) % std::size(kinds)];
    auto worker = (*judge)->worker();
    if (!worker) return fail("no new worker: " + worker.error().what);
    // At once, or somewhere within the first 60 ms of loading and measuring.
    const auto delay = i % 5 == 0 ? 0 : static_cast<std::int64_t>(random() % 60'000 + 1);
    Outcome<Done> outcome = (*worker)->fault(kind, delay);
    if (outcome) {
      MeasureOptions measuring;
      measuring.seconds = 0.5;
      const auto measured =
          (*judge)->measure_pair(ModelSource::file(model), ModelSource::file(model), *feeds, measuring);
      if (!measured) outcome = measured.error();
    }
    // The fault came after the measurement: it must not strike the next one.
    if (outcome) {
      ++too_late;
      (void)(*worker)->fault("exit", 0);
    }
    ++seen[kind][outcome ? "too late" : std::string(name(outcome.error().kind))];
    ++survived;
    // The judge must be able to go on at once.
    if (i % 10 == 9 && !(*judge)->check_loads(ModelSource::file(model))) {
      if ((*judge)->worker() && !(*judge)->check_loads(ModelSource::file(model)))
        return fail("the judge did not recover");
    }
  }
  Line kinds_seen = seen;
  say({{"faults", count}, {"survived", survived}, {"too_late", too_late}, {"seen", kinds_seen}});
  return 0;
}

// Each model of the list, whatever it is: loaded at every level, and run where its inputs can be made up.
int load_models() {
  WorkerOptions options;
  options.limits.memory_bytes = 4ULL << 30;
  options.call_seconds = 20;
  auto judge = Judge::start(options);
  if (!judge) return fail(judge.error().what);
  for (std::string path; std::getline(std::cin, path);) {
    const auto source = ModelSource::file(path);
    Outcome<Done> outcome = (*judge)->check_loads(source);
    std::string step = "load";
    const auto model = outcome ? read_model(path) : Result<Model>(Error{""});
    const auto feeds = model ? generate_feeds(model->graph, {}, 0) : Result<GeneratedFeeds>(Error{""});
    if (feeds) {
      step = "run";
      const auto outputs = (*judge)->run(source, feeds->tensors);
      if (!outputs) outcome = outputs.error();
    }
    say({{"path", path},
         {"step", step},
         {"outcome", outcome ? "fine" : name(outcome.error().kind)},
         {"what", outcome ? "" : outcome.error().what.substr(0, 200)}});
  }
  return 0;
}

TimingKey key_of(const std::string& owner, int number) {
  return {.a = owner, .b = std::to_string(number), .runtime = "none", .version = "0"};
}

TimingSamples samples_of(int number) {
  BlockTimes block;
  for (LegTime& leg : block.a) leg = {number + 1, number + 2};
  return {{Round{true, std::vector<BlockTimes>(20, block)}}, {}};
}

// Says "stored N" only after the cache has acknowledged it, so that the reader can rely on it.
int use_cache(const std::string& path, double seconds) {
  const auto cache = TimingCache::open(path);
  const std::string owner = std::to_string(::getpid());
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  for (int i = 0; now_ns() < end; ++i) {
    if (!cache->store(key_of(owner, i), samples_of(i))) return fail("not stored: " + cache->trouble());
    say({{"owner", owner}, {"stored", i}});
    const auto found = cache->find(key_of(owner, i / 2));
    if (!found || found->explored[0].blocks[0].a[0].wall_ns != i / 2 + 1)
      return fail("lost: " + cache->trouble());
  }
  if (!cache->trouble().empty()) return fail(cache->trouble());
  return 0;
}

// Reads such lines, and counts those of them that the cache doesn't have.
int check_cache(const std::string& path) {
  const auto cache = TimingCache::open(path);
  std::size_t acknowledged = 0, lost = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto json = Line::parse(line, nullptr, false);  // the last line of a killed process may be cut
    if (!json.is_object() || !json.contains("stored")) continue;
    const int number = json["stored"];
    const auto found = cache->find(key_of(json["owner"], number));
    ++acknowledged;
    lost += !found || to_bytes(*found) != to_bytes(samples_of(number));
  }
  say({{"acknowledged", acknowledged},
       {"lost", lost},
       {"size", cache->size()},
       {"trouble", cache->trouble()}});
  return 0;
}

constexpr const char* kFilled = "filled";

int fill_cache(const std::string& path, int count) {
  const auto cache = TimingCache::open(path);
  for (int i = 0; i < count; ++i)
    if (!cache->store(key_of(kFilled, i), samples_of(i)) ||
        !cache->keep_note(fmt::format("note {}", i), fmt::format("text {}", i)))
      return fail(cache->trouble());
  return 0;
}

// What a damaged cache still finds must be what was stored; then it must keep something new, or say why not.
int read_damaged(int count) {
  for (std::string path; std::getline(std::cin, path);) {
    int found = 0, changed = 0, notes = 0;
    const auto cache = TimingCache::open(path);
    for (int i = 0; i < count; ++i) {
      const auto samples = cache->find(key_of(kFilled, i));
      found += samples.has_value();
      changed += samples && to_bytes(*samples) != to_bytes(samples_of(i));
      notes += cache->note(fmt::format("note {}", i)).has_value();
    }
    const bool is_stored = cache->store(key_of("new", 1), samples_of(1));
    const auto again = cache->find(key_of("new", 1));
    cache->shrink_to(cache->bytes() / 2);
    say({{"path", path},
         {"found", found},
         {"changed", changed},
         {"notes", notes},
         {"is_stored", is_stored},
         {"is_kept", again && to_bytes(*again) == to_bytes(samples_of(1))},
         {"trouble", cache->trouble()}});
  }
  return 0;
}

int main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "fill-cache")
    return fill_cache(arguments[1], std::stoi(arguments[2]));
  if (arguments.size() == 2 && arguments[0] == "damaged-caches") return read_damaged(std::stoi(arguments[1]));
  if (arguments.size() == 3 && arguments[0] == "cache")
    return use_cache(arguments[1], std::stod(arguments[2]));
  if (arguments.size() == 1 && arguments[0] == "load") return load_models();
  if (arguments.size() == 2 && arguments[0] == "check-cache") return check_cache(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "pairs")
    return judge_pairs(arguments[1], std::stod(arguments[2]));
  if (arguments.size() == 3 && arguments[0] == "faults")
    return commit_faults(std::stoi(arguments[1]), arguments[2]);
  return fail("see the head of tests/lib/judge.cpp");
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) { return isomer::main({argv + 1, argv + argc}); }
