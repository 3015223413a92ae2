#include "certify/check_files.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "certify/assumptions.h"
#include "onnx/model.h"
#include "onnx/size_arguments.h"

namespace isomer {

namespace {

std::string words_of(const CheckReport& report) {
  if (report.accepted) {
    if (report.paired)
      return fmt::format("accepted: OUT equals IN; {} pairs of values proved again\n",
                         report.paired->equations);
    if (report.steps == 0) return "accepted: OUT is IN, nothing was changed\n";
    const std::string widened =
        report.widened == 0
            ? ""
            : fmt::format("; {} values of 16-bit floats are computed in float32, rounded less",
                          report.widened);
    return fmt::format("accepted: OUT equals IN; {} step{} proved again{}\n", report.steps,
                       report.steps == 1 ? "" : "s", widened);
  }
  const std::string where = report.step ? fmt::format("step {}: ", *report.step) : "";
  return fmt::format("rejected: {}{}\n", where, report.reason);
}

}  // namespace

std::string CheckedFiles::text() const {
  std::string out = words_of(report);
  if (!report.accepted) return out;
  for (const std::string& op : assumed) out += "assuming that it is as its user states it:\n" + op + "\n";
  return out;
}

std::string CheckedFiles::json(double ms) const {
  using Json = nlohmann::ordered_json;
  const Json json{{"verdict", report.accepted ? "accepted" : "rejected"},
                  {"step", report.step ? Json(*report.step) : Json()},
                  {"reason", report.reason},
                  {"steps", report.steps},
                  {"widened", report.widened},
                  {"assumed", assumed},
                  {"ms", ms}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

CheckedFiles checked(const Graph& in, const Graph& out, std::string_view text,
                     const Result<Certificate>& certificate) {
  CheckedFiles checked;
  if (!certificate.ok()) {
    checked.report.reason = certificate.error().message;
    return checked;
  }
  auto assumed = declare_assumptions(text);
  if (!assumed.ok()) {
    checked.report.reason = assumed.error().message;
    return checked;
  }
  checked.assumed = std::move(*assumed);
  std::random_device random;
  const std::uint64_t key = (static_cast<std::uint64_t>(random()) << 32u) | random();
  checked.report = check_certificate(in, out, *certificate, key);
  checked.notes = certificate->notes.size();
  return checked;
}

}  // namespace

CheckedFiles check_models(const Graph& in, const Graph& out, std::string_view certificate) {
  return checked(in, out, certificate, parse_certificate(certificate));
}

Result<CheckedFiles> check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const std::filesystem::path& certificate,
                                 const std::vector<std::string>& sizes) {
  ISOMER_TRY(Model before, read_model(in));
  if (!sizes.empty()) {
    ISOMER_TRY(const InferOptions at, parse_sizes(sizes, before.graph));
    ISOMER_TRY(before, read_model_at(in, at));
  }
  ISOMER_TRY(const Model after, read_model(out));
  std::ifstream file(certificate, std::ios::binary);
  if (!file) return Error{fmt::format("can't read the certificate {}", certificate.string())};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto parsed = parse_certificate(text);
  if (!parsed.ok()) parsed = Error{fmt::format("{}: {}", certificate.string(), parsed.error().message)};
  return checked(before.graph, after.graph, text, parsed);
}

}  // namespace isomer
