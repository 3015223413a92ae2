// isomer-laws [--cases N] [--sets LOG2] [--only OP] [--every N] [--verbose]: the laws that the analyses
// promise of every operator, or of every Nth one, proved.
//
// For each of N drawn calls of an operator every promise of its formula becomes two small graphs for the
// prover, with all sizes open, then with those of the law's axes, then as drawn; the first proof counts. "not
// said": the same attributes don't say the law at other sizes (a Reshape to a fixed shape), or a constant is
// in the way. Exit code 1: a promise is refuted, or the two witnesses disagree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

#include "contract/promises/law_graphs.h"
#include "kernel/prove/refute.h"
#include "model/graph/infer.h"

namespace isomer::laws {
namespace {

enum class Outcome : std::uint8_t { AllSizes, AxisSizes, DrawnSizes, Undecided, Refuted, NotSaid };
constexpr std::size_t kOutcomes = 6;
using Tally = std::array<int, kOutcomes>;

struct Judged {
  Outcome outcome = Outcome::NotSaid;
  std::string why;
};

// Whether the call on the other side of the law computes something of the right shape.
std::optional<std::string> why_not_said(const Question& q) {
  const auto before = infer(q.before), after = infer(q.after);
  if (!before.ok()) return before.error().message;
  if (!after.ok()) return after.error().message;
  for (const auto* info : {&*before, &*after})
    if (!info->opaque.empty()) return "opaque: " + info->opaque.begin()->second;
  const ValueInfo &x = before->of(q.before.outputs()[0]), &y = after->of(q.after.outputs()[0]);
  if (x.type != y.type || x.shape != y.shape) return "another shape";
  return std::nullopt;
}

// Whether the roles still promise it with sizes left open: an axis may be parallel at the drawn size only.
bool is_promised(const Operator& op, const Question& q, const Promise& promise) {
  const Definition definition = define(op, q.call);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return false;
  const auto promises = promises_of(*formula);
  return std::ranges::find(promises, promise) != promises.end();
}

Judged judge(const contract::DrawnCase& drawn, const Promise& promise, unsigned sets_log2) {
  const auto as_drawn = question(drawn, promise, Sizes::Drawn);
  if (!as_drawn) return {Outcome::NotSaid, "no such graph"};
  if (const auto why = why_not_said(*as_drawn)) return {Outcome::NotSaid, *why};
  Judged out{Outcome::Undecided, ""};
  const std::pair<Sizes, Outcome> kLevels[] = {{Sizes::AllSymbolic, Outcome::AllSizes},
                                               {Sizes::AxisSymbolic, Outcome::AxisSizes},
                                               {Sizes::Drawn, Outcome::DrawnSizes}};
  for (const auto& [sizes, proved] : kLevels) {
    const auto q = question(drawn, promise, sizes);
    if (sizes != Sizes::Drawn && (!is_promised(*drawn.op, *q, promise) || why_not_said(*q))) continue;
    ProveOptions options{.refute = find_counterexample};
    options.budget.set_operations = std::uint64_t{1} << sets_log2;
    const Verdict verdict = prove_equal(q->before, q->after, options);
    if (std::holds_alternative<Proved>(verdict)) return {proved, ""};
    out.why += fmt::format("{}{}", out.why.empty() ? "" : " / ", text(verdict));
    if (!std::holds_alternative<NotDecided>(verdict)) return {Outcome::Refuted, out.why};
  }
  return out;
}

struct Options {
  int cases = 3;
  // Operations on sets of one attempt, as a power of two. Among the laws of one call each 89 % are proved
  // with 2^17 (105 s of processor time), 84 % with 2^15 (72 s).
  unsigned sets = 17;
  int every = 1;  // one operator in every N
  bool verbose = false;
  std::string only;
};

struct Results {
  std::map<std::string, Tally> operators;
  std::map<std::string, double> seconds;  // of processor time, by operator
  std::array<Tally, kKinds> kinds = {};
  Tally all = {};
};

void run_operator(const Operator& op, const Options& options, Results& results) {
  const std::string title =
      op.domain.empty() ? std::string(op.name) : fmt::format("{}:{}", op.domain, op.name);
  Tally& tally = results.operators[title];
  const std::clock_t start = std::clock();
  for (int number = 0; number < options.cases; ++number) {
    const contract::DrawnCase drawn = contract::draw_case(op, number);
    const Definition definition = define(op, drawn.call);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) continue;
    for (const Promise& promise : promises_of(*formula)) {
      if (product(formula->output(promise.output).shape()).is(0)) continue;  // a law about nothing
      const Judged judged = judge(drawn, promise, options.sets);
      const auto column = static_cast<std::size_t>(judged.outcome);
      ++tally[column];
      ++results.kinds[static_cast<std::size_t>(promise.kind)][column];
      ++results.all[column];
      const bool failed = judged.outcome == Outcome::Refuted;
      if (failed || (options.verbose && !judged.why.empty()))
        fmt::print("{}: {} of output {}{}: {}\n", drawn.text(), name(promise.kind), promise.output,
                   promise.input >= 0     ? fmt::format(", input {}", promise.input)
                   : promise.axes.empty() ? ""
                                          : fmt::format(", axis {}", promise.axes[0].output_axis),
                   judged.why);
    }
  }
  results.seconds[title] = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void print_row(const std::string& what, const Tally& tally) {
  const int laws = tally[0] + tally[1] + tally[2] + tally[3] + tally[4];
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", what, laws, tally[0], tally[1], tally[2],
             tally[3], tally[4], tally[5]);
}

void print_table(const std::string& title, const std::vector<std::pair<std::string, Tally>>& rows) {
  fmt::print(
      "\n| {} | laws | proved, all sizes | its axes' sizes | drawn sizes | undecided | refuted | not said "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
      title);
  for (const auto& [what, tally] : rows) print_row(what, tally);
}

int run(const Options& options) {
  Results results;
  int index = 0;
  for (const Operator* op : all_operators())
    if (options.only.empty() ? index++ % options.every == 0 : op->name == options.only)
      run_operator(*op, options, results);
  print_table("operator", {results.operators.begin(), results.operators.end()});
  std::vector<std::pair<std::string, Tally>> kinds;
  for (std::size_t k = 0; k < kKinds; ++k)
    kinds.emplace_back(std::string(name(static_cast<Kind>(k))), results.kinds[k]);
  kinds.emplace_back("all", results.all);
  print_table("law", kinds);
  double all = 0;
  std::string slow;
  for (const auto& [title, seconds] : results.seconds) {
    all += seconds;
    if (seconds > 5) slow += fmt::format(", {} {:.0f}", title, seconds);
  }
  fmt::print("\n{} operators, {} calls each, {:.0f} s of processor time{}\n", results.operators.size(),
             options.cases, all, slow);
  return results.all[static_cast<std::size_t>(Outcome::Refuted)] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isomer::laws

int main(int argc, char** argv) {
  isomer::laws::Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--verbose") {
      options.verbose = true;
    } else if (i + 1 < arguments.size() && arguments[i] == "--cases") {
      options.cases = std::atoi(arguments[++i].c_str());
    } else if (i + 1 < arguments.size() && arguments[i] == "--sets") {
      options.sets = static_cast<unsigned>(std::clamp(std::atoi(arguments[++i].c_str()), 0, 22));
    } else if (i + 1 < arguments.size() && arguments[i] == "--every") {
      options.every = std::max(1, std::atoi(arguments[++i].c_str()));
    } else if (i + 1 < arguments.size() && arguments[i] == "--only") {
      options.only = arguments[++i];
    } else {
      std::fprintf(stderr,
                   "usage: isomer-laws [--cases N] [--sets LOG2] [--only OP] [--every N] [--verbose]\n");
      return 2;
    }
  }
  return isomer::laws::run(options);
}
