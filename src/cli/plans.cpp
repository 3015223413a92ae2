// isomer plans: lists, checks and copies a store of plans.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

struct PlansRequest {
  std::string store, other;
  double mebibytes = 0;
  bool files_only = false;
};

constexpr std::string_view kLayout = "oci:";

Status check_written(const std::string& place) {
  if (!place.starts_with(kLayout)) return Done{};
  return Error{
      fmt::format("{}: this program reads an OCI layout; the Python package writes one: pip install "
                  "'isomer-onnx[fleet]'",
                  printable(place))};
}

Status check_place(const std::string& place) {
  for (const char* scheme : {"http://", "https://", "s3://", "oci://", "oci+http://"})
    if (place.starts_with(scheme))
      return Error{
          fmt::format("{}: this program copies between directories; for buckets and web servers use the "
                      "Python package: pip install 'isomer-onnx[fleet]'",
                      printable(place))};
  return Done{};
}

std::string table_of(const Json& state) {
  Table table = Table::without_head(2);
  table.add({"place", printable(state["place"].get<std::string>())});
  table.add({"plans", grouped(state["plans"].get<std::uint64_t>())});
  table.add({"entries", grouped(state["entries"].get<std::uint64_t>())});
  table.add({"signatures", grouped(state["signatures"].get<std::uint64_t>())});
  table.add({"size", bytes_text(state["bytes"].get<std::uint64_t>())});
  table.add({"invalid", grouped(state["invalid"].get<std::uint64_t>())});
  table.add({"orphans", grouped(state["orphans"].get<std::uint64_t>())});
  for (const char* field : {"proved", "refused"})
    if (state.contains(field)) table.add({field, grouped(state[field].get<std::uint64_t>())});
  return table.text();
}

Result<Reply> list(const PlansRequest& request) {
  ISOMER_TRY_DO(check_place(request.store));
  const Json json = Json::parse(api::plan_store_state(request.store).json);
  return Reply{.exit = Exit::Done, .text = table_of(json), .json = json};
}

Result<Reply> verify(const PlansRequest& request) {
  ISOMER_TRY_DO(check_place(request.store));
  const api::PlanStoreState state =
      request.files_only ? api::plan_store_state(request.store) : api::verify_plans(request.store);
  const Json json = Json::parse(state.json);
  std::string complaint;
  if (state.invalid + state.orphans > 0)
    complaint = fmt::format("{} invalid files, {} without their other half; isomer plans gc removes them",
                            state.invalid, state.orphans);
  if (state.refused > 0)
    complaint += fmt::format("{}{} plans are not proved, the first because {}", complaint.empty() ? "" : "; ",
                             state.refused, printable(json["refusals"][0]["why"].get<std::string>()));
  return Reply{.exit = complaint.empty() ? Exit::Done : Exit::Refuted,
               .text = table_of(json),
               .json = json,
               .complaint = complaint};
}

Result<Reply> clean(const PlansRequest& request) {
  ISOMER_TRY_DO(check_place(request.store));
  ISOMER_TRY_DO(check_written(request.store));
  const std::uint64_t gone = api::clean_plans(request.store, request.mebibytes);
  Json json = Json::parse(api::plan_store_state(request.store).json);
  json["removed"] = gone;
  return Reply{.exit = Exit::Done,
               .text = table_of(json) + fmt::format("{} files removed\n", grouped(gone)),
               .json = json};
}

Result<Reply> copy(const std::string& from, const std::string& to) {
  for (const std::string* place : {&from, &to}) ISOMER_TRY_DO(check_place(*place));
  ISOMER_TRY_DO(check_written(to));
  if (!from.starts_with(kLayout) && !std::filesystem::is_directory(from))
    return Error{fmt::format("{} is no directory", printable(from))};
  const std::uint64_t copied = api::copy_plans(from, to);
  return Reply{.exit = Exit::Done,
               .text = fmt::format("{} files copied to {}\n", grouped(copied), printable(to)),
               .json = {{"from", from}, {"to", to}, {"copied", copied}}};
}

}  // namespace

void add_plans(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<PlansRequest>();
  CLI::App* plans = app.add_subcommand("plans", "Stores of plans, as optimize --plans reads and writes them");
  plans->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, auto run) {
    CLI::App* command = plans->add_subcommand(name, what);
    command->add_option("DIR", request->store, "The store, a directory")->type_name("")->required();
    command->add_flag("--json", chosen.json, "Answer in JSON");
    command->callback([&chosen, request, run] { chosen.run = [request, run] { return run(*request); }; });
    return command;
  };
  add("list", "Show the size of a store; --json: each entry", list);
  add("verify", "Read every file of a store and prove every plan again; exit 1 if one is invalid", verify)
      ->add_flag("--files-only", request->files_only, "Prove nothing");
  add("gc", "Remove invalid and useless files", clean)
      ->add_option("--max-size", request->mebibytes,
                   "Limit of the size in MiB: the oldest files are removed first (default: no limit)")
      ->check(CLI::PositiveNumber)
      ->type_name("MIB");
  add("push", "Copy the files that are missing at another place to it",
      [](const PlansRequest& r) { return copy(r.store, r.other); })
      ->add_option("PLACE", request->other,
                   "Another directory; the Python package: s3://BUCKET/PREFIX and oci:DIR, too")
      ->type_name("")
      ->required();
  add("pull", "Copy the files that are missing in a store from another place",
      [](const PlansRequest& r) { return copy(r.other, r.store); })
      ->add_option(
          "PLACE", request->other,
          "Another directory, or oci:DIR; the Python package: s3://BUCKET/PREFIX, https://HOST/PATH and "
          "oci://HOST/NAME:TAG, too")
      ->type_name("")
      ->required();
}

}  // namespace isomer::cli
