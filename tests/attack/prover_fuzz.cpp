// isomer-prover-fuzz [--pairs N] [--seed S] [--show N]: random pairs of programs, each witness of the prover
// alone against exact evaluation at every position. Exit code 1: something false was claimed.
//
// Pair k of seed S is drawn from S + k alone: `--seed S+k --pairs 1 --show 1` shows it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "attack/judge.h"

namespace isomer::attack {
namespace {

struct Tally {
  std::int64_t pairs = 0, dropped = 0, equal = 0, beyond = 0;
  std::int64_t sets_false = 0, sets_undefined = 0, sets_missed = 0, sets_undecided = 0, sets_proved = 0;
  std::int64_t laws_asked = 0, laws_false = 0, laws_undefined = 0, laws_proved = 0, law_gain = 0;
  std::int64_t accepted = 0;  // false by the sets, and the field agrees; what it could not test is undecided
  std::int64_t field_false = 0, field_missed = 0, field_untested = 0;
  std::int64_t claims = 0, exact = 0, claims_false = 0, exact_false = 0;
  double sets_seconds = 0, field_seconds = 0;
  std::map<std::string, std::int64_t> causes;
  std::int64_t falsehoods() const {
    return sets_false + sets_undefined + laws_false + laws_undefined + field_false + claims_false +
           exact_false;
  }
};

// A pair that takes more is left undecided: what is false has been proved with far less.
Budget fuzz_budget() {
  Budget out;
  out.set_operations = std::uint64_t{1} << 16u;
  return out;
}

class Fuzz {
 public:
  Fuzz(int most_shown, std::uint64_t laws_every) : most_shown_(most_shown), laws_every_(laws_every) {}
  Tally tally;

  void pair(std::uint64_t seed) {
    const Pair drawn = random_pair(seed);
    const Case c = written(drawn, seed);
    Oracle oracle;
    Truth truth;
    try {
      truth = truth_of(oracle, c);
    } catch (const TooLarge&) {
      ++tally.dropped;
      return;
    }
    ++tally.pairs;
    if (truth.equal) ++tally.equal;
    sets(seed, c, oracle, truth);
    field(seed, c, oracle, truth);
    if (seed % laws_every_ == 0) laws(seed, c, oracle, truth);
  }

