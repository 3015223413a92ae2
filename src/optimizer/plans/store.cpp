#include "optimizer/plans/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/blake2b.h"
#include "io/onnx/write_file.h"

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

std::optional<std::string> read_whole(const fs::path& path, std::size_t most) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  const auto size = fs::file_size(path, failure);
  if (failure || size > most) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) return std::nullopt;
  return text;
}

// A file whose name is its digest; nullopt: there is none, or it is another one.
std::optional<std::string> read_named(const fs::path& path, const std::string& name, std::size_t most) {
  auto text = read_whole(path, most);
  return text && digest_of(*text) == name ? std::move(text) : std::nullopt;
}

// Whether the file is there now, complete.
bool write_named(const fs::path& folder, std::string_view text) {
  const fs::path path = folder / digest_of(text);
  std::error_code failure;
  if (read_named(path, path.filename().string(), text.size())) return true;  // a damaged one is written again
  fs::create_directories(folder, failure);
  if (failure || !wire::write_text(path, text).ok()) return false;
  (void)wire::sync_directory(folder);
  return true;
}

constexpr std::string_view kLayout = "oci:";
constexpr std::size_t kMostManifestBytes = std::size_t{64} << 20;

// The file of an OCI layout that a descriptor names; nullopt: it names none.
std::optional<fs::path> blob_of(const fs::path& layout, const Json& descriptor) {
  constexpr std::string_view kHash = "sha256:";
  if (!descriptor.is_object() || !descriptor.contains("digest") || !descriptor["digest"].is_string())
    return std::nullopt;
  const auto digest = descriptor["digest"].get<std::string>();
  if (!digest.starts_with(kHash) || !is_hex(digest.substr(kHash.size()), kNameDigits)) return std::nullopt;
  return layout / "blobs" / "sha256" / digest.substr(kHash.size());
}

// Files of a store by their names in an OCI layout: layers of its first manifest, with their titles. A
// store's own names check the content, so the digests of the layout are neither trusted nor checked.
std::map<std::string, fs::path> blobs_in(const fs::path& layout) {
  std::map<std::string, fs::path> out;
  const auto parsed = [](const std::optional<std::string>& text) {
    return text ? Json::parse(*text, nullptr, false) : Json();
  };
  const Json index = parsed(read_whole(layout / "index.json", kMostManifestBytes));
  if (!index.is_object() || !index.contains("manifests") || !index["manifests"].is_array() ||
      index["manifests"].empty())
    return out;
  const auto file = blob_of(layout, index["manifests"][0]);
  const Json manifest = file ? parsed(read_whole(*file, kMostManifestBytes)) : Json();
  if (!manifest.is_object() || !manifest.contains("layers") || !manifest["layers"].is_array()) return out;
  constexpr const char* kTitle = "org.opencontainers.image.title";
  for (const Json& layer : manifest["layers"]) {
    const auto blob = blob_of(layout, layer);
    if (!blob || !layer.contains("annotations") || !layer["annotations"].is_object() ||
        !layer["annotations"].contains(kTitle) || !layer["annotations"][kTitle].is_string())
      continue;
    out.emplace(layer["annotations"][kTitle].get<std::string>(), *blob);
  }
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

}  // namespace

PlanStore::PlanStore(const fs::path& place) {
  const std::string text = place.string(), version = fmt::format("v{}", kPlanFormat);
  if (!text.starts_with(kLayout)) {
    root_ = place / version;
    return;
  }
  blobs_.emplace();
  for (auto& [title, path] : blobs_in(text.substr(kLayout.size())))
    if (title.starts_with(version + "/")) blobs_->emplace(title.substr(version.size() + 1), path);
}

std::vector<PlanStore::Named> PlanStore::files(const std::string& folder, std::size_t most) const {
  std::vector<Named> out;
  if (blobs_) {
    const std::string prefix = folder + "/";
    for (auto at = blobs_->lower_bound(prefix); at != blobs_->end() && at->first.starts_with(prefix); ++at)
      if (const std::string name = at->first.substr(prefix.size()); is_hex(name, kNameDigits))
        out.push_back({name, at->second});
  } else {
    std::error_code failure;
    for (fs::directory_iterator at(root_ / folder, failure), end; !failure && at != end;
         at.increment(failure))
      if (const std::string name = at->path().filename().string(); is_hex(name, kNameDigits))
        out.push_back({name, at->path()});
    std::ranges::sort(out, {}, &Named::name);
  }
  if (out.size() > most) out.resize(most);
  return out;
}

