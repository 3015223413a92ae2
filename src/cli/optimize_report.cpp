#include "cli/optimize_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/json_text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr double kWidest = 4;          // high to low, of an interval that is worth showing
constexpr std::size_t kMostLines = 2;  // of changes or candidates; -v has all

std::size_t columns() { return columns_of(STDOUT_FILENO); }

// "  why: ..." in lines that fit.
std::string paragraph(std::string_view text, std::size_t first, std::size_t rest) {
  return std::string(first, ' ') + wrapped(text, columns(), rest, first) + '\n';
}

std::string interval_text(const Interval& ns) {
  // After two rounds on a busy machine an interval such as "1.4 ms to 18 s" does not help.
  if (!std::isfinite(ns.high) || ns.high > kWidest * ns.low) return "about " + latency_text(ns.estimate);
  return fmt::format("{} [{}, {}]", latency_text(ns.estimate), latency_text(std::max(0.0, ns.low)),
                     latency_text(ns.high));
}

// "1.25× [1.23, 1.27]", a 95 % interval
std::string gain_text(const Interval& ratio) {
  if (ratio.high > kWidest * ratio.low)
    return fmt::format("{:.2f}× (at least {:.2f}×)", ratio.estimate, ratio.low);
  return fmt::format("{:.2f}× [{:.2f}, {:.2f}]", ratio.estimate, ratio.low, ratio.high);
}

bool is_changed(const Json& report) { return report["result"] != "unchanged"; }

std::string string_of(const Json& json, const char* field) { return json.at(field).get<std::string>(); }

std::string headline(const Json& report, const OptimizeWords& words) {
  const std::string out = printable(words.out.string());
  if (report["result"] == "improved") {
    if (words.is_simplified)
      return paint(fmt::format("{}: {} nodes → {}, proved equal", out,
                               grouped(report["nodes_in"].get<std::uint64_t>()),
                               grouped(report["nodes_out"].get<std::uint64_t>())),
                   Colour::Green);
    if (report["ratio"].is_null())
      return paint(out + ": rewritten and proved equal, not measured", Colour::Green);
    return paint(fmt::format("{}: {} faster, proved equal{}", out, gain_text(interval_of(report, "ratio")),
                             report["flushed"] > 0 ? " but for denormal weights" : ""),
                 Colour::Green);
  }
  if (is_changed(report))
    return paint(fmt::format("{}: simplified and proved equal, not faster", out), Colour::Green);
  if (string_of(report, "certificate").empty())
    return paint("unchanged: no file was written", Colour::Yellow);
  if (!report["fixed"].empty())
    return paint(out + ": fixed to one size, otherwise unchanged", Colour::Yellow);
  return paint(fmt::format("{}: unchanged, a copy of {}", out, printable(words.in.string())), Colour::Yellow);
}

