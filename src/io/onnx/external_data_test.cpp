#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/onnx/read_external.h"
#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

const std::string kWeights("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16);  // 1, 2, 3, 4

Tensor weight_of(const Model& model) {
  for (const NodeId id : model.graph.order()) {
    if (model.graph.node(id).kind == NodeKind::Initializer) return model.graph.node(id).tensor;
  }
  return {};
}

TEST(ExternalData, IsMappedFromBeneathTheModelsDirectory) {
  const ScratchDirectory box;
  std::filesystem::create_directory(box / "sub");
  box.write("sub/w.bin", kWeights);
  const auto model = read(add_model(external_tensor("sub/w.bin")), box.path());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto values = weight_of(*model).as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{1, 2, 3, 4}));
}

TEST(ExternalData, MayOmitOffsetAndLength) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  EXPECT_EQ(refusal(add_model(external_tensor("./w.bin", "", "")), box.path()), "");
}

TEST(ExternalData, AtAnOddOffsetIsStillAligned) {
  const ScratchDirectory box;
  box.write("w.bin", "abc" + kWeights);
  const auto model = read(add_model(external_tensor("w.bin", "3")), box.path());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Tensor weight = weight_of(*model);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weight.bytes().data) % sizeof(float), 0u);
  EXPECT_EQ(weight.as<float>()[3], 4.0f);
}

TEST(ExternalData, OfNoElementsNeedsNoBytes) {
  const ScratchDirectory box;
  box.write("w.bin", "");
  onnx::TensorProto tensor = external_tensor("w.bin", "0", "0");
  tensor.set_dims(0, 0);
  EXPECT_EQ(refusal(add_model(tensor), box.path()), "");
}

TEST(ExternalData, OutlivesTheModelAndTheFile) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  Tensor weight;
  {
    const auto model = read(add_model(external_tensor("w.bin")), box.path());
    ASSERT_TRUE(model.ok());
    weight = weight_of(*model);
  }
  std::filesystem::remove(box / "w.bin");
  EXPECT_EQ(weight.as<float>()[2], 3.0f);
}

// Bytes have no folder, so the name of a file in them is not followed: not into the current one either.
TEST(ExternalData, OfBytesAloneIsRefused) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  const std::string bytes = add_model(external_tensor("w.bin")).SerializeAsString();
  ASSERT_TRUE(read_model_bytes(std::as_bytes(std::span(bytes)), box.path()).ok());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(box.path());
  const auto alone = read_model_bytes(std::as_bytes(std::span(bytes)));
  std::filesystem::current_path(before);
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().message.find("no other file may be"), std::string::npos) << alone.error().message;
}

// What has data in other files is no model in bytes.
TEST(ExternalData, IsNotPutIntoBytes) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  const auto model = read(add_model(external_tensor("w.bin")), box.path());
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model_bytes(*model).ok());
}

TEST(ExternalData, RefusesToLeaveTheDirectory) {
  const ScratchDirectory around;
  around.write("secret.bin", kWeights);
  const auto box = around / "box";
  std::filesystem::create_directories(box / "sub");
  for (const std::string& location :
       {std::string("../secret.bin"), std::string("sub/../../secret.bin"), (around / "secret.bin").string(),
        std::string("sub/../sub"), std::string("..")}) {
    EXPECT_NE(refusal(add_model(external_tensor(location)), box).find("leaves the model's directory"),
              std::string::npos)
        << location;
  }
}

TEST(ExternalData, RefusesSymbolicLinksToFilesAndDirectories) {
  const ScratchDirectory around;
  around.write("secret.bin", kWeights);
  const auto box = around / "box";
  std::filesystem::create_directory(box);
  std::filesystem::create_symlink("../secret.bin", box / "w.bin");
  std::filesystem::create_directory_symlink("..", box / "up");
  for (const std::string location : {"w.bin", "up/secret.bin"}) {
    EXPECT_NE(refusal(add_model(external_tensor(location)), box).find("symbolic link"), std::string::npos)
        << location;
  }
}

TEST(ExternalData, RefusesHardLinks) {
  const ScratchDirectory box;
  box.write("secret.bin", kWeights);
  std::filesystem::create_hard_link(box / "secret.bin", box / "w.bin");
  EXPECT_NE(refusal(add_model(external_tensor("w.bin")), box.path()).find("hard links"), std::string::npos);
}