std::vector<std::string> PlanStore::folders(const std::string& kind) const {
  std::set<std::string> out;
  if (blobs_) {
    const std::string prefix = kind + "/";
    for (auto at = blobs_->lower_bound(prefix); at != blobs_->end() && at->first.starts_with(prefix); ++at)
      if (const std::size_t end = at->first.find('/', prefix.size()); end != std::string::npos)
        out.insert(at->first.substr(prefix.size(), end - prefix.size()));
  } else {
    std::error_code failure;
    for (fs::directory_iterator at(root_ / kind, failure), end; !failure && at != end; at.increment(failure))
      if (std::error_code none; at->is_directory(none)) out.insert(at->path().filename().string());
  }
  return {out.begin(), out.end()};
}

std::optional<std::string> PlanStore::text_of(const std::string& folder, const std::string& name,
                                              std::size_t most) const {
  if (!blobs_) return read_named(root_ / folder / name, name, most);
  const auto at = blobs_->find(folder + "/" + name);
  return at == blobs_->end() ? std::nullopt : read_named(at->second, name, most);
}

std::vector<PlanEntry> PlanStore::find(const std::string& anchor) const {
  std::vector<PlanEntry> out;
  if (!is_hex(anchor, 16)) return out;
  for (const Named& file : files("index/" + anchor, kMostEntries))
    if (const auto text = read_named(file.path, file.name, kMostEntryBytes))
      if (auto entry = parse_entry(anchor, *text)) out.push_back(std::move(*entry));
  return out;
}

std::optional<Plan> PlanStore::plan(const std::string& object) const {
  if (!is_hex(object, kNameDigits)) return std::nullopt;
  const auto text = text_of("objects/" + object.substr(0, 2), object, kMostPlanBytes);
  if (!text) return std::nullopt;
  auto plan = parse_plan(*text);
  return plan.ok() ? std::optional(std::move(*plan)) : std::nullopt;
}

bool PlanStore::keep(const std::string& anchor, const Plan& plan, const std::string& target, double ratio) {
  const std::string text = to_text(plan);
  // A plan that can't be read back is not worth keeping.
  if (blobs_ || !parse_plan(text).ok()) return false;
  const std::string object = digest_of(text);
  const PlanEntry entry{
      .anchor = anchor, .key = plan.key, .object = object, .target = target, .ratio = ratio};
  return write_named(root_ / "objects" / object.substr(0, 2), text) &&
         write_named(root_ / "index" / anchor, entry_text(entry));
}

// The files of a store, each with its validity.
struct PlanStore::File {
  std::string folder, name;
  fs::path path;
  enum class Kind : std::uint8_t { Object, Entry, Signature } kind = Kind::Object;
  bool is_valid = false;
  std::uint64_t bytes = 0;
  PlanEntry entry = {};
};

std::vector<PlanStore::File> PlanStore::all_files() const {
  constexpr std::size_t kAll = std::size_t{1} << 40;
  std::vector<File> out;
  const auto add = [&](File::Kind kind, const std::string& folder, std::size_t most, const auto& is_valid) {
    for (const std::string& part : folders(folder))
      for (const Named& file : files(fmt::format("{}/{}", folder, part), kAll)) {
        const auto text = read_named(file.path, file.name, most);
        std::error_code failure;
        const auto bytes = fs::file_size(file.path, failure);
        File& made = out.emplace_back(File{.folder = fmt::format("{}/{}", folder, part),
                                           .name = file.name,
                                           .path = file.path,
                                           .kind = kind,
                                           .bytes = failure ? 0 : bytes});
        made.is_valid = text && is_valid(part, *text, made);
      }
  };
  // Plans before the entries that name them, and entries before their signatures.
  add(File::Kind::Object, "objects", kMostPlanBytes, [](const std::string& part, const auto& text, File& f) {
    return f.name.starts_with(part) && parse_plan(text).ok();
  });
  add(File::Kind::Entry, "index", kMostEntryBytes, [](const std::string& part, const auto& text, File& f) {
    const auto entry = parse_entry(part, text);
    if (entry) f.entry = *entry;
    return entry.has_value();
  });
  add(File::Kind::Signature, "signatures", kMostSignatureBytes,
      [](const std::string& part, const auto&, File&) { return is_hex(part, kNameDigits); });
  return out;
}

