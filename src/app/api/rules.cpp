#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>

#include "app/api/errors.h"
#include "app/api/report_json.h"
#include "app/api/stopwatch.h"
#include "app/rules/decide_rules.h"
#include "app/rules/rule_pack.h"

namespace isomer::api {
namespace {

static_assert(
    static_cast<int>(RuleVerdict::Outcome::Proved) == static_cast<int>(DecidedRule::Outcome::Proved) &&
    static_cast<int>(RuleVerdict::Outcome::Conditional) ==
        static_cast<int>(DecidedRule::Outcome::Conditional) &&
    static_cast<int>(RuleVerdict::Outcome::Refuted) == static_cast<int>(DecidedRule::Outcome::Refuted) &&
    static_cast<int>(RuleVerdict::Outcome::Undecided) == static_cast<int>(DecidedRule::Outcome::Undecided));

ReportJson to_json(const std::vector<rules::GenerateStage>& all) {
  ReportJson stages = ReportJson::array();
  for (const rules::GenerateStage& s : all)
    stages.push_back({{"operators", s.operators},
                      {"terms", s.enumerated.terms},
                      {"renamings", s.enumerated.renamings},
                      {"derived", s.enumerated.derived},
                      {"computed", s.enumerated.computed},
                      {"values", s.enumerated.values},
                      {"left_out", s.enumerated.left_out},
                      {"candidates", s.enumerated.candidates},
                      {"after_renaming", s.after_renaming},
                      {"candidates_left_out", s.left_out},
                      {"after_common", s.after_common},
                      {"after_derivability", s.after_derivability},
                      {"doubtful", s.doubtful},
                      {"doubtful_left_out", s.doubtful_left_out},
                      {"proved", s.proved},
                      {"conditional", s.conditional},
                      {"dropped", s.dropped},
                      {"enumerate_ms", s.enumerate_ms},
                      {"propose_ms", s.propose_ms},
                      {"decide_ms", s.decide_ms}});
  return stages;
}

// The resources that this process has used.
rusage used() {
  rusage out{};
  getrusage(RUSAGE_SELF, &out);
  return out;
}
std::uint64_t peak_bytes() { return static_cast<std::uint64_t>(used().ru_maxrss) * 1024; }
double cpu_ms() {
  const rusage now = used();
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(now.ru_utime) + ms(now.ru_stime);
}

ReportJson to_json(const rules::GeneratedPack& pack, double ms) {
  return {{"stages", to_json(pack.stages)}, {"rules", pack.rules}, {"complete", pack.is_complete},
          {"peak_bytes", peak_bytes()},     {"cpu_ms", cpu_ms()},  {"ms", ms}};
}

GeneratedRules generated(const rules::GeneratedPack& pack, const ReportJson& json) {
  return {.rules = pack.rules, .is_complete = pack.is_complete, .json = json_text(json)};
}

ReportJson to_json(const std::vector<ListedRule>& listed) {
  ReportJson list = ReportJson::array();
  for (const ListedRule& r : listed) list.push_back({{"name", r.name}, {"says", r.says}, {"text", r.text}});
  return {{"rules", list}};
}

ReportJson to_json(const std::vector<DerivedRule>& asked, double ms) {
  ReportJson list = ReportJson::array();
  for (const DerivedRule& r : asked)
    list.push_back({{"name", r.name},
                    {"derived", r.is_derived},
                    {"instances", r.instances},
                    {"derived_instances", r.derived_instances},
                    {"steps", r.steps}});
  return {{"rules", list}, {"derived", std::ranges::count_if(asked, &DerivedRule::is_derived)}, {"ms", ms}};
}

}  // namespace

DecidedRules prove_rules(const std::filesystem::path& file) {
  return guarded([&] {
    const Stopwatch watch;
    const std::vector<Decided> decided = take(decide_rules(file));
    DecidedRules out{.json = json_text(to_json(decided, watch.ms()))};
    for (const Decided& d : decided) {
      DecidedRule rule{.name = d.rule.name,
                       .outcome = static_cast<DecidedRule::Outcome>(d.verdict.outcome),
                       .why = d.verdict.why};
      if (d.rule.expectation) rule.as_expected = d.as_expected;
      out.rules.push_back(std::move(rule));
    }
    return out;
  });
}

GeneratedRules generate_rules(const std::filesystem::path& file, const GenerateRulesOptions& options) {
  return guarded([&] {
    const Stopwatch watch;
    const rules::GenerateOptions asked{.operators = options.operators,
                                       .threads = options.threads,
                                       .most_terms = options.most_terms,
                                       .most_candidates = options.most_candidates,
                                       .most_doubtful = options.most_doubtful,
                                       .stop = options.stop,
                                       .progress = options.progress};
    if (options.shards == 0) {
      const rules::GeneratedPack pack = take(write_generated_rules(file, asked));
      ReportJson json = to_json(pack, watch.ms());
      json["shard"] = nullptr;
      return generated(pack, json);
    }
    const WrittenShard written =
        take(write_shard(file, asked, {.index = options.shard, .of = options.shards}));
    const rules::GeneratedPack pack{.stages = written.shard.stages,
                                    .rules = static_cast<std::size_t>(std::ranges::count_if(
                                        written.shard.history, &rules::KeptRules::Event::is_kept)),
                                    .is_complete = true,
                                    .text = {}};
    ReportJson json = to_json(pack, watch.ms());
    json["shard"] = {{"index", options.shard},
                     {"of", options.shards},
                     {"proposed", written.shard.proposed.size()},
                     {"reused", written.is_reused}};
    return generated(pack, json);
  });
}

GeneratedRules merge_rules(const std::vector<std::filesystem::path>& shards,
                           const std::filesystem::path& file, const MergeRulesOptions& options) {
  return guarded([&] {
    const Stopwatch watch;
    const rules::GeneratedPack pack = take(write_merged_rules(
        shards, file, {.threads = options.threads, .stop = options.stop, .progress = options.progress}));
    return generated(pack, to_json(pack, watch.ms()));
  });
}

std::string list_rules(const std::filesystem::path& file) {
  return guarded([&] { return json_text(to_json(take(isomer::list_rules(file)))); });
}

std::string derive_rules(const std::filesystem::path& file, const std::filesystem::path& pack, int steps) {
  return guarded([&] {
    const Stopwatch watch;
    const auto derived = take(isomer::derive_rules(file, pack, steps));
    return json_text(to_json(derived, watch.ms()));
  });
}

}  // namespace isomer::api
