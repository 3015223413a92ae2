#include "app/explore/session_text.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

TEST(SessionText, LeavesOutWhatIsTheDefault) {
  EXPECT_EQ(python_text({}), "options = onnxruntime.SessionOptions()\n");
  EXPECT_EQ(cpp_text({}), "Ort::SessionOptions options;\n");
}

TEST(SessionText, WritesSettingsThatHaveFunctionsAsSuch) {
  RuntimeOptions options;
  options.level = OptimizationLevel::Extended;
  options.disabled_optimizers = {"ConvBNFusion", "GeluFusionL2"};
  options.config = {{"session.enable_mem_pattern", "0"}, {"session.disable_prepacking", "1"}};
  EXPECT_EQ(python_text(options),
            "options = onnxruntime.SessionOptions()\n"
            "options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED\n"
            "options.add_session_config_entry(\"optimization.disable_specified_optimizers\", "
            "\"ConvBNFusion;GeluFusionL2\")\n"
            "options.add_session_config_entry(\"session.disable_prepacking\", \"1\")\n"
            "options.enable_mem_pattern = False\n");
  EXPECT_EQ(cpp_text(options),
            "Ort::SessionOptions options;\n"
            "options.SetGraphOptimizationLevel(ORT_ENABLE_EXTENDED);\n"
            "options.AddConfigEntry(\"optimization.disable_specified_optimizers\", "
            "\"ConvBNFusion;GeluFusionL2\");\n"
            "options.AddConfigEntry(\"session.disable_prepacking\", \"1\");\n"
            "options.DisableMemPattern();\n");
}

}  // namespace
}  // namespace isomer