TEST(ExternalData, RefusesWhatIsNoRegularFileWithoutWaitingForIt) {
  const ScratchDirectory box;
  ASSERT_EQ(::mkfifo((box / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(box / "folder");
  EXPECT_NE(refusal(add_model(external_tensor("pipe")), box.path()).find("not a regular file"),
            std::string::npos);
  EXPECT_NE(refusal(add_model(external_tensor("folder")), box.path()).find("not a regular file"),
            std::string::npos);
  EXPECT_NE(refusal(add_model(external_tensor("missing")), box.path()).find("No such file"),
            std::string::npos);
}

TEST(ExternalData, RefusesRangesThatLeaveTheFile) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  for (const std::string offset : {"1", "16", "1048576", "9223372036854775800", "18446744073709551600"}) {
    EXPECT_NE(refusal(add_model(external_tensor("w.bin", offset)), box.path()).find("too few for offset"),
              std::string::npos)
        << offset;
  }
}

TEST(ExternalData, RefusesNumbersThatAreNone) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  for (const std::string text : {"-1", "+1", "0x10", "1e3", " 0", "0 ", "99999999999999999999", "zero"}) {
    EXPECT_NE(refusal(add_model(external_tensor("w.bin", text)), box.path()).find("is not a number of bytes"),
              std::string::npos)
        << text;
    EXPECT_NE(refusal(add_model(external_tensor("w.bin", "0", text)), box.path()).find("is not a number"),
              std::string::npos)
        << text;
  }
}

TEST(ExternalData, RefusesALengthThatTheDimsDoNotNeed) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  EXPECT_NE(refusal(add_model(external_tensor("w.bin", "0", "8")), box.path())
                .find("has 8 bytes where its dims need 16"),
            std::string::npos);
}

TEST(ExternalData, RefusesUnknownAndRepeatedEntries) {
  const ScratchDirectory box;
  box.write("w.bin", kWeights);
  onnx::TensorProto unknown = external_tensor("w.bin");
  unknown.add_external_data()->set_key("__class__");
  EXPECT_NE(refusal(add_model(unknown), box.path()).find("unknown entry '__class__'"), std::string::npos);
  onnx::TensorProto twice = external_tensor("w.bin");
  *twice.add_external_data() = twice.external_data(0);
  EXPECT_NE(refusal(add_model(twice), box.path()).find("two entries 'location'"), std::string::npos);
  EXPECT_NE(refusal(add_model(external_tensor("")), box.path()).find("no location"), std::string::npos);
}

TEST(ExternalData, InABodyIsCheckedToo) {
  onnx::ModelProto model = empty_model();
  onnx::NodeProto& node = add_node(model, "If", {"c"}, {"y"});
  set_type(*model.mutable_graph()->add_input(), "c", {}, onnx::TensorProto::BOOL);
  for (const std::string branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = add_body(node, branch);
    add_node(body.mutable_node(), "Add", {"x", "w"}, {branch});
    body.add_output()->set_name(branch);
    *body.add_initializer() = external_tensor("../secret.bin");
  }
  add_output(model, "y");
  const ScratchDirectory box;
  EXPECT_NE(refusal(model, box.path()).find("leaves the model's directory"), std::string::npos);
}

// The way of kernels without openat2 must refuse the same.
TEST(OpenBeneath, AgreesWithAndWithoutOpenat2) {
  const ScratchDirectory box;
  std::filesystem::create_directories(box / "a/b");
  box.write("a/b/file", "x");
  std::filesystem::create_symlink("b/file", box / "a/link");
  std::filesystem::create_directory_symlink("b", box / "a/folder_link");
  const Descriptor directory(::open(box.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::pair<const char*, int> cases[] = {
      {"a/b/file", 0},    {"a//b/./file", 0}, {"a/link", ELOOP},        {"a/folder_link/file", ELOOP},
      {"a/none", ENOENT}, {"../x", EXDEV},    {"a/../a/b/file", EXDEV}, {"/etc", EXDEV},
      {"", EXDEV}};
  for (const auto& [location, expected] : cases) {
    for (const bool without_openat2 : {false, true}) {
      const int result = open_beneath(directory.get(), location, without_openat2);
      EXPECT_EQ(std::min(result, 0), -expected)
          << location << (without_openat2 ? " by components" : " by openat2");
      if (result >= 0) ::close(result);
    }
  }
}

}  // namespace
}  // namespace isomer::wire