std::string megabytes(const Json& count) {
  const auto bytes = count.get<std::uint64_t>();
  if (bytes < 100'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) * 1e-3);
  const double value = static_cast<double>(bytes) * 1e-6;
  return fmt::format("{:.{}f} MB", value, value < 1 ? 3 : value < 100 ? 2 : 0);
}

// Before and after, a column for what was measured.
std::string comparison(const Json& report) {
  using enum Table::Align;
  const Json &before = report["before"], &after = report["after"];
  if (before.is_null() && !is_changed(report)) return "";
  std::vector<Table::Column> columns{{"", Left}};
  std::vector<std::string> first{"before"}, second{is_changed(report) ? "after" : "tried"};
  const auto add = [&](const char* title, std::string a, std::string b) {
    columns.push_back({title, Right});
    first.push_back(std::move(a));
    second.push_back(std::move(b));
  };
  if (!before.is_null() && !after.is_null())
    add("latency", interval_text(interval_of(before["latency_ns"])),
        interval_text(interval_of(after["latency_ns"])));
  if (is_changed(report)) {
    add("nodes", grouped(report["nodes_in"].get<std::uint64_t>()),
        grouped(report["nodes_out"].get<std::uint64_t>()));
    add("file", megabytes(report["bytes_in"]), megabytes(report["bytes_out"]));
  }
  if (!before.is_null() && !before["peak_bytes"].is_null() && !after["peak_bytes"].is_null())
    add("memory", megabytes(before["peak_bytes"]), megabytes(after["peak_bytes"]));
  if (!report["error_before"].is_null() && !report["error_after"].is_null())
    add("rounding", fmt::format("{:.1e}", number_of(report["error_before"])),
        fmt::format("{:.1e}", number_of(report["error_after"])));
  Table table(std::move(columns));
  table.add(std::move(first));
  table.add(std::move(second));
  return table.text(isomer::cli::columns());
}

std::string measured_on(const Json& report, bool is_verbose) {
  const Json& runtime = report["runtime"];
  if (string_of(runtime, "name").empty()) return "";
  const int threads = runtime["threads"].get<int>();
  return fmt::format("on {} {}, {}{}; inputs {}", string_of(runtime, "title"),
                     printable(string_of(runtime, "version")),
                     threads == 0   ? "its own number of threads"
                     : threads == 1 ? "1 thread"
                                    : fmt::format("{} threads", threads),
                     is_verbose ? ", " + printable(string_of(report, "machine")) : "",
                     printable(string_of(report, "inputs")));
}

struct Line {
  std::string what;
  int places = 0, fewer = 0;
  double ratio = 0;
};

// A line that is cut where it would not fit.
std::string one_line(const std::string& text) { return shortened(text, columns()) + '\n'; }

// "  43 × parallel branches merged into one convolution (215 fewer nodes), 1.90× measured alone"
std::string lines_text(const std::vector<Line>& lines, bool all) {
  std::string text;
  std::size_t shown = 0;
  for (const Line& l : lines) {
    if (!all && lines.size() > kMostLines + 1 && shown++ >= kMostLines) {
      text += fmt::format("    and {} more kinds; -v lists them\n", lines.size() - kMostLines);
      break;
    }
    std::string what = l.what;
    if (l.fewer > 0)
      what += fmt::format(", {} fewer node{}", grouped(static_cast<std::uint64_t>(l.fewer)),
                          l.fewer == 1 ? "" : "s");
    if (l.ratio > 0) what += fmt::format(", {:.2f}× measured alone", l.ratio);
    text += all ? fmt::format("  {:>4} × {}\n", l.places, wrapped(printable(what), columns(), 9, 9))
                : one_line(fmt::format("  {:>4} × {}", l.places, printable(what)));
  }
  return text;
}

// The line with the same words: what has the same words is one to its reader.
Line& line_for(std::vector<Line>& lines, const Json& change) {
  const std::string words = string_of(change, "words");
  auto at = std::ranges::find(lines, words, &Line::what);
  if (at == lines.end()) at = lines.insert(at, {words, 0, 0, 0});
  at->places += change["places"].get<int>();
  if (!change["ratio"].is_null()) at->ratio = std::max(at->ratio, number_of(change["ratio"]));
  return *at;
}

std::vector<Line> done_lines(const Json& report) {
  std::vector<Line> lines;
  for (const Json& group : report["groups"]) {
    Line& line = line_for(lines, group);
    // Nodes that a simplification leaves unread go with it, uncounted: the table has the sum.
    if (group["kind"] != "simplify") line.fewer += group["fewer_nodes"].get<int>();
  }
  std::ranges::stable_sort(lines, std::greater<>{}, &Line::places);
  return lines;
}

std::vector<Line> tried_lines(const Json& report) {
  std::vector<Line> lines;
  for (const Json& region : report["regions"]) line_for(lines, region);
  std::ranges::stable_sort(lines, std::greater<>{}, &Line::ratio);
  return lines;
}

bool has_kernels(const Json& report) {
  return !report["kernels"].is_null() && report["kernels"]["is_taken"].get<bool>();
}

// The files beside the result.
std::string files_text(const Json& report, const OptimizeWords& words) {
  const auto name = [&](const std::string& file) {
    const std::filesystem::path path(file);
    return printable(path.parent_path() == words.out.parent_path() ? path.filename().string() : file);
  };
  std::string text = "with " + name(string_of(report, "certificate"));
  if (has_kernels(report)) {
    const Json& kernels = report["kernels"];
    const std::string weights = string_of(kernels, "weights");
    text += (weights.empty() ? " and " : ", ") + name(string_of(kernels, "library"));
    if (!weights.empty())
      text += fmt::format(" and {} ({})", name(weights), megabytes(kernels["weight_bytes"]));
    if (kernels["is_kept"].get<bool>()) text += ", of an earlier run, proved and measured again";
  }
  if (report["sizes_from"] > 0) text += "; proved for all sizes of at least 1";
  return paragraph(text, 2, 4);
}

// The result of --kernels at each size, or why there are none.
std::string kernels_text(const Json& report, const OptimizeWords& words) {
  const Json& kernels = report["kernels"];
  if (kernels.is_null()) return "";
  if (!has_kernels(report)) return paragraph("no kernels: " + printable(string_of(kernels, "reason")), 2, 4);
  std::string text;
  for (const Json& at : kernels["sizes"]) {
    if (kernels["sizes"].size() == 1 && !words.is_verbose) break;  // the headline has it
    std::string sizes = fmt::format("{}", fmt::join(at["sizes"].get<std::vector<std::string>>(), " "));
    text += paragraph(
        fmt::format("at {}: {}", printable(sizes),
                    at["speed"].is_null() ? printable(string_of(at, "reason"))
                                          : fmt::format("{:.2f}× faster", number_of(at["speed"]["ratio"]))),
        4, 6);
  }
  const Json& every = kernels["every_size"];
  if (!every.is_null() && (words.is_verbose || !every["is_taken"].get<bool>()))
    text +=
        paragraph(every["is_taken"].get<bool>()
                      ? "kernels run at every size that they support; the model's own nodes run at others"
                      : "at all other sizes: the model's own nodes: " + printable(string_of(every, "reason")),
                  4, 6);
  return text;
}

// The next step, at the end.
std::string next_step(const Json& report, const OptimizeWords& words) {
  const bool is_measured_on_ort = string_of(report["runtime"], "name") == "ort";
  std::string text;
  if (has_kernels(report))
    text = fmt::format("load it in Python: isomer.InferenceSession(\"{}\")", printable(words.out.string()));
  else if (report["kernels"].is_null() && is_measured_on_ort && !words.is_simplified)
    text = "try --kernels: it also compiles kernels for this model";
  if (report["stopped_by"] == "budget" && report["result"] == "improved")
    text += std::string(text.empty() ? "" : "; or ") + "try a longer --budget: the time ended the search";
  return text.empty() ? "" : paragraph("next, " + text, 2, 4);
}

// The use of the cache, and its place.
std::string cache_text(const Json& report) {
  const Json &cache = report["cache"], &search = report["search"];
  if (const std::string trouble = string_of(cache, "trouble"); !trouble.empty()) return "cache: " + trouble;
  return fmt::format(
      "cache: {} comparisons, {} proof hints and {} known failures reused; {}, {} (--cache, --cache-size)",
      search["known_measurements"].get<std::int64_t>(), search["known_proofs"].get<std::int64_t>(),
      search["known_refusals"].get<std::int64_t>(), string_of(cache, "place"),
      bytes_text(cache["bytes"].get<std::uint64_t>()));
}

std::string details(const Json& report) {
  std::string text = "\n";
  const auto list = [&](const char* title, const Json& lines) {
    if (!lines.empty()) text += fmt::format("  {}\n", title);
    for (const Json& line : lines)
      text += paragraph(printable(shortened(line.get<std::string>(), kLongestReason)), 4, 6);
  };
  list("each step", report["changes_in_words"]);
  list("not proved, or not accepted", report["not_taken"]);
  list("examined without a proposal", report["left_alone"]);
  const auto count = [&](const char* field) { return report["search"][field].get<std::int64_t>(); };
  text += paragraph(fmt::format("the search visited {} graphs and {} kinds of change; {} proofs, {} more "
                                "from the proof cache; {:.1f} s in all",
                                count("states"), count("regions"), count("proofs"), count("cache_hits"),
                                number_of(report["seconds"])),
                    2, 2);
  if (!report["cache"].is_null()) text += paragraph(cache_text(report), 2, 2);
  return text;
}

}  // namespace

