#include "optimizer/propose/test_file.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// One test of this name for each file of tests/proposals.
class ProposalFiles : public ::testing::TestWithParam<fs::path> {};

TEST_P(ProposalFiles, DoWhatTheySay) {
  const auto tests = parse_tests(text_of(GetParam()));
  ASSERT_TRUE(tests.ok()) << tests.error().message;
  EXPECT_FALSE(tests->empty());
  for (const ProposalTest& test : *tests) {
    testing::keep_program(test.before);
    const auto outcome = run_test(test);
    ASSERT_TRUE(outcome.ok()) << "line " << test.line << ": " << outcome.error().message;
    EXPECT_TRUE(outcome->is_as_expected)
        << "line " << test.line << ", " << test.name << ": " << outcome->found;
  }
}

std::vector<fs::path> files() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(ISOMER_SOURCE_DIR) / "tests" / "proposals"))
    if (entry.path().extension() == ".test") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Files, ProposalFiles, ::testing::ValuesIn(files()),
                         [](const auto& file) { return file.param.stem().string(); });

const std::string kTest =
    "test t\nproposer order\nbefore\nagraph (float[4] x) => (float[4] y) { y = Relu(x) }\n";

TEST(ProposalTest, FailsWhereSomethingElseHappens) {
  for (const char* wanted : {"after Relu", "refused because of the weather"}) {
    const auto tests = parse_tests(kTest + wanted);
    ASSERT_TRUE(tests.ok()) << tests.error().message;
    const auto outcome = run_test(tests->at(0));
    ASSERT_TRUE(outcome.ok());
    EXPECT_FALSE(outcome->is_as_expected);
    EXPECT_EQ(outcome->found, "no proposal");
  }
}

TEST(ProposalTest, MakesUpAsManyNumbersAsAreNeeded) {
  const auto tests = parse_tests(
      "test t\nproposer linear at any price\nbefore\nagraph (float[2] x) => (float[2] y) <float[1,2] w = "
      "{made-up 3}>"
      " { y = Add(x, w) }\nrefused\n");
  ASSERT_TRUE(tests.ok()) << tests.error().message;
  EXPECT_TRUE(tests->at(0).any_price);
  EXPECT_NE(tests->at(0).before.find("w = {1.5, -2.5}"), std::string::npos) << tests->at(0).before;
}

TEST(ProposalTest, NamesTheLineThatIsWrong) {
  const auto why = [](const std::string& text) {
    const auto tests = parse_tests(text);
    return tests.ok() ? "" : tests.error().message;
  };
  EXPECT_EQ(why("# nothing\nproposer order\n"), "line 2: `test NAME` begins a test");
  EXPECT_EQ(why(kTest), "line 4: `t` ends without `after` or `refused`");
  EXPECT_EQ(why("test t\nproposer wishes\nbefore\nafter\n"), "line 4: `t` is of no proposer: 'wishes'");
  EXPECT_EQ(why("test t\nprice any\n"), "line 2: `price any` is no line of a test");
  EXPECT_EQ(why("test t\nproposer order\nbefore\nfloat w = {made-up 1}\nrefused\n"),
            "line 5: {made-up N} follows a type with known sizes");
}

}  // namespace
}  // namespace isomer
