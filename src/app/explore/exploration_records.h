// The answers of an exploration so far, as lines of JSON in a file: a stopped exploration continues from
// there. The first line has the request; records of another request are rejected.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/engines/outcome.h"
#include "runtime/judge/statistics.h"

namespace isomer {

class ExplorationRecords {
 public:
  using Json = nlohmann::json;

  // Without a path: in memory only. A last line that was cut off, by whatever killed its writer, is dropped.
  static Outcome<ExplorationRecords> open(const std::filesystem::path& path, const Json& question);

  const Json* find(const std::string& key) const;
  Outcome<Done> add(const std::string& key, Json answer);
  std::size_t known() const { return known_; }  // from earlier runs

 private:
  Outcome<Done> write_line(const Json& line);
  std::filesystem::path path_;
  std::map<std::string, Json> all_;
  std::size_t known_ = 0;
};

// [estimate, low, high]; null: no bound.
nlohmann::json interval_record(const Interval& interval);
Interval interval_from(const nlohmann::json& record);

}  // namespace isomer
