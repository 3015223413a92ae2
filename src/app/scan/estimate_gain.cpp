#include "app/scan/estimate_gain.h"

#include <algorithm>

#include "app/optimize/optimize.h"
#include "kernel/prove/flush.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

void count_weights(const Graph& graph, Estimate& out) {
  for (const NodeId id : graph.order()) {
    const auto tensor = known_constant(graph, {id, 0});
    if (!tensor || tensor->type() != ElementType::Float) continue;
    out.float_weights += tensor->as<float>().size();
    out.denormal_weights +=
        static_cast<std::uint64_t>(std::ranges::count_if(tensor->as<float>(), is_denormal));
  }
}

}  // namespace

Result<Estimate> estimate_gain(const EstimateRequest& request, const Model& model) {
  OptimizeRequest asked{.in = request.path,
                        .scratch = std::filesystem::temp_directory_path() / "isomer",
                        .seconds = request.seconds,
                        .measure = false,
                        .waits = request.waits};
  asked.search.limit = request.limit;
  ISOMER_TRY(const Optimized found, optimize(std::move(asked), model));
  const OptimizeReport& report = found.report;
  Estimate out{.reason = report.reason,
               .stopped_by = std::string(name(report.search.stopped_by)),
               .seconds = report.seconds,
               .is_abandoned = report.is_abandoned};
  count_weights(model.graph, out);
  if (report.result == OptimizeReport::Result::Unchanged || !(report.search.cost_after > 0)) return out;
  out.ratio = std::max(1.0, report.search.cost_before / report.search.cost_after);
  for (const OptimizeReport::Group& group : report.groups)
    out.changes.push_back({describe(group.change), group.places});
  return out;
}

}  // namespace isomer
