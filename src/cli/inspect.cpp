// isomer inspect: operators, shapes, FLOPs, bytes, which nodes are opaque and why.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/operators_option.h"
#include "cli/shape_option.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kMostLines = 20;   // of opaque nodes in the table; --json has all of them
constexpr std::size_t kWidestCell = 60;  // names and expressions beyond it are cut, in any terminal

struct InspectRequest {
  std::filesystem::path model;
  std::vector<std::string> shapes;
  std::string operators;
};

std::string cell(std::string_view text) { return shortened(printable(text), kWidestCell); }

std::string type_text(const Json& value) {
  const auto type = value["type"].get<std::string>();
  return (type == "undefined" ? "?" : type) + (value["shape"].is_null() ? "[?]" : shape_text(value["shape"]));
}

// The full name of an operator, or of a node's operator.
std::string full_name(const Json& of) {
  const auto op = of["op"].get<std::string>(), domain = of["domain"].get<std::string>();
  return domain.empty() ? op : domain + "." + op;
}

// `open`: what to say of an expression of open sizes, which --json has.
std::string flops_text(const Json& of, const char* open) {
  if (!of["flops"].is_null()) return count_text(of["flops"].get<double>());
  return of.contains("flops_expression") ? open : "more than 2^63";
}

// Empty where there is nothing to say: no FLOPs, or sizes that are not known.
std::string percent(const Json& part, const Json& whole) {
  if (part.is_null() || whole.is_null() || part == 0) return "";
  const double share = 100 * part.get<double>() / whole.get<double>();
  return share < 0.1 ? "< 0.1 %" : fmt::format("{:.1f} %", share);
}

std::string opset_text(const Json& report) {
  std::string text;
  for (const auto& [domain, version] : report["opsets"].items())
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", domain.empty() ? "" : cell(domain) + " ",
                        version.get<int>());
  return text;
}

std::string head(const Json& report, const std::filesystem::path& path) {
  auto table = Table::without_head(2);
  const auto number = [&](const char* field) { return report[field].get<std::uint64_t>(); };
  table.add({"format", fmt::format("IR {}, opset {}", report["ir"].get<std::int64_t>(), opset_text(report))});
  const std::uint64_t open = number("float_nodes") - number("float_nodes_defined");
  table.add(
      {"nodes",
       fmt::format("{}, {} of them on floats{}", grouped(number("nodes")), grouped(number("float_nodes")),
                   open == 0 ? ", all defined" : fmt::format(", {} not defined", grouped(open)))});
  table.add({"weights", bytes_text(number("weight_bytes"))});
  table.add({"FLOPs", flops_text(report, "depends on sizes that are open: --shape sets them")});
  return printable(path.string()) + '\n' + table.text(columns_of(STDOUT_FILENO));
}

std::string interface_table(const Json& report) {
  auto table = Table::without_head(3);
  for (const char* title : {"inputs", "outputs"}) {
    std::string first = title;
    for (const Json& value : report[title])
      table.add({std::exchange(first, ""), cell(value["name"].get<std::string>()), cell(type_text(value))});
  }
  return table.text(columns_of(STDOUT_FILENO));
}

std::string operator_table(const Json& report) {
  using enum Table::Align;
  Table table({{"operator", Left}, {"count", Right}, {"defined", Right}, {"FLOPs", Right}, {"share", Right}});
  for (const Json& kind : report["operators"]) {
    const auto defined = kind["defined"].get<std::uint64_t>();
    table.add({cell(full_name(kind)), grouped(kind["count"].get<std::uint64_t>()), grouped(defined),
               defined == 0 ? "?" : flops_text(kind, "by size"), percent(kind["flops"], report["flops"])});
  }
  return table.text(columns_of(STDOUT_FILENO));
}

// Nodes of one operator with one reason are one line, as in "3 nodes, the first is /conv1".
std::string opaque_table(const Json& report) {
  struct Group {
    const Json* first;
    std::uint64_t count;
  };
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers;
  for (const Json& entry : report["opaque"]) {
    const auto [at, is_new] =
        numbers.try_emplace({full_name(entry), entry["reason"].get<std::string>()}, groups.size());
    if (is_new) groups.push_back({&entry, 0});
    ++groups[at->second].count;
  }
  using enum Table::Align;
  Table table({{"opaque", Left}, {"count", Right}, {"first node", Left}, {"reason", Left}});
  for (std::size_t i = 0; i < std::min(groups.size(), kMostLines); ++i) {
    const Json& first = *groups[i].first;
    table.add({cell(full_name(first)), grouped(groups[i].count), cell(first["node"].get<std::string>()),
               printable(first["reason"].get<std::string>())});
  }
  std::string result = table.text(columns_of(STDOUT_FILENO));
  if (groups.size() > kMostLines)
    result += fmt::format("  and {} more (--json lists all)\n", groups.size() - kMostLines);
  return result;
}

std::string to_text(const Json& report, const std::filesystem::path& path) {
  std::string result = head(report, path) + '\n' + interface_table(report);
  if (!report["operators"].empty()) result += '\n' + operator_table(report);
  if (!report["opaque"].empty()) result += '\n' + opaque_table(report);
  return result;
}

Result<Reply> inspect(const InspectRequest& request) {
  Json json = Json::parse(
      api::inspect(api::load(request.model, {.operators = request.operators}), request.shapes).json);
  return Reply{Exit::Done, to_text(json, request.model), json};
}

}  // namespace

void add_inspect(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<InspectRequest>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show operators, shapes, FLOPs, bytes, and opaque nodes with their reasons");
  command->add_option("MODEL", request->model, "An ONNX file")->required();
  add_shape_option(*command, request->shapes);
  add_operators_option(*command, request->operators);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return inspect(*request); }; });
}

}  // namespace isomer::cli
