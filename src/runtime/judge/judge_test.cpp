#include "runtime/judge/judge.h"

#include <fstream>

#include "runtime/judge/feeds.h"
#include "runtime/judge/testing.h"

namespace isomer {
namespace {

using testing::kRelu;
using testing::TemporaryFolder;

NamedTensors feed() { return {{"x", Tensor::of<float>(ElementType::Float, {2, 3}, {-1, 0, 2, 3, -4, 5})}}; }

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                                std::filesystem::directory_iterator{}));
}

class EachRuntime : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EachRuntime, ::testing::Values("ort", "openvino"));

TEST_P(EachRuntime, RunsAModelFromAFileAndFromMemory) {
  ISOMER_JUDGE_OR_SKIP(judge, {.runtime = GetParam()});
  const TemporaryFolder folder;
  const std::string path = folder.model("relu.onnx", kRelu);
  for (const auto& source : {ModelSource::file(path), ModelSource::memory(contents(path))}) {
    const auto outputs = judge->run(source, feed());
    ASSERT_TRUE(outputs.ok()) << outputs.error().what;
    const auto expected = Tensor::of<float>(ElementType::Float, {2, 3}, {0, 0, 2, 3, 0, 5});
    EXPECT_TRUE(outputs->at("y").same_bits(expected));
  }
}

