#include "kernel/certify/check_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "base/blake2b.h"
#include "base/printable.h"
#include "io/onnx/fixed_values.h"
#include "io/onnx/model.h"
#include "io/onnx/size_arguments.h"

namespace isomer {

namespace {

std::string words_of(const CheckReport& report) {
  if (!report.accepted) {
    const std::string where = report.step ? fmt::format("step {}: ", *report.step) : "";
    return fmt::format("rejected: {}{}\n", where, printable(report.reason));
  }
  if (report.steps == 0 && !report.paired) return "accepted: OUT is IN, nothing was changed\n";
  const int rounded = report.rounded_constants();
  std::string out = "accepted: OUT equals IN";
  if (report.sizes_from > 0) out += " for all sizes of at least 1";
  if (report.flushed > 0)
    out += fmt::format(", but for {} denormal number{} of its constants, which are zero", report.flushed,
                       report.flushed == 1 ? "" : "s");
  if (rounded > 0)
    out += fmt::format(", but for rounding of {} constant{}", rounded, rounded == 1 ? "" : "s");
  if (report.paired && !report.paired->renamed.empty()) out += "; outputs were compared by position";
  out += report.paired ? fmt::format("; {} pairs of values proved again", report.paired->equations)
                       : fmt::format("; {} step{} proved again", report.steps, report.steps == 1 ? "" : "s");
  if (report.widened > 0)
    out += fmt::format("; {} values of 16-bit floats are computed in float32, with less rounding",
                       report.widened);
  out += "\n";
  if (report.paired)
    for (const auto& [a, b] : report.paired->renamed)
      out += fmt::format("output {} of IN is output {} of OUT\n", printable(a), printable(b));
  return out;
}

// The model's own functions that its nodes call, by domain and name.
std::set<std::pair<std::string, std::string>> called_functions(const Graph& graph) {
  std::set<std::pair<std::string, std::string>> out;
  for (const NodeId id : graph.order())
    if (const Node& node = graph.node(id); !node.bodies.empty() && node.bodies.front().attribute.empty())
      out.emplace(node.domain, node.op);
  return out;
}

// The key of the second witness. It follows from the certificate's text, which names both models by digests:
// the same files get the same answer on every machine.
std::uint64_t witness_key(std::string_view certificate) {
  const std::string digest = Blake2b().add(certificate.data(), certificate.size()).hex();
  return std::stoull(digest.substr(0, 16), nullptr, 16);
}

CheckedFiles checked(const Graph& in, const Graph& out, std::string_view text,
                     const Result<Certificate>& certificate) {
  CheckedFiles checked;
  if (!certificate.ok()) {
    checked.report.reason = certificate.error().message;
    return checked;
  }
  checked.report = check_certificate(in, out, *certificate, witness_key(text));
  checked.notes = certificate->notes.size();
  checked.has_new_functions = !std::ranges::includes(called_functions(in), called_functions(out));
  return checked;
}

}  // namespace

std::string CheckedFiles::text() const {
  std::string out = words_of(report);
  if (!report.accepted) return out;
  if (has_new_functions)
    out +=
        "the proof is about the functions that OUT defines, not about kernels that a runtime loads in their "
        "place\n";
  for (const std::string& op : report.assumed)
    out += "assuming the user's definition:\n" + printable_lines(op) + "\n";
  return out;
}

std::string CheckedFiles::json(double ms) const {
  using Json = nlohmann::ordered_json;
  Json renamed = Json::array();
  if (report.paired)
    for (const auto& [a, b] : report.paired->renamed) renamed.push_back({{"a", a}, {"b", b}});
  const Json json{{"verdict", report.accepted ? "accepted" : "rejected"},
                  {"but_for_rounding", report.accepted && report.rounded_constants() > 0},
                  {"step", report.step ? Json(*report.step) : Json()},
                  {"reason", report.reason},
                  {"steps", report.steps},
                  {"widened", report.widened},
                  {"flushed", report.flushed},
                  {"last_bits", report.last_bits},
                  {"constants_rounded", report.paired ? report.paired->constants_rounded : 0},
                  {"constants_restated", report.paired ? report.paired->constants_restated : 0},
                  {"outputs_by_position", renamed},
                  {"sizes_from", report.sizes_from},
                  {"assumed", report.assumed},
                  {"has_new_functions", has_new_functions},
                  {"ms", ms}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckedFiles check_models(const Graph& in, const Graph& out, std::string_view certificate) {
  return checked(in, out, certificate, parse_certificate(certificate));
}

Result<CheckedFiles> check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const std::filesystem::path& certificate,
                                 const std::vector<std::string>& sizes,
                                 const std::vector<std::string>& values, int sizes_from) {
  ISOMER_TRY(Model before, read_model(in));
  ISOMER_TRY(Model after, read_model(out));
  if (!sizes.empty() || !values.empty()) {
    ISOMER_TRY(const auto at, parse_sizes(sizes, {&before.graph, &after.graph}));
    ISOMER_TRY(const auto fixed, parse_values(values, {&before.graph, &after.graph}));
    ISOMER_TRY(before, read_model_at(in, at[0], fixed));
    ISOMER_TRY(after, read_model_at(out, at[1], fixed));
  }
  before.graph.sizes_from = sizes_from;
  std::ifstream file(certificate, std::ios::binary);
  if (!file) return Error{fmt::format("can't read the certificate {}", certificate.string())};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto parsed = parse_certificate(text);
  if (!parsed.ok()) parsed = Error{fmt::format("{}: {}", certificate.string(), parsed.error().message)};
  return checked(before.graph, after.graph, text, parsed);
}

}  // namespace isomer
