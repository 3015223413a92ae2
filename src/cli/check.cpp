// isomer check: does a certificate prove that OUT equals IN? isomer explain: the steps of a certificate.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "cli/command.h"
#include "cli/shape_option.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSteps = 12;  // that explain lists; -v lists all

struct CheckRequest {
  fs::path in, out, certificate;
  std::vector<std::string> shapes, values;
  int sizes_from = 1;
};

struct ExplainRequest {
  fs::path certificate;
  bool verbose = false;
  bool steps = false;
};

Result<Reply> check(const CheckRequest& request) {
  const api::Checked checked = api::check_files(request.in, request.out, request.certificate, request.shapes,
                                                request.values, request.sizes_from);
  return Reply{checked.accepted ? Exit::Done : Exit::Refuted, checked.text, Json::parse(checked.json)};
}

using Note = api::Explanation::Note;

struct Explained {
  const Note* first;
  int count = 0;
  double ratio = 0;
};

std::vector<Explained> grouped_notes(const api::Explanation& explanation) {
  std::vector<Explained> out;
  std::map<std::pair<std::string, std::string>, std::size_t> places;  // by what is said
  for (const Note& n : explanation.notes) {
    if (n.kind == "measured") continue;
    const auto [at, is_new] = places.emplace(std::pair(n.kind, n.what), out.size());
    if (is_new) out.push_back({&n});
    Explained& e = out[at->second];
    ++e.count;
    e.ratio = std::max(e.ratio, n.ratio);
  }
  std::ranges::stable_sort(out, std::greater<>{}, &Explained::count);
  return out;
}

std::string step_text(const std::string& count, const std::string& words, double ratio) {
  std::string what = printable(words);
  if (ratio > 0) what += fmt::format(", {:.2f}× measured alone", ratio);
  const std::size_t indent = 2 + width(count);
  return "  " + count + wrapped(what, columns_of(STDOUT_FILENO), indent, indent) + '\n';
}

std::string head(const api::Explanation& explanation) {
  std::string text;
  for (const Note& n : explanation.notes)
    if (n.kind == "measured") text += fmt::format("{}: measured speedup {:.2f}×\n", n.what, n.ratio);
  const std::string where = explanation.sizes_from > 0 ? " for all sizes of at least 1" : "";
  if (explanation.pairs)
    return text + fmt::format(
                      "two models, proved equal{} by {}{} pairs of values; isomer check proves them again\n",
                      where,
                      explanation.steps > 0 ? fmt::format("{} steps, then ", grouped(explanation.steps)) : "",
                      grouped(*explanation.pairs));
  if (explanation.steps == 0) return text + "nothing was changed\n";
  return text +
         fmt::format("{} steps; isomer check proves them again{}\n", grouped(explanation.steps), where);
}

std::string to_text(const api::Explanation& explanation, bool is_verbose) {
  std::string text = head(explanation);
  if (is_verbose) {
    for (const Note& n : explanation.notes)
      if (n.kind != "measured") text += step_text("", n.words, n.ratio);
    return text;
  }
  std::size_t shown = 0;
  const auto groups = grouped_notes(explanation);
  for (const Explained& e : groups) {
    if (shown++ >= kMostSteps) {
      text += fmt::format("  and {} more kinds; -v lists every step\n", groups.size() - kMostSteps);
      break;
    }
    text +=
        step_text(fmt::format("{:>4} × ", e.count), e.count > 1 ? e.first->what : e.first->words, e.ratio);
  }
  return text;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<Reply> explain(const ExplainRequest& request) {
  const std::string certificate = api::load_certificate(request.certificate);
  try {
    const api::Explanation explanation = api::explain(certificate);
    std::string text = to_text(explanation, request.verbose);
    if (request.steps) text += printable_lines(explanation.told);
    return Reply{Exit::Done, std::move(text), Json::parse(explanation.json)};
  } catch (const api::Error& e) {
    if (e.kind() != api::ErrorKind::BadInput) throw;
    return Error{fmt::format("{}: {}", request.certificate.string(), e.what())};
  }
}

}  // namespace

void add_check(CLI::App& app, Chosen& chosen) {
  auto request = std::make_shared<CheckRequest>();
  CLI::App* command = app.add_subcommand("check", "Check a certificate: prove again that OUT equals IN");
  command->add_option("IN", request->in, "The original model")->type_name("")->required();
  command->add_option("OUT", request->out, "The optimized model")->type_name("")->required();
  command->add_option("CERT", request->certificate, "The certificate")->type_name("")->required();
  command
      ->add_option("--shape", request->shapes,
                   "The size, if the certificate was made with --shape or --fix-shape; may be given several "
                   "times (default: as they are)")
      ->type_name("NAME=SHAPE")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--value", request->values,
                   "A fixed input, if the certificate was made with --value; may be given several times "
                   "(default: none)")
      ->type_name("NAME=NUMBER")
      ->expected(1)
      ->take_all();
  add_sizes_from_option(*command, request->sizes_from);
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, request] { chosen.run = [request] { return check(*request); }; });

  auto wanted = std::make_shared<ExplainRequest>();
  CLI::App* told = app.add_subcommand("explain", "List the steps of a certificate");
  told->add_option("CERT", wanted->certificate, "The certificate")->type_name("")->required();
  told->add_flag("-v,--verbose", wanted->verbose, "List equal steps separately");
  told->add_flag("--steps", wanted->steps,
                 "List the steps as the checker reads them, with each program as text");
  told->add_flag("--json", chosen.json, "Answer in JSON");
  told->callback([&chosen, wanted] { chosen.run = [wanted] { return explain(*wanted); }; });
}

}  // namespace isomer::cli
