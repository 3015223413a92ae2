// Times of schedules of units on this machine: text files in a folder, each of one measurement, written at
// once and never changed, so that a killed process loses only the measurement in progress.
//
//   DIR/v2/<target>/<digest>.txt    target: a digest of processor, instructions, compiler, kernels,
//   arithmetic
//
// The records are untrusted: a file that is not understood is ignored, lines are checked like a user's
// (compiler/schedule/legality.h), and a chosen schedule is measured again. Never an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isomer {

struct TuneRecord {
  std::string unit, lines;  // compiler/emit/unit.h
  double ns = 0;            // of the unit as it is chosen, without lines, in the same turns
  double ratio = 1;         // of time: below 1 is faster than that
};

class TuningRecords {
 public:
  // "": nothing is kept.
  TuningRecords(const std::filesystem::path& folder, const std::string& target);
  // Records of earlier processes, the oldest first.
  const std::vector<TuneRecord>& known() const { return known_; }
  // False: they are not on the disk.
  bool keep(const std::vector<TuneRecord>& records);

 private:
  std::filesystem::path folder_;
  std::vector<TuneRecord> known_;
};

std::string text(const std::vector<TuneRecord>& records, std::int64_t when);
// Empty where anything is not understood.
std::vector<TuneRecord> parse_records(const std::string& text, std::int64_t& when);

}  // namespace isomer
