#include "certify/check_files.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "onnx/model.h"

namespace isomer {

std::string CheckedFiles::text() const {
  if (report.accepted) {
    const std::string skipped = notes == 0 ? "" : fmt::format("; {} notes were not checked", notes);
    return fmt::format("accepted: {} steps proved again{}\n", report.steps, skipped);
  }
  const std::string where = report.step ? fmt::format("step {}: ", *report.step) : "";
  return fmt::format("rejected: {}{}\n", where, report.reason);
}

std::string CheckedFiles::json(double ms) const {
  using Json = nlohmann::ordered_json;
  const Json json{{"verdict", report.accepted ? "accepted" : "rejected"},
                  {"step", report.step ? Json(*report.step) : Json()},
                  {"reason", report.reason},
                  {"steps", report.steps},
                  {"ms", ms}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Certificate> read_certificate(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("can't read {}", path.string())};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto certificate = parse_certificate(text);
  if (!certificate.ok()) return Error{fmt::format("{}: {}", path.string(), certificate.error().message)};
  return certificate;
}

Result<CheckedFiles> check_files(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const std::filesystem::path& certificate) {
  ISOMER_TRY(const Model before, read_model(in));
  ISOMER_TRY(const Model after, read_model(out));
  CheckedFiles checked;
  const auto steps = read_certificate(certificate);
  if (!steps.ok()) {
    checked.report.reason = steps.error().message;
    return checked;
  }
  std::random_device random;
  const std::uint64_t key = (static_cast<std::uint64_t>(random()) << 32u) | random();
  checked.report = check_certificate(before.graph, after.graph, *steps, key);
  checked.notes = steps->notes.size();
  return checked;
}

}  // namespace isomer
