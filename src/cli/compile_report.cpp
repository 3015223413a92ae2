#include "cli/compile_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

std::string string_of(const Json& json, const char* field) { return json.at(field).get<std::string>(); }
std::uint64_t count_of(const Json& json, const char* field) { return json.at(field).get<std::uint64_t>(); }

// In lines that fit.
std::string paragraph(std::string_view text, std::size_t indent = 2) {
  return "  " + wrapped(text, columns_of(STDOUT_FILENO), indent + 2, 2) + '\n';
}

std::string megabytes(const Json& bytes) { return fmt::format("{:.3g} MB", bytes.get<double>() / 1e6); }

// --precision is set: not equal to the model.
bool is_rounded(const Json& report) { return report["sums"] == "bf16"; }

std::string counted(std::uint64_t operators) {
  return operators == 0   ? "no operator"
         : operators == 1 ? "one operator"
                          : fmt::format("{} operators", operators);
}

// Which of several equal models; "": the given one.
std::string of_graph(const Json& graph) {
  const auto name = graph.get<std::string>();
  return name.empty() ? "" : ", of " + printable(name);
}

std::string speed_of(const Json& report) {
  const Json& speed = report["speed"];
  if (speed.is_null()) return "not compared with a runtime: " + printable(string_of(report, "not_compared"));
  const double ratio = speed["ratio"].get<double>(), low = speed["low"].get<double>(),
               high = speed["high"].get<double>();
  const std::string_view verdict = low > 1    ? "faster than ONNX Runtime"
                                   : high < 1 ? "SLOWER than ONNX Runtime"
                                              : "no difference to ONNX Runtime seen";
  const int threads = report["threads"].get<int>();
  return fmt::format("{}: {:.2f}x (95 % interval {:.2f} to {:.2f}), on {}; {}", verdict, ratio, low, high,
                     threads == 1 ? "one thread" : fmt::format("{} threads each", threads),
                     is_rounded(report)                  ? "NOT EQUAL: products are of bfloat16"
                     : string_of(report, "note").empty() ? "outputs agree"
                                                         : "see the note for outputs");
}

// How far it is from float64, and what was done about it; "": not measured.
std::string error_of(const Json& report) {
  const Json& errors = report["errors"];
  if (errors.is_null()) return "";
  return paragraph(fmt::format(
      "rounding error {:.1e}, ONNX Runtime's {:.1e}, against float64; sums: {}{}",
      errors["module"].get<double>(), errors["runtime"].get<double>(), string_of(report, "sums"),
      errors["kept"].get<bool>() || is_rounded(report) ? "" : "; MORE than --max-error-growth allows"));
}

// Regions with both times, and which of them are operators of ours.
std::string regions_of(const Json& regions) {
  if (regions.empty()) return "";
  using enum Table::Align;
  const auto name = [](const Json& region) {
    constexpr std::size_t kMost = 20;
    const auto cut = [](const std::string& text) {
      return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost + 3);
    };
    return cut(printable(string_of(region, "first"))) + " to " + cut(printable(string_of(region, "last")));
  };
  const auto ms = [](const Json& time) {
    return time.is_null() ? "-" : fmt::format("{:.3f}", time.get<double>());
  };
  Table table({{"region", Left}, {"nodes", Right}, {"ours ms", Right}, {"runtime", Right}, {"taken", Left}});
  for (const Json& r : regions)
    table.add({name(r), grouped(count_of(r, "nodes")), ms(r["ours_ms"]), ms(r["runtime_ms"]),
               r["operator"].is_null() ? "no" : fmt::format("operator {}", r["operator"].get<int>())});
  return table.text(columns_of(STDOUT_FILENO));
}

// The result of tuning; "": --tune was not given.
std::string tuning_of(const Json& tuning) {
  if (tuning.is_null()) return "";
  const std::string what = fmt::format(
      "{} schedules of {} units timed in {:.0f} s, {} from records", grouped(count_of(tuning, "tried")),
      count_of(tuning, "units"), tuning["seconds"].get<double>(), grouped(count_of(tuning, "remembered")));
  if (tuning["is_taken"].get<bool>())
    return paragraph(fmt::format("tuned: {:.3f}x faster than untuned; {} units have new schedules ({})",
                                 tuning["ratio"].get<double>(), tuning["taken"].size(), what));
  return paragraph(fmt::format("not tuned: {} ({})", printable(string_of(tuning, "why")), what));
}

