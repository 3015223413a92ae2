#include "search/context.h"

namespace isomer {

std::string_view name(StoppedBy by) {
  switch (by) {
    case StoppedBy::Done: return "done";
    case StoppedBy::Budget: return "budget";
    case StoppedBy::Interrupt: return "interrupt";
  }
  return "";
}

bool SearchContext::is_over() {
  if (report.stopped_by != StoppedBy::Done) return true;
  if (options.limit && options.limit->is_interrupted()) report.stopped_by = StoppedBy::Interrupt;
  else if (tried >= options.steps || options.seconds_left() <= 0) report.stopped_by = StoppedBy::Budget;
  report.is_out_of_steps = tried >= options.steps;
  return report.stopped_by != StoppedBy::Done;
}

}  // namespace isomer
