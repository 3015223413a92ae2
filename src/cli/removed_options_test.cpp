#include "cli/removed_options.h"

#include <gtest/gtest.h>

namespace isomer::cli {
namespace {

TEST(RemovedOptions, EachIsNamedWithWhyAndWhatToDo) {
  for (const RemovedOption& r : removed_options()) {
    const std::string option(r.option), value(r.value);
    const std::string line = complaint_about_removed(r.command, {"m.onnx", option, value});
    EXPECT_TRUE(line.starts_with(std::string(r.command) + " " + option)) << line;
    EXPECT_TRUE(line.ends_with(r.why)) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(complaint_about_removed(r.command, {option + "=" + value}), line);
    EXPECT_EQ(complaint_about_removed("another", {option, value}), "");
    if (!value.empty()) {
      EXPECT_EQ(complaint_about_removed(r.command, {option, "another"}), "");
    }
  }
}

TEST(RemovedOptions, NothingIsSaidAboutOthers) {
  EXPECT_EQ(complaint_about_removed("optimize", {"m.onnx", "-o", "out.onnx", "--priority", "prior"}), "");
  EXPECT_EQ(complaint_about_removed("optimize", {}), "");
}

}  // namespace
}  // namespace isomer::cli
