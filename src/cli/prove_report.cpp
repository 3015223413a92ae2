#include "cli/prove_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/reason_words.h"
#include "cli/terminal.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kMostConstants = 5, kMostOutputs = 12;  // -v lists all

std::string_view word(Answer answer) {
  return answer == Answer::Proved ? "proved" : answer == Answer::Refuted ? "refuted" : "undecided";
}

std::string line(std::string_view text, std::size_t first, std::size_t rest) {
  return std::string(first, ' ') + wrapped(text, columns_of(STDOUT_FILENO), rest, first) + '\n';
}

// The largest relative difference that so many last places of a float are.
double relative_of(double ulp) { return ulp * 0x1p-23; }

std::string rounding_text(const ModelsVerdict& v) {
  const int other = v.constants_rounded + v.constants_restated;
  if (other == 0) return "";
  return fmt::format("{} constant{} {} rounded otherwise, by {:.1g} of {} value at most", other,
                     other == 1 ? "" : "s", other == 1 ? "is" : "are", relative_of(v.worst_ulp),
                     other == 1 ? "its" : "their");
}

}  // namespace

std::string plain_headline(const ProveAnswer& answer) {
  const ModelsVerdict& v = answer.verdict;
  if (v.answer != Answer::Proved) return fmt::format("{}: {}", word(v.answer), plain_reason(v.why));
  const std::string where = answer.sizes.empty() ? "for all inputs" : "for all inputs at " + answer.sizes;
  const std::string rounded = rounding_text(v);
  return fmt::format("equal {}{}", where, rounded.empty() ? "" : ", but for rounding: " + rounded);
}

std::string to_text(const ProveAnswer& answer, bool is_verbose, bool is_said) {
  const ModelsVerdict& v = answer.verdict;
  const Colour colour = v.answer == Answer::Proved    ? Colour::Green
                        : v.answer == Answer::Refuted ? Colour::Red
                                                      : Colour::Yellow;
  const std::string head = plain_headline(answer);
  const auto first_word = std::min(head.find_first_of(": "), head.size());
  // The line is broken before it is coloured, since colours have no width.
  std::string broken = line(printable(head), 0, 2);
  std::string text = painted(broken.substr(0, first_word), colour) + broken.substr(first_word);
  std::size_t shown = 0;
  for (const ConstantDifference& d : answer.constants) {
    if (is_said && is_terminal(STDOUT_FILENO)) break;
    if (v.answer == Answer::Proved) break;  // folded into others, say: it is proved all the same
    if (!is_verbose && shown++ >= kMostConstants) {
      text += fmt::format("  and {} more constants differ\n", answer.constants.size() - kMostConstants);
      break;
    }
    text += line(printable(isomer::text(d)), 2, 4);
  }
  // One output says no more than the headline.
  shown = 0;
  for (const auto& o : v.outputs) {
    if (v.outputs.size() == 1 || (!is_verbose && v.answer == Answer::Proved)) break;
    if (!is_verbose && shown++ >= kMostOutputs) {
      text += fmt::format("  and {} more outputs\n", v.outputs.size() - kMostOutputs);
      break;
    }
    text += line(fmt::format("output {}: {}{}", printable(o.a), word(o.answer),
                             o.why.empty() || v.why.find(o.why) != std::string::npos
                                 ? ""
                                 : ", " + printable(plain_reason(o.why))),
                 2, 4);
  }
  if (!v.first_difference.empty()) text += line("the models part at " + printable(v.first_difference), 2, 4);
  if (v.witness_disagreements > 0)
    text += line(fmt::format("the two witnesses disagree on {} question{}, a mistake of Isomer's: {}",
                             v.witness_disagreements, v.witness_disagreements == 1 ? "" : "s",
                             printable(v.disagreement)),
                 2, 4);
  if (answer.is_by_certificate) text += "  by the certificate beside the second model, checked again\n";
  if (!answer.saved.empty()) text += line("an input that shows it: " + printable(answer.saved), 2, 4);
  else if (v.example) text += "  --save-input F.npz writes an input that shows it\n";
  if (v.answer == Answer::Proved && is_verbose && !answer.is_by_certificate)
    text +=
        line(fmt::format("{} pairs of values were proved equal, one after the other; each proof was tested "
                         "a second time by exact arithmetic at {} points",
                         v.proofs, grouped(static_cast<std::uint64_t>(v.points))),
             2, 2);
  return text;
}

}  // namespace isomer::cli
