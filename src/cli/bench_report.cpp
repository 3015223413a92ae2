#include "cli/bench_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/runtime_option.h"
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

std::string plain_verdict(const BenchPair& pair) {
  if (pair.failure) return "not compared: " + printable(to_error(*pair.failure).message);
  const double ratio = pair.measured.ratio.estimate;
  switch (pair.measured.verdict) {
    case PairVerdict::Faster:
      return ratio >= 1.995 ? fmt::format("{:.1f} times as fast", ratio)
                            : fmt::format("faster, by {:.1f} %", 100 * (ratio - 1));
    case PairVerdict::Slower:
      return ratio <= 1 / 1.995 ? fmt::format("{:.1f} times as slow", 1 / ratio)
                                : fmt::format("slower, by {:.1f} %", 100 * (1 / ratio - 1));
    case PairVerdict::NoDifference: break;
  }
  return "no difference seen";
}

// The parts of paths by which they differ, which is what one wants to read.
std::vector<std::string> short_names(const std::vector<BenchModel>& models) {
  std::vector<std::string> names;
  std::map<std::string, int> count;
  const auto last = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  for (const BenchModel& model : models) ++count[last(model.path)];
  for (const BenchModel& model : models)
    names.push_back(cell(count[last(model.path)] == 1 ? last(model.path) : model.path));
  return names;
}

std::string model_table(const BenchRun& run) {
  using enum Table::Align;
  const auto names = short_names(run.models);
  // What the other columns leave of a line.
  const std::size_t widest = std::clamp<std::size_t>(columns_of(STDOUT_FILENO) - 56, 16, kWidestCell);
  Table table({{"model", Left}, {"latency", Right}, {"peak memory", Right}, {"load", Right}});
  std::string lines;
  const auto add_line = [&](const std::string& line) {
    lines += "  " + wrapped(line, columns_of(STDOUT_FILENO), 4, 2) + '\n';
  };
  for (std::size_t i = 0; i < run.models.size(); ++i) {
    const BenchModel& model = run.models[i];
    if (model.failure) {
      table.add({shortened(names[i], widest), "-", "-", "-"});
      add_line(names[i] + ": " + printable(to_error(*model.failure).message));
      continue;
    }
    table.add({shortened(names[i], widest), interval_text(model.latency.wall_ns),
               bytes_text(static_cast<std::uint64_t>(model.facts.peak_bytes)),
               latency_text(static_cast<double>(model.facts.load_ns))});
    for (const BenchPair& pair : run.pairs)
      if (pair.b == i)
        add_line(fmt::format("{}: {}{}", names[i], plain_verdict(pair),
                             pair.failure ? ""
                                          : fmt::format("; {} of {} over this one's: {}, 95 % interval",
                                                        pair.measured.by_cpu_time ? "CPU time" : "latency",
                                                        names[pair.a], ratio_text(pair.measured.ratio))));
  }
  return table.text() + lines;
}

std::string kernel_table(const BenchModel& model, const std::string& name) {
  if (model.failure || model.facts.kernels.empty()) return "";
  std::uint64_t run_nodes = 0;
  std::string made;
  for (const KernelKind& kind : model.facts.kernels) {
    run_nodes += kind.nodes;
    if (!model.file_nodes.contains(kind.op))
      made += fmt::format("{}{} {}", made.empty() ? "" : ", ", kind.nodes, printable(kind.op));
  }
  std::string head = fmt::format("{}: {} nodes in the file, {} run", name, grouped(nodes_in_file(model)),
                                 grouped(run_nodes));
  if (model.facts.reorders > 0) head += fmt::format(", {} layout changes", model.facts.reorders);
  if (!made.empty()) head += "; made by the runtime: " + shortened(made, 120);
  using enum Table::Align;
  Table table({{"operator", Left}, {"in the file", Right}, {"run", Right}, {"share", Right}});
  const double total = kernel_ns(model);
  std::size_t rows = 0;
  double rest = 0;
  for (const KernelKind& kind : model.facts.kernels) {
    if (rows++ >= kMostKinds) {
      rest += kind.time_ns;
      continue;
    }
    const auto in_file = model.file_nodes.find(kind.op);
    table.add({cell(kind.op), in_file == model.file_nodes.end() ? "" : grouped(in_file->second),
               grouped(kind.nodes), total > 0 ? fmt::format("{:.1f} %", 100 * kind.time_ns / total) : ""});
  }
  if (rest > 0) table.add({"others", "", "", fmt::format("{:.1f} %", 100 * rest / total)});
  return '\n' + wrapped(head, columns_of(STDOUT_FILENO), 2) + '\n' + table.text();
}

std::string to_text(const BenchRun& run) {
  std::string text =
      fmt::format("{} {}, {}\n", run.title, printable(run.version),
                  run.threads == 0 ? "its own number of threads"
                                   : fmt::format("{} thread{}", run.threads, run.threads == 1 ? "" : "s"));
  const auto add = [&](const std::string& line) {
    text += wrapped(line, columns_of(STDOUT_FILENO), 2) + '\n';
  };
  add("inputs: " + printable(run.inputs));
  if (const std::string note = network_note(run.guard); !note.empty()) add("note: " + note);
  if (!run.note.empty()) add("note: " + printable(run.note));
  text += '\n' + model_table(run);
  const auto names = short_names(run.models);
  for (std::size_t i = 0; i < run.models.size(); ++i) text += kernel_table(run.models[i], names[i]);
  return text;
}

}  // namespace

std::string to_text(const std::vector<BenchRun>& runs) {
  std::string text;
  for (const BenchRun& run : runs) text += (text.empty() ? "" : "\n") + to_text(run);
  return text;
}

}  // namespace isomer::cli