std::string optimize_text(const Json& report, const OptimizeWords& words) {
  std::string text = headline(report, words) + '\n';
  const std::string reason = string_of(report, "reason"), certificate = string_of(report, "certificate");
  if (!reason.empty()) text += paragraph("why: " + printable(reason), 2, 7);
  text += comparison(report);
  if (!report["ratio"].is_null()) {
    for (const Json& at : report["sizes"])
      text += paragraph(
          fmt::format("at {}: {}", printable(string_of(at, "size")), gain_text(interval_of(at, "ratio"))), 4,
          6);
    const std::string measured = "measured " + measured_on(report, words.is_verbose);
    text += words.is_verbose ? paragraph(measured, 2, 4) : one_line("  " + measured);
  }
  if (is_changed(report)) {
    if (const auto done = done_lines(report); !done.empty()) text += lines_text(done, words.is_verbose);
  } else if (const auto tried = tried_lines(report); !tried.empty()) {
    text += "  candidates\n" + lines_text(tried, words.is_verbose);
  }
  text += kernels_text(report, words);
  for (const Json& a : report["advice"])
    text += paragraph(fmt::format("advice: with {}={} the original is {:.2f}× faster [{:.2f}, {:.2f}]: {}",
                                  string_of(a, "option"), string_of(a, "value"), number_of(a["ratio"]),
                                  number_of(a["low"]), number_of(a["high"]), printable(string_of(a, "why"))),
                      2, 10);
  if (report["stopped_by"] == "interrupt" && is_changed(report)) text += "  stopped by Ctrl-C\n";
  if (report["search"]["saturation"]["greedy"] > 0)
    text += paragraph(
        "the choice was greedy, not exact: HiGHS (libhighs.so.1) is not installed, or did not answer", 2, 4);
  if (!report["fixed"].empty())
    text += paragraph(fmt::format("for one size only; check it with: isomer check {} {} {} --shape {}",
                                  words.in.string(), words.out.string(), certificate,
                                  fmt::join(report["fixed"].get<std::vector<std::string>>(), " --shape ")),
                      2, 4);
  if (!certificate.empty() && is_changed(report)) text += files_text(report, words);
  for (const Json& at : report["at_zero"])
    text += paragraph(
        fmt::format("at {}; --sizes-from 0 rejects such results", printable(at.get<std::string>())), 2, 4);
  if (const auto flushed = report["flushed"].get<std::uint64_t>(); flushed > 0)
    text +=
        paragraph(fmt::format("assumption: {} weights below 2^-126 are zero; a sum of products with them "
                              "changes by at most {:.0e} of its largest input; --keep-denormals keeps them",
                              grouped(flushed), number_of(report["flushed_bound"])),
                  2, 4);
  if (is_changed(report))
    for (const Json& assumed : report["assumed"])
      text += "  assuming the user's definition:\n" + printable_lines(assumed.get<std::string>()) + "\n";
  if (words.is_verbose) text += details(report);
  text += next_step(report, words);
  return text;
}

}  // namespace isomer::cli
