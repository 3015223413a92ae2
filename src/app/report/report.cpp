#include "app/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/report/node_times.h"
#include "app/report/report_data.h"
#include "kernel/certify/digest.h"
#include "runtime/engines/engines.h"

#include "app/report/page_text.h"

namespace isomer {
namespace {

// The text with the first place of a mark replaced.
std::string filled(std::string text, std::string_view mark, std::string_view by) {
  const auto at = text.find(mark);
  ISOMER_CHECK(at != std::string::npos, "a page with a place for all of its parts");
  return text.replace(at, mark.size(), by);
}

// JSON inside of a script element: "<" could begin the element's end.
std::string json_for_page(const ReportData& data) {
  const std::string text = data.dump(-1, ' ', false, ReportData::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out;
}

// A machine that is busy for a while makes one model look slower. Profiles are taken by turns and the least
// counts, until the nodes that both models have take about the same in both, or so often.
constexpr int kFewestRounds = 2, kMostRounds = 6;
constexpr double kSameWithin = 1.1;

// All profiles of one model so far.
struct Profiled {
  const Model& model;
  std::set<NodeId> kept;  // nodes that the other model has, too
  NodeTimes least = {};

  void add(const NodeTimes& times) {
    if (least.ns.empty()) least = times;
    for (std::size_t n = 0; n < times.ns.size(); ++n) least.ns[n] = std::min(least.ns[n], times.ns[n]);
    least.others_ns = std::min(least.others_ns, times.others_ns);
  }
  double kept_ns() const {
    double out = 0;
    std::size_t number = 0;
    for (const NodeId id : model.graph.order()) {
      if (model.graph.node(id).kind != NodeKind::Operator) continue;
      if (kept.contains(id)) out += least.ns[number];
      ++number;
    }
    return out;
  }
};

Outcome<Widths> times_of(const ReportRequest& request, const Lineage& lineage) {
  request.progress("measuring the time of each node");
  ISOMER_TRY(const auto judge, Judge::start(request.worker));
  ISOMER_TRY(const SharedFeeds feeds, SharedFeeds::make(request.feeds));
  Profiled before{.model = request.in, .kept = {}}, after{.model = request.out, .kept = {}};
  for (const auto& [a, b] : lineage.kept) {
    before.kept.insert(a);
    after.kept.insert(b);
  }
  for (int round = 1; round <= kMostRounds; ++round) {
    for (Profiled* each : {&before, &after}) {
      ISOMER_TRY(const NodeTimes times,
                 node_times(*judge, each->model, feeds, request.runtime, request.scratch));
      each->add(times);
    }
    const double a = before.kept_ns(), b = after.kept_ns();
    if (round >= kFewestRounds && std::max(a, b) <= kSameWithin * std::min(a, b)) break;
  }
  const Engine* engine = engine_named(judge->runtime());
  return Widths{.unit = "time",
                .before = std::move(before.least.ns),
                .after = std::move(after.least.ns),
                .others_before = before.least.others_ns,
                .others_after = after.least.others_ns,
                .runtime = fmt::format("{} {}", engine ? engine->title : judge->runtime(), judge->version()),
                .inputs = request.inputs,
                .threads = request.runtime.threads};
}

Widths widths_of(const ReportRequest& request, const Lineage& lineage) {
  std::string why;
  if (request.measure) {
    auto times = times_of(request, lineage);
    if (times.ok()) return std::move(*times);
    why = to_error(times.error()).message;
  }
  Widths out;
  out.before = analytic_costs(request.in.graph);
  out.after = analytic_costs(request.out.graph);
  const bool is_known = std::ranges::any_of(out.before, [](double cost) { return cost > 0; });
  out.unit = is_known ? "cost" : "nodes";
  if (!is_known)
    for (auto* widths : {&out.before, &out.after}) std::ranges::fill(*widths, 1);
  out.why = std::move(why);
  return out;
}

}  // namespace

Result<ReportPage> make_report(const ReportRequest& request) {
  ISOMER_TRY(const Certificate certificate, parse_certificate(request.certificate));
  if (certificate.in_digest != model_digest(request.in.graph))
    return Error{
        fmt::format("{} is about another original than {}", request.certificate_name, request.in_name)};
  if (certificate.out_digest != model_digest(request.out.graph))
    return Error{
        fmt::format("{} is about another result than {}", request.certificate_name, request.out_name)};
  const Lineage lineage = lineage_of(request.in.graph, request.out.graph, certificate);
  Widths widths = widths_of(request, lineage);
  if (lineage.changed.empty() && widths.after.size() == widths.before.size()) {  // one model, measured twice
    widths.after = widths.before;
    widths.others_after = widths.others_before;
  }
  const ReportData data = report_data(request, certificate, lineage, widths);
  std::string html = filled(kPageHtml, "/*style*/", kPageCss);
  html = filled(std::move(html), "/*data*/", json_for_page(data));
  html = filled(std::move(html), "/*script*/", kPageJs);
  return ReportPage{.html = std::move(html),
                    .widths = widths.unit,
                    .why = widths.why,
                    .regions = lineage.changed.size(),
                    .unchanged = lineage.kept.size()};
}

}  // namespace isomer
