#include "runtime/engines/library_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "io/onnx/descriptor.h"

namespace isomer {
namespace {

constexpr std::size_t kShortest = 6, kLongest = 100;  // of a name

bool is_setting(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos || dot < 2 || dot + 1 == text.size()) return false;
  return std::ranges::all_of(
             text,
             [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_' || c == '.'; }) &&
         (text.starts_with("session.") || text.starts_with("optimization.") || text.starts_with("ep.") ||
          text.starts_with("memory.") || text.starts_with("mlas."));
}

bool is_optimizer(std::string_view text) {
  if (!std::isupper(static_cast<unsigned char>(text[0]))) return false;
  if (!std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; })) return false;
  for (const std::string_view part : {"Fusion", "Elimination", "Transformer", "Eliminate", "Folding",
                                      "Optimizer", "Sharing", "Remover", "EnsureUnique"})
    if (text.find(part) != std::string_view::npos) return true;
  return false;
}

// A class by the name that its type has in the library ("N11onnxruntime9PadFusionE"), or the text as it is.
std::string_view class_name(std::string_view text) {
  constexpr std::string_view kHead = "N11onnxruntime";
  if (!text.starts_with(kHead) || !text.ends_with('E')) return text;
  text.remove_prefix(kHead.size());
  text.remove_suffix(1);
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<LibraryNames> LibraryNames::of(const std::string& library) {
  const wire::Descriptor file(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || status.st_size == 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return std::nullopt;
  return LibraryNames(static_cast<const char*>(data), size);
}

LibraryNames::LibraryNames(LibraryNames&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

LibraryNames::~LibraryNames() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

// Texts end with a zero; linkers let one text be the end of another.
bool LibraryNames::has(const std::string& name) const {
  return ::memmem(data_, size_, name.c_str(), name.size() + 1) != nullptr;
}

bool LibraryNames::has_class(const std::string& name) const {
  const std::string mangled = fmt::format("{}{}E", name.size(), name);
  return has(name) || has(mangled);
}

template <class Take>
void LibraryNames::each_text(const Take& take) const {
  std::size_t start = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto c = static_cast<unsigned char>(data_[i]);
    if (c >= ' ' && c < 0x7f) continue;
    if (c == 0 && i - start >= kShortest && i - start <= kLongest)
      take(std::string_view(data_ + start, i - start));
    start = i + 1;
  }
}

std::vector<std::string> LibraryNames::settings() const {
  std::set<std::string> found;
  each_text([&](std::string_view text) {
    if (is_setting(text)) found.emplace(text);
  });
  return {found.begin(), found.end()};
}

std::vector<std::string> LibraryNames::optimizers() const {
  std::set<std::string> found;
  each_text([&](std::string_view text) {
    const std::string_view name = class_name(text);
    if (!name.empty() && is_optimizer(name)) found.emplace(name);
  });
  return {found.begin(), found.end()};
}

}  // namespace isomer
