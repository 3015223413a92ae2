#include "runtime/worker/shared_tensors.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <functional>
#include <system_error>

namespace isomer {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector that a kernel loads

Failure system_failure(const char* what) {
  const auto kind = errno == ENOMEM ? FailureKind::OutOfMemory : FailureKind::Unavailable;
  return {kind, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

Failure garble(const std::string& what) { return {FailureKind::Garbled, what}; }

Outcome<Done> write_all(int file, const std::byte* data, std::size_t size, std::size_t at) {
  while (size > 0) {
    const ssize_t written = ::pwrite(file, data, size, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_failure("can't write to shared memory");
    data += written;
    size -= static_cast<std::size_t>(written);
    at += static_cast<std::size_t>(written);
  }
  return Done{};
}

using ReadBytes = std::function<Outcome<Bytes>(std::size_t at, std::size_t size)>;

Outcome<Tensor> read_entry(const Json& entry, const ReadBytes& read) {
  const auto type = integer_field(entry, "type"), at = integer_field(entry, "at");
  const auto extents = integers_field(entry, "extents");
  if (!type || !at || !extents || *type <= 0 || *type > kLastOnnxType || *at < 0)
    return garble("a tensor without type, extents or place");
  const auto element = static_cast<ElementType>(*type);
  if (element == ElementType::String) {
    std::vector<std::string> strings = texts_field(entry, "strings");
    if (element_count(*extents) != static_cast<std::int64_t>(strings.size()))
      return garble("a tensor of strings that lacks some");
    return Tensor(*extents, std::move(strings));
  }
  const auto size = byte_size(element, *extents);
  if (!size) return garble("a tensor of a size that none has");
  ISOMER_TRY(Bytes bytes, read(static_cast<std::size_t>(*at), *size));
  return Tensor(element, *extents, std::move(bytes));
}

Outcome<NamedTensors> read_table(const Json& table, const ReadBytes& read) {
  NamedTensors tensors;
  for (const Json& entry : table) {
    if (!entry.is_object()) return garble("a tensor that is no object");
    const auto name = text_field(entry, "name");
    if (!name) return garble("a tensor without name");
    ISOMER_TRY(Tensor tensor, read_entry(entry, read));
    tensors.insert_or_assign(*name, std::move(tensor));
  }
  return tensors;
}

Outcome<std::size_t> size_of(const Descriptor& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_failure("can't see shared memory");
  return static_cast<std::size_t>(status.st_size);
}

Outcome<Bytes> copy_bytes(const Descriptor& file, std::size_t at, std::size_t size) {
  Buffer buffer(size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.get(), buffer.data() + done, size - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return garble("a file that shrank");
    done += static_cast<std::size_t>(got);
  }
  return std::move(buffer).freeze();
}

}  // namespace

Outcome<Descriptor> shared_bytes(const void* data, std::size_t size, const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.is_open()) return system_failure("can't make shared memory");
  ISOMER_TRY_DO(write_all(file.get(), static_cast<const std::byte*>(data), size, 0));
  return file;
}

Outcome<SharedTensors> share(const NamedTensors& tensors) {
  SharedTensors shared;
  shared.file = Descriptor(::memfd_create("isomer-tensors", MFD_CLOEXEC));
  if (!shared.file.is_open()) return system_failure("can't make shared memory");
  std::size_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    Json entry{
        {"name", name}, {"type", static_cast<int>(tensor.type())}, {"extents", tensor.extents()}, {"at", at}};
    if (tensor.type() == ElementType::String) {
      entry["strings"] = tensor.strings();
    } else {
      ISOMER_TRY_DO(write_all(shared.file.get(), tensor.bytes().data, tensor.bytes().size, at));
      at = (at + tensor.bytes().size + kAlignment - 1) / kAlignment * kAlignment;
    }
    shared.table.push_back(std::move(entry));
  }
  return shared;
}

Outcome<Bytes> map_file(const Descriptor& file) {
  ISOMER_TRY(const std::size_t size, size_of(file));
  if (size == 0) return Bytes::copy_of("", 0);
  // Read-only: a runtime that writes to its inputs fails at once. Populated: no page fault is timed.
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (data == MAP_FAILED) return system_failure("can't map shared memory");
  Bytes bytes;
  bytes.owner = std::shared_ptr<const void>(data, [size](void* mapped) { ::munmap(mapped, size); });
  bytes.data = static_cast<const std::byte*>(data);
  bytes.size = size;
  return bytes;
}

Outcome<NamedTensors> map_tensors(const Json& table, const Descriptor& file) {
  ISOMER_TRY(const Bytes all, map_file(file));
  return read_table(table, [&](std::size_t at, std::size_t size) -> Outcome<Bytes> {
    if (at > all.size || size > all.size - at) return garble("a tensor beyond the end of its file");
    return Bytes{all.owner, all.data + at, size};
  });
}

Outcome<NamedTensors> copy_tensors(const Json& table, const Descriptor& file) {
  ISOMER_TRY(const std::size_t end, size_of(file));
  return read_table(table, [&](std::size_t at, std::size_t size) -> Outcome<Bytes> {
    if (at > end || size > end - at) return garble("a tensor beyond the end of its file");
    return copy_bytes(file, at, size);
  });
}

Outcome<Bytes> copy_file(const Descriptor& file) {
  ISOMER_TRY(const std::size_t size, size_of(file));
  return copy_bytes(file, 0, size);
}

}  // namespace isomer
