#include "compiler/tune/tuning_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/hash.h"
#include "io/onnx/write_file.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr char kTitle[] = "isomer tuning 2";
constexpr std::size_t kMostFiles = 20'000, kMostBytes = std::size_t{1} << 20;

}  // namespace

std::string text(const std::vector<TuneRecord>& records, std::int64_t when) {
  std::string out = fmt::format("{}\nwhen {}\n", kTitle, when);
  for (const TuneRecord& r : records)
    out += fmt::format("unit {}\nns {}\nratio {}\n{}end\n", r.unit, r.ns, r.ratio, r.lines);
  return out;
}

std::vector<TuneRecord> parse_records(const std::string& text, std::int64_t& when) {
  std::istringstream in{text};
  std::string line;
  std::vector<TuneRecord> out;
  if (!std::getline(in, line) || line != kTitle || !std::getline(in, line) || !line.starts_with("when "))
    return {};
  std::istringstream time{line.substr(5)};
  if (!(time >> when)) return {};
  const auto next = [&](const char* word) -> std::optional<std::string> {
    const std::string start = std::string(word) + ' ';
    if (!std::getline(in, line) || !line.starts_with(start)) return std::nullopt;
    return line.substr(start.size());
  };
  while (in.peek() != std::istringstream::traits_type::eof()) {
    TuneRecord r;
    const auto unit = next("unit");
    const auto ns = unit ? next("ns") : std::nullopt;
    const auto ratio = ns ? next("ratio") : std::nullopt;
    if (!ratio) return {};
    r.unit = *unit;
    std::istringstream a{*ns}, b{*ratio};
    if (!(a >> r.ns) || !(b >> r.ratio) || !(r.ns > 0) || !(r.ratio > 0) || !std::isfinite(r.ns) ||
        !std::isfinite(r.ratio))
      return {};
    bool is_ended = false;
    while (!is_ended && std::getline(in, line))
      if (line == "end") is_ended = true;
      else r.lines += line + '\n';
    if (!is_ended) return {};
    out.push_back(std::move(r));
  }
  return out;
}

TuningRecords::TuningRecords(const fs::path& folder, const std::string& target) {
  if (folder.empty()) return;
  folder_ = folder / "v2" / Hasher().add(std::string_view(target)).digest().hex();
  std::error_code failure;
  fs::create_directories(folder_, failure);
  wire::remove_stale_outputs(folder_);
  std::vector<std::pair<std::int64_t, std::vector<TuneRecord>>> all;
  for (const auto& entry : fs::directory_iterator(folder_, failure)) {
    if (all.size() >= kMostFiles) break;
    if (entry.path().extension() != ".txt" || entry.file_size(failure) > kMostBytes) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string said{std::istreambuf_iterator<char>(in), {}};
    std::int64_t when = 0;
    if (auto records = parse_records(said, when); !records.empty())
      all.emplace_back(when, std::move(records));
  }
  std::ranges::stable_sort(all, {}, [](const auto& file) { return file.first; });
  for (auto& [when, records] : all)
    for (TuneRecord& r : records) known_.push_back(std::move(r));
}

bool TuningRecords::keep(const std::vector<TuneRecord>& records) {
  if (folder_.empty() || records.empty()) return false;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string said = text(records, std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  return wire::write_text(folder_ / (Hasher().add(std::string_view(said)).digest().hex() + ".txt"), said)
      .ok();
}

}  // namespace isomer
