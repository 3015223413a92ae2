#include "rules/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "rules/derive.h"
#include "rules/generalize.h"
#include "rules/rule_text.h"

namespace isomer::rules {
namespace {

// Candidates that are proved together; those that the first of them implies are dropped afterwards. A
// constant, so that the pack is the same for any number of threads.
constexpr std::size_t kBatch = 16;
// Steps of a derivation that is worth looking for, and how far: a rule too many costs less than an hour.
constexpr DeriveBounds kDerivable{.steps = 3, .most_terms = 400, .most_nodes = 10};

double ms_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

// "Relu(Concat1(x0, x1))": for people.
std::string formula_text(const Words& words, const std::vector<Term>& terms,
                         const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const Term& t : terms) {
    if (t.word == kVariable) {
      out.push_back(names[t.operands[0]]);
      continue;
    }
    const Word& word = words.of(t.word);
    std::vector<std::string> operands;
    for (std::size_t k = 0; k < t.count; ++k) operands.push_back(out[t.operands[k]]);
    out.push_back(fmt::format("{}{}({})", word.op, word.outputs > 1 ? fmt::format(" {}", word.output) : "",
                              fmt::join(operands, ", ")));
  }
  return out.back();
}

// What a rule may do to the last digits of numbers, told from its words.
std::string_view contract(const Words& words, const Side& left, const Side& right) {
  std::array<std::set<std::string>, 2> functions;
  bool sums = false;
  for (std::size_t k = 0; k < 2; ++k)
    for (const Term& t : (k == 0 ? left : right).terms) {
      if (t.word == kVariable) continue;
      const Word& word = words.of(t.word);
      if (word.rounding() == Rounding::Otherwise) return "may round otherwise";
      if (word.rounding() == Rounding::Function) functions[k].insert(word.text());
      sums = sums || word.rounding() == Rounding::Sum;
    }
  if (functions[0] != functions[1]) return "may round otherwise";
  return sums ? "may reorder sums" : "only moves data";
}

// The rule with a number of groups in place of two, where all convolutions have two; else as it is.
std::string with_any_groups(const std::string& text) {
  const auto count = [&](std::string_view what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  if (count("group = 2") == 0 || count("group = 2") != count("Conv<") || count("Conv(") > 0) return text;
  std::string out = "for g = 1, 2, 4\n" + text;
  for (const auto& [what, by] :
       {std::pair<std::string, std::string>("group = 2", "group = $g"), {"2*", "$g*"}})
    for (std::size_t at = out.find(what); at != std::string::npos; at = out.find(what, at + by.size()))
      out.replace(at, what.size(), by);
  return out;
}

// What is dropped for one reason, in few words.
std::string cause(const std::string& why) {
  for (const char* known : {"not proved at", "symbolic scale", "divides by a symbol", "is not known unless"})
    if (why.find(known) != std::string::npos) return fmt::format("undecided: {}", known);
  return why.substr(0, 100);
}

struct Open {
  Side left, right;
  std::vector<GeneralInput> inputs;
  std::string text, title;
  std::string why;  // it is dropped
};

struct Kept {
  Open rule;
  int operators = 0;
  std::string text;  // below its name
};

class Generator {
 public:
  explicit Generator(const GenerateOptions& options) : options_(options), enumeration_(words_) {}

  GeneratedPack run() {
    GeneratedPack pack;
    for (int level = 1; level <= options_.operators; ++level) {
      GenerateStage& stage = pack.stages.emplace_back();
      stage.operators = level;
      auto begun = std::chrono::steady_clock::now();
      std::vector<Candidate> candidates = enumeration_.next_level(
          index_, level == options_.operators,
          {.threads = options_.threads,
           .most_terms = options_.most_terms,
           .only = options_.only,
           .stop = options_.stop,
           .progress = [&](const EnumerationCounts& c) {
             say(fmt::format("{} operators: {} terms, {} computed, {} values, {} candidates", level, c.terms,
                             c.computed, c.values, c.candidates));
           }});
      stage.enumerated = enumeration_.counts();
      stage.enumerate_ms = ms_since(begun);
      begun = std::chrono::steady_clock::now();
      decide(stage, candidates);
      stage.decide_ms = ms_since(begun);
      pack.is_complete = pack.is_complete && stage.enumerated.left_out + stage.left_out == 0 &&
                         !options_.stop.stop_requested();
      if (options_.stop.stop_requested()) break;
    }
    if (!options_.stop.stop_requested()) join_halves();
    pack.rules = kept_.size();
    pack.text = pack_text(pack);
    return pack;
  }

 private:
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  Open open(const Candidate& c) const {
    Open out;
    std::vector<TermId> inputs;
    out.left = enumeration_.side_of(c.term, inputs);
    out.right = enumeration_.side_of(enumeration_.at(c.representative), inputs);
    // The whole of either side has the shape of the representative.
    for (Side* side : {&out.left, &out.right}) side->shapes.back() = enumeration_.shape(c.representative, 0);
    std::map<std::string_view, int> used;
    for (const TermId id : inputs) {
      GeneralInput& input = out.inputs.emplace_back();
      const std::string_view letter = enumeration_.input_letter(id);
      input.name = fmt::format("{}{}", letter, used[letter]++);
      input.is_weight = enumeration_.is_weight(id);
      for (int k = 0; k < 2; ++k)
        input.extents[static_cast<std::size_t>(k)] = *concrete(enumeration_.shape(id, k));
    }
    return out;
  }

  std::vector<std::string> names_of(const Open& o) const {
    std::vector<std::string> out;
    for (const GeneralInput& i : o.inputs) out.push_back(i.name);
    return out;
  }

  void decide(GenerateStage& stage, std::vector<Candidate>& candidates) {
    // What is said of more inputs is more general.
    std::ranges::stable_sort(candidates, std::greater{}, &Candidate::inputs);
    stage.after_renaming = candidates.size();
    if (candidates.size() > options_.most_candidates) {
      stage.left_out = candidates.size() - options_.most_candidates;
      candidates.resize(options_.most_candidates);
    }
    std::vector<Open> batch;
    std::size_t seen = 0;
    for (const Candidate& c : candidates) {
      if (options_.stop.stop_requested()) return;
      ++seen;
      Open o = open(c);
      // An instance of a kept rule as a whole, or inside of what both sides do alike.
      if (derive(words_, index_, o.left, o.right, {.steps = 1, .most_terms = kDerivable.most_terms}))
        continue;
      ++stage.after_common;
      if (derive(words_, index_, o.left, o.right, kDerivable)) continue;
      batch.push_back(std::move(o));
      if (batch.size() < kBatch) continue;
      prove(stage, batch);
      say(fmt::format("{} operators: {} of {} candidates, {} rules", stage.operators, seen, candidates.size(),
                      kept_.size()));
    }
    prove(stage, batch);
  }

  void prove(GenerateStage& stage, std::vector<Open>& batch) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < batch.size(); i = next++) {
        if (options_.stop.stop_requested()) return;
        prove_one(batch[i]);
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < options_.threads; ++i) threads.emplace_back(work);
      work();
    }
    if (!options_.stop.stop_requested())
      for (const Open& o : batch) keep(stage, o);
    batch.clear();
  }

  void prove_one(Open& o) const {
    auto general = general_rule(words_, o.left.terms, o.right.terms, o.inputs);
    if (!general.ok()) {
      o.why = general.error().message;
      return;
    }
    // What holds of two groups may hold of any number of them.
    if (std::string grouped = with_any_groups(*general);
        grouped != *general && decide_candidate(grouped).empty()) {
      o.text = std::move(grouped);
      return;
    }
    o.text = *general;
    o.why = decide_candidate(o.text);
  }

  void keep(GenerateStage& stage, const Open& o) {
    // What came before it in the batch may imply it.
    if (derive(words_, index_, o.left, o.right, kDerivable)) return;
    ++stage.after_derivability;
    if (!o.why.empty()) {
      // What it implies is not asked either, unless it is false.
      if (!o.text.empty() && o.why != "refuted") add_equations(o.text);
      ++stage.dropped[cause(o.why)];
      return;
    }
    const bool is_conditional = o.text.find("require ") != std::string::npos;
    ++(is_conditional ? stage.conditional : stage.proved);
    if (!texts_.insert(o.text).second) return;
    add_equations(o.text);
    kept_.push_back({o, stage.operators, o.text});
  }

  void add_equations(const std::string& text) {
    const auto rules = parse_rules("rule kept\n" + text);
    ISOMER_CHECK(rules.ok());
    for (Equation& e : equations_of(words_, (*rules)[0], kept_.size())) index_.add(std::move(e));
  }

  // The halves of one value: two rules that say what each of them is become one rule with two outputs.
  void join_halves() {
    std::map<std::string, std::size_t> first;  // what both have in common -> the first half's rule
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const std::vector<Term>& left = kept_[i].rule.left.terms;
      const Word* root = left.back().word == kVariable ? nullptr : &words_.of(left.back().word);
      if (root == nullptr || root->outputs != 2) continue;
      const std::string key = kept_[i].text.substr(0, kept_[i].text.find("\nright"));
      const std::size_t arrow = key.rfind(" => ");
      const auto [at, is_new] = first.emplace(key.substr(0, arrow), i);
      if (is_new) continue;
      Kept &a = kept_[at->second], &b = kept_[i];
      Kept& one = words_.of(a.rule.left.terms.back().word).output == 0 ? a : b;
      Kept& other = &one == &a ? b : a;
      std::string joined = one.text.substr(0, one.text.find("left  "));
      joined += "left  " + both(one.rule.left.terms, other.rule.left.terms, names_of(one.rule)) + "\n";
      joined += "right " + both(one.rule.right.terms, other.rule.right.terms, names_of(one.rule)) + "\n";
      if (names_of(one.rule) != names_of(other.rule) || !decide_candidate(joined).empty()) continue;
      one.text = std::move(joined);
      one.rule.title = title_of(one.rule) + "; " + title_of(other.rule);
      other.text.clear();
    }
    std::erase_if(kept_, [](const Kept& k) { return k.text.empty(); });
  }
  std::string both(std::vector<Term> terms, const std::vector<Term>& more,
                   const std::vector<std::string>& names) const {
    const auto offset = static_cast<TermId>(terms.size());
    for (Term t : more) {
      for (std::size_t k = 0; k < t.count; ++k) t.operands[k] += offset;
      terms.push_back(t);
    }
    return body_text(words_, terms, names, {offset - 1, static_cast<TermId>(terms.size() - 1)});
  }

  std::string title_of(const Open& o) const {
    if (!o.title.empty()) return o.title;
    const auto names = names_of(o);
    return fmt::format("{} = {}", formula_text(words_, o.left.terms, names),
                       formula_text(words_, o.right.terms, names));
  }

  std::string pack_text(const GeneratedPack& pack) {
    std::map<std::string, std::string> by_id;
    for (const Kept& k : kept_) {
      const std::string id = Hasher().add(k.text).digest().hex().substr(0, 12);
      by_id[id] = fmt::format("# {}\n# {}; {} operator{}\nrule r_{}\n{}", title_of(k.rule),
                              contract(words_, k.rule.left, k.rule.right), k.operators,
                              k.operators == 1 ? "" : "s", id, k.text);
    }
    std::string out = fmt::format(
        "# Rules made by `isomer rules generate --operators {}`{}: {} of them, each proved for all sizes by "
        "both\n"
        "# witnesses. Sorted by content. Above each: what it says, and what it may do to the last digits.\n",
        options_.operators, pack.is_complete ? "" : ", INCOMPLETE", by_id.size());
    for (const auto& [id, text] : by_id) out += '\n' + text;
    return out;
  }

  const GenerateOptions& options_;
  Words words_;
  Enumeration enumeration_;
  EquationIndex index_;
  std::vector<Kept> kept_;
  std::set<std::string> texts_;
};

}  // namespace

std::string decide_candidate(std::string& text, const std::function<RuleVerdict(const Rule&)>& prove) {
  const auto rules = parse_rules("rule candidate\n" + text);
  if (!rules.ok()) return "the rule can't be read: " + rules.error().message;
  const RuleVerdict verdict = prove((*rules)[0]);
  switch (verdict.outcome) {
    case RuleVerdict::Outcome::Proved: return "";
    case RuleVerdict::Outcome::Refuted: return "refuted";
    case RuleVerdict::Outcome::Undecided: return "undecided: " + verdict.why;
    case RuleVerdict::Outcome::Conditional: break;
  }
  std::vector<std::string> conditions;
  for (const Condition& c : verdict.weakest[0]) conditions.push_back(c.text);
  text = fmt::format("require {}\n", fmt::join(conditions, ", ")) + text;
  return "";
}

GeneratedPack generate_rules(const GenerateOptions& options) { return Generator(options).run(); }

}  // namespace isomer::rules
