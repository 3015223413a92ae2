#include "app/scan/model_head.h"

#include <fcntl.h>

#include "app/inputs/message_fields.h"
#include "app/inputs/stamp.h"
#include "io/onnx/descriptor.h"

namespace isomer {
namespace {

// Fields of ModelProto, of OperatorSetIdProto and of StringStringEntryProto, in onnx.proto.
constexpr std::uint64_t kProducer = 2, kProducerVersion = 3, kOpset = 8, kMetadata = 14;
constexpr std::uint64_t kDomain = 1, kVersion = 2, kKey = 1, kValue = 2;
constexpr int kMostFields = 10'000;              // a file of other bytes can look like billions of them
constexpr std::uint64_t kLongestText = 1 << 16;  // a package's whole configuration is metadata, too

MessageFields inside(int file, const MessageField& field) { return {file, field.content, field.end}; }

void add_opset(int file, const MessageField& field, ModelHead& head) {
  std::string domain;
  std::uint64_t version = 0;
  MessageFields fields = inside(file, field);
  while (const auto part = fields.next()) {
    if (part->number == kDomain) domain = text_of(file, *part, kLongestText).value_or("");
    if (part->number == kVersion) version = part->value;
  }
  head.opsets[domain == "ai.onnx" ? "" : domain] = version;
}

void add_stamp(int file, const MessageField& field, ModelHead& head) {
  std::string key, value;
  MessageFields fields = inside(file, field);
  while (const auto part = fields.next()) {
    if (part->number == kKey) key = text_of(file, *part, kLongestText).value_or("");
    if (part->number == kValue) value = text_of(file, *part, kLongestText).value_or("");
  }
  const std::string_view prefix = kStampPrefix;
  if (key.starts_with(prefix)) head.stamp[key.substr(prefix.size())] = value;
}

}  // namespace

ModelHead read_head(const std::filesystem::path& path) {
  ModelHead head;
  const wire::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return head;
  MessageFields fields(file.get(), 0, static_cast<std::uint64_t>(status.st_size));
  for (int k = 0; k < kMostFields; ++k) {
    const auto field = fields.next();
    if (!field) break;
    if (field->type != kLengthDelimited) continue;
    if (field->number == kProducer) head.producer = text_of(file.get(), *field, kLongestText).value_or("");
    if (field->number == kProducerVersion)
      head.producer_version = text_of(file.get(), *field, kLongestText).value_or("");
    if (field->number == kOpset) add_opset(file.get(), *field, head);
    if (field->number == kMetadata) add_stamp(file.get(), *field, head);
  }
  return head;
}

}  // namespace isomer
