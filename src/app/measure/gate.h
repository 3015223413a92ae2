// Whether a model may replace another one: is it fast enough where it will run, and does it compute the same?
// For CI, so every answer is one of three, and "not sure" never counts as "yes".
//
// Speed is measured by measure.h, about the required ratio instead of 1: rounds continue until a 99 %
// interval excludes it, then fresh rounds until their 95 % interval does. Only the fresh rounds are reported
// and decide, so that stopping early makes neither false alarms nor false passes more likely.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/equality/compare_models.h"
#include "runtime/judge/judge.h"

namespace isomer {

enum class GateAnswer : std::uint8_t { Passes, Fails, Unsure };
std::string_view text(GateAnswer answer);  // "passes", "fails", "unsure"

struct GateRequest {
  ComparedModel base, candidate;  // their judges may be one
  const NamedTensors& feeds;
  MeasureOptions measure = {};  // of the candidate's runtime
  double min_ratio = 0.98;      // latency(base) / latency(candidate) must not be below
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct GateSpeed {
  GateAnswer answer = GateAnswer::Unsure;
  std::optional<Failure> failure = {};  // the candidate does not run
  PairMeasurement measured = {};        // else
};
// Failure: the base does not run, or no runtime is available.
Outcome<GateSpeed> judge_speed(const GateRequest& request);

struct GateEquality {
  GateAnswer answer = GateAnswer::Unsure;
  std::string why = {};                     // it does not pass
  std::string proof = {};                   // "proved", "refuted", "undecided"
  int rounded_constants = 0;                // of the candidate, if it is proved: equal but for their rounding
  std::uint64_t flushed = 0;                // denormal numbers that are zero in the candidate
  bool by_position = false;                 // outputs have other names, and were compared by position
  int sizes_from = 0;                       // of open sizes, as it was proved
  std::optional<bool> outputs_differ = {};  // on the inputs, beyond rounding; nullopt: not compared
};

struct GateRun {
  std::string base, candidate;                  // as their user calls them
  std::string base_runtime, candidate_runtime;  // "ONNX Runtime 1.20.1"
  std::string machine, inputs;
  int threads = 1;
  double min_ratio = 0.98;
  GateSpeed speed = {};
  std::optional<GateEquality> equality = {};  // nullopt: not requested
  GateAnswer answer() const;
};

// One line, for a log.
std::string line_of(const GateRun& run);
// A few lines and a table, for a pull request.
std::string markdown_of(const GateRun& run);

}  // namespace isomer
