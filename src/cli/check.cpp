// isomer check: does a certificate prove that OUT equals IN? isomer explain: what does it say?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "certify/check_files.h"
#include "cli/command.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct CheckRequest {
  fs::path in, out, certificate;
};

Result<Reply> check(const CheckRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  ISOMER_TRY(const CheckedFiles checked, check_files(request.in, request.out, request.certificate));
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  return Reply{checked.report.accepted ? Exit::Done : Exit::Refuted, checked.text(),
               Json::parse(checked.json(spent.count()))};
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
