#include "app/optimize/change_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace isomer {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// "Conv, Add and Mul"
std::string listed(const std::vector<std::string>& words) {
  if (words.empty()) return "nodes";
  if (words.size() == 1) return words[0];
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

struct Label {
  std::string kind;
  std::vector<std::string> before, after;
  bool had(const std::string& op) const { return std::ranges::find(before, op) != before.end(); }
  bool has(const std::string& op) const { return std::ranges::find(after, op) != after.end(); }
  bool is_only(const std::set<std::string>& ops) const {
    return std::set<std::string>(before.begin(), before.end()) == ops;
  }
};

Label parse(std::string_view text) {
  Label out;
  const auto colon = text.find(": "), arrow = text.find(" -> ");
  out.kind = text.substr(0, colon);
  if (colon == std::string_view::npos || arrow == std::string_view::npos) return out;
  out.before = split(text.substr(colon + 2, arrow - colon - 2), '+');
  out.after = split(text.substr(arrow + 4), '+');
  return out;
}

std::string collapsed(const Label& l) {
  const std::string one = l.has("Conv")                      ? "one convolution"
                          : l.has("ConvTranspose")           ? "one transposed convolution"
                          : l.has("Gemm") || l.has("MatMul") ? "one matrix product"
                                                             : listed(l.after);
  if (l.has("Conv")) {
    if (l.is_only({"Conv", "BatchNormalization"})) return "batch normalization folded into its convolution";
    const bool is_plain = std::ranges::all_of(l.before, [](const std::string& op) {
      return op == "Conv" || op == "Add" || op == "BatchNormalization" || op == "Sum" || op == "Identity";
    });
    if (is_plain && (l.had("Add") || l.had("Sum"))) return "parallel branches merged into one convolution";
    if (is_plain) return "convolutions in a row merged into one";
  }
  return fmt::format("{} merged into {}", listed(l.before), one);
}

std::string reassociated(const Label& l) {
  const std::string what = l.had("Conv") ? "convolution" : "matrix product";
  if (l.has("Split")) return fmt::format("several nodes on one value ({}) merged into one", listed(l.before));
  if (l.had("Concat") && l.has("Add"))
    return fmt::format("{} of joined values done as a sum over the parts", what);
  if (l.before == l.after) return fmt::format("{} in a cheaper order", listed(l.before));
  return fmt::format("{} done as {}, which costs less", listed(l.before), listed(l.after));
}

}  // namespace

std::string short_name(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  const auto at = name.rfind("_output_");
  const bool is_numbered = at != std::string_view::npos && at + 8 < name.size() &&
                           name.find_first_not_of("0123456789", at + 8) == std::string_view::npos;
  return std::string(is_numbered ? name.substr(0, at) : name);
}

std::string words_of_step(std::string_view kind, std::string_view what) {
  // "10 nodes linear in /stages/stages.0/Relu_output_0 are one 1x1 convolution"
  constexpr std::string_view kLinear = " nodes linear in ", kAre = " are one ";
  const auto linear = what.find(kLinear), are = what.rfind(kAre);
  if (kind == "collapse" && linear != std::string_view::npos && are != std::string_view::npos &&
      are > linear) {
    const std::string_view from = what.substr(linear + kLinear.size(), are - linear - kLinear.size());
    const std::string_view to = what.substr(are + kAre.size());  // "1x1 convolution"
    std::string size;
    for (const char c : to.substr(0, to.find(' '))) size += c == 'x' ? "×" : std::string(1, c);
    return fmt::format("{} nodes after {} merged into one {}{}", what.substr(0, linear), short_name(from),
                       size, to.substr(std::min(to.find(' '), to.size())));
  }
  std::vector<std::string> words = split(what, ' ');
  for (std::string& w : words)
    if (w.find('/') != std::string::npos || w.find("_output_") != std::string::npos) w = short_name(w);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string words_of_progress(std::string_view now) {
  constexpr std::string_view kProving = "proving: ", kMeasuring = "measuring ", kRegions = " regions, ";
  if (now.starts_with(kProving))
    return std::string(kProving) + words_of_step("collapse", now.substr(kProving.size()));
  const auto regions = now.find(kRegions);
  if (!now.starts_with(kMeasuring) || regions == std::string_view::npos) return std::string(now);
  return fmt::format("{} × {}", now.substr(0, regions),
                     words_of_group(now.substr(regions + kRegions.size())));
}

std::string words_of_group(std::string_view label) {
  const Label l = parse(label);
  if (l.kind == "simplify")
    return "known values computed beforehand, nodes that change nothing or repeat others removed";
  if (l.kind == "widen") return "16-bit floats computed in float32, cast at their borders only: rounded less";
  if (l.before.empty()) return std::string(label);
  if (l.kind == "collapse") return collapsed(l);
  if (l.kind == "reassociate" || l.kind == "linear") return reassociated(l);
  if (l.kind == "needed") return fmt::format("only what is read is computed of {}", listed(l.before));
  if (l.kind == "batch")
    return fmt::format("equal computations on several inputs as one: {}", listed(l.before));
  if (l.kind == "commute") return fmt::format("{} moved to where less has to be computed", listed(l.before));
  if (l.kind == "fastpath")
    return l.before == l.after
               ? fmt::format("{} in a form that the runtime has a faster kernel for", listed(l.before))
               : fmt::format("{} as {}, which the runtime has a faster kernel for", listed(l.before),
                             listed(l.after));
  if (l.kind == "partial")
    return fmt::format("{} done another way, and its border as before", listed(l.before));
  if (l.kind == "bilinear") return "3x3 convolution with fewer multiplications (Winograd)";
  return fmt::format("{} replaced by {}", listed(l.before), listed(l.after));
}

}  // namespace isomer
