#include "app/inputs/stamp.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "app/inputs/message_fields.h"
#include "io/onnx/write_file.h"

namespace isomer {
namespace {

constexpr std::uintmax_t kMostBytes = 0x7fffffff;  // of one message, by protobuf
// Fields of ModelProto and of StringStringEntryProto, in onnx.proto.
constexpr std::uint64_t kMetadata = 14, kKey = 1, kValue = 2;
constexpr std::uint64_t kBufferBytes = 1 << 20;

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
  out.push_back(static_cast<char>(value));
}

void append_field(std::string& out, std::uint64_t field, std::string_view bytes) {
  append_varint(out, field << 3U | kLengthDelimited);
  append_varint(out, bytes.size());
  out += bytes;
}

struct Span {
  std::uint64_t begin = 0, end = 0;
};

// An entry of ours begins with its key, as `encoded` and all writers of protobuf write it.
bool is_stamp(int file, const MessageField& field) {
  if (field.number != kMetadata || field.type != kLengthDelimited) return false;
  constexpr std::string_view kPrefix = kStampPrefix;
  std::array<char, 2 + kPrefix.size()> begin{};
  if (field.content + begin.size() > field.end) return false;
  if (::pread(file, begin.data(), begin.size(), static_cast<off_t>(field.content)) != std::ssize(begin))
    return false;
  return begin[0] == static_cast<char>(kKey << 3U | kLengthDelimited) &&
         std::string_view(begin.data() + 2, kPrefix.size()) == kPrefix;
}

// The file without our entries; nullopt: it holds no message.
std::optional<std::vector<Span>> without_stamps(int file, std::uint64_t bytes) {
  std::vector<Span> kept;
  MessageFields fields(file, 0, bytes);
  while (const auto field = fields.next()) {
    if (is_stamp(file, *field)) continue;
    if (!kept.empty() && kept.back().end == field->begin) kept.back().end = field->end;
    else kept.push_back({field->begin, field->end});
  }
  return fields.is_message() ? std::optional(std::move(kept)) : std::nullopt;
}

bool write_all(int output, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(output, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

bool copy(int input, Span span, int output) {
  std::vector<char> buffer(std::min(kBufferBytes, span.end - span.begin));
  while (span.begin < span.end) {
    const ssize_t got =
        ::pread(input, buffer.data(), std::min<std::uint64_t>(buffer.size(), span.end - span.begin),
                static_cast<off_t>(span.begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !write_all(output, {buffer.data(), static_cast<std::size_t>(got)})) return false;
    span.begin += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

std::string encode(const Stamp& stamp) {
  std::string out;
  for (const auto& [key, value] : stamp) {
    std::string entry;
    append_field(entry, kKey, kStampPrefix + key);
    append_field(entry, kValue, value);
    append_field(out, kMetadata, entry);
  }
  return out;
}

Status put_stamp(const std::filesystem::path& model, const Stamp& stamp, std::uintmax_t most) {
  const wire::Descriptor input(::open(model.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!input.is_open() || ::fstat(input.get(), &status) != 0)
    return Error{fmt::format("{} can't be read again", model.string())};
  const auto kept = without_stamps(input.get(), static_cast<std::uint64_t>(status.st_size));
  if (!kept) return Error{fmt::format("{} is not what was written", model.string())};
  const std::string more = encode(stamp);
  std::uintmax_t bytes = more.size();
  for (const Span& span : *kept) bytes += span.end - span.begin;
  if (bytes > std::min(most, kMostBytes)) return Done{};

  ISOMER_TRY(wire::OutputFile file, wire::OutputFile::create(model));
  const bool is_copied = std::ranges::all_of(
      *kept, [&](const Span& span) { return copy(input.get(), span, file.descriptor()); });
  if (!is_copied || !write_all(file.descriptor(), more))
    return Error{fmt::format("{} can't be written", model.string())};
  ISOMER_TRY_DO(file.sync());
  ISOMER_TRY_DO(file.rename());
  return wire::sync_directory(model.parent_path());
}

}  // namespace isomer
