// isomer-check IN OUT CERT [--json]: the checker alone. It links the trusted libraries and nothing else; the
// answer, its words and its exit code are those of `isomer check`.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/check.h"
#include "certify/check_files.h"

namespace isomer {
namespace {

enum Exit : int { kAccepted = 0, kRejected = 1, kBadInput = 2, kOurBug = 70 };

int complain(std::string line, int exit) {
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  fmt::print(stderr, "isomer: {}\n", line);
  return exit;
}

int run(const std::vector<std::string>& files, bool json) {
  const auto start = std::chrono::steady_clock::now();
  const auto checked = check_files(files[0], files[1], files[2]);
  if (!checked.ok()) return complain(checked.error().message, kBadInput);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const bool accepted = checked->report.accepted;
  if (json) fmt::print("{}", checked->json(spent.count()));
  else if (accepted) fmt::print("{}", checked->text());
  if (!accepted) complain(checked->text(), kRejected);
  if (std::fflush(stdout) != 0) return complain("can't write to stdout", kBadInput);
  return accepted ? kAccepted : kRejected;
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  std::vector<std::string> files;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--json") json = true;
    else files.emplace_back(argv[i]);
  }
  if (files.size() != 3)
    return isomer::complain("usage: isomer-check IN OUT CERT [--json]", isomer::kBadInput);
  try {
    return isomer::run(files, json);
  } catch (const std::bad_alloc&) {
    return isomer::complain("not enough memory", isomer::kBadInput);
  } catch (const std::exception& bug) {
    return isomer::complain(bug.what(), isomer::kOurBug);
  }
}
