#include "cli/bench_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/json_text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kMostKinds = 12;  // of operators in a table; --json has all
constexpr std::size_t kWidestCell = 48;

std::string cell(std::string_view text) { return shortened(printable(text), kWidestCell); }

std::string interval_text(const Interval& ns) {
  const double low = std::max(ns.low, 0.0);
  if (!std::isfinite(ns.high)) return latency_text(ns.estimate);
  return fmt::format("{} [{}, {}]", latency_text(ns.estimate), latency_text(low), latency_text(ns.high));
}

std::string ratio_text(const Interval& ratio) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.estimate, ratio.low, ratio.high);
}

// Why it was not measured, or "".
std::string failure_of(const Json& measured) {
  return measured.contains("failure") ? printable(measured["failure"]["message"].get<std::string>()) : "";
}

std::string plain_verdict(const Json& pair) {
  if (const std::string failure = failure_of(pair); !failure.empty()) return "not compared: " + failure;
  const double ratio = number_of(pair["ratio"]);
  if (pair["verdict"] == "faster")
    return ratio >= 1.995 ? fmt::format("{:.1f}× faster", ratio)
                          : fmt::format("faster, by {:.1f} %", 100 * (ratio - 1));
  if (pair["verdict"] == "slower")
    return ratio <= 1 / 1.995 ? fmt::format("{:.1f}× slower", 1 / ratio)
                              : fmt::format("slower, by {:.1f} %", 100 * (1 / ratio - 1));
  return "no difference seen";
}

// The parts of paths by which they differ, which is what one wants to read.
std::vector<std::string> short_names(const Json& models) {
  std::vector<std::string> names;
  std::map<std::string, int> count;
  const auto path_of = [](const Json& model) { return model["path"].get<std::string>(); };
  const auto last = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  for (const Json& model : models) ++count[last(path_of(model))];
  for (const Json& model : models)
    names.push_back(cell(count[last(path_of(model))] == 1 ? last(path_of(model)) : path_of(model)));
  return names;
}

std::string model_table(const Json& run) {
  using enum Table::Align;
  const auto names = short_names(run["models"]);
  // The width that other columns leave in a line.
  const std::size_t widest = std::clamp<std::size_t>(columns_of(STDOUT_FILENO) - 56, 16, kWidestCell);
  Table table({{"model", Left}, {"latency", Right}, {"peak memory", Right}, {"load", Right}});
  std::string lines;
  const auto add_line = [&](const std::string& line) {
    lines += "  " + wrapped(line, columns_of(STDOUT_FILENO), 4, 2) + '\n';
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Json& model = run["models"][i];
    if (const std::string failure = failure_of(model); !failure.empty()) {
      table.add({shortened(names[i], widest), "-", "-", "-"});
      add_line(names[i] + ": " + failure);
      continue;
    }
    table.add({shortened(names[i], widest), interval_text(interval_of(model["latency_ns"])),
               bytes_text(model["peak_bytes"].get<std::uint64_t>()),
               latency_text(number_of(model["load_ns"]))});
    for (const Json& pair : run["pairs"]) {
      if (pair["number_of_b"] != i) continue;
      std::string line = fmt::format("{}: {}", names[i], plain_verdict(pair));
      if (failure_of(pair).empty())
        line += fmt::format("; {} of {} divided by this one's: {}, 95 % interval",
                            pair["clock"] == "cpu" ? "CPU time" : "latency", names[0],
                            ratio_text(interval_of(pair, "ratio")));
      add_line(line);
    }
  }
  return table.text() + lines;
}

std::string kernel_table(const Json& model, const std::string& name) {
  if (model.contains("failure") || model["operators"].empty()) return "";
  std::uint64_t run_nodes = 0;
  std::string made;
  double total = 0;
  for (const Json& kind : model["operators"]) {
    total += number_of(kind["time_ns"]);
    run_nodes += kind["nodes"].get<std::uint64_t>();
    if (kind["in_file"] == 0)
      made += fmt::format("{}{} {}", made.empty() ? "" : ", ", kind["nodes"].get<std::uint64_t>(),
                          printable(kind["op"].get<std::string>()));
  }
  std::string head = fmt::format("{}: {} nodes in the file, {} run", name,
                                 grouped(model["nodes_in_file"].get<std::uint64_t>()), grouped(run_nodes));
  if (const auto reorders = model["reorders"].get<std::uint64_t>(); reorders > 0)
    head += fmt::format(", {} layout changes", reorders);
  if (!made.empty()) head += "; made by the runtime: " + shortened(made, 120);
  using enum Table::Align;
  Table table({{"operator", Left}, {"in the file", Right}, {"run", Right}, {"share", Right}});
  std::size_t rows = 0;
  double rest = 0;
  for (const Json& kind : model["operators"]) {
    const double time = number_of(kind["time_ns"]);
    if (rows++ >= kMostKinds) {
      rest += time;
      continue;
    }
    const auto in_file = kind["in_file"].get<std::uint64_t>();
    table.add({cell(kind["op"].get<std::string>()), in_file == 0 ? "" : grouped(in_file),
               grouped(kind["nodes"].get<std::uint64_t>()),
               total > 0 ? fmt::format("{:.1f} %", 100 * time / total) : ""});
  }
  if (rest > 0) table.add({"others", "", "", fmt::format("{:.1f} %", 100 * rest / total)});
  return '\n' + wrapped(head, columns_of(STDOUT_FILENO), 2) + '\n' + table.text();
}

std::string run_text(const Json& run) {
  const int threads = run["threads"].get<int>();
  std::string text = fmt::format("{} {}, {}\n", run["title"].get<std::string>(),
                                 printable(run["version"].get<std::string>()),
                                 threads == 0 ? "its own number of threads"
                                              : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  const auto add = [&](const std::string& line) {
    text += wrapped(line, columns_of(STDOUT_FILENO), 2) + '\n';
  };
  add("inputs: " + printable(run["inputs"].get<std::string>()));
  if (run["network"] == "open")
    add("note: this kernel forbids both seccomp and network namespaces, so the runtime's process could use "
        "the network");
  if (const std::string note = run["note"].get<std::string>(); !note.empty()) add("note: " + printable(note));
  text += '\n' + model_table(run);
  const auto names = short_names(run["models"]);
  for (std::size_t i = 0; i < names.size(); ++i) text += kernel_table(run["models"][i], names[i]);
  return text;
}

}  // namespace

std::string bench_text(const Json& report) {
  std::string text = run_text(report);
  if (report.contains("others"))
    for (const Json& other : report["others"]) text += '\n' + run_text(other);
  return text;
}

}  // namespace isomer::cli
