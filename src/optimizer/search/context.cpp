#include "optimizer/search/context.h"

#include <algorithm>

#include "base/cpu_time.h"
#include "optimizer/facts/price.h"

namespace isomer {

std::string_view name(StoppedBy by) {
  switch (by) {
    case StoppedBy::Done: return "done";
    case StoppedBy::Budget: return "budget";
    case StoppedBy::Interrupt: return "interrupt";
  }
  return "";
}

namespace {

// The pause between two reports: at least this, and this multiple of the time of the last one.
constexpr double kLeastSeconds = 0.2, kTimesAsLong = 20;

}  // namespace

double price_of(const Graph& graph, const Machine& machine) {
  const auto inference = infer(graph);
  return inference.ok() ? price(graph, *inference, machine) : 0;
}

void SearchContext::tell(const Draft& draft) {
  report.cost_after = price_of(draft.graph, machine());
  report.told.push_back({.seconds = options.limit ? options.limit->spent() : 0,
                         .cpu_seconds = cpu_seconds(),
                         .tried = tried,
                         .cost = report.cost_after});
  options.on_draft(draft);
}

void SearchContext::tell_so_far(const std::vector<Step>& proved) {
  if (trials || !so_far || !options.limit) return;
  const double now = options.limit->spent();
  if (now - told_at_ < std::max(kLeastSeconds, kTimesAsLong * telling_took_)) return;
  const int next = next_place;  // a report leaves no trace: the search goes on as without it
  if (const auto draft = so_far(proved)) tell(*draft);
  next_place = next;
  told_at_ = options.limit->spent();
  telling_took_ = told_at_ - now;
}

bool SearchContext::is_over() {
  if (report.stopped_by != StoppedBy::Done) return true;
  if (options.limit && options.limit->is_interrupted()) report.stopped_by = StoppedBy::Interrupt;
  else if (tried >= options.steps || options.seconds_left() <= 0) report.stopped_by = StoppedBy::Budget;
  report.is_out_of_steps = tried >= options.steps;
  return report.stopped_by != StoppedBy::Done;
}

}  // namespace isomer