// Valid files that say nothing without others that are missing.
std::set<fs::path> PlanStore::orphans_of(const std::vector<File>& files) {
  std::set<std::string> objects, named, entries;
  for (const File& f : files) {
    if (!f.is_valid) continue;
    if (f.kind == File::Kind::Object) objects.insert(f.name);
    if (f.kind == File::Kind::Entry) named.insert(f.entry.object);
    if (f.kind == File::Kind::Entry) entries.insert(f.name);
  }
  std::set<fs::path> out;
  for (const File& f : files) {
    if (!f.is_valid) continue;
    const bool is_lost = (f.kind == File::Kind::Object && !named.contains(f.name)) ||
                         (f.kind == File::Kind::Entry && !objects.contains(f.entry.object)) ||
                         (f.kind == File::Kind::Signature && !entries.contains(signed_entry(f)));
    if (is_lost) out.insert(f.path);
  }
  return out;
}

std::string PlanStore::signed_entry(const File& signature) {
  return signature.folder.substr(signature.folder.find('/') + 1);
}

PlanStore::Contents PlanStore::contents() const {
  Contents out;
  const std::vector<File> files = all_files();
  for (const File& f : files) {
    out.bytes += f.bytes;
    if (!f.is_valid) ++out.invalid;
    else if (f.kind == File::Kind::Signature) ++out.signatures;
    else if (f.kind == File::Kind::Object) {
      ++out.plans;
      out.objects.push_back(f.name);
    } else {
      ++out.entries;
      out.list.push_back(f.entry);
    }
  }
  out.orphans = orphans_of(files).size();
  return out;
}

std::uint64_t PlanStore::clean(std::uint64_t most_bytes) {
  if (blobs_) return 0;
  const std::vector<File> files = all_files();
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
    if (f.kind != File::Kind::Entry) continue;
    ++entries_of[f.entry.object];
    kept.emplace_back(fs::last_write_time(f.path, failure), &f);
  }
  if (most_bytes == 0) return gone;
  std::map<std::string, const File*> objects;
  std::multimap<std::string, const File*> signatures;
  for (const File& f : files) {
    if (f.kind == File::Kind::Object) objects.emplace(f.name, &f);
    if (f.kind == File::Kind::Signature) signatures.emplace(signed_entry(f), &f);
  }
  std::ranges::sort(kept, {}, [](const auto& k) { return std::pair(k.first, k.second->path); });
  for (const auto& [when, file] : kept) {
    if (bytes <= most_bytes) break;
    remove(file->path);
    bytes -= std::min(bytes, file->bytes);
    for (auto [at, end] = signatures.equal_range(file->name); at != end; ++at) {
      remove(at->second->path);
      bytes -= std::min(bytes, at->second->bytes);
    }
    // A plan goes with the last entry that names it.
    if (--entries_of[file->entry.object] > 0) continue;
    const File* object = objects.at(file->entry.object);
    remove(object->path);
    bytes -= std::min(bytes, object->bytes);
  }
  return gone;
}

std::uint64_t PlanStore::take_from(const PlanStore& other) {
  std::uint64_t copied = 0;
  if (blobs_) return 0;
  const std::vector<File> files = other.all_files();
  const std::set<fs::path> orphans = orphans_of(files);
  for (const File& f : files) {
    std::error_code failure;
    if (!f.is_valid || orphans.contains(f.path)) continue;
    const fs::path folder = root_ / f.folder;
    if (fs::exists(folder / f.name, failure)) continue;
    const auto text = read_named(f.path, f.name, kMostPlanBytes);
    if (text && write_named(folder, *text)) ++copied;
  }
  return copied;
}

}  // namespace isomer