// "x=1x3x48x320: 1.69x (1.67 to 1.71)"
std::string speed_at(const Json& measured) {
  std::string words;
  for (const Json& size : measured["sizes"])
    words += (words.empty() ? "" : " ") + printable(size.get<std::string>());
  const Json& speed = measured["speed"];
  return speed.is_null() ? words
                         : words + fmt::format(": {:.2f}x ({:.2f} to {:.2f})", speed["ratio"].get<double>(),
                                               speed["low"].get<double>(), speed["high"].get<double>());
}

// "batch 1 or more, sequence 1 to 512"
std::string bounds_of(const Json& sizes) {
  constexpr std::int64_t kAny = std::int64_t{1} << 24;  // the limit of an open size
  std::string words;
  for (const Json& s : sizes) {
    const auto least = s["least"].get<std::int64_t>(), most = s["most"].get<std::int64_t>(),
               step = s["step"].get<std::int64_t>();
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", printable(string_of(s, "name")), least);
    if (most != least) words += most >= kAny ? " or more" : fmt::format(" to {}", most);
    if (step > 1) words += fmt::format(" in steps of {}", step);
  }
  return words;
}

// For a model with operators for some sizes: the measurements at each.
std::string sizes_of(const Json& sizes, const Json& every) {
  if (sizes.empty()) return "";
  std::string text;
  for (const Json& s : sizes)
    text += paragraph("at " + (s["is_operator"].get<bool>()
                                   ? speed_at(s)
                                   : speed_at(s) + ", as before: " + printable(string_of(s, "reason"))),
                      4);
  if (!every["is_taken"].get<bool>()) {
    const std::string why = printable(string_of(every, "reason"));
    return text + paragraph("at all other sizes: the model's own nodes" + (why.empty() ? "" : ": " + why));
  }
  for (const Json& m : every["measured"])
    if (std::ranges::none_of(sizes, [&](const Json& s) { return s["sizes"] == m["sizes"]; }))
      text += paragraph("at " + speed_at(m), 4);
  return text + paragraph("operators run at every size: " + bounds_of(every["sizes"]));
}

std::string operators_of(const Json& report, const CompileWords& words) {
  std::string text = report["is_operator"].get<bool>() ? sizes_of(report["sizes"], report["every_size"]) : "";
  text += regions_of(report["regions"]);
  for (const Json& t : report["tried"])
    text += paragraph(fmt::format("tried: {}{}: {:.2f}x", counted(count_of(t, "operators")),
                                  of_graph(t["graph"]), t["ratio"].get<double>()));
  if (report["is_operator"].get<bool>())
    return text + paragraph(fmt::format("model.onnx: {}{}; load it with register_custom_ops_library(\"{}\")",
                                        counted(count_of(report, "operators")), of_graph(report["graph"]),
                                        printable((words.folder / ("lib" + words.name + ".so")).string())));
  if (!string_of(report, "graph").empty())
    return text + paragraph(fmt::format("model.onnx has no operator{}", of_graph(report["graph"])));
  return text;
}

}  // namespace

std::string compile_text(const Json& report, const CompileWords& words) {
  std::string text;
  const std::string reason = string_of(report, "reason");
  if (!reason.empty())
    text +=
        paint(fmt::format("{}: unchanged, a copy of {}", printable((words.folder / "model.onnx").string()),
                          printable(words.in.string())),
              Colour::Yellow) +
        '\n' + paragraph("why: " + printable(reason), 5);
  text += fmt::format("{}: {} nests in {} functions; {} are tiled products, {} use Winograd\n",
                      printable(words.folder.string()), grouped(count_of(report, "nests")),
                      grouped(count_of(report, "functions")), grouped(count_of(report, "tiled")),
                      grouped(count_of(report, "winograd")));
  text += paragraph(fmt::format("weights {}, workspace {}, library {}; by {} for {}, in {:.1f} s",
                                megabytes(report["weight_bytes"]), megabytes(report["workspace_bytes"]),
                                megabytes(report["library_bytes"]), printable(string_of(report, "compiler")),
                                string_of(report, "target"), report["compiler_ms"].get<double>() / 1000));
  text += error_of(report);
  // A reason says why it was not compared, too.
  if (reason.empty() || !report["speed"].is_null()) text += paragraph(speed_of(report));
  if (const std::string note = string_of(report, "note"); !note.empty())
    text += paragraph("note: " + printable(note), 6);
  text += tuning_of(report["tuning"]);
  if (words.as_operator) text += operators_of(report, words);
  text += paragraph(fmt::format("{:.1f} s in all", report["ms"].get<double>() / 1000));
  return text;
}

}  // namespace isomer::cli
