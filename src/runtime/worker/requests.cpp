#include "runtime/worker/requests.h"

#include <algorithm>

namespace isomer {
namespace {

Json to_json(const std::vector<PortInfo>& ports) {
  Json list = Json::array();
  for (const PortInfo& port : ports)
    list.push_back({{"name", port.name}, {"type", static_cast<int>(port.type)}, {"extents", port.extents}});
  return list;
}

std::vector<PortInfo> ports_from(const Json& list) {
  std::vector<PortInfo> ports;
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const auto type = integer_field(entry, "type").value_or(0);
    ports.push_back({text_field(entry, "name").value_or(""),
                     static_cast<ElementType>(type > 0 && type <= kLastOnnxType ? type : 0),
                     integers_field(entry, "extents").value_or(std::vector<std::int64_t>{})});
  }
  return ports;
}

std::uint64_t count_field(const Json& object, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_field(object, key).value_or(0)));
}

double time_field(const Json& object) {
  const auto time = object.find("time_ns");
  return time != object.end() && time->is_number() ? time->get<double>() : 0;
}

}  // namespace

Json to_json(const RuntimeOptions& options) {
  Json config = Json::array();  // pairs, since keys and values may be any bytes
  for (const auto& [key, value] : options.config) config.push_back({key, value});
  return {{"threads", options.threads},
          {"level", static_cast<int>(options.level)},
          {"disabled", options.disabled_optimizers},
          {"config", config},
          {"custom", options.custom_op_libraries}};
}

RuntimeOptions options_from(const Json& json) {
  RuntimeOptions options;
  options.threads = static_cast<int>(integer_field(json, "threads").value_or(1));
  options.level = static_cast<OptimizationLevel>(integer_field(json, "level").value_or(3));
  options.disabled_optimizers = texts_field(json, "disabled");
  options.custom_op_libraries = texts_field(json, "custom");
  for (const Json& pair : array_field(json, "config"))
    if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
      options.config[pair[0].get<std::string>()] = pair[1].get<std::string>();
  return options;
}

Json to_json(const Limits& limits) {
  return {{"memory_bytes", limits.memory_bytes},
          {"file_bytes", limits.file_bytes},
          {"cpu_seconds", limits.cpu_seconds_per_call}};
}

Limits limits_from(const Json& json) {
  return {count_field(json, "memory_bytes"), count_field(json, "file_bytes"),
          count_field(json, "cpu_seconds")};
}

Json to_json(const Signature& signature) {
  return {{"inputs", to_json(signature.inputs)}, {"outputs", to_json(signature.outputs)}};
}

Signature signature_from(const Json& json) {
  return {ports_from(array_field(json, "inputs")), ports_from(array_field(json, "outputs"))};
}

Json to_json(const std::vector<KernelKind>& kinds) {
  Json list = Json::array();
  for (const KernelKind& kind : kinds) {
    Json each = Json::array();
    for (const KernelKind::Each& e : kind.each)
      each.push_back({{"node", e.node}, {"time_ns", e.time_ns}, {"place", e.place}});
    list.push_back(
        {{"op", kind.op}, {"nodes", kind.nodes}, {"time_ns", kind.time_ns}, {"each", std::move(each)}});
  }
  return list;
}

std::vector<KernelKind> kinds_from(const Json& json) {
  std::vector<KernelKind> kinds;
  for (const Json& entry : json) {
    if (!entry.is_object()) continue;
    KernelKind& kind = kinds.emplace_back(KernelKind{.op = text_field(entry, "op").value_or(""),
                                                     .nodes = count_field(entry, "nodes"),
                                                     .time_ns = time_field(entry)});
    for (const Json& each : array_field(entry, "each"))
      if (each.is_object())
        kind.each.push_back({text_field(each, "node").value_or(""), time_field(each),
                             integer_field(each, "place").value_or(0)});
  }
  return kinds;
}

Json to_json(const Failure& failure) {
  return {{"failure", static_cast<int>(failure.kind)}, {"what", failure.what}};
}

std::optional<Failure> failure_from(const Json& json) {
  const auto kind = integer_field(json, "failure");
  if (!kind) return std::nullopt;
  if (*kind < 0 || *kind > static_cast<int>(FailureKind::Garbled))
    return Failure{FailureKind::Garbled, "a failure of no known kind"};
  return Failure{static_cast<FailureKind>(*kind), text_field(json, "what").value_or("")};
}

}  // namespace isomer
