// Searches for schedules of a model's units by measuring: tiles, strips, packing, Winograd or none. A faster
// schedule is measured again beside the default one; the caller measures whether the model is faster.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/emit/compile_module.h"
#include "compiler/emit/unit.h"
#include "compiler/tune/tuning_records.h"
#include "runtime/judge/judge.h"

namespace isomer {

// Random: what a search has to beat (bench/tuning.py).
enum class TuneSearch : std::uint8_t { Evolution, Random };
Result<TuneSearch> tune_search(const std::string& word);
std::vector<std::string> tune_searches();

struct TuneOptions {
  CompileRequest compile;  // target, compiler, arithmetic; a folder for scratch, which is removed
  RuntimeOptions runtime;
  double seconds = 60;
  TuneSearch search = TuneSearch::Evolution;
  std::filesystem::path records = {};  // "": none are kept
  std::uint64_t seed = 1;
  std::function<void(const std::string&)> progress = {};
};

struct TuneResult {
  lower::TunedLines lines;  // of units that are faster so, measured twice
  std::size_t units = 0, tried = 0, refused = 0, remembered = 0;
  double seconds = 0;
  double expected = 1;  // the speedup of all units together
  struct Point {
    double seconds = 0, expected = 1;
    std::size_t tried = 0;
  };
  std::vector<Point> curve;  // what was known after this time and number of schedules
  struct Of {
    std::string key, lines;
    double ns = 0, ratio = 1;
    std::size_t places = 1;
  };
  std::vector<Of> taken;
};

// Error: nothing can be timed here.
Outcome<TuneResult> tune(Judge& judge, const std::vector<lower::Unit>& units, const TuneOptions& options);

}  // namespace isomer
