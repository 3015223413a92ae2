// What `isomer bench` found, and how it is told: to people as tables, to programs as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "runtime/judge.h"

namespace isomer::cli {

struct BenchModel {
  std::string path;
  std::string digest;                               // of what it computes, weights and all
  std::map<std::string, std::uint64_t> file_nodes;  // by operator, as the file has them
  std::optional<Failure> failure;                   // set: not measured
  ModelFacts facts;
  Latency latency;
};

struct BenchPair {
  std::size_t a = 0, b = 0;
  std::optional<Failure> failure;
  PairMeasurement measured;
};

struct BenchRun {
  std::string runtime, title, version;
  int threads = 1;
  NetworkGuard guard = NetworkGuard::None;
  std::string inputs;  // where they came from, in words
  std::vector<BenchModel> models;
  std::vector<BenchPair> pairs;
  std::string note;  // of trouble that changed no answer
};

std::string to_text(const std::vector<BenchRun>& runs);
Json to_json(const std::vector<BenchRun>& runs);

}  // namespace isomer::cli
