#include "app/measure/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace isomer {
namespace {

using testing::HasSubstr;
using testing::Not;

// What of a Markdown text is not inside of code.
std::string outside_of_code(std::string_view markdown) {
  std::string outside;
  bool is_code = false;
  for (const char c : markdown) {
    if (c == '`') is_code = !is_code;
    else if (c == '\n') is_code = false;  // code ends with its paragraph: no inline code spans a line
    else if (!is_code) outside += c;
  }
  return outside;
}

GateRun run_named(const std::string& name) {
  GateRun run;
  run.base = run.candidate = run.base_runtime = run.candidate_runtime = run.machine = name;
  run.inputs = "random: " + name;
  run.speed.answer = GateAnswer::Fails;
  run.speed.failure = Failure{.what = name};
  run.equality = GateEquality{.answer = GateAnswer::Fails, .why = "output " + name + " differs"};
  return run;
}

TEST(GateMarkdown, ShowsNamesOfStrangersAsCodeOnly) {
  for (const std::string name :
       {"<img src=x onerror=alert(1)>", "[evil](javascript:alert(1))", "@evil-person", "</sub><h1>evil</h1>",
        "a\n\n# evil", "` evil `", "a | evil", "\x1b[2Jevil"}) {
    const std::string markdown = markdown_of(run_named(name));
    const std::string outside = outside_of_code(markdown);
    for (const char* bad : {"evil", "<img", "alert"}) EXPECT_THAT(outside, Not(HasSubstr(bad))) << markdown;
    EXPECT_THAT(markdown, Not(HasSubstr("\x1b"))) << markdown;
    EXPECT_EQ(std::ranges::count(markdown, '|'), 16) << markdown;
  }
}

TEST(GateMarkdown, SaysWhatIsPlain) {
  const std::string markdown = markdown_of(run_named("model.onnx"));
  EXPECT_THAT(markdown, HasSubstr("### ❌ `model.onnx` fails\n"));
  EXPECT_THAT(markdown, HasSubstr("- ❌ the new model does not run: `the runtime refuses it: model.onnx`\n"));
  EXPECT_THAT(markdown, HasSubstr("- ❌ not equal: `output model.onnx differs`\n"));
}

}  // namespace
}  // namespace isomer
