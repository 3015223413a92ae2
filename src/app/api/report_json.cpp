#include "app/api/report_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "runtime/engines/engines.h"

namespace isomer {
namespace {

using Json = ReportJson;

// JSON has no numbers that are not finite: those are texts.
Json number_json(double v) { return std::isfinite(v) ? Json(v) : Json(fmt::format("{}", v)); }

// ---- inspect

// A count that may depend on open sizes, or be too large (nullopt).
void put_flops(Json& json, const std::optional<Dim>& flops) {
  json["flops"] = flops && flops->is_concrete() ? Json(flops->concrete()) : Json();
  if (flops && !flops->is_concrete()) json["flops_expression"] = flops->text();
}

Json to_json(const std::vector<InterfaceValue>& values) {
  Json list = Json::array();
  for (const InterfaceValue& value : values) {
    Json shape;  // null where the rank isn't known
    if (value.shape) {
      shape = Json::array();
      for (const Dim& dim : *value.shape)
        shape.push_back(dim.is_concrete() ? Json(dim.concrete()) : Json(dim.text()));
    }
    list.push_back({{"name", value.name}, {"type", name(value.type)}, {"shape", shape}});
  }
  return list;
}

// ---- optimize

Json interval_json(const Interval& i) {
  return {{"median", i.estimate}, {"low", i.low}, {"high", std::isfinite(i.high) ? Json(i.high) : Json()}};
}

Json cost_json(const std::optional<RunCost>& cost) {
  if (!cost) return {};
  return {{"latency_ns", interval_json(cost->latency_ns)},
          {"peak_bytes", cost->peak_bytes ? Json(*cost->peak_bytes) : Json()}};
}

// In operations of a matrix product.
Json prices_of(const Prices& p) {
  return {{"node", p.node},           {"element", p.element},
          {"function", p.function},   {"convolution", p.convolution},
          {"unblocked", p.unblocked}, {"depthwise", p.depthwise},
          {"reordered", p.reordered}};
}

Json saturation_json(const SearchReport::Saturation& s) {
  return {{"nodes", s.nodes},   {"classes", s.classes},       {"complete", s.complete},
          {"proved", s.proved}, {"not_proved", s.not_proved}, {"exact", s.exact},
          {"greedy", s.greedy}};
}

std::string_view word(OptimizeReport::Result result) {
  return result == OptimizeReport::Result::Improved     ? "improved"
         : result == OptimizeReport::Result::Simplified ? "simplified"
                                                        : "unchanged";
}

// ---- prove

std::string_view word(Answer answer) {
  return answer == Answer::Proved ? "proved" : answer == Answer::Refuted ? "refuted" : "undecided";
}

// The largest relative difference that this number of last places of a float is.
double relative_of(double ulp) { return ulp * 0x1p-23; }

Json example_json(const Refuted& refuted) {
  return {{"position", refuted.position}, {"a", refuted.a}, {"b", refuted.b}};
}

Json constant_json(const ConstantDifference& d) {
  return {{"name", d.name}, {"differing", d.differing}, {"elements", d.of}, {"first", d.first}, {"a", d.a},
          {"b", d.b},       {"words", text(d)}};
}

// ---- bench

Json interval_json(const char* middle, const Interval& interval) {
  return {{middle, interval.estimate}, {"low", interval.low}, {"high", interval.high}};
}

Json failure_json(const Failure& failure) {
  return {{"kind", name(failure.kind)}, {"what", failure.what}, {"message", to_error(failure).message}};
}

Json to_json(const BenchModel& model) {
  Json json{{"path", model.path}};
  if (model.failure) {
    json["failure"] = failure_json(*model.failure);
    return json;
  }
  const double total = kernel_ns(model);
  Json operators = Json::array();
  for (const KernelKind& kind : model.facts.kernels) {
    const auto in_file = model.file_nodes.find(kind.op);
    operators.push_back({{"op", kind.op},
                         {"in_file", in_file == model.file_nodes.end() ? 0 : in_file->second},
                         {"nodes", kind.nodes},
                         {"time_ns", kind.time_ns},
                         {"share", total > 0 ? kind.time_ns / total : 0}});
  }
  json["latency_ns"] = interval_json("median", model.latency.wall_ns);
  json["cpu_ns"] = interval_json("median", model.latency.cpu_ns);
  json["peak_bytes"] = model.facts.peak_bytes;
  json["load_ns"] = model.facts.load_ns;
  json["nodes_in_file"] = nodes_in_file(model);
  json["reorders"] = model.facts.reorders;
  json["operators"] = std::move(operators);
  return json;
}

// All of a comparison but what it says.
void put_measured(Json& json, const PairMeasurement& measured) {
  json.update(interval_json("ratio", measured.ratio));
  json["clock"] = measured.by_cpu_time ? "cpu" : "wall";
  json["wall_ratio"] = interval_json("ratio", measured.wall_ratio);
  json["cpu_ratio"] = interval_json("ratio", measured.cpu_ratio);
  json["rounds"] = measured.explored.size() + measured.confirmed.size();
  json["seconds"] = measured.seconds;
  json["own_seconds"] = measured.own_seconds;
  json["from_cache"] = measured.from_cache;
}

Json to_json(const BenchPair& pair, const BenchRun& run) {
  Json json{{"a", run.models[pair.a].path}, {"b", run.models[pair.b].path}, {"number_of_b", pair.b}};
  if (pair.failure) {
    json["failure"] = failure_json(*pair.failure);
    return json;
  }
  json["verdict"] = text(pair.measured.verdict);
  put_measured(json, pair.measured);
  return json;
}

// ---- compare

Json to_json(const ComparedValue& value) {
  const TensorDifference& d = value.difference;
  Json json{{"a", value.a}, {"b", value.b}, {"type", name(value.type)}, {"misfit", d.misfit}};
  if (!d.misfit.empty()) return json;
  json.update(Json{{"differing", d.differing},
                   {"elements", d.of},
                   {"largest_absolute", number_json(d.largest_absolute)},
                   {"largest_relative", number_json(d.largest_relative)},
                   {"of_scale", number_json(d.of_scale)}});
  if (d.differing == 0) return json;
  json["first"] = {{"position", d.first}, {"a", number_json(d.first_a)}, {"b", number_json(d.first_b)}};
  json["worst"] = {{"position", d.worst}, {"a", number_json(d.worst_a)}, {"b", number_json(d.worst_b)}};
  return json;
}

// ---- rules

using RuleOutcome = RuleVerdict::Outcome;

std::string_view word(RuleOutcome outcome) {
  switch (outcome) {
    case RuleOutcome::Proved: return "proved";
    case RuleOutcome::Conditional: return "conditional";
    case RuleOutcome::Refuted: return "refuted";
    case RuleOutcome::Undecided: break;
  }
  return "undecided";
}

Json to_json(const RuleCounterexample& example) {
  Json values = Json::object(), shapes = Json::object();
  for (const auto& [name, value] : example.values) values[name] = value;
  for (const auto& [name, tensor] : example.refuted.feeds) shapes[name] = tensor.extents();
  return {{"values", values},
          {"shapes", shapes},
          {"output", example.refuted.output},
          {"position", example.refuted.position},
          {"left", number_json(example.refuted.a)},
          {"right", number_json(example.refuted.b)},
          {"words", example_text(example)}};
}

Json to_json(const Decided& d) {
  Json required = Json::array();
  for (const Conditions& conditions : d.verdict.weakest) {
    Json all = Json::array();
    for (const Condition& c : conditions) all.push_back(c.text);
    required.push_back(std::move(all));
  }
  return {{"name", d.rule.name},
          {"line", d.rule.line},
          {"instances", d.rule.instances.size()},
          {"verdict", word(d.verdict.outcome)},
          {"requires", std::move(required)},
          {"counterexample", d.verdict.counterexample ? to_json(*d.verdict.counterexample) : Json()},
          {"why", d.verdict.why},
          {"as_expected", d.rule.expectation ? Json(d.as_expected) : Json()},
          {"ms", d.ms}};
}

Json cache_json(const TimingCache* cache) {
  if (!cache) return {};
  return {{"place", cache->path()}, {"bytes", cache->bytes()}, {"trouble", cache->trouble()}};
}

}  // namespace

ReportJson to_json(const BenchRun& run) {
  Json models = Json::array(), pairs = Json::array();
  for (const BenchModel& model : run.models) models.push_back(to_json(model));
  for (const BenchPair& pair : run.pairs) pairs.push_back(to_json(pair, run));
  const char* network = run.guard == NetworkGuard::Filter      ? "seccomp"
                        : run.guard == NetworkGuard::Namespace ? "namespace"
                                                               : "open";
  return {{"runtime", run.runtime},      {"title", run.title},        {"version", run.version},
          {"threads", run.threads},      {"network", network},        {"inputs", run.inputs},
          {"models", std::move(models)}, {"pairs", std::move(pairs)}, {"note", run.note}};
}

ReportJson to_json(const GateRun& run) {
  const PairMeasurement& measured = run.speed.measured;
  Json base{{"path", run.base}, {"runtime", run.base_runtime}},
      candidate{{"path", run.candidate}, {"runtime", run.candidate_runtime}};
  Json speed{{"verdict", text(run.speed.answer)}};
  if (run.speed.failure) {
    speed["failure"] = failure_json(*run.speed.failure);
  } else {
    put_measured(speed, measured);
    base["latency_ns"] = interval_json("median", measured.a_wall_ns);
    base["cpu_ns"] = interval_json("median", measured.a_cpu_ns);
    candidate["latency_ns"] = interval_json("median", measured.b_wall_ns);
    candidate["cpu_ns"] = interval_json("median", measured.b_cpu_ns);
  }
  Json equality;
  if (run.equality)
    equality = {
        {"verdict", text(run.equality->answer)},
        {"why", run.equality->why},
        {"proof", run.equality->proof},
        {"but_for_rounding", run.equality->rounded_constants > 0},
        {"constants_rounded", run.equality->rounded_constants},
        {"flushed", run.equality->flushed},
        {"sizes_from", run.equality->sizes_from},
        {"matched_by", run.equality->by_position ? "position" : "name"},
        {"outputs_differ", run.equality->outputs_differ ? Json(*run.equality->outputs_differ) : Json()}};
  return {{"verdict", text(run.answer())},   {"line", line_of(run)},
          {"min_ratio", run.min_ratio},      {"speed", std::move(speed)},
          {"equality", std::move(equality)}, {"base", std::move(base)},
          {"new", std::move(candidate)},     {"threads", run.threads},
          {"machine", run.machine},          {"inputs", run.inputs}};
}

ReportJson to_json(const Summary& summary) {
  Json operators = Json::array(), opaque = Json::array();
  for (const OperatorCount& kind : summary.operators) {
    operators.push_back(
        {{"op", kind.op}, {"domain", kind.domain}, {"count", kind.count}, {"defined", kind.defined}});
    put_flops(operators.back(), kind.flops);
  }
  for (const OpaqueEntry& entry : summary.opaque)
    opaque.push_back({{"node", entry.node},
                      {"op", entry.op},
                      {"domain", entry.domain},
                      {"reason", entry.reason},
                      {"floats", entry.on_floats}});
  const auto opset = summary.opsets.find("");
  Json json{{"opset", opset == summary.opsets.end() ? Json() : Json(opset->second)},
            {"opsets", summary.opsets},
            {"ir", summary.ir},
            {"nodes", summary.nodes},
            {"inputs", to_json(summary.inputs)},
            {"outputs", to_json(summary.outputs)},
            {"operators", operators},
            {"float_nodes", summary.float_nodes},
            {"float_nodes_defined", summary.float_nodes_defined},
            {"opaque", opaque}};
  put_flops(json, summary.flops);
  json["weight_bytes"] = summary.weight_bytes;
  return json;
}

ReportJson to_json(const OptimizeReport& report, const OptimizeContext& context) {
  const auto maybe = [](const std::optional<double>& v) { return v ? Json(*v) : Json(); };
  Json steps = Json::array(), advice = Json::array(), regions = Json::array(), groups = Json::array();
  for (const auto& s : report.steps)
    steps.push_back({{"kind", s.kind}, {"count", s.count}, {"nodes", s.nodes}});
  for (const Advice& a : report.advice)
    advice.push_back({{"option", a.option},
                      {"value", a.value},
                      {"ratio", a.ratio.estimate},
                      {"low", a.ratio.low},
                      {"high", a.ratio.high},
                      {"why", a.why}});
  for (const auto& r : report.search.regions)
    regions.push_back({{"kind", r.change.kind},
                       {"what", label_of(r.change)},
                       {"words", describe(r.change)},
                       {"first", r.first},
                       {"places", r.places},
                       {"ratio", r.ratio.estimate},
                       {"low", r.ratio.low},
                       {"high", r.ratio.high}});
  for (const auto& g : report.groups)
    groups.push_back({{"kind", g.change.kind},
                      {"what", g.label},
                      {"words", describe(g.change)},
                      {"places", g.places},
                      {"fewer_nodes", g.fewer},
                      {"ratio", g.ratio > 0 ? Json(g.ratio) : Json()}});
  Json user_rules = Json::array(), proposers = Json::array(), sizes = Json::array(), reached = Json::array();
  for (const OptimizeReport::AtSize& at : report.sizes) {
    sizes.push_back({{"size", at.size}});
    sizes.back().update(interval_json("ratio", at.ratio));
  }
  for (const auto& [kind, asked] : report.search.asked)
    proposers.push_back(
        {{"kind", kind}, {"tried", asked.tried}, {"proved", asked.proved}, {"seconds", asked.seconds}});
  for (const SearchReport::Told& t : report.search.told)
    reached.push_back({{"seconds", t.seconds},
                       {"cpu_seconds", t.cpu_seconds},
                       {"tried", t.tried},
                       {"cost", t.cost},
                       {"ratio", maybe(t.ratio)}});
  for (const Decided& d : context.user_rules) user_rules.push_back(to_json(d));
  const Engine* engine = engine_named(report.runtime);
  const SearchReport& s = report.search;
  return {{"result", word(report.result)},
          {"reason", report.reason},
          {"ratio", report.ratio ? Json(report.ratio->estimate) : Json()},
          {"low", report.ratio ? Json(report.ratio->low) : Json()},
          {"high", report.ratio ? Json(report.ratio->high) : Json()},
          {"sizes", sizes},
          {"min_gain", context.min_gain},
          {"before", cost_json(report.before)},
          {"after", cost_json(report.after)},
          {"error_before", maybe(report.error_before)},
          {"error_after", maybe(report.error_after)},
          {"nodes_in", report.nodes_in},
          {"nodes_out", report.nodes_out},
          {"bytes_in", report.bytes_in},
          {"bytes_out", report.bytes_out},
          {"runtime",
           {{"name", report.runtime},
            {"title", engine ? engine->title : report.runtime},
            {"version", report.runtime_version},
            {"threads", context.threads}}},
          {"machine", context.machine},
          {"inputs", context.inputs},
          {"fixed", context.fixed},
          {"assumed", context.assumed},
          {"sizes_from", report.sizes_from},
          {"at_zero", report.at_zero},
          {"flushed", report.flushed.numbers},
          {"flushed_bound", report.flushed.bound},
          {"steps", steps},
          {"stopped_by", name(s.stopped_by)},
          {"seconds", report.seconds},
          {"search",
           {{"regions", s.unique_regions},
            {"states", s.states},
            {"proofs", s.proofs},
            {"cache_hits", s.cache_hits},
            {"cost_before", s.cost_before},
            {"cost_after", s.cost_after},
            {"saturation", saturation_json(s.saturation)},
            {"questions", s.questions},
            {"known_measurements", s.known_measurements},
            {"known_proofs", s.known_proofs},
            {"known_refusals", s.known_refusals},
            {"plans",
             {{"found", s.plans.found},
              {"places", s.plans.places},
              {"refused", s.plans.refused},
              {"taken", s.plans.taken},
              {"kept", s.plans.kept}}},
            {"proposers", proposers},
            {"reached", reached},
            {"prices", prices_of(s.prices)}}},
          {"certificate", report.certificate.string()},
          {"kernels", Json::parse(context.kernels)},
          {"advice", advice},
          {"groups", groups},
          {"regions", regions},
          {"changes", report.changes},
          {"changes_in_words", report.changes_in_words},
          {"not_taken", s.refused},
          {"user_rules", user_rules},
          {"left_alone", s.declined},
          {"cache", cache_json(context.cache.get())}};
}

ReportJson to_json(const ProveAnswer& answer, double ms) {
  const ModelsVerdict& verdict = answer.verdict;
  Json outputs = Json::array(), constants = Json::array();
  for (std::size_t k = 0; k < verdict.outputs.size(); ++k) {
    const auto& output = verdict.outputs[k];
    const bool is_it = verdict.example && verdict.example->output == static_cast<int>(k);
    outputs.push_back({{"a", output.a},
                       {"b", output.b},
                       {"verdict", word(output.answer)},
                       {"why", output.why},
                       {"example", is_it ? example_json(*verdict.example) : Json()}});
  }
  for (const ConstantDifference& d : answer.constants) constants.push_back(constant_json(d));
  const Json witnesses{{"sets", verdict.answer == Answer::Proved}, {"field_points", verdict.points}};
  const bool is_rounded =
      verdict.answer == Answer::Proved && verdict.constants_rounded + verdict.constants_restated > 0;
  return {{"verdict", word(verdict.answer)},
          {"but_for_rounding", is_rounded},
          {"outputs", outputs},
          {"matched_by", verdict.by_position ? "position" : "name"},
          {"assumed", answer.assumed},
          {"why", verdict.why},
          {"first_difference", verdict.first_difference},
          {"constants_differ", constants},
          {"constants_rounded", verdict.constants_rounded},
          {"constants_restated", verdict.constants_restated},
          {"constants_moved", verdict.constants_moved},
          {"worst_ulp", verdict.worst_ulp},
          {"worst_relative", relative_of(verdict.worst_ulp)},
          {"widened", answer.widened},
          {"flushed", answer.flushed},
          {"pairs", verdict.proofs},
          {"witnesses", witnesses},
          {"witness_disagreements", verdict.witness_disagreements},
          {"disagreement", verdict.disagreement},
          {"by_certificate", answer.is_by_certificate},
          {"sizes", answer.sizes},
          {"sizes_from", answer.sizes_from},
          {"input", answer.saved},
          {"ms", ms}};
}

ReportJson to_json(const Certificate& certificate) {
  Json notes = Json::array();
  for (const Note& n : certificate.notes)
    notes.push_back({{"kind", n.kind},
                     {"what", n.what},
                     {"where", n.where},
                     {"words", describe_at(n.what, n.where)},
                     {"ratio", n.ratio}});
  return {{"steps", certificate.steps.size()},
          {"pairs", certificate.pairing ? Json(certificate.pairing->equations.size()) : Json()},
          {"sizes_from", certificate.sizes_from},
          {"notes", notes}};
}

ReportJson to_json(const ComparedModels& compared, const std::string& engine, const std::string& inputs) {
  Json outputs = Json::array();
  for (const ComparedValue& value : compared.outputs) outputs.push_back(to_json(value));
  return {{"differ", compared.differ()},
          {"outputs", outputs},
          {"first_parting", compared.first_parting ? to_json(*compared.first_parting) : Json()},
          {"engine", engine},
          {"inputs", inputs}};
}

ReportJson to_json(const std::vector<Decided>& rules, double ms) {
  Json list = Json::array();
  for (const Decided& d : rules) list.push_back(to_json(d));
  const auto count = [&](RuleOutcome outcome) {
    return std::ranges::count_if(rules, [&](const Decided& d) { return d.verdict.outcome == outcome; });
  };
  return {{"rules", std::move(list)},
          {"proved", count(RuleOutcome::Proved)},
          {"conditional", count(RuleOutcome::Conditional)},
          {"refuted", count(RuleOutcome::Refuted)},
          {"undecided", count(RuleOutcome::Undecided)},
          {"ms", ms}};
}

std::string json_text(const ReportJson& json) {
  return json.dump(2, ' ', false, ReportJson::error_handler_t::replace) + '\n';
}

}  // namespace isomer