  void show(std::uint64_t seed, const Case& c, const Oracle& oracle, const Truth& truth,
            const std::string& what) {
    if (shown_++ >= most_shown_) return;
    std::printf("---- seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
    for (std::size_t k = 0; k < c.inputs.size(); ++k)
      std::printf("x%zu %s\n", k, text(to_dims(c.inputs[k])).c_str());
    std::printf("A\n%sB\n%s", text(c.a).c_str(), text(c.b).c_str());
    for (std::size_t i = 0, lines = 0; i < truth.a.size() && lines < 4; ++i) {
      if (!truth.different[i] && truth.a[i].needs == truth.b[i].needs) continue;
      std::printf("  at %zu: %s  |  %s\n", i, oracle.text(truth.a[i].value).c_str(),
                  oracle.text(truth.b[i].value).c_str());
      ++lines;
    }
  }

 private:
  // The CPU time of this process, because the machine may be busy with others.
  static double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

  void sets(std::uint64_t seed, const Case& c, Oracle& oracle, const Truth& truth) {
    const bool positions = seed % 8 == 1;
    const double start = seconds();
    const SetsVerdict verdict = judge_sets(c, false, fuzz_budget(), positions ? &truth : nullptr);
    tally.sets_seconds += seconds() - start;
    if (verdict.proved) ++tally.sets_proved;
    if (verdict.undecided) ++tally.sets_undecided;
    if (truth.equal && !verdict.equal) {
      ++tally.sets_missed;
      ++tally.causes[verdict.why];
      if (most_shown_ > 50) show(seed, c, oracle, truth, "missed by the sets: " + verdict.why);
    }
    if (verdict.equal && !truth.equal) {
      if (differ_as_numbers(oracle, truth)) {
        ++tally.sets_false;
        if (judge_field(c, seed) == FieldVerdict::Agree) ++tally.accepted;
        show(seed, c, oracle, truth, "FALSE by the sets");
      } else {
        ++tally.beyond;
      }
    } else if (verdict.proved && !truth.defined) {
      ++tally.sets_undefined;
      show(seed, c, oracle, truth, "NOT A REFINEMENT by the sets");
    }
    if (!positions || verdict.undecided) return;
    ++tally.claims;
    if (verdict.exact) ++tally.exact;
    if (verdict.misses_a_difference && differ_as_numbers(oracle, truth)) {
      ++tally.claims_false;
      show(seed, c, oracle, truth, "FALSE positions");
    }
    if (verdict.wrongly_exact) {
      ++tally.exact_false;
      show(seed, c, oracle, truth, "FALSE exactness");
    }
  }

  void field(std::uint64_t seed, const Case& c, Oracle& oracle, const Truth& truth) {
    const double start = seconds();
    const FieldVerdict verdict = judge_field(c, seed);
    tally.field_seconds += seconds() - start;
    if (verdict == FieldVerdict::NotTested) ++tally.field_untested;
    if (verdict == FieldVerdict::Differ && truth.equal) {
      ++tally.field_missed;
      if (most_shown_ > 50) show(seed, c, oracle, truth, "missed by the field");
    }
    if (verdict != FieldVerdict::Agree || truth.equal) return;
    if (differ_as_numbers(oracle, truth)) {
      ++tally.field_false;
      show(seed, c, oracle, truth, "FALSE by the field");
    } else {
      ++tally.beyond;
    }
  }

  void laws(std::uint64_t seed, const Case& c, Oracle& oracle, const Truth& truth) {
    ++tally.laws_asked;
    const SetsVerdict verdict = judge_sets(c, true, fuzz_budget());
    if (verdict.proved) ++tally.laws_proved;
    if (verdict.equal && !truth.equal) {
      if (differ_as_numbers(oracle, truth)) {
        ++tally.laws_false;
        if (judge_field(c, seed) == FieldVerdict::Agree) ++tally.accepted;
        show(seed, c, oracle, truth, "FALSE by the sets with laws");
      } else {
        ++tally.law_gain;
      }
    } else if (verdict.proved && !truth.defined) {
      ++tally.laws_undefined;
      show(seed, c, oracle, truth, "NOT A REFINEMENT by the sets with laws");
    }
  }

  int most_shown_, shown_ = 0;
  std::uint64_t laws_every_;
};

struct Options {
  std::int64_t pairs = 1000, report_every = 0;
  std::uint64_t seed = 1, laws_every = 8;
  int shown = 3;
  bool brief = false;  // for scripts
};

int run(const Options& options) {
  Fuzz fuzz(options.shown, options.laws_every);
  const auto report = [&] {
    const Tally& t = fuzz.tally;
    const auto share = [](std::int64_t part, std::int64_t of) {
      return of == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
    };
    std::string causes;
    for (const auto& [why, n] : t.causes)
      causes += fmt::format("{}{}: {}", causes.empty() ? "" : "; ", why, n);
    fmt::print(
        "{} pairs ({} too large), {} equal ({:.1f} %), {} equal beyond the oracle | sets: {} false, {} no "
        "refinement, "
        "{} proved, missed {} of the equal ({:.2f} %; {}), {} undecided | with laws, of {}: {} false, {} no "
        "refinement, {} proved, {} by laws only | field: {} false, {} missed, {} not tested | positions, of "
        "{}: {} "
        "false; {} exact, {} wrongly | {:.2f} ms sets, {:.2f} ms field a pair\n",
        t.pairs, t.dropped, t.equal, share(t.equal, t.pairs), t.beyond, t.sets_false, t.sets_undefined,
        t.sets_proved, t.sets_missed, share(t.sets_missed, t.equal), causes, t.sets_undecided, t.laws_asked,
        t.laws_false, t.laws_undefined, t.laws_proved, t.law_gain, t.field_false, t.field_missed,
        t.field_untested, t.claims, t.claims_false, t.exact, t.exact_false,
        1e3 * t.sets_seconds / static_cast<double>(std::max<std::int64_t>(t.pairs, 1)),
        1e3 * t.field_seconds / static_cast<double>(std::max<std::int64_t>(t.pairs, 1)));
    std::fflush(stdout);
  };
  for (std::int64_t k = 0; fuzz.tally.pairs < options.pairs; ++k) {
    fuzz.pair(options.seed + static_cast<std::uint64_t>(k));
    if (options.report_every > 0 && (k + 1) % options.report_every == 0) report();
  }
  report();
  if (options.brief)
    fmt::print("brief: sets_false={} accepted={} missed={}\n", fuzz.tally.sets_false + fuzz.tally.laws_false,
               fuzz.tally.accepted, fuzz.tally.sets_missed);
  return fuzz.tally.falsehoods() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isomer::attack

int main(int argc, char** argv) {
  isomer::attack::Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
      const std::string& value = arguments[i + 1];
      if (arguments[i] == "--pairs") options.pairs = std::stoll(value);
      else if (arguments[i] == "--seed") options.seed = std::stoull(value);
      else if (arguments[i] == "--show") options.shown = std::stoi(value);
      else if (arguments[i] == "--laws-every") options.laws_every = std::stoull(value);
      else if (arguments[i] == "--report-every") options.report_every = std::stoll(value);
      else if (arguments[i] == "--brief") options.brief = value == "1";
      else throw std::invalid_argument(arguments[i]);
    }
    return isomer::attack::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "isomer-prover-fuzz: %s\n", error.what());
    return 2;
  }
}
