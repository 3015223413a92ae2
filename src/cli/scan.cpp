// isomer scan: finds the ONNX models on a disk, describes them, and estimates which of them optimize could
// improve.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/scan_report.h"
#include "cli/terminal.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::vector<fs::path> folders;
  std::string budget = "5s";
  bool without_estimate = false;
  LiveRequest live;
};

// PREFIX/lib/python3.11/site-packages
std::vector<fs::path> site_packages_of(const fs::path& prefix) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator at(prefix / "lib", failure), end; !failure && at != end;
       at.increment(failure)) {
    const fs::path packages = at->path() / "site-packages";
    std::error_code missing;
    if (at->path().filename().string().starts_with("python") && fs::is_directory(packages, missing))
      found.push_back(packages);
  }
  std::ranges::sort(found);
  return found;
}

// The packages of the Python environment that is active.
Result<std::vector<fs::path>> default_folders() {
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* prefix = std::getenv(variable); prefix && *prefix)
      if (auto found = site_packages_of(prefix); !found.empty()) return found;
  return Error{
      "no Python environment is active (VIRTUAL_ENV, CONDA_PREFIX); give a folder: isomer scan DIR, for "
      "example site-packages, node_modules or a cache"};
}

Result<Reply> run(const Request& request) {
  const Interrupt interrupt;
  std::vector<fs::path> folders = request.folders;
  if (folders.empty()) {
    ISOMER_TRY(folders, default_folders());
  }
  ISOMER_TRY(double seconds, seconds_of(request.budget));
  if (request.without_estimate) seconds = 0;
  ISOMER_TRY(const auto live, Live::start(request.live, {}, interrupt.flag()));
  live->set_kept("what was found so far is printed");
  const api::ScanReport found =
      api::scan(folders, {.seconds_per_model = seconds,
                          .progress = [&live](std::string_view now) { live->show(now); },
                          .stop = interrupt.token(),
                          .may_leave_thread = true});
  const Json json = Json::parse(found.json);
  return Reply{.text = scan_text(json, {.seconds_per_model = seconds, .columns = columns_of(STDOUT_FILENO)}),
               .json = json,
               .leaves_threads = found.leaves_thread};
}

}  // namespace

void add_scan(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "scan", "Find the ONNX models on a disk, describe them, and estimate the gain of optimize");
  command
      ->add_option("DIR", request->folders,
                   "Folders to search, or models (default: site-packages of the active Python environment)")
      ->type_name("");
  command
      ->add_option("--budget", request->budget,
                   "Time for each model's estimate, by an analytic cost: 5s, 1m; 0: no estimate")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_flag("--no-estimate", request->without_estimate,
                    "Only list the models: seconds for thousands");
  add_live_options(*command, request->live);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return run(*request); }; });
}

}  // namespace isomer::cli
