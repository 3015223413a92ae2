#include "io/onnx/read_wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using google::protobuf::io::ArrayInputStream;
using ::testing::HasSubstr;

std::string refusal_within(const std::string& bytes, std::size_t memory_limit) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  const auto model = parse_model(stream, memory_limit);
  return model.ok() ? std::string() : model.error().message;
}

TEST(ParseModel, StopsAtTheMemoryLimitWhereverThatIs) {
  onnx::ModelProto model = add_model(float_tensor("w", {1, 2, 3, 4}));
  onnx::NodeProto& node = add_node(model, "If", {"c"}, {"z"});
  for (int k = 0; k < 20; ++k) {
    onnx::GraphProto& body = add_body(node, "body" + std::to_string(k));
    add_node(body.mutable_node(), "Relu", {std::string(50, 'n')}, {std::string(50, 'm')});
    *body.add_initializer() = float_tensor(std::string(40, 'w'), {1, 2, 3, 4});
    body.mutable_initializer(0)->mutable_int64_data()->Resize(100, 7);
  }
  const std::string bytes = model.SerializeAsString();
  // Every number of blocks at which the parser can be stopped, under the sanitizer a test that nothing is
  // lost.
  std::size_t refused = 0;
  for (std::size_t limit = 0; limit < (1u << 17); limit += 128) {
    const std::string refusal = refusal_within(bytes, limit);
    if (refusal.empty()) break;
    EXPECT_THAT(refusal, HasSubstr("needs more memory"));
    ++refused;
  }
  EXPECT_GT(refused, 10u);
  EXPECT_EQ(refusal_within(bytes, 1u << 20), "");
}

TEST(ParseModel, DoesNotLetTwoBytesBecomeHundreds) {
  // A graph of ten million empty nodes in 20 MB: over two gigabytes of messages.
  std::string nodes;
  for (int k = 0; k < 10'000'000; ++k) nodes.append("\x0a\x00", 2);
  std::string bytes;
  bytes += '\x3a';  // the field of the graph, length-delimited
  for (std::size_t size = nodes.size(); size > 0; size >>= 7) {
    bytes += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
  }
  bytes += nodes;
  EXPECT_THAT(refusal_within(bytes, message_memory_limit(bytes.size())), HasSubstr("needs more memory"));
}

}  // namespace
}  // namespace isomer::wire
