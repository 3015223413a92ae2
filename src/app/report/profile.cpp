#include "app/report/profile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/engines/engines.h"

namespace isomer {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1000;
// From what takes no time to what takes the most, in the colours of a page about a result.
constexpr const char *kCold = "#ffffff", *kHot = "#f2a65a";

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  std::map<std::string, int> last;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator) continue;
    const std::string wanted = node.name.empty() ? "node" : node.name;
    std::string name = wanted;
    while (!taken.insert(name).second) name = fmt::format("{}_{}", wanted, ++last[wanted]);
    out.push_back(std::move(name));
  }
  return out;
}

Json event(const std::string& name, double begin_ns, double ns, Json nodes) {
  Json out{
      {"name", name}, {"cat", "kernel"}, {"ph", "X"}, {"ts", begin_ns / kNsPerUs}, {"dur", ns / kNsPerUs}};
  out.update({{"pid", 1}, {"tid", 1}, {"args", {{"nodes", std::move(nodes)}}}});
  return out;
}

}  // namespace

Outcome<Profile> profile_of(Judge& judge, const Model& model, const SharedFeeds& feeds,
                            const RuntimeOptions& options, const std::filesystem::path& scratch) {
  ISOMER_TRY(auto kernels, marked_kernels(judge, model, feeds, options, scratch));
  const Engine* engine = engine_named(judge.runtime());
  NodeTimes times = shared_out(model.graph, kernels);
  return Profile{.kernels = std::move(kernels),
                 .times = std::move(times),
                 .runtime = fmt::format("{} {}", engine ? engine->title : judge.runtime(), judge.version())};
}

nlohmann::ordered_json node_data(const Graph& graph, const Profile& profile) {
  Json results = Json::object();
  const std::vector<std::string> names = node_names(graph);
  for (std::size_t n = 0; n < names.size(); ++n)
    results[names[n]] = {{"value", profile.times.ns[n] / kNsPerUs}};
  return {{"name", fmt::format("µs on {}", profile.runtime)},
          {"results", std::move(results)},
          {"gradient", {{{"stop", 0}, {"bgColor", kCold}}, {{"stop", 1}, {"bgColor", kHot}}}}};
}

nlohmann::ordered_json trace_events(const Graph& graph, const Profile& profile) {
  struct Kernel {
    const std::string* op;
    const KernelKind::Each* each;
  };
  std::vector<Kernel> kernels;
  for (const KernelKind& kind : profile.kernels)
    for (const KernelKind::Each& each : kind.each) kernels.push_back({&kind.op, &each});
  std::ranges::stable_sort(kernels, {}, [](const Kernel& k) { return k.each->place; });
  const std::vector<std::string> names = node_names(graph);
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", profile.runtime}}}});
  events.push_back(
      {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", "one run"}}}});
  double at_ns = 0;
  for (const Kernel& kernel : kernels) {
    Json nodes = Json::array();
    for (const std::size_t n : marks_in(kernel.each->node))
      if (n < names.size()) nodes.push_back(names[n]);
    events.push_back(event(*kernel.op, at_ns, kernel.each->time_ns, std::move(nodes)));
    at_ns += kernel.each->time_ns;
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
}

}  // namespace isomer
