#include "app/explore/exploration_records.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>

namespace isomer {
namespace {

Failure unavailable(std::string why) { return {FailureKind::Unavailable, std::move(why)}; }

}  // namespace

Outcome<ExplorationRecords> ExplorationRecords::open(const std::filesystem::path& path,
                                                     const Json& question) {
  ExplorationRecords records;
  records.path_ = path;
  if (path.empty()) return records;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure) || std::filesystem::file_size(path, failure) == 0) {
    ISOMER_TRY_DO(records.write_line({{"question", question}}));
    return records;
  }
  std::ifstream file(path, std::ios::binary);
  std::uintmax_t whole = 0;  // bytes of lines that are complete
  for (std::string line; std::getline(file, line) && !file.eof(); whole += line.size() + 1) {
    const Json read = Json::parse(line, nullptr, false);
    const bool is_first = whole == 0;
    if (!read.is_object() || (is_first ? !read.contains("question") : !read.contains("key")))
      return unavailable(fmt::format("{}: not a file of exploration records", path.string()));
    if (is_first && read["question"] != question)
      return unavailable(fmt::format(
          "{}: records of another exploration (model, options, runtime or machine)", path.string()));
    if (!is_first) records.all_[read["key"].get<std::string>()] = read["answer"];
  }
  file.close();
  std::filesystem::resize_file(path, whole, failure);
  if (failure) return unavailable(fmt::format("{}: {}", path.string(), failure.message()));
  if (whole == 0) ISOMER_TRY_DO(records.write_line({{"question", question}}));
  records.known_ = records.all_.size();
  return records;
}

const ExplorationRecords::Json* ExplorationRecords::find(const std::string& key) const {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;
}

Outcome<Done> ExplorationRecords::add(const std::string& key, Json answer) {
  ISOMER_TRY_DO(write_line({{"key", key}, {"answer", answer}}));
  all_[key] = std::move(answer);
  return Done{};
}

Outcome<Done> ExplorationRecords::write_line(const Json& line) {
  if (path_.empty()) return Done{};
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  file << line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n' << std::flush;
  if (!file) return unavailable(fmt::format("can't write to {}", path_.string()));
  return Done{};
}

nlohmann::json interval_record(const Interval& interval) {
  const auto bound = [](double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  };
  return nlohmann::json::array({interval.estimate, bound(interval.low), bound(interval.high)});
}

Interval interval_from(const nlohmann::json& record) {
  return {record.at(0), record.at(1).is_null() ? 0 : record.at(1).get<double>(),
          record.at(2).is_null() ? std::numeric_limits<double>::infinity() : record.at(2).get<double>()};
}

}  // namespace isomer
