#include "app/inputs/message_fields.h"

#include <unistd.h>

namespace isomer {

std::optional<MessageField> MessageFields::next() {
  if (!is_message_ || at_ >= end_) return std::nullopt;
  const auto field = read();
  is_message_ = field && field->end <= end_;
  if (!is_message_) return std::nullopt;
  at_ = field->end;
  return field;
}

std::optional<MessageField> MessageFields::read() {
  MessageField field{.begin = at_};
  const auto tag = varint();
  if (!tag) return std::nullopt;
  field.number = *tag >> 3U;
  field.type = static_cast<unsigned>(*tag & 7U);
  if (field.number == 0) return std::nullopt;  // no field has it: this is a file of zeros, say
  std::uint64_t size = field.type == 1 ? 8 : field.type == 5 ? 4 : 0;
  if (field.type == 0 || field.type == kLengthDelimited) {
    const auto number = varint();
    if (!number || (field.type == kLengthDelimited && *number > end_)) return std::nullopt;
    if (field.type == kLengthDelimited) size = *number;
    else field.value = *number;
  } else if (size == 0) {
    return std::nullopt;
  }
  field.content = at_;
  field.end = at_ + size;
  return field;
}

std::optional<std::uint64_t> MessageFields::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    unsigned char byte = 0;
    if (::pread(file_, &byte, 1, static_cast<off_t>(at_++)) != 1) return std::nullopt;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::string> text_of(int file, const MessageField& field, std::uint64_t most) {
  if (field.type != kLengthDelimited || field.end - field.content > most) return std::nullopt;
  std::string text(field.end - field.content, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), static_cast<off_t>(field.content));
  return got == static_cast<ssize_t>(text.size()) ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace isomer
