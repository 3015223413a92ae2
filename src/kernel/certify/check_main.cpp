// isomer-check IN OUT CERT [--json]: the checker alone. It links the trusted libraries and nothing else; the
// answer, its words and its exit code are those of `isomer check`.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/last_words.h"
#include "base/printable.h"
#include "kernel/certify/check_files.h"

namespace isomer {
namespace {

enum Exit : int { kAccepted = 0, kRejected = 1, kBadInput = 2, kOurBug = 70 };

int complain(std::string line, int exit) {
  while (line.ends_with('\n')) line.pop_back();
  fmt::print(stderr, "isomer: {}\n", printable(line));
  return exit;
}

constexpr const char* kUsage =
    "usage: isomer-check IN OUT CERT [--shape NAME=SHAPE]... [--value NAME=NUMBER]... [--sizes-from 0|1] "
    "[--json]";
constexpr const char* kHelp =
    R"(Check a certificate: prove again that OUT equals IN. This program links no optimizer.

  IN                  the original model
  OUT                 the optimized model
  CERT                the certificate that came with it
  --shape NAME=SHAPE  at this size, if the certificate was made with --shape or --fix-shape
  --value NAME=NUMBER with this input fixed, if the certificate was made with --value
  --sizes-from 0|1    0: reject a certificate that does not cover open sizes of 0 (default: 1)
  --json              answer in JSON
  --help              this text

Exit: 0 accepted, 1 rejected, 2 bad usage or a file that can't be read.
)";

int run(const std::vector<std::string>& files, const std::vector<std::string>& sizes,
        const std::vector<std::string>& values, int sizes_from, bool json) {
  const auto start = std::chrono::steady_clock::now();
  const auto checked = check_files(files[0], files[1], files[2], sizes, values, sizes_from);
  if (!checked.ok()) return complain(checked.error().message, kBadInput);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const bool accepted = checked->report.accepted;
  if (json) fmt::print("{}", checked->json(spent.count()));
  else if (accepted) fmt::print("{}", checked->text());
  if (!accepted) complain(checked->text(), kRejected);
  if (std::fflush(stdout) != 0) return complain("can't write to stdout", kBadInput);
  return accepted ? kAccepted : kRejected;
}

// Lists of operators are made before main: there, too, memory may be out.
[[gnu::constructor(101)]] void before_all_else() { end_with_one_line(kBadInput, kOurBug); }

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  using std::literals::operator""sv;
  std::vector<std::string> files, sizes, values;
  bool json = false;
  int sizes_from = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json") {
      json = true;
    } else if (word == "--help" || word == "-h") {
      fmt::print("{}\n\n{}", isomer::kUsage, isomer::kHelp);
      return isomer::kAccepted;
    } else if (word == "--shape" && i + 1 < argc) {
      sizes.emplace_back(argv[++i]);
    } else if (word == "--value" && i + 1 < argc) {
      values.emplace_back(argv[++i]);
    } else if (word == "--sizes-from" && i + 1 < argc && (argv[i + 1] == "0"sv || argv[i + 1] == "1"sv)) {
      sizes_from = argv[++i] == "1"sv ? 1 : 0;
    } else if (word.starts_with("--")) {
      return isomer::complain(fmt::format("no option {}; {}", word, isomer::kUsage), isomer::kBadInput);
    } else {
      files.push_back(word);
    }
  }
  if (files.size() != 3) return isomer::complain(isomer::kUsage, isomer::kBadInput);
  try {
    return isomer::run(files, sizes, values, sizes_from, json);
  } catch (const std::bad_alloc&) {
    return isomer::complain("not enough memory", isomer::kBadInput);
  } catch (const std::exception& bug) {
    return isomer::complain(bug.what(), isomer::kOurBug);
  }
}
