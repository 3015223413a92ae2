#include "plans/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/blake2b.h"
#include "onnx/write_file.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kNameDigits = 64;

std::string digest_of(std::string_view text) {
  Blake2b hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A file whose name is its digest; nullopt: there is none, or it is another one.
std::optional<std::string> read_named(const fs::path& path, std::size_t most) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  const auto size = fs::file_size(path, failure);
  if (failure || size > most) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) return std::nullopt;
  return digest_of(text) == path.filename().string() ? std::optional(std::move(text)) : std::nullopt;
}

// Whether the file is there now, complete.
bool write_named(const fs::path& folder, std::string_view text) {
  const fs::path path = folder / digest_of(text);
  std::error_code failure;
  if (read_named(path, text.size())) return true;  // a damaged one is written again
  fs::create_directories(folder, failure);
  if (failure || !wire::write_text(path, text).ok()) return false;
  (void)wire::sync_directory(folder);
  return true;
}

// Names that files of a store may have, in the order of the names.
std::vector<fs::path> files_in(const fs::path& folder, std::size_t most) {
  std::vector<fs::path> out;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (is_hex(at->path().filename().string(), kNameDigits)) out.push_back(at->path());
  std::ranges::sort(out);
  if (out.size() > most) out.resize(most);
  return out;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (std::error_code none; at->is_directory(none)) out.push_back(at->path());
  std::ranges::sort(out);
  return out;
}

std::string entry_text(const PlanEntry& e) {
  return Json{{"key", e.key}, {"object", e.object}, {"target", e.target}, {"ratio", e.ratio}}.dump(
             -1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::optional<PlanEntry> parse_entry(const std::string& anchor, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.size() != 4) return std::nullopt;
  for (const char* field : {"key", "object", "target"})
    if (!json.contains(field) || !json[field].is_string()) return std::nullopt;
  if (!json.contains("ratio") || !json["ratio"].is_number()) return std::nullopt;
  PlanEntry out{.anchor = anchor,
                .key = json["key"].get<std::string>(),
                .object = json["object"].get<std::string>(),
                .target = json["target"].get<std::string>(),
                .ratio = json["ratio"].get<double>()};
  if (!is_hex(out.key, 32) || !is_hex(out.object, kNameDigits)) return std::nullopt;
  return out;
}

std::optional<std::set<Digest>> parse_settled(const std::string& text) {
  constexpr std::size_t kLine = 33;
  if (text.size() % kLine != 0) return std::nullopt;
  std::set<Digest> out;
  for (std::size_t at = 0; at < text.size(); at += kLine) {
    const std::string line = text.substr(at, kLine - 1);
    if (!is_hex(line, kLine - 1) || text[at + kLine - 1] != '\n') return std::nullopt;
    out.insert({std::stoull(line.substr(0, 16), nullptr, 16), std::stoull(line.substr(16), nullptr, 16)});
  }
  return out;
}

}  // namespace

PlanStore::PlanStore(const fs::path& directory) : root_(directory / fmt::format("v{}", kPlanFormat)) {}

std::vector<PlanEntry> PlanStore::find(const std::string& anchor) const {
  std::vector<PlanEntry> out;
  if (!is_hex(anchor, 16)) return out;
  for (const fs::path& file : files_in(root_ / "index" / anchor, kMostEntries))
    if (const auto text = read_named(file, kMostEntryBytes))
      if (auto entry = parse_entry(anchor, *text)) out.push_back(std::move(*entry));
  return out;
}

std::optional<Plan> PlanStore::plan(const std::string& object) const {
  if (!is_hex(object, kNameDigits)) return std::nullopt;
  const auto text = read_named(root_ / "objects" / object.substr(0, 2) / object, kMostPlanBytes);
  if (!text) return std::nullopt;
  auto plan = parse_plan(*text);
  return plan.ok() ? std::optional(std::move(*plan)) : std::nullopt;
}

std::set<Digest> PlanStore::settled(const std::string& rules) const {
  std::set<Digest> out;
  if (!is_hex(rules, 16)) return out;
  for (const fs::path& file : files_in(root_ / "settled" / rules, kMostEntries))
    if (const auto text = read_named(file, kMostSettledBytes))
      if (const auto read = parse_settled(*text)) out.insert(read->begin(), read->end());
  return out;
}

bool PlanStore::keep(const std::string& anchor, const Plan& plan, const std::string& target, double ratio) {
  const std::string text = to_text(plan);
  // What can't be read back is not worth keeping.
  if (!parse_plan(text).ok()) return false;
  const std::string object = digest_of(text);
  const PlanEntry entry{
      .anchor = anchor, .key = plan.key, .object = object, .target = target, .ratio = ratio};
  return write_named(root_ / "objects" / object.substr(0, 2), text) &&
         write_named(root_ / "index" / anchor, entry_text(entry));
}

bool PlanStore::keep_settled(const std::string& rules, const std::set<Digest>& contexts) {
  std::string text;
  for (const Digest& d : contexts) text += d.hex() + "\n";
  return text.size() <= kMostSettledBytes && write_named(root_ / "settled" / rules, text);
}

