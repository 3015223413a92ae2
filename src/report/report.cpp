#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "certify/digest.h"
#include "report/node_times.h"
#include "report/report_data.h"
#include "runtime/engines.h"

#include "report/page_text.h"

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

void keep_least(NodeTimes& times, const NodeTimes& again) {
  for (std::size_t n = 0; n < times.ns.size(); ++n) times.ns[n] = std::min(times.ns[n], again.ns[n]);
  times.others_ns = std::min(times.others_ns, again.others_ns);
}

Outcome<Widths> times_of(const ReportRequest& request) {
  request.progress("asking the runtime how long each node takes");
  ISOMER_TRY(const auto judge, Judge::start(request.worker));
  ISOMER_TRY(const SharedFeeds feeds, SharedFeeds::make(request.feeds));
  const auto times = [&](const Model& model) {
    return node_times(*judge, model, feeds, request.runtime, request.scratch);
  };
  // By turns, twice: what a busy machine adds is mostly in one of them.
  ISOMER_TRY(NodeTimes before, times(request.in));
  ISOMER_TRY(NodeTimes after, times(request.out));
  ISOMER_TRY(const NodeTimes before_again, times(request.in));
  ISOMER_TRY(const NodeTimes after_again, times(request.out));
  keep_least(before, before_again);
  keep_least(after, after_again);
  const Engine* engine = engine_named(judge->runtime());
  return Widths{.unit = "time",
                .before = std::move(before.ns),
                .after = std::move(after.ns),
                .others_before = before.others_ns,
                .others_after = after.others_ns,
                .runtime = fmt::format("{} {}", engine ? engine->title : judge->runtime(), judge->version()),
                .inputs = request.inputs,
                .threads = request.runtime.threads};
}

Widths widths_of(const ReportRequest& request) {
  std::string why;
  if (request.measure) {
    auto times = times_of(request);
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
  Widths widths = widths_of(request);
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
