// Golden texts: tests/suites/golden/text holds graphs as we print them, each beside what onnx.printer makes
// of it (tests/suites/text_test.py checks that side); tests/suites/golden/infer holds graphs and, below a
// line, what inference finds. ISOMER_UPDATE_GOLDEN=1 rewrites what inference finds.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/graph/infer.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(ISOMER_SOURCE_DIR) / "tests" / "suites" / "golden";
constexpr std::string_view kLine = "# inferred\n";

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> files(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

// The graph with the types of all values declared as they are inferred, and integers and reasons as comments.
std::string inferred_text(Graph graph) {
  auto result = infer(graph);
  if (!result.ok()) return "# " + result.error().message + "\n";
  std::string notes;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).kind != NodeKind::Operator) continue;
    const auto& outputs = graph.node(id).outputs;
    for (std::uint32_t k = 0; k < outputs.size(); ++k) {
      const ValueInfo& info = result->of({id, k});
      DeclaredType type{info.type};
      if (info.shape) type.shape.emplace(info.shape->begin(), info.shape->end());
      if (info.type != ElementType::Undefined) graph.declare(outputs[k], type);
      if (info.integers) notes += "# " + outputs[k] + " = " + text(*info.integers) + "\n";
    }
    const auto opaque = result->opaque.find(id);
    if (opaque != result->opaque.end()) notes += "# " + label(graph.node(id)) + ": " + opaque->second + "\n";
  }
  return text(graph) + notes;
}

TEST(Golden, TextsAreReadAndPrintedAsTheyAre) {
  const auto all = files(kGolden / "text", ".txt");
  EXPECT_GE(all.size(), 3u);
  for (const fs::path& path : all) {
    const std::string golden = content(path);
    // Everything but the version of the model's format is the graph's.
    const int ir_version = std::stoi(golden.substr(std::string_view("<ir_version: ").size()));
    EXPECT_EQ(text(testing::parsed(golden), {.ir_version = ir_version}), golden) << path;
  }
}

TEST(Golden, TextsByOnnxAreTheSameGraphs) {
  for (const fs::path& path : files(kGolden / "text", ".txt")) {
    const fs::path printed = fs::path(path).replace_extension(".onnx_printer");
    EXPECT_EQ(text(testing::parsed(content(printed))), text(testing::parsed(content(path)))) << path;
  }
}

TEST(Golden, InferenceFindsWhatItFound) {
  const auto all = files(kGolden / "infer", ".txt");
  EXPECT_GE(all.size(), 4u);
  for (const fs::path& path : all) {
    const std::string golden = content(path);
    const std::string model = golden.substr(0, golden.find(kLine));
    const std::string now = model + std::string(kLine) + inferred_text(testing::parsed(model));
    if (std::getenv("ISOMER_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << now;
    EXPECT_EQ(now, golden) << path;
  }
}

}  // namespace
}  // namespace isomer
