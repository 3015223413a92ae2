#include "rules/generate/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/cpu_time.h"

namespace isomer::rules {
namespace {

std::uint64_t spent_ms() { return static_cast<std::uint64_t>(1000 * cpu_seconds()); }

// The settings that determine the result.
std::string run_of(const GenerateOptions& options) {
  Hasher words;
  for (const Choice& c : vocabulary()) words.add(c.word.text());
  return fmt::format(
      "words {} operators {} most-terms {} most-candidates {} most-doubtful {} set-operations {} only {}",
      words.digest().hex(), options.operators, options.most_terms, options.most_candidates,
      options.most_doubtful, kCandidateSetOperations, fmt::join(options.only, " "));
}

KeepOptions keep_options(const GenerateOptions& o) {
  return {.threads = o.threads,
          .most_doubtful = o.most_doubtful,
          .stop = o.stop,
          .progress = o.progress,
          .prove = o.prove};
}

// The end of a run: what is proposed for the last level, by all shards, is decided.
GeneratedPack finish(KeptRules& kept, std::vector<GenerateStage> stages, const ProposedRules& proposed,
                     const std::string& run, const GenerateOptions& options) {
  GeneratedPack pack;
  GenerateStage& last = stages.back();
  const std::uint64_t begun = spent_ms();
  kept.decide(last, proposed, keep_options(options));
  last.decide_ms += spent_ms() - begun;
  pack.is_complete =
      !options.stop.stop_requested() && std::ranges::all_of(stages, [](const GenerateStage& s) {
        return s.enumerated.left_out + s.left_out + s.doubtful_left_out == 0;
      });
  pack.stages = std::move(stages);
  if (!options.stop.stop_requested()) kept.join_halves(keep_options(options));
  pack.rules = kept.all().size();
  pack.text = kept.pack_text(options.operators, run, pack.is_complete);
  return pack;
}

// Those with most inputs first, since a rule with more inputs is more general; at most the limit. Stable:
// several rules of one place keep the order in which they were found, whichever thread found the rules beside
// them.
template <class Proposed>
void sort_and_cut(std::vector<Proposed>& proposed, GenerateStage& stage, std::uint64_t most) {
  std::ranges::stable_sort(proposed, [](const Proposed& a, const Proposed& b) {
    return a.inputs != b.inputs ? a.inputs > b.inputs : a.place < b.place;
  });
  if (proposed.size() <= most) return;
  stage.left_out += proposed.size() - most;
  proposed.resize(most);
}

class Generator {
 public:
  explicit Generator(const GenerateOptions& options)
      : options_(options), kept_(words_), enumeration_(words_) {}

  // All levels but the last one, and what is proposed for that.
  std::vector<Candidate> run(Shard shard) {
    for (int level = 1;; ++level) {
      if (take_begun(level)) continue;
      std::vector<Candidate> proposed = propose(level, shard);
      const bool is_last = level == options_.operators;
      if (!is_last || shard.of == 1) sort_and_cut(proposed, stages.back(), options_.most_candidates);
      if (is_last || options_.stop.stop_requested()) return proposed;
      const std::uint64_t begun = spent_ms();
      kept_.decide(stages.back(), rules_of(proposed), keep_options(options_));
      enumeration_.settle(kept_.index());
      stages.back().decide_ms = spent_ms() - begun;
      if (options_.stop.stop_requested()) return {};
      if (options_.on_level) options_.on_level(so_far());
    }
  }
  // As long as the candidates are there.
  ProposedRules rules_of(const std::vector<Candidate>& candidates) const {
    return {.count = candidates.size(), .at = [&](std::size_t i) { return rule_of(candidates[i]); }};
  }
  KeptRules& kept() { return kept_; }
  std::vector<GenerateStage> stages;

 private:
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  ShardText so_far() const {
    return {.run = run_of(options_),
            .shard = kNoShard,
            .operators = options_.operators,
            .most_candidates = options_.most_candidates,
            .most_doubtful = options_.most_doubtful,
            .stages = stages,
            .history = kept_.history(),
            .proposed = {}};
  }
  // A level that an earlier run has decided: values are enumerated again, without proofs.
  bool take_begun(int level) {
    const ShardText* begun = options_.begun;
    const auto number = static_cast<std::size_t>(level - 1);
    if (begun == nullptr || number >= begun->stages.size() || level == options_.operators) return false;
    enumerate(level, {});
    if (options_.stop.stop_requested()) return false;
    for (const KeptRules::Event& e : begun->history)
      if (e.operators == level) kept_.replay(e);
    enumeration_.settle(kept_.index());
    stages.push_back(begun->stages[number]);
    return true;
  }

  std::vector<Candidate> enumerate(int level, Shard shard) {
    return enumeration_.next_level(
        kept_.index(), options_.operators - level,
        {.threads = options_.threads,
         .most_terms = options_.most_terms,
         .only = options_.only,
         .shard = shard,
         .stop = options_.stop,
         .progress = [&](const EnumerationCounts& c) {
           say(fmt::format("{} operators: {} terms, {} computed, {} values, {} candidates", level, c.terms,
                           c.computed, c.values, c.candidates));
         }});
  }

