#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/api/errors.h"
#include "app/api/report_json.h"
#include "base/read_text.h"
#include "optimizer/propose/test_file.h"

namespace isomer::api {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 24U;

}  // namespace

TestedProposers test_proposers(const std::filesystem::path& file) {
  return guarded([&] {
    const auto take_of = [&](auto result, const std::string& where) {
      if (!result.ok())
        throw Error(ErrorKind::BadInput,
                    fmt::format("{}: {}{}", file.string(), where, result.error().message));
      return std::move(result).value();
    };
    const std::string text = take(read_text(file, kMostBytes, "tests of proposers"));
    TestedProposers out;
    ReportJson list = ReportJson::array();
    for (const ProposalTest& test : take_of(parse_tests(text), "")) {
      const ProposalOutcome outcome = take_of(run_test(test), fmt::format("line {}: ", test.line));
      out.tests.push_back({test.name, outcome.is_as_expected, outcome.found});
      list.push_back({{"name", test.name},
                      {"line", test.line},
                      {"proposer", test.proposer},
                      {"as_expected", outcome.is_as_expected},
                      {"found", outcome.found}});
    }
    out.json = json_text({{"tests", std::move(list)}});
    return out;
  });
}

}  // namespace isomer::api
