#include "cli/scan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

// Less by cost is not worth a measurement: what is measured must gain 2 %, and a cost is not that exact.
constexpr double kWorthTrying = 1.05;
// Denormal weights: fewer of all weights than this are a few among thousands of products.
constexpr double kManyDenormals = 0.005;
constexpr std::size_t kMostNames = 3;     // of operators, in one cell
constexpr std::size_t kWidestName = 40;   // for texts from files, in one cell
constexpr std::size_t kMostSkipped = 20;  // lines; --json has all of them

std::string text_at(const Json& of, const char* field) { return of[field].get<std::string>(); }

std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

double ratio_of(const Json& model) {
  return model["estimate"].is_null() ? 0 : model["estimate"]["ratio"].get<double>();
}

double denormal_share(const Json& model) {
  if (model["estimate"].is_null() || model["estimate"]["float_weights"] == 0) return 0;
  return model["estimate"]["denormal_weights"].get<double>() /
         model["estimate"]["float_weights"].get<double>();
}

bool has_denormals(const Json& model) { return denormal_share(model) >= kManyDenormals; }

bool is_worth_trying(const Json& model) {
  return model["same_as"].is_null() && (ratio_of(model) >= kWorthTrying || has_denormals(model));
}

// The best first; those without an estimate last.
std::vector<const Json*> ranked(const Json& report) {
  std::vector<const Json*> models;
  for (const Json& model : report["models"]) models.push_back(&model);
  std::ranges::stable_sort(models, std::greater<>{}, [](const Json* model) {
    return std::pair(is_worth_trying(*model), ratio_of(*model));
  });
  return models;
}

std::string answer(const Json& report, const ScanWords& words) {
  std::uint64_t files = 0, bytes = 0, distinct = 0, worth = 0;
  std::set<std::string> packages;
  for (const Json& model : report["models"]) {
    const std::uint64_t times = 1 + model["copies"].size();
    files += times;
    bytes += times * model["bytes"].get<std::uint64_t>();
    distinct += model["same_as"].is_null() ? 1 : 0;
    worth += is_worth_trying(model) ? 1 : 0;
    if (!text_at(model, "package").empty()) packages.insert(text_at(model, "package"));
  }
  if (files == 0) return "No ONNX model was found.";
  std::string out = plural(files, "model");
  if (distinct < files) out += fmt::format(" ({} distinct)", grouped(distinct));
  if (!packages.empty()) out += " in " + plural(packages.size(), "package");
  out += ", " + bytes_text(bytes);
  if (words.seconds_per_model > 0)
    out += fmt::format("; {} would likely be faster, by an estimate", worth == 0 ? "none" : grouped(worth));
  return out + '.';
}

// Names in the table: the package and the file, with its folder where two have the same.
std::map<std::string, std::string> names_of(const Json& report) {
  const auto name_of = [](const Json& model, bool has_folder) {
    const std::filesystem::path path = text_at(model, "path");
    const auto name = has_folder ? path.parent_path().filename() / path.stem() : path.stem();
    return (std::filesystem::path(text_at(model, "package")) / name).string();
  };
  std::map<std::string, int> times;
  for (const Json& model : report["models"]) ++times[name_of(model, false)];
  std::map<std::string, std::string> out;
  for (const Json& model : report["models"])
    out[text_at(model, "path")] = name_of(model, times.at(name_of(model, false)) > 1);
  return out;
}

// Both ends of a name matter more than its middle: the package and the file.
std::string cut_in_middle(const std::string& text, std::size_t most) {
  constexpr std::string_view kGap = "...";
  const std::string whole = printable(text);
  // Bytes of other alphabets are not cut apart: such a name loses its end.
  if (width(whole) <= most || width(whole) != whole.size()) return shortened(whole, most);
  const std::size_t end = (most - kGap.size()) * 2 / 3, begin = most - kGap.size() - end;
  return whole.substr(0, begin) + std::string(kGap) + whole.substr(whole.size() - end);
}

