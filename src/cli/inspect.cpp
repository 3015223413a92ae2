// isomer inspect: operators, shapes, FLOPs, bytes, which nodes are opaque and why.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>

#include "api/report_json.h"
#include "cli/command.h"
#include "cli/shape_option.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "pipeline/summary.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kMostLines = 20;   // of opaque nodes in the table; --json has all of them
constexpr std::size_t kWidestCell = 60;  // names and expressions beyond it are cut, in any terminal

struct InspectRequest {
  std::filesystem::path model;
  std::vector<std::string> shapes;
};

std::string cell(std::string_view text) { return shortened(printable(text), kWidestCell); }

std::string type_text(const InterfaceValue& value) {
  const std::string type(value.type == ElementType::Undefined ? "?" : name(value.type));
  return type + (value.shape ? text(*value.shape) : "[?]");
}

std::string full_name(const std::string& op, const std::string& domain) {
  return domain.empty() ? op : domain + "." + op;
}

std::string flops_text(const std::optional<Dim>& flops) {
  if (!flops) return "more than 2^63";
  return flops->is_concrete() ? count_text(static_cast<double>(flops->concrete())) : cell(flops->text());
}

// Empty where there is nothing to say: no FLOPs, or sizes that are not known.
std::string percent(const Dim& part, const std::optional<Dim>& whole) {
  if (!whole || !whole->is_concrete() || !part.is_concrete() || part.is(0)) return "";
  const double share = 100 * static_cast<double>(part.concrete()) / static_cast<double>(whole->concrete());
  return share < 0.1 ? "< 0.1 %" : fmt::format("{:.1f} %", share);
}

std::string opset_text(const Summary& summary) {
  std::string text;
  for (const auto& [domain, version] : summary.opsets)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", domain.empty() ? "" : cell(domain) + " ", version);
  return text;
}

std::string head(const Summary& summary, const std::filesystem::path& path) {
  auto table = Table::without_head(2);
  table.add({"format", fmt::format("IR {}, opset {}", summary.ir, opset_text(summary))});
  const std::uint64_t open = summary.float_nodes - summary.float_nodes_defined;
  table.add({"nodes",
             fmt::format("{}, {} of them on floats{}", grouped(summary.nodes), grouped(summary.float_nodes),
                         open == 0 ? ", all defined" : fmt::format(", {} not defined", grouped(open)))});
  table.add({"weights", bytes_text(summary.weight_bytes)});
  table.add({"FLOPs", flops_text(summary.flops)});
  return printable(path.string()) + '\n' + table.text(columns_of(STDOUT_FILENO));
}

std::string interface_table(const Summary& summary) {
  auto table = Table::without_head(3);
  const auto add = [&](std::string_view title, const std::vector<InterfaceValue>& values) {
    for (const InterfaceValue& value : values)
      table.add(
          {&value == values.data() ? std::string(title) : "", cell(value.name), cell(type_text(value))});
  };
  add("inputs", summary.inputs);
  add("outputs", summary.outputs);
  return table.text(columns_of(STDOUT_FILENO));
}

std::string operator_table(const Summary& summary) {
  using enum Table::Align;
  Table table({{"operator", Left}, {"count", Right}, {"defined", Right}, {"FLOPs", Right}, {"share", Right}});
  for (const OperatorCount& kind : summary.operators)
    table.add({cell(full_name(kind.op, kind.domain)), grouped(kind.count), grouped(kind.defined),
               kind.defined == 0 ? "?" : flops_text(kind.flops), percent(kind.flops, summary.flops)});
  return table.text(columns_of(STDOUT_FILENO));
}

// Nodes of one operator with one reason are one line, as in "3 nodes, the first is /conv1".
std::string opaque_table(const Summary& summary) {
  struct Group {
    const OpaqueEntry* first;
    std::uint64_t count;
  };
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers;
  for (const OpaqueEntry& entry : summary.opaque) {
    const auto [at, is_new] =
        numbers.try_emplace({full_name(entry.op, entry.domain), entry.reason}, groups.size());
    if (is_new) groups.push_back({&entry, 0});
    ++groups[at->second].count;
  }
  using enum Table::Align;
  Table table({{"opaque", Left}, {"count", Right}, {"first node", Left}, {"reason", Left}});
  for (std::size_t i = 0; i < std::min(groups.size(), kMostLines); ++i)
    table.add({cell(full_name(groups[i].first->op, groups[i].first->domain)), grouped(groups[i].count),
               cell(groups[i].first->node), printable(groups[i].first->reason)});
  std::string result = table.text(columns_of(STDOUT_FILENO));
  if (groups.size() > kMostLines)
    result += fmt::format("  and {} more (--json lists all)\n", groups.size() - kMostLines);
  return result;
}

std::string to_text(const Summary& summary, const std::filesystem::path& path) {
  std::string result = head(summary, path) + '\n' + interface_table(summary);
  if (!summary.operators.empty()) result += '\n' + operator_table(summary);
  if (!summary.opaque.empty()) result += '\n' + opaque_table(summary);
  return result;
}

Result<Reply> inspect(const InspectRequest& request) {
  ISOMER_TRY(const Model model, read_model(request.model));
  ISOMER_TRY(const InferOptions options, parse_sizes(request.shapes, model.graph));
  ISOMER_TRY(const Summary summary, summarize(model, options));
  return Reply{Exit::Done, to_text(summary, request.model), to_json(summary)};
}

}  // namespace

void add_inspect(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<InspectRequest>();
  CLI::App* command =
      app.add_subcommand("inspect", "Operators, shapes, FLOPs, bytes, which nodes are opaque and why");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  add_shape_option(*command, request->shapes);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return inspect(*request); }; });
}

}  // namespace isomer::cli
