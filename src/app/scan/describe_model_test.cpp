#include "app/scan/describe_model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "app/inputs/stamp.h"
#include "app/scan/find_copies.h"
#include "app/scan/scanned_model.h"
#include "runtime/judge/testing.h"

namespace isomer {
namespace {

using testing::TemporaryFolder;

constexpr std::string_view kAttention = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 4, 4] x) => (float[N, 4, 4] y)
  <float[4, 4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
    a = MatMul(x, w)
    b = MatMul(a, x)
    c = Softmax(b)
    d = MatMul(c, x)
    e = MatMul(d, w)
    f = Softmax(e)
    y = MatMul(f, x)
  })";

Description description_of(const std::string& path) {
  const auto model = read_model(path);
  EXPECT_TRUE(model.ok());
  const auto what = describe_model(path, *model);
  EXPECT_TRUE(what.ok());
  return *what;
}

TEST(DescribeModel, SaysKindPrecisionAndOpset) {
  const TemporaryFolder folder;
  const Description what = description_of(folder.model("m.onnx", kAttention));
  EXPECT_EQ(what.kinds, std::vector<std::string>{"attention"});
  EXPECT_EQ(what.precision, std::vector<std::string>{"float32"});
  EXPECT_EQ(what.quantization, "");
  EXPECT_EQ(what.head.opsets.at(""), 17U);
  EXPECT_TRUE(what.head.stamp.empty());
  EXPECT_TRUE(what.certificate.empty());
}

TEST(DescribeModel, DoesNotTakeAClassifierForAttention) {
  const TemporaryFolder folder;
  const Description what = description_of(folder.model("m.onnx", R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { a = MatMul(x, w) y = Softmax(a) })"));
  EXPECT_EQ(what.kinds, std::vector<std::string>{"matrix products"});
}

TEST(DescribeModel, SaysHowWeightsAreQuantized) {
  const TemporaryFolder folder;
  const Description what = description_of(folder.model("m.onnx", R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (int32[N, 4] y)
    <int8[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {
      q, s, z = DynamicQuantizeLinear(x)
      y = MatMulInteger(q, w, z)
    })"));
  EXPECT_EQ(what.precision, std::vector<std::string>{"int8"});
  EXPECT_EQ(what.quantization, "dynamic");
}

TEST(DescribeFile, KnowsTheStampAndTheCertificate) {
  const TemporaryFolder folder;
  const std::string path = folder.model("m.onnx", testing::kRelu);
  ASSERT_TRUE(put_stamp(path, {{"version", "0.2.0"}, {"ratio", "1.2"}}, 1 << 20).ok());
  std::ofstream(path + ".cert") << "{}";
  const Description what = describe_file(path);
  EXPECT_EQ(what.head.stamp.at("version"), "0.2.0");
  EXPECT_EQ(what.certificate, path + ".cert");
}

TEST(ReadHead, OfAFileThatIsNoMessageIsEmpty) {
  const TemporaryFolder folder;
  std::ofstream(folder / "m.onnx") << "not a model";
  EXPECT_TRUE(read_head(folder / "m.onnx").producer.empty());
  EXPECT_TRUE(read_head(folder / "nowhere.onnx").opsets.empty());
}

TEST(FindCopies, ComparesBytesOfFilesOfOneSize) {
  const TemporaryFolder folder;
  std::vector<FoundFile> files;
  for (const std::string text : {"abc", "abd", "abc", "", "", "abcd"}) {
    const auto path = folder / std::to_string(files.size());
    std::ofstream(path) << text;
    files.push_back({path, "", text.size()});
  }
  EXPECT_EQ(first_of_same_bytes(files, [] { return false; }), (std::vector<std::size_t>{0, 1, 0, 3, 4, 5}));
}

TEST(SameGraphs, LooksAtWeightsAndNotAtMetadata) {
  const TemporaryFolder folder;
  const auto with_weights = [&](const std::string& name, const std::string& numbers) {
    return folder.model(name, R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[N, 2] x) => (float[N, 2] y) <float[2] w = )" +
                                  numbers + "> { y = Mul(x, w) }");
  };
  const std::vector<std::string> paths{with_weights("a.onnx", "{1, 2}"), with_weights("b.onnx", "{1, 3}"),
                                       with_weights("c.onnx", "{1, 2}")};
  ASSERT_TRUE(put_stamp(paths[2], {{"version", "0"}}, 1 << 20).ok());
  SameGraphs graphs;
  std::vector<std::optional<std::size_t>> same;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const auto model = read_model(paths[k]);
    ASSERT_TRUE(model.ok());
    same.push_back(graphs.find_or_add(k, paths[k], *model, summarize(*model, {}).value()));
  }
  EXPECT_EQ(same, (std::vector<std::optional<std::size_t>>{std::nullopt, std::nullopt, 0}));
}

TEST(OptimizeCommand, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(optimize_command("a/m.onnx"), "isomer optimize a/m.onnx -o m.fast.onnx");
  EXPECT_EQ(optimize_command("a b/it's.onnx"), "isomer optimize 'a b/it'\\''s.onnx' -o 'it'\\''s.fast.onnx'");
}

}  // namespace
}  // namespace isomer
