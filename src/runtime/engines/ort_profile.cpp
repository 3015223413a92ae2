// ONNX Runtime's profile: a JSON array of events, in the format of Chrome's tracing. Its nodes are those of
// the optimized graph, so the profile is also the list of fused nodes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/engines/ort_api.h"

namespace isomer::ort {
namespace {

using Json = nlohmann::json;

// A kernel in one node: the node's name and its number, since names need not differ.
using KernelNode = std::pair<std::string, std::string>;

struct Gathered {
  std::vector<double> times_us = {};  // of each run
  std::int64_t place = 0;             // of the first event
  bool is_inside = false;             // of a node with a body, whose time has this one's in it
};

// The delays of a busy machine are left out.
double lower_quartile_of(std::vector<double> list) {
  if (list.empty()) return 0;
  const auto at = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 4);
  std::ranges::nth_element(list, at);
  return *at;
}

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

double number_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

bool is_run(const Json& event) {
  return text_of(event, "cat") == "Session" && text_of(event, "name") == "model_run";
}

constexpr std::string_view kEnding = "_kernel_time";

// Runs of kernels, in the order in which they begin.
std::vector<const Json*> kernel_events(const Json& events) {
  std::vector<const Json*> out;
  for (const Json& event : events) {
    const auto arguments = event.find("args");
    if (text_of(event, "cat") == "Node" && text_of(event, "name").ends_with(kEnding) &&
        arguments != event.end())
      out.push_back(&event);
  }
  std::ranges::stable_sort(out, [](const Json* a, const Json* b) {
    const double from = number_of(*a, "ts"), other = number_of(*b, "ts");
    return from != other ? from < other : number_of(*a, "dur") > number_of(*b, "dur");
  });
  return out;
}

std::vector<KernelKind> gather(const Json& events) {
  std::uint64_t runs = 0;
  double first_end = 0;
  for (const Json& event : events)
    if (is_run(event) && runs++ == 0) first_end = number_of(event, "ts") + number_of(event, "dur");
  if (runs < 2) first_end = 0;
  std::map<std::string, std::map<KernelNode, Gathered>> kinds;
  std::int64_t place = 0;
  double outer_end = 0;
  for (const Json* event : kernel_events(events)) {
    const double begin = number_of(*event, "ts"), end = begin + number_of(*event, "dur");
    const bool is_inside = begin < outer_end && end <= outer_end;
    outer_end = std::max(outer_end, end);
    const std::string name = text_of(*event, "name");
    const Json& arguments = (*event)["args"];
    const KernelNode node{name.substr(0, name.size() - kEnding.size()), text_of(arguments, "node_index")};
    Gathered& kernel =
        kinds[text_of(arguments, "op_name")].try_emplace(node, Gathered{.place = place}).first->second;
    ++place;
    kernel.is_inside = is_inside;
    if (begin >= first_end) kernel.times_us.push_back(number_of(*event, "dur"));
  }
  const auto counted = static_cast<double>(std::max<std::uint64_t>(1, runs < 2 ? runs : runs - 1));
  std::vector<KernelKind> result;
  for (const auto& [op, kernels] : kinds) {
    KernelKind& told = result.emplace_back(KernelKind{.op = op, .nodes = kernels.size()});
    for (const auto& [node, kernel] : kernels) {
      double total_us = 0;
      for (const double time_us : kernel.times_us) total_us += time_us;
      told.time_ns += 1000 * total_us / counted;
      if (kernel.is_inside) continue;
      told.each.push_back({node.first, 1000 * lower_quartile_of(kernel.times_us), kernel.place});
    }
  }
  std::ranges::sort(result, std::greater{}, &KernelKind::time_ns);
  return result;
}

}  // namespace

Outcome<std::vector<KernelKind>> read_profile(const std::string& path) {
  std::ifstream file(path);
  const Json events = Json::parse(file, nullptr, false);
  file.close();
  ::unlink(path.c_str());
  if (!events.is_array()) return Failure{FailureKind::Refused, "the runtime wrote no readable profile"};
  return gather(events);
}

}  // namespace isomer::ort
