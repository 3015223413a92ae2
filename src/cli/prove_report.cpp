#include "cli/prove_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/json_text.h"
#include "cli/terminal.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kMostConstants = 5, kMostOutputs = 12;  // -v lists all

std::string line(std::string_view text, std::size_t first, std::size_t rest) {
  return std::string(first, ' ') + wrapped(text, columns_of(STDOUT_FILENO), rest, first) + '\n';
}

std::string string_of(const Json& json, const char* field) { return json.at(field).get<std::string>(); }

// " but for 3 denormal numbers of its constants, which are zero", of equal models; or "".
std::string flushed_text(const Json& report) {
  const auto count = report["flushed"].get<std::uint64_t>();
  return count == 0 ? ""
                    : fmt::format(" but for {} denormal number{} of its constants, which {} zero",
                                  grouped(count), count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

// " but for rounding of 3 constants", of equal models; or "".
std::string rounding_text(const Json& report) {
  const int count = report["constants_rounded"].get<int>() + report["constants_restated"].get<int>();
  return count == 0 ? "" : fmt::format(" but for rounding of {} constant{}", count, count == 1 ? "" : "s");
}

// Outputs that were compared though their names differ: "y with p, w with q".
std::string renamed_text(const Json& report) {
  if (report["matched_by"] != "position") return "";
  std::string out;
  std::size_t shown = 0;
  for (const Json& output : report["outputs"]) {
    if (shown++ == kMostOutputs) return out + ", ...";
    out +=
        fmt::format("{}{} with {}", out.empty() ? "" : ", ", string_of(output, "a"), string_of(output, "b"));
  }
  return out;
}

std::string constants_text(const Json& report, bool is_verbose) {
  std::string text;
  std::size_t shown = 0;
  for (const Json& constant : report["constants_differ"]) {
    if (!is_verbose && shown++ >= kMostConstants) {
      const std::size_t more = report["constants_differ"].size() - kMostConstants;
      return text + fmt::format("  and {} more constants differ\n", more);
    }
    text += line(printable(string_of(constant, "words")), 2, 4);
  }
  return text;
}

std::string outputs_text(const Json& report, bool is_verbose) {
  std::string text;
  std::size_t shown = 0;
  const std::string all = string_of(report, "why");
  for (const Json& output : report["outputs"]) {
    if (!is_verbose && shown++ >= kMostOutputs)
      return text + fmt::format("  and {} more outputs\n", report["outputs"].size() - kMostOutputs);
    const std::string why = string_of(output, "why");
    text +=
        line(fmt::format("output {}: {}{}", printable(string_of(output, "a")), string_of(output, "verdict"),
                         why.empty() || all.find(why) != std::string::npos
                             ? ""
                             : ", " + printable(shortened(why, kLongestReason))),
             2, 4);
  }
  return text;
}

}  // namespace

bool has_example(const Json& report) {
  return std::ranges::any_of(report["outputs"],
                             [](const Json& output) { return !output["example"].is_null(); });
}

std::string plain_headline(const Json& report) {
  const std::string verdict = string_of(report, "verdict"), sizes = string_of(report, "sizes");
  if (verdict != "proved")
    return fmt::format("{}: {}", verdict, shortened(string_of(report, "why"), kLongestReason));
  std::string where = sizes.empty() ? "for all inputs" : "for all inputs at " + sizes;
  if (report["sizes_from"].get<int>() > 0) where += ", for all sizes of at least 1";
  const std::string renamed = renamed_text(report);
  const std::string flushed = flushed_text(report), rounding = rounding_text(report);
  const std::string rounded = flushed + (flushed.empty() || rounding.empty() ? rounding : ", and" + rounding);
  return fmt::format(
      "equal{}{} {}{}", rounded, rounded.empty() ? "" : ",", where,
      renamed.empty() ? "" : "; outputs have different names and were compared by position: " + renamed);
}

std::string prove_text(const Json& report, bool is_verbose, bool is_said) {
  const bool is_proved = report["verdict"] == "proved";
  const Colour colour = is_proved                        ? Colour::Green
                        : report["verdict"] == "refuted" ? Colour::Red
                                                         : Colour::Yellow;
  const std::string head = plain_headline(report);
  const auto first_word = std::min(head.find_first_of(": "), head.size());
  // The line is broken before it is coloured, since colours have no width.
  std::string broken = line(printable(head), 0, 2);
  std::string text = paint(broken.substr(0, first_word), colour) + broken.substr(first_word);
  // Constants of equal models are folded into others, say: they are proved all the same.
  if (!is_proved && !(is_said && is_terminal(STDOUT_FILENO))) text += constants_text(report, is_verbose);
  // One output says no more than the headline.
  if (report["outputs"].size() != 1 && (is_verbose || !is_proved)) text += outputs_text(report, is_verbose);
  if (const std::string first = string_of(report, "first_difference"); !first.empty())
    text += line("the models first differ at " + printable(first), 2, 4);
  if (const int disagreements = report["witness_disagreements"].get<int>(); disagreements > 0)
    text += line(fmt::format("the two witnesses disagree on {} question{}, which is a bug of Isomer: {}",
                             disagreements, disagreements == 1 ? "" : "s",
                             printable(string_of(report, "disagreement"))),
                 2, 4);
  const bool is_by_certificate = report["by_certificate"].get<bool>();
  if (is_by_certificate) text += "  by the certificate beside the second model, which was checked again\n";
  if (is_proved && !rounding_text(report).empty())
    text += line(fmt::format("rounded constants differ by at most {:.1g} of their value; --exact-constants "
                             "requires the same digits",
                             number_of(report["worst_relative"])),
                 2, 4);
  if (const int wider = report["widened"].get<int>(); is_proved && wider > 0)
    text += line(fmt::format("{} values of 16-bit floats are computed in float32, with less rounding", wider),
                 2, 4);
  if (is_proved)
    for (const Json& assumed : report["assumed"])
      text += "  assuming the user's definition:\n" + printable_lines(assumed.get<std::string>()) + "\n";
  if (const std::string saved = string_of(report, "input"); !saved.empty())
    text += line("an input that shows it: " + printable(saved), 2, 4);
  else if (has_example(report)) text += "  --save-input F.npz writes an input that shows it\n";
  if (is_proved && is_verbose && !is_by_certificate)
    text += line(fmt::format("{} pairs of values were proved equal; a second witness tested each proof by "
                             "exact arithmetic at {} points",
                             report["pairs"].get<std::int64_t>(),
                             grouped(report["witnesses"]["field_points"].get<std::uint64_t>())),
                 2, 2);
  return text;
}

}  // namespace isomer::cli