  std::vector<Candidate> propose(int level, Shard shard) {
    GenerateStage& stage = stages.emplace_back();
    stage.operators = level;
    std::uint64_t begun = spent_ms();
    std::vector<Candidate> candidates = enumerate(level, shard);
    stage.enumerated = enumeration_.counts();
    stage.enumerate_ms = spent_ms() - begun;
    begun = spent_ms();
    stage.after_renaming = candidates.size();
    std::vector<Candidate> out;
    for (const std::size_t i : kept_.new_ones(stage, rules_of(candidates), keep_options(options_)))
      out.push_back(std::move(candidates[i]));
    stage.propose_ms = spent_ms() - begun;
    return out;
  }

  ProposedRule rule_of(const Candidate& c) const {
    std::vector<TermId> inputs;
    ProposedRule out{.left = enumeration_.side_of(c.term, inputs),
                     .right = enumeration_.side_of(c.representative, inputs),
                     .names = {}};
    for (Side* side : {&out.left, &out.right}) side->shapes.back() = c.shape;
    std::map<std::string_view, int> used;
    for (const TermId id : inputs) {
      const std::string_view letter = enumeration_.input_letter(id);
      out.names.push_back(fmt::format("{}{}", letter, used[letter]++));
    }
    return out;
  }

  const GenerateOptions& options_;
  Words words_;
  KeptRules kept_;
  Enumeration enumeration_;
};

void add(GenerateStage& to, const GenerateStage& more) {
  EnumerationCounts& e = to.enumerated;
  const EnumerationCounts& m = more.enumerated;
  e.terms += m.terms;
  e.renamings += m.renamings;
  e.derived += m.derived;
  e.computed += m.computed;
  e.values += m.values;
  e.candidates += m.candidates;
  e.left_out += m.left_out;
  to.after_renaming += more.after_renaming;
  to.after_common += more.after_common;
  to.after_derivability += more.after_derivability;
  to.enumerate_ms += more.enumerate_ms;
  to.propose_ms += more.propose_ms;
  for (const auto& [why, count] : more.dropped) to.dropped[why] += count;
}

}  // namespace

GeneratedPack generate_rules(const GenerateOptions& options) {
  Generator generator(options);
  const std::vector<Candidate> proposed = generator.run({});
  return finish(generator.kept(), std::move(generator.stages), generator.rules_of(proposed), run_of(options),
                options);
}

std::optional<ShardText> propose_shard(const GenerateOptions& options, Shard shard) {
  Generator generator(options);
  const std::vector<Candidate> proposed = generator.run(shard);
  if (options.stop.stop_requested()) return std::nullopt;
  ShardText out{.run = run_of(options),
                .shard = shard,
                .operators = options.operators,
                .most_candidates = options.most_candidates,
                .most_doubtful = options.most_doubtful,
                .stages = std::move(generator.stages),
                .history = generator.kept().history(),
                .proposed = {}};
  const ProposedRules rules = generator.rules_of(proposed);
  for (std::size_t i = 0; i < proposed.size(); ++i)
    out.proposed.push_back({.text = generator.kept().text_of(rules.at(i)),
                            .inputs = proposed[i].inputs,
                            .place = proposed[i].place});
  return out;
}

bool is_shard_of(const ShardText& text, const GenerateOptions& options, Shard shard) {
  return text.run == run_of(options) && text.shard.index == shard.index && text.shard.of == shard.of;
}

Result<GeneratedPack> merge_shards(std::vector<ShardText> shards, const GenerateOptions& options) {
  if (shards.empty()) return Error{"there are no shards"};
  std::ranges::sort(shards, {}, [](const ShardText& s) { return s.shard.index; });
  const ShardText& first = shards[0];
  for (int i = 1; i <= first.shard.of; ++i)
    if (std::ranges::count(shards, i, [](const ShardText& s) { return s.shard.index; }) != 1)
      return Error{fmt::format("shard {}/{} has to be given once", i, first.shard.of)};
  for (const ShardText& s : shards)
    if (s.run != first.run || s.shard.of != first.shard.of || s.history != first.history)
      return Error{fmt::format("shards {} and {} are of different runs", first.shard.index, s.shard.index)};
  Words words;
  KeptRules kept(words);
  for (const KeptRules::Event& e : first.history) kept.replay(e);
  std::vector<GenerateStage> stages = first.stages;
  std::vector<ShardText::Proposed> proposed = std::move(shards[0].proposed);
  for (std::size_t i = 1; i < shards.size(); ++i) {
    add(stages.back(), shards[i].stages.back());
    std::ranges::move(shards[i].proposed, std::back_inserter(proposed));
  }
  GenerateOptions as_run = options;
  as_run.operators = first.operators;
  as_run.most_doubtful = first.most_doubtful;
  sort_and_cut(proposed, stages.back(), first.most_candidates);
  std::vector<ProposedRule> rules;
  for (const ShardText::Proposed& p : proposed) {
    ISOMER_TRY(ProposedRule rule, kept.proposed_of(p.text));
    rules.push_back(std::move(rule));
  }
  return finish(kept, std::move(stages),
                {.count = rules.size(), .at = [&](std::size_t i) { return rules[i]; }}, first.run, as_run);
}

}  // namespace isomer::rules
