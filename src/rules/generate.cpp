#include "rules/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "rules/derive.h"
#include "rules/generalize.h"

namespace isomer::rules {
namespace {

// As kept_rules.cpp has it; here with the rules of lower levels.
constexpr DeriveBounds kDerivable{
    .steps = 3, .most_terms = 400, .most_nodes = 10, .which = EquationIndex::Which::General};

double ms_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

// What the result depends on.
std::string run_of(const GenerateOptions& options) {
  Hasher words;
  for (const Choice& c : vocabulary()) words.add(c.word.text());
  return fmt::format(
      "words {} operators {} most-terms {} most-candidates {} most-doubtful {} set-operations {} only {}",
      words.digest().hex(), options.operators, options.most_terms, options.most_candidates,
      options.most_doubtful, kCandidateSetOperations, fmt::join(options.only, " "));
}

// A candidate on its way to a rule.
struct Open {
  enum class Fate : std::uint8_t { Common, Derived, Dropped, Proposed } fate = Fate::Common;
  std::string text;  // or why it is dropped
};

KeepOptions keep_options(const GenerateOptions& o) {
  return {.threads = o.threads,
          .most_doubtful = o.most_doubtful,
          .stop = o.stop,
          .progress = o.progress,
          .prove = o.prove};
}

// The end of a run: what is proposed for the last level, by all shards, is decided.
GeneratedPack finish(KeptRules& kept, std::vector<GenerateStage> stages, std::vector<ProposedRule> proposed,
                     const std::string& run, const GenerateOptions& options) {
  GeneratedPack pack;
  GenerateStage& last = stages.back();
  const auto begun = std::chrono::steady_clock::now();
  kept.decide(last, std::move(proposed), keep_options(options));
  last.decide_ms += ms_since(begun);
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

// Those of most inputs first, as what is said of more inputs is more general; no more than the bound.
void sort_and_cut(std::vector<ProposedRule>& proposed, GenerateStage& stage, std::uint64_t most) {
  std::ranges::sort(proposed, [](const ProposedRule& a, const ProposedRule& b) {
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

  // All levels but what is proposed for the last one.
  std::vector<ProposedRule> run(Shard shard) {
    for (int level = 1;; ++level) {
      std::vector<ProposedRule> proposed = propose(level, shard);
      const bool is_last = level == options_.operators;
      if (!is_last || shard.of == 1) sort_and_cut(proposed, stages.back(), options_.most_candidates);
      if (is_last || options_.stop.stop_requested()) return proposed;
      const auto begun = std::chrono::steady_clock::now();
      kept_.decide(stages.back(), std::move(proposed), keep_options(options_));
      enumeration_.settle(kept_.index());
      stages.back().decide_ms = ms_since(begun);
      if (options_.stop.stop_requested()) return {};
    }
  }
  KeptRules& kept() { return kept_; }
  std::vector<GenerateStage> stages;

 private:
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  std::vector<ProposedRule> propose(int level, Shard shard) {
    GenerateStage& stage = stages.emplace_back();
    stage.operators = level;
    auto begun = std::chrono::steady_clock::now();
    const std::vector<Candidate> candidates = enumeration_.next_level(
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
    stage.enumerated = enumeration_.counts();
    stage.enumerate_ms = ms_since(begun);
    begun = std::chrono::steady_clock::now();
    std::vector<ProposedRule> out = proposed_of(stage, candidates);
    stage.propose_ms = ms_since(begun);
    return out;
  }

  std::vector<ProposedRule> proposed_of(GenerateStage& stage, const std::vector<Candidate>& candidates) {
    std::vector<Open> all(candidates.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&](bool speaks) {
      for (std::size_t i = next++; i < all.size() && !options_.stop.stop_requested(); i = next++) {
        all[i] = open(candidates[i]);
        if (speaks && i % 1024 == 0)
          say(fmt::format("{} operators: {} of {} candidates", stage.operators, i, all.size()));
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < options_.threads; ++i) threads.emplace_back(work, false);
      work(true);
    }
    if (options_.stop.stop_requested()) return {};
    stage.after_renaming = all.size();
    std::vector<ProposedRule> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      stage.after_common += all[i].fate != Open::Fate::Common ? 1 : 0;
      if (all[i].fate == Open::Fate::Dropped) {
        ++stage.after_derivability;
        ++stage.dropped[all[i].text];
      }
      if (all[i].fate == Open::Fate::Proposed)
        out.push_back({std::move(all[i].text), candidates[i].inputs, candidates[i].place});
    }
    return out;
  }

  // From any thread.
  Open open(const Candidate& c) const {
    std::vector<TermId> inputs;
    Side left = enumeration_.side_of(c.term, inputs), right = enumeration_.side_of(c.representative, inputs);
    for (Side* side : {&left, &right}) side->shapes.back() = c.shape;
    // One step: an instance of a kept rule as a whole, or inside of what both sides do alike.
    if (const auto way = derive(words_, kept_.index(), left, right, kDerivable))
      return {way->size() <= 1 ? Open::Fate::Common : Open::Fate::Derived, {}};
    auto general = general_rule(words_, left.terms, right.terms, general_inputs(inputs));
    if (!general.ok()) return {Open::Fate::Dropped, general.error().message};
    return {Open::Fate::Proposed, std::move(general).value()};
  }

  std::vector<GeneralInput> general_inputs(const std::vector<TermId>& inputs) const {
    std::vector<GeneralInput> out;
    std::map<std::string_view, int> used;
    for (const TermId id : inputs) {
      GeneralInput& input = out.emplace_back();
      const std::string_view letter = enumeration_.input_letter(id);
      input.name = fmt::format("{}{}", letter, used[letter]++);
      input.is_weight = enumeration_.is_weight(id);
      for (int k = 0; k < 2; ++k)
        input.extents[static_cast<std::size_t>(k)] = *concrete(enumeration_.shape(id, k));
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
  for (const auto& [why, count] : more.dropped) to.dropped[why] += count;
}

}  // namespace

GeneratedPack generate_rules(const GenerateOptions& options) {
  Generator generator(options);
  std::vector<ProposedRule> proposed = generator.run({});
  return finish(generator.kept(), std::move(generator.stages), std::move(proposed), run_of(options), options);
}

std::optional<ShardText> propose_shard(const GenerateOptions& options, Shard shard) {
  Generator generator(options);
  ShardText out{.run = run_of(options),
                .shard = shard,
                .operators = options.operators,
                .most_candidates = options.most_candidates,
                .most_doubtful = options.most_doubtful,
                .stages = {},
                .history = {},
                .proposed = generator.run(shard)};
  if (options.stop.stop_requested()) return std::nullopt;
  out.stages = std::move(generator.stages);
  out.history = generator.kept().history();
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
  std::vector<ProposedRule> proposed = std::move(shards[0].proposed);
  for (std::size_t i = 1; i < shards.size(); ++i) {
    add(stages.back(), shards[i].stages.back());
    std::ranges::move(shards[i].proposed, std::back_inserter(proposed));
  }
  GenerateOptions as_run = options;
  as_run.operators = first.operators;
  as_run.most_doubtful = first.most_doubtful;
  sort_and_cut(proposed, stages.back(), first.most_candidates);
  return finish(kept, std::move(stages), std::move(proposed), first.run, as_run);
}

}  // namespace isomer::rules
