#include "cli/optimize_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/reason_words.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "pipeline/change_words.h"
#include "runtime/engines.h"

namespace isomer::cli {
namespace {

using Outcome = OptimizeReport::Result;

constexpr double kWidest = 4;          // high to low, of an interval that is worth showing
constexpr std::size_t kMostLines = 8;  // of what was done or tried; -v has all

std::size_t columns() { return columns_of(STDOUT_FILENO); }

// "  why: ..." in lines that fit.
std::string paragraph(std::string_view text, std::size_t first, std::size_t rest) {
  return std::string(first, ' ') + wrapped(text, columns(), rest, first) + '\n';
}

std::string interval_text(const Interval& ns) {
  // Of two rounds on a busy machine: no reader is helped by "1.4 ms to 18 s".
  if (!std::isfinite(ns.high) || ns.high > kWidest * ns.low) return "about " + latency_text(ns.estimate);
  return fmt::format("{} [{}, {}]", latency_text(ns.estimate), latency_text(std::max(0.0, ns.low)),
                     latency_text(ns.high));
}

// "1.25 times faster [1.23, 1.27]" or "0.99 times [0.98, 1.01]"
std::string gain_text(const Interval& ratio) {
  if (ratio.high > kWidest * ratio.low)
    return fmt::format("{:.2f} times as fast, at least {:.3f}, by few measurements", ratio.estimate,
                       ratio.low);
  return fmt::format("{:.3f} times as fast [{:.3f}, {:.3f}]", ratio.estimate, ratio.low, ratio.high);
}

std::string headline(const OptimizeReport& report, const OptimizeWords& words) {
  const std::string out = printable(words.out.string());
  switch (report.result) {
    case Outcome::Improved:
      if (!report.ratio) return painted(out + ": rewritten and proved equal, not measured", Colour::Green);
      return painted(fmt::format("{}: {:.2f} times as fast, proved equal", out, report.ratio->estimate),
                     Colour::Green);
    case Outcome::Simplified:
      return painted(fmt::format("{}: simplified and proved equal, not faster", out), Colour::Green);
    case Outcome::Unchanged: break;
  }
  if (report.certificate.empty()) return painted("unchanged: nothing was written", Colour::Yellow);
  if (!words.context.fixed.empty())
    return painted(out + ": fixed to one size, else unchanged", Colour::Yellow);
  return painted(fmt::format("{}: unchanged, a copy of {}", out, printable(words.in.string())),
                 Colour::Yellow);
}

std::string megabytes(std::uintmax_t bytes) {
  if (bytes < 100'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) * 1e-3);
  const double value = static_cast<double>(bytes) * 1e-6;
  return fmt::format("{:.{}f} MB", value, value < 1 ? 3 : value < 100 ? 2 : 0);
}

std::string comparison(const OptimizeReport& report) {
  using enum Table::Align;
  const bool is_changed = report.result != Outcome::Unchanged;
  if (!report.before && !is_changed) return "";
  Table table({{"", Left}, {"before", Right}, {is_changed ? "after" : "tried", Right}});
  if (report.before && report.after)
    table.add({"latency", interval_text(report.before->latency_ns), interval_text(report.after->latency_ns)});
  if (is_changed) {
    table.add({"nodes", grouped(report.nodes_in), grouped(report.nodes_out)});
    table.add({"file", megabytes(report.bytes_in), megabytes(report.bytes_out)});
  }
  if (report.before && report.before->peak_bytes && report.after->peak_bytes)
    table.add({"peak memory", megabytes(static_cast<std::uintmax_t>(*report.before->peak_bytes)),
               megabytes(static_cast<std::uintmax_t>(*report.after->peak_bytes))});
  if (report.error_before && report.error_after)
    table.add({"rounding error", fmt::format("{:.1e}", *report.error_before),
               fmt::format("{:.1e}", *report.error_after)});
  return table.text(columns());
}

std::string measured_on(const OptimizeReport& report, const OptimizeWords& words) {
  if (report.runtime.empty()) return "";
  const Engine* engine = engine_named(report.runtime);
  return fmt::format("on {} {}, {}, {}; inputs {}", engine ? engine->title : report.runtime,
                     printable(report.runtime_version),
                     words.context.threads == 0   ? "its own number of threads"
                     : words.context.threads == 1 ? "1 thread"
                                                  : fmt::format("{} threads", words.context.threads),
                     printable(words.context.machine), printable(words.context.inputs));
}

struct Line {
  std::string what;
  int places = 0, fewer = 0;
  double ratio = 0;
};

// "  43 × parallel branches merged into one convolution (215 fewer nodes), 1.90 times as fast in its place"
std::string lines_text(const std::vector<Line>& lines, bool all) {
  std::string text;
  std::size_t shown = 0;
  for (const Line& l : lines) {
    if (!all && shown++ >= kMostLines) {
      text += fmt::format("    and {} more kinds; -v lists them\n", lines.size() - kMostLines);
      break;
    }
    std::string what = l.what;
    if (l.fewer > 0)
      what += fmt::format(", {} fewer node{}", grouped(static_cast<std::uint64_t>(l.fewer)),
                          l.fewer == 1 ? "" : "s");
    if (l.ratio > 0) what += fmt::format(", {:.2f} times as fast in its place", l.ratio);
    text += fmt::format("  {:>4} × {}\n", l.places, wrapped(printable(what), columns(), 9, 9));
  }
  return text;
}

// Groups with the same words are one to their reader.
std::vector<Line> done_lines(const OptimizeReport& report) {
  std::vector<Line> lines;
  for (const auto& g : report.groups) {
    const std::string words = words_of_group(g.what);
    auto at = std::ranges::find(lines, words, &Line::what);
    if (at == lines.end()) at = lines.insert(at, {words, 0, 0, 0});
    at->places += g.places;
    // What a simplification leaves without a reader goes with it, uncounted: the table has the sum.
    if (!g.what.starts_with("simplify")) at->fewer += g.fewer;
    at->ratio = std::max(at->ratio, g.ratio);
  }
  std::ranges::stable_sort(lines, std::greater<>{}, &Line::places);
  return lines;
}

std::vector<Line> tried_lines(const OptimizeReport& report) {
  std::vector<Line> lines;
  for (const auto& r : report.search.regions) {
    const std::string words = words_of_group(r.what);
    auto at = std::ranges::find(lines, words, &Line::what);
    if (at == lines.end()) at = lines.insert(at, {words, 0, 0, 0});
    at->places += r.places;
    at->ratio = std::max(at->ratio, r.ratio.estimate);
  }
  std::ranges::stable_sort(lines, std::greater<>{}, &Line::ratio);
  return lines;
}

std::string details(const OptimizeReport& report, const OptimizeWords& words) {
  std::string text = "\n";
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += fmt::format("  {}\n", title);
    for (const std::string& l : lines) text += paragraph(printable(plain_reason(l)), 4, 6);
  };
  std::vector<std::string> steps;
  for (const std::string& c : report.changes) steps.push_back(words_of_step("collapse", c));
  list("each step", steps);
  list("not proved, or not accepted", report.search.refused);
  list("looked at and left alone", report.search.declined);
  const SearchReport& s = report.search;
  text +=
      paragraph(fmt::format("the search looked at {} graphs and {} kinds of change; {} proofs were tried, "
                            "{} more were equal to one of them; {:.1f} s in all",
                            s.states, s.unique_regions, s.proofs, s.cache_hits, report.seconds),
                2, 2);
  if (!words.cache.empty()) text += paragraph(words.cache, 2, 2);
  return text;
}

}  // namespace

std::string to_text(const OptimizeReport& report, const OptimizeWords& words) {
  std::string text = headline(report, words) + '\n';
  if (!report.reason.empty()) text += paragraph("why: " + printable(report.reason), 2, 7);
  text += comparison(report);
  if (report.ratio) {
    text += paragraph("speed: " + gain_text(*report.ratio) + ", 95 % interval", 2, 9);
    text += paragraph("measured " + measured_on(report, words), 2, 4);
  }
  if (report.result != Outcome::Unchanged) {
    text += "  what was done\n" + lines_text(done_lines(report), words.is_verbose);
  } else if (const auto tried = tried_lines(report); !tried.empty()) {
    text += "  what was tried\n" + lines_text(tried, words.is_verbose);
  }
  for (const Advice& a : report.advice)
    text += paragraph(
        fmt::format("advice: with {}={} the original is {:.2f} times as fast [{:.2f}, {:.2f}]: {}", a.option,
                    a.value, a.ratio.estimate, a.ratio.low, a.ratio.high, printable(a.why)),
        2, 10);
  if (report.search.stopped_by == StoppedBy::Interrupt && report.result != Outcome::Unchanged)
    text += "  stopped by Ctrl-C\n";
  else if (report.search.stopped_by == StoppedBy::Budget && report.result == Outcome::Improved)
    text += "  the time ran out; a longer --budget may find more\n";
  if (!words.context.fixed.empty())
    text += paragraph(fmt::format("for one size only: isomer check {} {} {} --shape {}", words.in.string(),
                                  words.out.string(), report.certificate.string(),
                                  fmt::join(words.context.fixed, " --shape ")),
                      2, 4);
  if (!report.certificate.empty() && report.result != Outcome::Unchanged)
    text += paragraph("certificate: " + printable(report.certificate.string()), 2, 4);
  if (words.is_verbose) text += details(report, words);
  return text;
}

}  // namespace isomer::cli
