// The outermost fields of a file, or of a part of it, that holds one protobuf message. Read without protobuf,
// which reads a file whole: fields are skipped by their lengths, so that gigabytes of weights cost nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace isomer {

inline constexpr unsigned kLengthDelimited = 2;  // wire types: protobuf.dev/programming-guides/encoding

// Where a field lies in the file: its tag, what it holds, its end.
struct MessageField {
  std::uint64_t number = 0;
  unsigned type = 0;
  std::uint64_t begin = 0, content = 0, end = 0;
  std::uint64_t value = 0;  // of a varint
};

class MessageFields {
 public:
  MessageFields(int file, std::uint64_t begin, std::uint64_t end) : file_(file), at_(begin), end_(end) {}

  // nullopt: that was the last one, or this is no message.
  std::optional<MessageField> next();
  bool is_message() const { return is_message_; }  // as far as it was read

 private:
  std::optional<MessageField> read();
  std::optional<std::uint64_t> varint();

  int file_;
  std::uint64_t at_, end_;
  bool is_message_ = true;
};

// The bytes that a field holds; nullopt: they can't be read, or there are more than `most`.
std::optional<std::string> text_of(int file, const MessageField& field, std::uint64_t most);

}  // namespace isomer
