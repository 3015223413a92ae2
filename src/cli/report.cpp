// isomer report: the steps of a certificate as one HTML file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/feeds_option.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/runtime_option.h"
#include "cli/shape_option.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct ReportRequest {
  fs::path in, out, certificate, page;
  bool is_fixed = false;
  std::string widths = "time";
  api::ReportOptions options;
  RuntimeRequest runtime;
  LiveRequest live;
};

Result<Reply> report(const ReportRequest& request) {
  for (const fs::path& other : {request.in, request.out, request.certificate})
    if (fs::weakly_canonical(request.page) == fs::weakly_canonical(other))
      return Error{fmt::format("-o {}: it would overwrite one of the inputs", request.page.string())};
  const Interrupt interrupt;
  api::ReportOptions options = request.options;
  ISOMER_TRY(const auto runtimes, runtime_options(request.runtime));
  if (runtimes.size() > 1) return Error{"--runtime: give one runtime; a page has the times of one"};
  options.run.runtime = runtimes.at(0);
  options.measure = request.widths == "time";
  options.certificate_file = request.certificate;
  options.run.stop = interrupt.token();
  ISOMER_TRY(const auto live, Live::start(request.live, {}, interrupt.flag()));
  options.run.progress = [&live](std::string_view now) { live->show(now); };
  const std::vector<std::string> none;
  const api::Model in = api::load(request.in, {.sizes = request.is_fixed ? options.inputs.sizes : none});
  if (request.is_fixed) options.inputs.sizes = none;
  const api::Report made =
      api::report(in, api::load(request.out), api::load_certificate(request.certificate), options);
  api::save_text(made.html, request.page);
  std::string text = fmt::format("{}: {}\n", printable(request.page.string()), bytes_text(made.html.size()));
  if (!made.why.empty())
    text +=
        fmt::format("  widths are analytic costs, because no times were measured: {}\n", printable(made.why));
  Json json = Json::parse(made.json);
  json["report"] = request.page.string();
  return Reply{Exit::Done, std::move(text), std::move(json)};
}

}  // namespace

void add_report(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<ReportRequest>();
  CLI::App* command = app.add_subcommand("report", "Show the steps of a certificate as one HTML file");
  command->add_option("IN", request->in, "The original model")->type_name("")->required();
  command->add_option("OUT", request->out, "The optimized model")->type_name("")->required();
  command->add_option("CERT", request->certificate, "The certificate")->type_name("")->required();
  command->add_option("-o,--output", request->page, "The file for the page")->type_name("FILE")->required();
  command
      ->add_option("--widths", request->widths,
                   "What widths show: time: measured by the runtime, node by node; cost: an analytic cost, "
                   "which runs nothing")
      ->check(CLI::IsMember({"time", "cost"}))
      ->type_name("time|cost")
      ->capture_default_str();
  command->add_flag("--fix-shape", request->is_fixed,
                    "OUT was made with --fix-shape: IN is read at the size of --shape");
  add_feeds_option(*command, request->options.inputs.file, "Inputs to measure with", "generated ones");
  add_shape_option(*command, request->options.inputs.sizes);
  add_value_option(*command, request->options.inputs.values);
  command->add_option("--seed", request->options.inputs.seed, "Seed of generated inputs")
      ->type_name("N")
      ->capture_default_str();
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_runtime_options(*command, request->runtime);
  command->callback([&chosen, request] { chosen.run = [request] { return report(*request); }; });
}

}  // namespace isomer::cli