std::string operators_text(const Json& opaque) {
  std::vector<std::string> names;
  for (const Json& entry : opaque) {
    const std::string name = printable(text_at(entry, "op"), kWidestName);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  const bool is_cut = names.size() > kMostNames;
  if (is_cut) names.resize(kMostNames);
  return fmt::format("{} ({}{})", plural(opaque.size(), "opaque node"), fmt::join(names, ", "),
                     is_cut ? ", ..." : "");
}

bool has_open_sizes(const Json& inspection) {
  return std::ranges::any_of(inspection["inputs"], [](const Json& input) {
    return input["shape"].is_null() ||
           std::ranges::any_of(input["shape"], [](const Json& extent) { return extent.is_string(); });
  });
}

std::string optimized_text(const Json& optimized) {
  if (optimized["version"].is_null()) return "a certificate of Isomer is beside it";
  return "optimized by Isomer " + printable(text_at(optimized, "version"), kWidestName) +
         (optimized["ratio"].is_null() ? ""
                                       : ", measured " + printable(text_at(optimized, "ratio"), kWidestName));
}

// "convolution, float32, opset 11, open sizes, PaddlePaddle"
std::string what_it_is(const Json& model) {
  std::vector<std::string> parts;
  for (const Json& kind : model["kinds"]) parts.push_back(kind.get<std::string>());
  for (const Json& type : model["precision"]) parts.push_back(type.get<std::string>());
  if (!text_at(model, "quantization").empty()) parts.back() += " (" + text_at(model, "quantization") + ")";
  if (model["opsets"].contains("")) parts.push_back(fmt::format("opset {}", model["opsets"][""].get<int>()));
  if (!model["inspection"].is_null() && has_open_sizes(model["inspection"])) parts.emplace_back("open sizes");
  const std::string producer = text_at(model, "producer");
  if (!producer.empty()) parts.push_back(printable(producer, kWidestName));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Notes about a model, each a reason to look at it again.
std::vector<std::string> notes_of(const Json& model, const std::map<std::string, std::string>& names) {
  std::vector<std::string> notes;
  if (!model["optimized"].is_null()) notes.push_back(optimized_text(model["optimized"]));
  if (!model["same_as"].is_null())
    notes.push_back("same graph and weights as " +
                    printable(names.at(text_at(model, "same_as")), kWidestName));
  if (!model["copies"].empty()) {
    const std::uint64_t more = model["copies"].size();
    notes.push_back(fmt::format("{} more {}", grouped(more), more == 1 ? "copy" : "copies"));
  }
  if (has_denormals(model))
    notes.push_back(plural(model["estimate"]["denormal_weights"].get<std::uint64_t>(), "denormal weight"));
  if (!model["inspection"].is_null() && !model["inspection"]["opaque"].empty())
    notes.push_back(operators_text(model["inspection"]["opaque"]));
  if (!text_at(model, "why_not_read").empty()) notes.push_back("not read: " + text_at(model, "why_not_read"));
  if (!text_at(model, "why_not_estimated").empty())
    notes.push_back("no estimate: " + printable(text_at(model, "why_not_estimated"), kLongestReason));
  return notes;
}

std::string table(const Json& report, const ScanWords& words) {
  using enum Table::Align;
  const auto names = names_of(report);
  std::vector<Table::Column> columns{
      {"model", Left}, {"size", Right}, {"estimate", Right}, {"what it is", Left}};
  if (words.seconds_per_model == 0) columns.erase(columns.begin() + 2);
  Table table(std::move(columns));
  const std::size_t widest = (std::max<std::size_t>(words.columns, 60) - 24) / 2;  // as the last column
  for (const Json* model : ranked(report)) {
    const double ratio = ratio_of(*model);
    std::string what = what_it_is(*model);
    for (const std::string& note : notes_of(*model, names)) what += (what.empty() ? "" : "; ") + note;
    std::vector<std::string> cells{cut_in_middle(names.at(text_at(*model, "path")), widest),
                                   bytes_text((*model)["bytes"].get<std::uint64_t>())};
    if (words.seconds_per_model > 0) cells.push_back(ratio > 0 ? fmt::format("{:.2f}x", ratio) : "");
    cells.push_back(std::move(what));
    table.add(std::move(cells));
  }
  return table.text(words.columns);
}

// Explains the words that occur in the table.
std::string legend(const Json& report, const ScanWords& words) {
  std::string out;
  const auto add = [&](const std::string& text) { out += wrapped(text, words.columns, 0) + '\n'; };
  if (words.seconds_per_model > 0)
    add(
        fmt::format("estimate: the gain by an analytic cost, after a search of at most {} for each model. It "
                    "is not a measurement: isomer optimize measures, and keeps only faster results.",
                    duration_text(words.seconds_per_model)));
  const auto any = [&](const auto& is_meant) { return std::ranges::any_of(report["models"], is_meant); };
  if (any(has_denormals))
    add("denormal weights: numbers below 2^-126, with which processors compute slowly. The estimate ignores "
        "them; isomer optimize writes them as zero where that is faster.");
  if (any([](const Json& m) { return !m["inspection"].is_null() && !m["inspection"]["opaque"].empty(); }))
    add("opaque nodes: Isomer has no formula for them and leaves them as they are; isomer inspect MODEL says "
        "why.");
  return out;
}

std::string skipped_text(const Json& report, const ScanWords& words) {
  const Json& skipped = report["skipped"];
  if (skipped.empty()) return "";
  std::string out = fmt::format("\nNot read ({}):\n", skipped.size());
  for (std::size_t k = 0; k < std::min(skipped.size(), kMostSkipped); ++k) {
    const std::string path = text_at(skipped[k], "path");
    std::string reason = text_at(skipped[k], "reason");
    if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
    out += "  " + wrapped(printable(path) + ": " + printable(reason, kLongestReason), words.columns, 4, 2) +
           '\n';
  }
  if (skipped.size() > kMostSkipped)
    out += fmt::format("  and {} more (--json lists all)\n", skipped.size() - kMostSkipped);
  return out;
}

std::string command_of(const Json& model) { return "  " + printable(text_at(model, "command")) + '\n'; }

// Commands for the most promising models: by the estimate, and by facts that the estimate ignores.
std::string next_step(const Json& report, const ScanWords& words) {
  const auto models = ranked(report);
  if (models.empty()) return "";
  if (words.seconds_per_model == 0)
    return "\nWithout --no-estimate, scan names the most promising model. To measure one:\n" +
           command_of(*models.front());
  const Json& best = *models.front();
  const Json& slowed =
      **std::ranges::max_element(models, {}, [](const Json* m) { return denormal_share(*m); });
  std::string commands = ratio_of(best) >= kWorthTrying ? command_of(best) : "";
  if (has_denormals(slowed) && (commands.empty() || &slowed != &best)) commands += command_of(slowed);
  if (commands.empty()) return "";
  return "\nNext, measure (at most 5 minutes each; the original stays as it is):\n" + commands;
}

}  // namespace

std::string scan_text(const Json& report, const ScanWords& words) {
  std::string out = wrapped(answer(report, words), words.columns, 0) + '\n';
  if (report["interrupted"].get<bool>()) out += "Interrupted: these are the models found so far.\n";
  if (!report["models"].empty()) out += '\n' + table(report, words) + '\n' + legend(report, words);
  out += skipped_text(report, words);
  return out + next_step(report, words);
}

}  // namespace isomer::cli
