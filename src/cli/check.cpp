// isomer check: does a certificate prove that OUT equals IN? isomer explain: what does it say?
#include "certify/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "cli/command.h"
#include "cli/wording.h"
#include "onnx/model.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct CheckRequest {
  fs::path in, out, certificate;
};

Result<Certificate> read_certificate(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("can't read {}", path.string())};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto certificate = parse_certificate(text);
  if (!certificate.ok()) return Error{fmt::format("{}: {}", path.string(), certificate.error().message)};
  return certificate;
}

Result<Reply> check(const CheckRequest& request) {
  ISOMER_TRY(const Model in, read_model(request.in));
  ISOMER_TRY(const Model out, read_model(request.out));
  const auto certificate = read_certificate(request.certificate);
  const auto start = std::chrono::steady_clock::now();
  // A key that nobody could know when the certificate was made.
  std::random_device random;
  const std::uint64_t key = (static_cast<std::uint64_t>(random()) << 32u) | random();
  CheckReport report;
  if (certificate.ok()) report = check_certificate(in.graph, out.graph, *certificate, key);
  else report.reason = certificate.error().message;
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const Json json{{"verdict", report.accepted ? "accepted" : "rejected"},
                  {"step", report.step ? Json(*report.step) : Json()},
                  {"reason", report.reason},
                  {"steps", report.steps},
                  {"ms", spent.count()}};
  if (report.accepted) {
    const std::string skipped = certificate->notes.empty()
                                    ? ""
                                    : fmt::format("; {} notes were not checked", certificate->notes.size());
    return Reply{Exit::Done, fmt::format("accepted: {} steps proved again{}\n", report.steps, skipped), json};
  }
  const std::string where = report.step ? fmt::format("step {}: ", *report.step) : "";
  return Reply{Exit::Refuted, fmt::format("rejected: {}{}\n", where, report.reason), json};
}

Result<Reply> explain(const fs::path& path) {
  ISOMER_TRY(const Certificate certificate, read_certificate(path));
  std::string text;
  Json list = Json::array();
  for (const Note& n : certificate.notes) {
    text += n.ratio > 0
                ? fmt::format("{}: {}, {:.3f} times faster\n", printable(n.kind), printable(n.what), n.ratio)
                : fmt::format("{}: {}\n", printable(n.kind), printable(n.what));
    list.push_back({{"kind", n.kind}, {"what", n.what}, {"ratio", n.ratio}});
  }
  if (certificate.steps.empty()) text += "nothing was changed\n";
  text += fmt::format("{} steps; isomer check proves them again\n", certificate.steps.size());
  return Reply{Exit::Done, text, {{"steps", certificate.steps.size()}, {"notes", list}}};
}

}  // namespace

void add_check(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CheckRequest>();
  CLI::App* command = app.add_subcommand("check", "Check a certificate: is OUT proved equal to IN?");
  command->add_option("IN", request->in, "The original model")->required();
  command->add_option("OUT", request->out, "The optimized model")->required();
  command->add_option("CERT", request->certificate, "The certificate")->required();
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return check(*request); }; });

  auto path = std::make_shared<fs::path>();
  CLI::App* told = app.add_subcommand("explain", "What a certificate says was done");
  told->add_option("CERT", *path, "The certificate")->required();
  told->add_flag("--json", chosen.json, "Answer in JSON");
  told->callback([&chosen, path] { chosen.run = [path] { return explain(*path); }; });
}

}  // namespace isomer::cli
