// The data of a report's page, as JSON: page/ is its only reader. Nodes are numbers, in the order of their
// graph.
#pragma once

#include <string>
#include <vector>

#include "app/report/drawn_graph.h"
#include "app/report/lineage.h"
#include "app/report/report.h"

namespace isomer {

// How wide each operator is drawn.
struct Widths {
  std::string unit;  // "time" (ns), "cost" or "nodes"
  std::vector<double> before, after;
  double others_before = 0, others_after = 0;  // of the runtime's own kernels
  std::string runtime = {}, inputs = {};       // that the times are from
  int threads = 1;
  std::string why = {};  // why there are no times although requested
};

ReportData report_data(const ReportRequest& request, const Certificate& certificate, const Lineage& lineage,
                       const Widths& widths);

}  // namespace isomer
