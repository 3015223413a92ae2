#include "io/onnx/write_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/onnx/read_tensor.h"
#include "io/onnx/read_text.h"

namespace isomer::wire {
namespace {

// onnx's own savers align tensors of 1 MiB and more to what mmap can map on every system (64 KiB); a cache
// line suits the small ones.
constexpr std::uint64_t kLargeTensor = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargeAlignment = std::uint64_t{1} << 16;
constexpr std::uint64_t kSmallAlignment = 64;

void set_entries(onnx::TensorProto& tensor, const std::string& location, std::uint64_t offset,
                 std::uint64_t size) {
  tensor.clear_external_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", fmt::format("{}", offset));
  add("length", fmt::format("{}", size));
}

}  // namespace

Status DataPlan::add(onnx::TensorProto* tensor) {
  ISOMER_TRY(const ExternalPlace place, external_place(*tensor));
  ISOMER_TRY(const ExternalFiles::File* file, files_.file(place.location));
  const auto size = byte_size(static_cast<ElementType>(tensor->data_type()),
                              {tensor->dims().begin(), tensor->dims().end()});
  if (!size || place.offset > file->bytes || *size > file->bytes - place.offset) {
    return Error{fmt::format("external data {} changed since it was read", shown(place.location))};
  }
  tensors_.push_back({tensor, file, {place.offset, *size}});
  return Done{};
}

void DataPlan::add(onnx::TensorProto* tensor, Bytes bytes) { new_.push_back({tensor, std::move(bytes), 0}); }

std::uint64_t DataPlan::reserve(std::uint64_t size) {
  const std::uint64_t alignment = size >= kLargeTensor ? kLargeAlignment : kSmallAlignment;
  const std::uint64_t target = (bytes_ + alignment - 1) / alignment * alignment;
  bytes_ = target + size;
  return target;
}

void DataPlan::place(const std::string& location) {
  std::map<const ExternalFiles::File*, std::vector<Source>> ranges;
  for (const Moved& moved : tensors_) ranges[moved.file].push_back(moved.source);
  for (auto& [file, sources] : ranges) {
    std::ranges::sort(sources);
    std::vector<Piece>& pieces = pieces_[file];
    for (const Source& source : sources) {
      const std::uint64_t end = source.offset + source.size;
      if (!pieces.empty() && source.offset < pieces.back().source.offset + pieces.back().source.size) {
        Source& last = pieces.back().source;
        last.size = std::max(last.size, end - last.offset);
      } else if (source.size > 0) {
        pieces.push_back({source, 0});
      }
    }
    for (Piece& piece : pieces) piece.target = reserve(piece.source.size);
  }
  for (const Moved& moved : tensors_) {
    std::uint64_t target = 0;
    if (moved.source.size > 0) {
      const auto& pieces = pieces_[moved.file];
      const auto after = std::ranges::upper_bound(pieces, moved.source.offset, {},
                                                  [](const Piece& p) { return p.source.offset; });
      const Piece& piece = *std::prev(after);
      target = piece.target + (moved.source.offset - piece.source.offset);
    }
    set_entries(*moved.tensor, location, target, moved.source.size);
  }
  for (New& added : new_) {
    added.target = reserve(added.bytes.size);
    set_entries(*added.tensor, location, added.target, added.bytes.size);
  }
}

Status DataPlan::copy_to(int output) const {
  for (const auto& [file, pieces] : pieces_) {
    ISOMER_TRY(const Descriptor input, files_.reopen(*file));
    for (const Piece& piece : pieces) {
      ISOMER_TRY_DO(copy_range(input.get(), piece.source.offset, piece.source.size, output, piece.target));
    }
  }
  for (const New& added : new_)
    ISOMER_TRY_DO(write_at(output, added.bytes.data, added.bytes.size, added.target));
  return Done{};
}

}  // namespace isomer::wire
