#include "io/npz/npz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zip.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <system_error>

#include "io/npz/npy.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kMaxDeflateRatio = 1032;  // zlib's own bound on what one byte can inflate to
constexpr zip_uint16_t kOldestZipDate = 33;       // 1980-01-01, as numpy writes it: no clock in the bytes

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

std::string open_error(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  return message;
}

// Whether the entry's claimed size can be the truth, so that memory may be taken for it.
Status check_entry(const zip_stat_t& entry) {
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((entry.valid & kNeeded) != kNeeded) return Error{"the archive has no size"};
  if (entry.encryption_method != ZIP_EM_NONE) return Error{"it is encrypted"};
  const bool stored = entry.comp_method == ZIP_CM_STORE;
  if (!stored && entry.comp_method != ZIP_CM_DEFLATE) return Error{"its compression method is not supported"};
  if (entry.size / (stored ? 1 : kMaxDeflateRatio) > entry.comp_size) return Error{"its size is impossible"};
  return Done{};
}

Result<Tensor> read_entry(zip_t* archive, zip_uint64_t number, const zip_stat_t& entry) {
  ISOMER_TRY_DO(check_entry(entry));
  const std::unique_ptr<zip_file_t, CloseEntry> file(zip_fopen_index(archive, number, 0));
  if (!file) return Error{zip_strerror(archive)};
  const auto source = [&](void* into, std::size_t size) -> Status {
    auto* to = static_cast<std::byte*>(into);
    while (size > 0) {
      const zip_int64_t got = zip_fread(file.get(), to, size);
      if (got < 0) return Error{zip_file_strerror(file.get())};
      if (got == 0) return Error{"it ends too early"};
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return Done{};
  };
  ISOMER_TRY(Tensor tensor, read_npy(source, entry.size));
  char beyond = 0;  // the checksum is compared when the end is read
  if (zip_fread(file.get(), &beyond, 1) != 0) return Error{"its bytes are damaged"};
  return tensor;
}

Error about(const fs::path& path, const std::string& why) {
  return {fmt::format("{}: {}", path.string(), why)};
}
Error system_error() { return {std::generic_category().message(errno)}; }

Status sync(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return system_error();
  const bool synced = ::fsync(file) == 0;
  auto result = synced ? Status(Done{}) : Status(system_error());
  ::close(file);
  return result;
}

Status write_archive(const NamedTensors& tensors, const fs::path& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_EXCL, &code));
  if (!archive) return Error{open_error(code)};
  // libzip reads the fragments when the archive is closed.
  std::list<std::string> headers;
  for (const auto& [name, tensor] : tensors) {
    ISOMER_TRY(std::string header, npy_header(tensor));
    headers.push_back(std::move(header));
    auto fragment = [](const void* data, std::size_t size) {
      return zip_buffer_fragment_t{static_cast<zip_uint8_t*>(const_cast<void*>(data)), size};
    };
    const zip_buffer_fragment_t parts[] = {fragment(headers.back().data(), headers.back().size()),
                                           fragment(tensor.bytes().data, tensor.bytes().size)};
    zip_source_t* source =
        zip_source_buffer_fragment(archive.get(), parts, tensor.bytes().size > 0 ? 2 : 1, 0);
    if (!source) return Error{zip_strerror(archive.get())};
    const zip_int64_t entry =
        zip_file_add(archive.get(), (name + std::string(kSuffix)).c_str(), source, ZIP_FL_ENC_UTF_8);
    if (entry < 0) {
      zip_source_free(source);
      return Error{fmt::format("can't name an array '{}': {}", name, zip_strerror(archive.get()))};
    }
    const auto number = static_cast<zip_uint64_t>(entry);
    if (zip_set_file_compression(archive.get(), number, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), number, 0, kOldestZipDate, 0) != 0)
      return Error{zip_strerror(archive.get())};
  }
  if (zip_close(archive.get()) != 0) return Error{zip_strerror(archive.get())};
  (void)archive.release();  // closed, so no longer ours to discard
  return Done{};
}

}  // namespace

Result<NamedTensors> read_npz(const fs::path& path) {
  std::error_code failure;
  const auto status = fs::status(path, failure);
  if (!fs::exists(status)) return about(path, "no such file");
  if (!fs::is_regular_file(status)) return about(path, "not a regular file");
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) return about(path, open_error(code));

  NamedTensors tensors;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    const auto number = static_cast<zip_uint64_t>(i);
    if (zip_stat_index(archive.get(), number, 0, &entry) != 0 || !(entry.valid & ZIP_STAT_NAME))
      return about(path, "an entry without a name");
    std::string name = entry.name;
    if (!name.ends_with(kSuffix)) return about(path, fmt::format("'{}' is not an npy array", name));
    name.resize(name.size() - kSuffix.size());
    if (tensors.contains(name)) return about(path, fmt::format("the array '{}' is there twice", name));
    auto tensor = read_entry(archive.get(), number, entry);
    if (!tensor)
      return about(path, fmt::format("the array '{}' can't be read: {}", name, tensor.error().message));
    tensors.emplace(std::move(name), std::move(*tensor));
  }
  return tensors;
}

Status write_npz(const NamedTensors& tensors, const fs::path& path) {
  if (tensors.empty()) return about(path, "there are no arrays to write");
  std::error_code failure;
  if (fs::is_directory(path, failure)) return about(path, "is a directory");
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path temporary = directory / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
  const auto publish = [&]() -> Status {
    ISOMER_TRY_DO(write_archive(tensors, temporary));
    ISOMER_TRY_DO(sync(temporary, O_RDONLY));
    if (::rename(temporary.c_str(), path.c_str()) != 0) return system_error();
    return sync(directory, O_RDONLY | O_DIRECTORY);
  };
  const auto done = publish();
  if (done) return Done{};
  fs::remove(temporary, failure);
  return about(path, done.error().message);
}

}  // namespace isomer
