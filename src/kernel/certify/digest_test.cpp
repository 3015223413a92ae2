#include "kernel/certify/digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/mapped_bytes.h"
#include "base/temporary_folder.h"
#include "model/graph/graph.h"

namespace isomer {
namespace {

// More than is hashed at once, and no whole number of pieces.
constexpr std::size_t kBytes = (std::size_t{70} << 20) + 12;

std::string digest_of(Tensor tensor) {
  Graph graph;
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {"w"};
  node.tensor = std::move(tensor);
  graph.add(std::move(node));
  return model_digest(graph);
}

Tensor of_bytes(Bytes bytes, std::size_t size = kBytes) {
  return {ElementType::Uint8, {static_cast<std::int64_t>(size)}, std::move(bytes)};
}

Tensor written(const std::vector<std::size_t>& places, std::size_t size = kBytes) {
  Buffer buffer(size);
  for (const std::size_t place : places) buffer.data()[place] = std::byte{1};
  return of_bytes(std::move(buffer).freeze(), size);
}

TEST(Digest, IsTheSameWhetherZerosAreWrittenOrHoles) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path(), "isomer-test");
  const std::string path = folder.path() + "/weights";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // The hole goes on behind the tensor.
  ASSERT_EQ(::ftruncate(fd, kBytes + (8 << 20)), 0);
  ASSERT_EQ(::pwrite(fd, "\1", 1, 40 << 20), 1);
  const auto mapped = map_file(fd, kBytes + (8 << 20));
  ::close(fd);
  ASSERT_NE(mapped, nullptr);
  const Tensor sparse = of_bytes({mapped, static_cast<const std::byte*>(mapped.get()), kBytes});
  EXPECT_EQ(digest_of(sparse), digest_of(written({40 << 20})));
  EXPECT_NE(digest_of(sparse), digest_of(written({})));
}

TEST(Digest, HearsOfEveryPieceOfALargeTensor) {
  const std::string none = digest_of(written({}));
  std::set<std::string> all = {none};
  for (const std::size_t place : {std::size_t{0}, std::size_t{1} << 20, std::size_t{69} << 20, kBytes - 1})
    all.insert(digest_of(written({place})));
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(digest_of(written({})), none);
  EXPECT_NE(digest_of(written({}, kBytes + 1)), none);
}

}  // namespace
}  // namespace isomer
