// isomer-prover-quotas [PAIRS]: random pairs under quotas of 1, 2, 4 ... 2^20 set operations. A verdict is
// the unlimited one or undecided, and an answer never depends on what the quota cut off. Exit code 1: it did.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "attack/judge.h"

namespace isomer::attack {
namespace {

int run(int pairs) {
  std::int64_t asked = 0, undecided = 0, wrong = 0, proved = 0;
  for (int seed = 1; seed <= pairs; ++seed) {
    const Pair drawn = random_pair(static_cast<std::uint64_t>(seed));
    const Case c = written(drawn, static_cast<std::uint64_t>(seed));
    for (const bool laws : {false, true}) {
      Budget most;
      most.set_operations = std::uint64_t{1} << 20u;
      const SetsVerdict whole = judge_sets(c, laws, most);
      proved += whole.proved;
      bool had = false;
      for (unsigned bits = 0; bits <= 19; ++bits) {
        Budget budget;
        budget.set_operations = std::uint64_t{1} << bits;
        const SetsVerdict now = judge_sets(c, laws, budget);
        ++asked;
        undecided += now.undecided;
        const bool same = now.proved == whole.proved && now.equal == whole.equal;
        if (!now.undecided && !whole.undecided && !same) {
          ++wrong;
          fmt::print("seed {} quota 2^{}: {} but {} without\n", seed, bits, now.why, whole.why);
        }
        if (!now.undecided && had && !same) ++wrong;
        // Once decided it stays so: the rest would only repeat it.
        if (had && !now.undecided) break;
        had = !now.undecided;
      }
    }
  }
  fmt::print(
      "{} pairs, {} questions under a quota: {} undecided, {} other than without one ({} proved without)\n",
      pairs, asked, undecided, wrong, proved);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isomer::attack

int main(int argc, char** argv) {
  try {
    return isomer::attack::run(argc > 1 ? std::stoi(argv[1]) : 40);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "isomer-prover-quotas: %s\n", error.what());
    return 2;
  }
}
