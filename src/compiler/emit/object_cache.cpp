#include "compiler/emit/object_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "base/blake2b.h"
#include "compiler/emit/compiler.h"
#include "runtime/judge/machine.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 256 << 20;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string digest_of(const std::string& bytes) {
  constexpr std::size_t kDigits = 32;
  return Blake2b().add(bytes.data(), bytes.size()).hex().substr(0, kDigits);
}

// Another version of a compiler is another file, or one that was written at another time.
std::string identity_of(const std::string& compiler) {
  std::error_code failure;
  const fs::path file = fs::canonical(program_of(compiler), failure);
  if (failure) return "";
  return fmt::format("{} {} {}", file.string(), fs::file_size(file, failure),
                     fs::last_write_time(file, failure).time_since_epoch().count());
}

}  // namespace

std::string ObjectCache::key(const std::string& compiler, const std::vector<std::string>& words,
                             const fs::path& source) const {
  const std::string code = folder_.empty() ? "" : text_of(source);
  const std::string identity = code.empty() ? "" : identity_of(compiler);
  if (identity.empty() || code.find("#include \"") != std::string::npos) return "";
  Blake2b all;
  const auto add = [&](const std::string& part) { all.add(part.c_str(), part.size() + 1); };
  for (const std::string* part : {&code, &identity, &compiler, &this_machine().cpu, &this_machine().isa})
    add(*part);
  for (const std::string& word : words) add(word);
  return all.hex();
}

bool ObjectCache::take(const std::string& key, const fs::path& object) const {
  if (key.empty()) return false;
  const fs::path kept = folder_ / (key + ".o");
  std::error_code failure;
  const std::string bytes = text_of(kept);
  constexpr std::size_t kDigits = 32;
  if (bytes.size() <= kDigits) return false;
  const std::string content = bytes.substr(kDigits);
  if (digest_of(content) != std::string_view(bytes).substr(0, kDigits)) {
    fs::remove(kept, failure);
    return false;
  }
  fs::last_write_time(kept, fs::file_time_type::clock::now(), failure);
  std::ofstream out(object, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  return static_cast<bool>(out);
}

void ObjectCache::keep(const std::string& key, const fs::path& object) const {
  if (key.empty()) return;
  std::error_code failure;
  fs::create_directories(folder_, failure);
  const std::string content = text_of(object);
  const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  const fs::path made = folder_ / fmt::format("{}.{}.{}", key, ::getpid(), thread);
  std::ofstream out(made, std::ios::binary | std::ios::trunc);
  out << digest_of(content) << content;
  out.close();
  if (out) fs::rename(made, folder_ / (key + ".o"), failure);
  else fs::remove(made, failure);
}

void ObjectCache::shrink() const {
  struct Kept {
    fs::file_time_type used;
    std::uintmax_t bytes = 0;
    fs::path file;
  };
  std::error_code failure;
  std::vector<Kept> all;
  std::uintmax_t bytes = 0;
  if (!folder_.empty())
    for (const auto& entry : fs::directory_iterator(folder_, failure)) {
      all.push_back({entry.last_write_time(failure), entry.file_size(failure), entry.path()});
      bytes += all.back().bytes;
    }
  if (bytes <= kMostBytes) return;
  std::ranges::sort(all, {}, &Kept::used);
  for (const Kept& kept : all) {
    if (bytes <= kMostBytes / 2) break;
    fs::remove(kept.file, failure);
    bytes -= kept.bytes;
  }
}

}  // namespace isomer
