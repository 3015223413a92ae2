#include "base/entry_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/blake2b.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr char kFormat[] = "isomer prepared 1";

std::string digest_of(const std::string& text) { return Blake2b().add(text.data(), text.size()).hex(); }

// A library of the entry is loaded into this process: no other user may have written it.
void check_is_own(const fs::path& path) {
  struct stat status = {};
  const bool is_there =
      ::lstat(path.c_str(), &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  if (!is_there) throw NoEntry(path.string() + " is missing");
  const bool is_own = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (!is_own || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw NoEntry(path.string() + " belongs to another user, or others may write to it");
}

// Lines after the first, which is their digest.
std::istringstream read_manifest(const fs::path& file) {
  check_is_own(file);
  std::ifstream in(file, std::ios::binary);
  std::string digest;
  std::getline(in, digest);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (digest != digest_of(text)) throw NoEntry(file.string() + " is damaged");
  return std::istringstream(text);
}

void sync(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw NoEntry(path.string() + " can't be read");
  ::fsync(file);
  ::close(file);
}

}  // namespace

std::string digest_of_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 1 << 16> part;
  Blake2b digest;
  while (in) {
    in.read(part.data(), part.size());
    digest.add(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  return digest.hex();
}

std::uintmax_t bytes_in(const fs::path& folder) {
  std::error_code failure;
  std::uintmax_t out = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder, failure))
    if (file.is_regular_file(failure)) out += file.file_size(failure);
  return out;
}

EntryCache::EntryCache(fs::path folder, Machine machine, std::uintmax_t most_bytes)
    : folder_(std::move(folder)), machine_(std::move(machine)), most_bytes_(most_bytes) {}

fs::path EntryCache::place(const std::string& fingerprint) const {
  constexpr std::size_t kDigits = 16;
  return folder_ / fingerprint / digest_of(machine_.runtime + "\n" + machine_.processor).substr(0, kDigits);
}

Entry EntryCache::find(const std::string& fingerprint) const {
  const fs::path at = place(fingerprint);
  std::error_code failure;
  if (!fs::exists(at.parent_path(), failure)) throw NoEntry("nothing is prepared for it");
  if (!fs::exists(at, failure))
    throw NoEntry("what is prepared for it is for another machine, or another version of ONNX Runtime");
  check_is_own(at);
  std::istringstream manifest = read_manifest(at / kManifest);
  const auto expect = [&](const std::string& line) {
    std::string found;
    std::getline(manifest, found);
    if (found != line)
      throw NoEntry(at.string() + " is no entry for this: it says '" + found + "', not '" + line + "'");
  };
  expect(kFormat);
  expect("model " + fingerprint);
  expect("runtime " + machine_.runtime);
  expect("processor " + machine_.processor);
  Entry out;
  for (std::string line; std::getline(manifest, line);) {
    if (line.starts_with("none "))
      throw NoEntry("it was prepared, and nothing faster was found: " + line.substr(5), true);
    std::istringstream words(line);
    std::string digest, name;
    words >> digest >> name;
    const fs::path file = at / name;
    check_is_own(file);
    if (digest_of_file(file) != digest) throw NoEntry(file.string() + " is damaged");
    if (file.extension() == ".onnx") out.model = file;
    if (file.extension() == ".so") out.library = file;
  }
  if (out.model.empty()) throw NoEntry(at.string() + " has no model");
  fs::last_write_time(at, fs::file_time_type::clock::now(), failure);
  return out;
}

void EntryCache::add(const std::string& fingerprint, const fs::path& files,
                     const std::string& why_none) const {
  std::ostringstream lines;
  lines << kFormat << "\nmodel " << fingerprint << "\nruntime " << machine_.runtime << "\nprocessor "
        << machine_.processor << '\n';
  if (!why_none.empty()) lines << "none " << why_none << '\n';
  const auto close_to_others = [](const fs::path& path) {
    fs::permissions(path, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove);
  };
  close_to_others(files);
  for (const auto& file : fs::directory_iterator(files)) {
    close_to_others(file);
    lines << digest_of_file(file.path()) << ' ' << file.path().filename().string() << '\n';
    sync(file);
  }
  const std::string text = lines.str();
  std::ofstream manifest(files / kManifest, std::ios::binary);
  manifest << digest_of(text) << '\n' << text;
  manifest.close();
  close_to_others(files / kManifest);
  if (!manifest) throw NoEntry((files / kManifest).string() + " can't be written");
  sync(files / kManifest);
  // One step makes it an entry: until then, and if this process dies, there is none.
  const fs::path at = place(fingerprint);
  fs::remove_all(at);
  fs::rename(files, at);
  shrink(at);
}

void EntryCache::shrink(const fs::path& keep) const {
  struct Kept {
    fs::file_time_type used;
    std::uintmax_t bytes = 0;
    fs::path folder;
  };
  std::error_code failure;
  std::vector<Kept> all;
  std::uintmax_t bytes = 0;
  for (const auto& model : fs::directory_iterator(folder_, failure))
    for (const auto& entry : fs::directory_iterator(model, failure))
      if (entry.is_directory(failure)) {
        all.push_back({entry.last_write_time(failure), bytes_in(entry), entry});
        bytes += all.back().bytes;
      }
  std::ranges::sort(all, {}, &Kept::used);
  for (const Kept& kept : all) {
    if (bytes <= most_bytes_) break;
    if (kept.folder == keep) continue;
    fs::remove_all(kept.folder, failure);
    bytes -= kept.bytes;
  }
}

}  // namespace isomer