TEST_P(EachRuntime, SaysWhatItRefuses) {
  ISOMER_JUDGE_OR_SKIP(judge, {.runtime = GetParam()});
  const auto outcome = judge->check_loads(ModelSource::memory("not a model"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, FailureKind::Refused);
  EXPECT_FALSE(outcome.error().what.empty());
}

TEST_P(EachRuntime, DescribesWhatItRan) {
  ISOMER_JUDGE_OR_SKIP(judge, {.runtime = GetParam()});
  const TemporaryFolder folder;
  const auto source = ModelSource::file(folder.model("relu.onnx", kRelu));
  // OpenVINO counts microseconds, and calls what took none "not run".
  const NamedTensors large{
      {"x", Tensor::of<float>(ElementType::Float, {200'000, 3}, std::vector<float>(600'000, -1))}};
  const auto facts = judge->describe(source, *SharedFeeds::make(large));
  ASSERT_TRUE(facts.ok()) << facts.error().what;
  EXPECT_FALSE(facts->kernels.empty());
  EXPECT_GT(facts->load_ns, 0);
}

TEST_P(EachRuntime, ComparesAModelWithATenfoldOne) {
  ISOMER_JUDGE_OR_SKIP(judge, {.runtime = GetParam()});
  const TemporaryFolder folder;
  const auto chain = [&](int length) {
    std::string text =
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[64, 4096] x) => (float[64, 4096] y) {";
    for (int i = 0; i < length; ++i)
      text += "  v" + std::to_string(i) + " = Erf(" + (i == 0 ? "x" : "v" + std::to_string(i - 1)) + ")\n";
    text += "  y = Erf(v" + std::to_string(length - 1) + ") }";
    return ModelSource::file(folder.model("chain" + std::to_string(length) + ".onnx", text));
  };
  const NamedTensors tensors{
      {"x", Tensor::of<float>(ElementType::Float, {64, 4096}, std::vector<float>(64 * 4096, 0.5f))}};
  MeasureOptions options;
  options.seconds = 120;  // it ends as soon as the difference is seen twice
  const auto measured = judge->measure_pair(chain(20), chain(2), *SharedFeeds::make(tensors), options);
  ASSERT_TRUE(measured.ok()) << measured.error().what;
  EXPECT_EQ(measured->verdict, PairVerdict::Faster);
  EXPECT_GT(measured->ratio.low, 1.5);
  EXPECT_FALSE(measured->confirmed.empty());
  // With time for a few rounds only, all of them count.
  options.seconds = 0.01;
  const auto briefly = judge->measure_pair(chain(20), chain(2), *SharedFeeds::make(tensors), options);
  ASSERT_TRUE(briefly.ok()) << briefly.error().what;
  EXPECT_GE(briefly->explored.size(), 2u);
  EXPECT_TRUE(briefly->confirmed.empty());
  EXPECT_GT(briefly->ratio.estimate, 1.5);
}

TEST(Judge, ChecksEveryOptimizationLevel) {
  ISOMER_JUDGE_OR_SKIP(judge, {});
  const TemporaryFolder folder;
  EXPECT_TRUE(judge->check_loads(ModelSource::file(folder.model("relu.onnx", kRelu))).ok());
}

TEST(Judge, NamesTheModelOfAPairThatFails) {
  ISOMER_JUDGE_OR_SKIP(judge, {});
  const TemporaryFolder folder;
  const auto good = ModelSource::file(folder.model("relu.onnx", kRelu)),
             bad = ModelSource::memory("nonsense");
  const SharedFeeds feeds = *SharedFeeds::make(feed());
  for (const bool bad_is_second : {false, true}) {
    const auto measured =
        judge->measure_pair(bad_is_second ? good : bad, bad_is_second ? bad : good, feeds, {});
    ASSERT_FALSE(measured.ok());
    EXPECT_EQ(measured.error().model, bad_is_second ? 1 : 0);
  }
  EXPECT_TRUE(judge->run(good, feed()).ok());
}

TEST(Judge, SaysThatAFeedIsMissing) {
  ISOMER_JUDGE_OR_SKIP(judge, {});
  const TemporaryFolder folder;
  const auto outcome = judge->run(ModelSource::file(folder.model("relu.onnx", kRelu)), {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().what.find("'x'"), std::string::npos);
}

TEST(Judge, HasNoNetworkAndNoOtherProgram) {
  ISOMER_JUDGE_OR_SKIP(judge, {});
  EXPECT_NE(judge->network_guard(), NetworkGuard::None);
}

TEST(Judge, SaysThatALibraryIsNone) {
  const auto judge = Judge::start({.library = "/nonexistent/libonnxruntime.so"});
  ASSERT_FALSE(judge.ok());
  EXPECT_EQ(judge.error().kind, FailureKind::Unavailable);
}

TEST(Judge, SaysThatTheWorkerIsMissing) {
  const auto judge = Judge::start({.library = "x", .program = "/nonexistent/isomer-worker"});
  ASSERT_FALSE(judge.ok());
  EXPECT_EQ(judge.error().kind, FailureKind::Unavailable);
}

// How the worker may die, and what it is then called.
struct Death {
  std::string fault;
  FailureKind kind;
};

class EachDeath : public ::testing::TestWithParam<Death> {};
INSTANTIATE_TEST_SUITE_P(
    All, EachDeath,
    ::testing::Values(Death{"segfault", FailureKind::Crashed}, Death{"abort", FailureKind::Crashed},
                      Death{"divide", FailureKind::Crashed}, Death{"exit", FailureKind::Crashed},
                      Death{"memory", FailureKind::OutOfMemory}, Death{"hang", FailureKind::TimedOut},
                      Death{"garbage", FailureKind::Garbled}),
    [](const auto& death) { return death.param.fault; });

TEST_P(EachDeath, IsAnAnswerAndTheJudgeGoesOn) {
  WorkerOptions options;
  options.may_fault = true;
  options.call_seconds = 20;
  options.limits.memory_bytes = 512 << 20;
  if (GetParam().fault == "hang") options.call_seconds = 2;
  ISOMER_JUDGE_OR_SKIP(judge, options);
  const std::size_t files = open_files();
  const auto outcome = (*judge->worker())->fault(GetParam().fault, 0);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(name(outcome.error().kind), name(GetParam().kind)) << outcome.error().what;
  const TemporaryFolder folder;
  const auto outputs = judge->run(ModelSource::file(folder.model("relu.onnx", kRelu)), feed());
  EXPECT_TRUE(outputs.ok()) << outputs.error().what;
  EXPECT_LE(open_files(), files);
}

TEST(Worker, ObeysNoFaultUnlessItMay) {
  ISOMER_JUDGE_OR_SKIP(judge, {});
  const auto outcome = (*judge->worker())->fault("abort", 0);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, FailureKind::Refused);
}

}  // namespace
}  // namespace isomer
