// Shared by the tests of this folder: models from text, a temporary folder, and whether a runtime is
// installed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/onnx/model.h"
#include "model/graph/testing.h"
#include "runtime/judge/judge.h"

namespace isomer::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "isomer_runtime_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // The path of a model that the text describes.
  std::string model(const std::string& name, std::string_view text) const {
    Model model;
    model.graph = parsed(text);
    model.ir_version = 8;
    const auto written = write_model(model, path_ / name);
    EXPECT_TRUE(written.ok()) << written.error().message;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// The libraries that tools/setup installed; a test is skipped where there are none.
inline std::unique_ptr<Judge> start_judge(const WorkerOptions& options = {}) {
  ::setenv("VIRTUAL_ENV", ISOMER_SOURCE_DIR "/.deps/venv", 0);
  auto judge = Judge::start(options);
  return judge ? std::move(*judge) : nullptr;
}

constexpr std::string_view kRelu = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  relu (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) })";

}  // namespace isomer::testing

#define ISOMER_JUDGE_OR_SKIP(judge, ...)                        \
  const auto judge = isomer::testing::start_judge(__VA_ARGS__); \
  if (!(judge)) GTEST_SKIP() << "no such runtime on this machine"
