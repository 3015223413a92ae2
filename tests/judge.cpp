// isomer-judge: asks the judge many questions with one warm worker, for the evidence scripts judge_*.py.
//
//   isomer-judge pairs RUNTIME SECONDS     reads lines "A.onnx<TAB>B.onnx", answers each with a line of JSON
//   isomer-judge faults COUNT MODEL        makes workers die in every way at random moments; a line of JSON
//   at the end isomer-judge cache FILE SECONDS        stores and looks up until the time is over or it is
//   killed
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "onnx/model.h"
#include "runtime/feeds.h"
#include "runtime/judge.h"

namespace isomer {
namespace {

using Line = nlohmann::ordered_json;

void say(const Line& line) { std::cout << line.dump() << std::endl; }

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
  options.call_seconds = 1.5;  // a hang costs the test so much
  auto judge = Judge::start(options);
  if (!judge) return fail(judge.error().what);
  const std::string kinds[] = {"segfault", "abort", "divide", "memory", "hang", "garbage", "exit"};
  std::mt19937 random(1);
  std::map<std::string, std::map<std::string, int>> seen;
  int survived = 0, without_effect = 0;
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
    // A thread that hangs elsewhere than in the runtime harms no measurement.
    if (outcome) ++without_effect;
    ++seen[kind][outcome ? "no effect on the measurement" : std::string(name(outcome.error().kind))];
    ++survived;
    // The judge must be able to go on at once.
    if (i % 10 == 9 && !(*judge)->check_loads(ModelSource::file(model))) {
      if ((*judge)->worker() && !(*judge)->check_loads(ModelSource::file(model)))
        return fail("the judge did not recover");
    }
  }
  Line kinds_seen = seen;
  say({{"faults", count}, {"survived", survived}, {"without_effect", without_effect}, {"seen", kinds_seen}});
  return 0;
}

int main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "pairs")
    return judge_pairs(arguments[1], std::stod(arguments[2]));
  if (arguments.size() == 3 && arguments[0] == "faults")
    return commit_faults(std::stoi(arguments[1]), arguments[2]);
  return fail("see the head of tests/judge.cpp");
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) { return isomer::main({argv + 1, argv + argc}); }
