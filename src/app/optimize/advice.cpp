#include "app/optimize/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/inputs/opened_model.h"
#include "kernel/prove/flush.h"
#include "runtime/judge/measure_apart.h"

namespace isomer {
namespace {

constexpr const char* kFlush = "session.set_denormal_as_zero";
constexpr double kWorthTelling = 1.1;

void count_in(const Tensor& tensor, const std::string& name, Denormals& found) {
  if (tensor.type() != ElementType::Float) return;
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(tensor.as<float>(), is_denormal));
  if (count > 0 && found.count == 0) found.first = name;
  found.count += count;
  found.of += static_cast<std::uint64_t>(tensor.as<float>().size());
}

}  // namespace

std::optional<Denormals> count_denormals(const AdviceRequest& request) {
  std::set<std::string> all;
  for (const NodeId id : request.model.graph.order())
    all.insert(request.model.graph.node(id).outputs.begin(), request.model.graph.node(id).outputs.end());
  const auto open = opened_model(request.model, request.feeds, all);
  if (!open) return std::nullopt;
  const auto file = ScratchModel::write(*open, request.out);
  if (!file.ok()) return std::nullopt;
  const auto judge = Judge::start(request.worker);
  if (!judge.ok()) return std::nullopt;
  const auto values = (*judge)->run(file->source(), request.feeds, request.runtime);
  if (!values.ok()) return std::nullopt;
  Denormals found;
  for (const auto& [name, tensor] : request.feeds) count_in(tensor, name, found);
  for (const auto& [name, tensor] : *values) count_in(tensor, name, found);
  for (const NodeId id : request.model.graph.order())
    if (const Node& node = request.model.graph.node(id); node.kind == NodeKind::Initializer)
      count_in(node.tensor, node.outputs[0], found);
  return found;
}

std::vector<Advice> advice_for(const AdviceRequest& request) {
  if (request.worker.runtime != "ort" || request.runtime.config.contains(kFlush)) return {};
  const auto found = count_denormals(request);
  if (!found || found->count == 0) return {};
  const auto feeds = SharedFeeds::make(request.feeds);
  if (!feeds.ok()) return {};
  RuntimeOptions flushed = request.runtime;
  flushed.config[kFlush] = "1";
  const auto measured =
      measure_apart(request.worker, ModelSource::file(request.in.string()), *feeds, request.runtime, flushed,
                    {.runtime = request.runtime, .seconds = request.seconds});
  if (!measured.ok() || measured->ratio.low < kWorthTelling) return {};
  return {{.option = kFlush,
           .value = "1",
           .ratio = measured->ratio,
           .why = fmt::format(
               "{} of {} numbers in the model are denormal, the first of them in {}: the processor computes "
               "with such small numbers slowly, and this option flushes them to zero",
               found->count, found->of, found->first)}};
}

}  // namespace isomer