namespace {

// What a store is made of, each file with whether it is what it should be.
struct File {
  fs::path path;
  enum class Kind : std::uint8_t { Object, Entry, Settled } kind = Kind::Object;
  bool is_valid = false;
  std::uint64_t bytes = 0;
  PlanEntry entry = {};
};

std::vector<File> files_of(const fs::path& root) {
  constexpr std::size_t kAll = std::size_t{1} << 40;
  std::vector<File> out;
  const auto add = [&](const fs::path& path, File::Kind kind, bool is_valid, PlanEntry entry = {}) {
    std::error_code failure;
    const auto bytes = fs::file_size(path, failure);
    out.push_back({path, kind, is_valid, failure ? 0 : bytes, std::move(entry)});
  };
  for (const fs::path& folder : folders_in(root / "objects"))
    for (const fs::path& file : files_in(folder, kAll)) {
      const auto text = read_named(file, kMostPlanBytes);
      const bool is_placed = file.filename().string().starts_with(folder.filename().string());
      add(file, File::Kind::Object, is_placed && text && parse_plan(*text).ok());
    }
  for (const fs::path& folder : folders_in(root / "index"))
    for (const fs::path& file : files_in(folder, kAll)) {
      const auto text = read_named(file, PlanStore::kMostEntryBytes);
      auto entry = text ? parse_entry(folder.filename().string(), *text) : std::nullopt;
      add(file, File::Kind::Entry, entry.has_value(), entry.value_or(PlanEntry{}));
    }
  for (const fs::path& folder : folders_in(root / "settled"))
    for (const fs::path& file : files_in(folder, kAll)) {
      const auto text = read_named(file, PlanStore::kMostSettledBytes);
      add(file, File::Kind::Settled, text && parse_settled(*text));
    }
  return out;
}

// Valid files that say nothing without others that are missing.
std::set<fs::path> orphans_of(const std::vector<File>& files) {
  std::set<std::string> objects, named;
  for (const File& f : files) {
    if (f.is_valid && f.kind == File::Kind::Object) objects.insert(f.path.filename().string());
    if (f.is_valid && f.kind == File::Kind::Entry) named.insert(f.entry.object);
  }
  std::set<fs::path> out;
  for (const File& f : files) {
    if (!f.is_valid) continue;
    const bool is_lost = (f.kind == File::Kind::Object && !named.contains(f.path.filename().string())) ||
                         (f.kind == File::Kind::Entry && !objects.contains(f.entry.object));
    if (is_lost) out.insert(f.path);
  }
  return out;
}

}  // namespace

PlanStore::Contents PlanStore::contents() const {
  Contents out;
  const std::vector<File> files = files_of(root_);
  for (const File& f : files) {
    out.bytes += f.bytes;
    if (!f.is_valid) ++out.invalid;
    else if (f.kind == File::Kind::Object) ++out.plans;
    else if (f.kind == File::Kind::Settled) ++out.settled;
    else {
      ++out.entries;
      out.list.push_back(f.entry);
    }
  }
  out.orphans = orphans_of(files).size();
  return out;
}

std::uint64_t PlanStore::clean(std::uint64_t most_bytes) {
  std::vector<File> files = files_of(root_);
  const std::set<fs::path> orphans = orphans_of(files);
  std::uint64_t gone = 0;
  const auto remove = [&](const fs::path& path) {
    std::error_code failure;
    if (fs::remove(path, failure)) ++gone;
  };
  std::vector<std::pair<fs::file_time_type, const File*>> kept;
  std::map<std::string, std::uint64_t> entries_of;
  std::uint64_t bytes = 0;
  for (const File& f : files) {
    std::error_code failure;
    if (!f.is_valid || orphans.contains(f.path)) {
      remove(f.path);
      continue;
    }
    bytes += f.bytes;
    if (f.kind == File::Kind::Entry) ++entries_of[f.entry.object];
    if (f.kind != File::Kind::Object) kept.emplace_back(fs::last_write_time(f.path, failure), &f);
  }
  if (most_bytes == 0) return gone;
  std::map<std::string, const File*> objects;
  for (const File& f : files)
    if (f.kind == File::Kind::Object) objects.emplace(f.path.filename().string(), &f);
  std::ranges::sort(kept, {}, [](const auto& k) { return std::pair(k.first, k.second->path); });
  for (const auto& [when, file] : kept) {
    if (bytes <= most_bytes) break;
    remove(file->path);
    bytes -= std::min(bytes, file->bytes);
    // A plan goes with the last entry that names it.
    if (file->kind != File::Kind::Entry || --entries_of[file->entry.object] > 0) continue;
    const File* object = objects.at(file->entry.object);
    remove(object->path);
    bytes -= std::min(bytes, object->bytes);
  }
  return gone;
}

std::uint64_t PlanStore::take_from(const PlanStore& other) {
  std::uint64_t copied = 0;
  const std::vector<File> files = files_of(other.root_);
  const std::set<fs::path> orphans = orphans_of(files);
  for (const File& f : files) {  // plans come before the entries that name them
    std::error_code failure;
    if (!f.is_valid || orphans.contains(f.path)) continue;
    const fs::path folder = root_ / fs::relative(f.path.parent_path(), other.root_, failure);
    if (failure || fs::exists(folder / f.path.filename(), failure)) continue;
    const auto text = read_named(f.path, kMostSettledBytes);
    if (text && write_named(folder, *text)) ++copied;
  }
  return copied;
}

}  // namespace isomer
