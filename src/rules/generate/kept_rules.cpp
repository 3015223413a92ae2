#include "rules/generate/kept_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "kernel/prove/verdict.h"
#include "rules/generate/generalize.h"
#include "rules/generate/rule_text.h"
#include "rules/generate/vocabulary.h"
#include "rules/text/clauses.h"

namespace isomer::rules {
namespace {

// Rules that are decided together; those that the first of them implies are dropped afterwards. A constant,
// so that the pack is the same for any number of threads.
constexpr std::size_t kBatch = 32;
// Rules of which those that follow from what is kept are left out at once, before they come in batches.
constexpr std::size_t kGlance = 1024;
// Steps of a derivation that is worth looking for, and how far: a rule too many costs less than an hour.
// Straight: a kernel that is enlarged and then added to another one follows from two rules, but the first of
// them alone costs more than it saves, and no search that looks at one step finds the second.
constexpr DeriveBounds kDerivable{.steps = 3, .most_terms = 400, .most_nodes = 10, .is_straight = true};
constexpr DeriveBounds kDerivableAtSizes{.steps = 3,
                                         .most_terms = 400,
                                         .most_nodes = 10,
                                         .is_straight = true,
                                         .which = EquationIndex::Which::General};

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

// The possible effect of a rule on the last digits of numbers, determined by its words.
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

// The short name of a reason for dropping candidates.
std::string cause(const std::string& why) {
  for (const std::string_view known :
       {kNoProof, std::string_view("symbolic scale"), std::string_view("divides by a symbol"),
        std::string_view("is not known unless"), std::string_view("may fail where the first program runs")})
    if (why.find(known) != std::string::npos) return fmt::format("undecided: {}", known);
  return why.substr(0, 100);
}

// "given ..." of a rule.
std::string given_of(const std::string& text) {
  const std::size_t at = text.find("given ");
  return text.substr(at, text.find('\n', at) - at);
}

// Inputs as they are enumerated: their names begin with the letter of their family.
std::vector<GeneralInput> inputs_of(const std::vector<std::string>& names) {
  std::vector<GeneralInput> out;
  for (const std::string& name : names)
    for (const Family& family : families())
      if (name.starts_with(family.letter))
        out.push_back({.name = name, .is_weight = family.role == Role::Weight, .extents = family.extents});
  return out;
}

// Whether a rule speaks of all sizes at which one of its sides is well formed.
bool is_general(const Words& words, const std::string& text, const Side& from,
                const std::vector<std::string>& names) {
  if (text.find("require ") != std::string::npos) return false;
  const auto alone = general_rule(words, from.terms, from.terms, inputs_of(names));
  if (!alone.ok()) return false;
  const bool has_groups = text.starts_with("for g");
  return given_of(has_groups ? with_any_groups(*alone) : *alone) == given_of(text);
}

std::vector<std::string> names_of(const RuleInstance& instance) {
  std::vector<std::string> out;
  for (const Value& v : instance.left.inputs()) out.push_back(instance.left.node(v.node).outputs[0]);
  return out;
}

// The sides of a rule of one output, with two groups where it has any number of them.
Sides sides_of_one(Words& words, const Rule& rule) {
  for (const RuleInstance& i : rule.instances)
    if (i.values == std::vector<std::pair<std::string, std::string>>{{"g", "2"}})
      return sides_of(words, {.name = {}, .enumerated = {}, .instances = {i}, .expectation = {}})[0];
  return sides_of(words, rule)[0];
}

}  // namespace

// A rule of a batch, and what is found of it.
struct KeptRules::Asked {
  std::size_t number = 0;
  ProposedRule rule;
  std::size_t known = 0;        // number of equations at the last derivability test
  bool is_last_chance = false;  // doubtful, and decided nevertheless
  enum class Fate : std::uint8_t { Derived, Doubtful, Decided } fate = Fate::Derived;
  std::string text = {};  // of all sizes; with what it requires, if that is found
  std::vector<Sides> sides = {};
  std::string why = {};  // decided: it is dropped
};

// The words of the vocabulary come first, so that they have the same numbers in every process.
KeptRules::KeptRules(Words& words) : words_(words) {
  for (const Choice& c : vocabulary()) words_.add(c.word);
}

std::string KeptRules::text_of(const ProposedRule& rule) const {
  std::vector<std::string> given;
  for (std::size_t i = 0; i < rule.names.size(); ++i)
    for (const Side* side : {&rule.left, &rule.right}) {
      const auto at = std::ranges::find(side->terms, Term::variable(static_cast<TermId>(i)));
      if (at == side->terms.end()) continue;
      const Dims& shape = side->shapes[static_cast<std::size_t>(at - side->terms.begin())];
      given.push_back(fmt::format("float{} {}", isomer::text(shape), rule.names[i]));
      break;
    }
  return fmt::format("given {}\nleft  {}\nright {}\n", fmt::join(given, ", "),
                     body_text(words_, rule.left.terms, rule.names),
                     body_text(words_, rule.right.terms, rule.names));
}

Result<ProposedRule> KeptRules::proposed_of(const std::string& text) {
  ISOMER_TRY(const std::vector<Rule> rules, parse_rules("rule proposed\n" + text));
  auto [left, right] = sides_of(words_, rules[0])[0];
  if (!left || !right) return Error{"a proposed rule can't be said in terms"};
  return ProposedRule{
      .left = std::move(*left), .right = std::move(*right), .names = names_of(rules[0].instances[0])};
}

// Threads differ by their number.
template <class Work>
void KeptRules::in_parallel(std::size_t count, const KeepOptions& options, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto go = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count && !options.stop.stop_requested(); i = next++)
      work(i, memories_[thread]);
  };
  const auto most = static_cast<std::size_t>(std::max(1, options.threads));
  if (memories_.size() < most) memories_.resize(most);
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(most, count); ++i) threads.emplace_back(go, i);
  go(0);
}

std::optional<std::size_t> KeptRules::steps_to(const ProposedRule& rule, ShapeMemory& memory) const {
  const auto way = derive(words_, index_, rule.left, rule.right, kDerivableAtSizes, &memory);
  return way ? std::optional(way->size()) : std::nullopt;
}

bool KeptRules::follows(const Asked& asked, const EquationIndex& from, ShapeMemory& memory) const {
  return !asked.sides.empty() && std::ranges::all_of(asked.sides, [&](const Sides& s) {
    return s.first && s.second && derive(words_, from, *s.first, *s.second, kDerivable, &memory);
  });
}

std::vector<std::size_t> KeptRules::new_ones(GenerateStage& stage, const ProposedRules& proposed,
                                             const KeepOptions& options) {
  constexpr std::uint8_t kNever = 255;
  std::vector<std::uint8_t> steps(proposed.count, kNever);
  std::atomic<std::size_t> done = 0;
  in_parallel(proposed.count, options, [&](std::size_t i, Memories& memories) {
    if (const auto found = steps_to(proposed.at(i), memories.kept))
      steps[i] = static_cast<std::uint8_t>(*found);
    if (const std::size_t now = ++done; options.progress && now % kGlance == 0)
      options.progress(
          fmt::format("{} operators: {} of {} candidates", stage.operators, now, proposed.count));
  });
  std::vector<std::size_t> out;
  if (options.stop.stop_requested()) return out;
  for (std::size_t i = 0; i < proposed.count; ++i) {
    // One step: an instance of a kept rule as a whole, or inside a common context of both sides.
    stage.after_common += steps[i] > 1 ? 1 : 0;
    if (steps[i] == kNever) out.push_back(i);
  }
  return out;
}

void KeptRules::ask(Asked& asked, Memories& memories, const KeepOptions& options) const {
  if (index_.all().size() > asked.known && steps_to(asked.rule, memories.kept)) return;
  auto general =
      general_rule(words_, asked.rule.left.terms, asked.rule.right.terms, inputs_of(asked.rule.names));
  if (!general.ok()) {
    asked.fate = Asked::Fate::Decided;
    asked.why = general.error().message;
    return;
  }
  asked.text = std::move(*general);
  if (texts_.contains(asked.text)) return;
  read(asked);
  if (follows(asked, index_, memories.kept)) return;
  asked.fate = Asked::Fate::Doubtful;
  if (!asked.is_last_chance && doubtful_.all().size() > index_.all().size() &&
      follows(asked, doubtful_, memories.doubtful))
    return;
  asked.fate = Asked::Fate::Decided;
  // A rule for two groups may hold for any number of them.
  if (std::string grouped = with_any_groups(asked.text);
      grouped != asked.text && decide_candidate(grouped, options.prove).empty())
    asked.text = std::move(grouped);
  else asked.why = decide_candidate(asked.text, options.prove);
}

// All its words are those of the proposed rule.
void KeptRules::read(Asked& asked) const {
  const auto rules = parse_rules("rule proposed\n" + asked.text);
  ISOMER_CHECK(rules.ok());
  Words words = words_;
  asked.sides = sides_of(words, (*rules)[0]);
  ISOMER_CHECK(words.size() == words_.size());
}

void KeptRules::settle(GenerateStage& stage, Asked& asked) {
  if (!asked.text.empty() && !texts_.insert(asked.text).second) return;
  // An earlier rule of the batch may imply it.
  if (index_.all().size() > asked.known && !asked.sides.empty() && follows(asked, index_, memories_[0].kept))
    return;
  ++stage.after_derivability;
  if (!asked.why.empty()) {
    ++stage.dropped[cause(asked.why)];
    if (asked.why != "refuted" && !asked.text.empty())
      doubt({.text = asked.text, .operators = stage.operators, .is_kept = false});
    return;
  }
  ++(asked.text.find("require ") != std::string::npos ? stage.conditional : stage.proved);
  keep(asked.text, stage.operators);
}

void KeptRules::decide(GenerateStage& stage, const ProposedRules& proposed, const KeepOptions& options) {
  std::vector<std::size_t> later;  // doubtful
  const auto ask_batch = [&](std::vector<Asked>& batch) {
    in_parallel(batch.size(), options,
                [&](std::size_t i, Memories& memories) { ask(batch[i], memories, options); });
    if (options.stop.stop_requested()) return;
    for (Asked& asked : batch) {
      if (asked.fate == Asked::Fate::Doubtful) later.push_back(asked.number);
      if (asked.fate == Asked::Fate::Decided) settle(stage, asked);
    }
  };
  const auto go = [&](const std::vector<std::size_t>& numbers, bool is_last_chance) {
    for (std::size_t at = 0; at < numbers.size() && !options.stop.stop_requested(); at += kGlance) {
      const std::size_t known = index_.all().size();
      std::vector<std::optional<ProposedRule>> open(std::min(kGlance, numbers.size() - at));
      in_parallel(open.size(), options, [&](std::size_t i, Memories& memories) {
        ProposedRule rule = proposed.at(numbers[at + i]);
        if (!steps_to(rule, memories.kept)) open[i] = std::move(rule);
      });
      std::vector<Asked> batch;
      for (std::size_t i = 0; i < open.size() && !options.stop.stop_requested(); ++i) {
        if (open[i])
          batch.push_back({.number = numbers[at + i],
                           .rule = std::move(*open[i]),
                           .known = known,
                           .is_last_chance = is_last_chance});
        if (batch.size() < kBatch && i + 1 < open.size()) continue;
        ask_batch(batch);
        batch.clear();
        if (options.progress)
          options.progress(fmt::format("{} operators: {} of {} {}, {} rules", stage.operators, at + i + 1,
                                       numbers.size(), is_last_chance ? "doubtful" : "proposed",
                                       kept_.size()));
      }
    }
  };
  std::vector<std::size_t> all(proposed.count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  go(all, false);
  std::vector<std::size_t> doubtful = std::exchange(later, {});
  stage.doubtful = doubtful.size();
  if (doubtful.size() > options.most_doubtful) doubtful.resize(options.most_doubtful);
  stage.doubtful_left_out = stage.doubtful - doubtful.size();
  go(doubtful, true);
}

void KeptRules::doubt(const Event& event) {
  const auto rules = parse_rules("rule doubtful\n" + event.text);
  ISOMER_CHECK(rules.ok());
  for (Equation& e : equations_of(words_, (*rules)[0], 0)) doubtful_.add(std::move(e));
  history_.push_back(event);
}

void KeptRules::keep(const std::string& text, int operators) {
  const auto rules = parse_rules("rule kept\n" + text);
  ISOMER_CHECK(rules.ok());
  const Rule& rule = (*rules)[0];
  texts_.insert(text);
  auto [left, right] = sides_of_one(words_, rule);
  ISOMER_CHECK(left && right);
  Kept& kept = kept_.emplace_back(Kept{.text = text,
                                       .title = {},
                                       .operators = operators,
                                       .left = std::move(*left),
                                       .right = std::move(*right),
                                       .names = names_of(rule.instances[0])});
  const std::array general = {is_general(words_, text, kept.left, kept.names),
                              is_general(words_, text, kept.right, kept.names)};
  for (Equation& e : equations_of(words_, rule, kept_.size() - 1)) {
    e.is_general = general[e.is_reversed ? 1 : 0];
    doubtful_.add(e);
    index_.add(std::move(e));
  }
  history_.push_back({.text = text, .operators = operators, .is_kept = true});
}

namespace {

std::string both(const Words& words, std::vector<Term> terms, const std::vector<Term>& more,
                 const std::vector<std::string>& names) {
  const auto offset = static_cast<TermId>(terms.size());
  for (Term t : more) {
    for (std::size_t k = 0; k < t.count; ++k) t.operands[k] += offset;
    terms.push_back(t);
  }
  return body_text(words, terms, names, {offset - 1, static_cast<TermId>(terms.size() - 1)});
}

}  // namespace

void KeptRules::join_halves(const KeepOptions& options) {
  std::map<std::string, std::size_t> first;  // what both have in common -> the first half's rule
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const std::vector<Term>& left = kept_[i].left.terms;
    const Word* root = left.back().word == kVariable ? nullptr : &words_.of(left.back().word);
    if (root == nullptr || root->outputs != 2) continue;
    const std::string key = kept_[i].text.substr(0, kept_[i].text.find("\nright"));
    const std::size_t arrow = key.rfind(" => ");
    const auto [at, is_new] = first.emplace(key.substr(0, arrow), i);
    if (is_new) continue;
    Kept &a = kept_[at->second], &b = kept_[i];
    Kept& one = words_.of(a.left.terms.back().word).output == 0 ? a : b;
    Kept& other = &one == &a ? b : a;
    if (one.names != other.names) continue;
    std::string joined = one.text.substr(0, one.text.find("left  "));
    joined += "left  " + both(words_, one.left.terms, other.left.terms, one.names) + "\n";
    joined += "right " + both(words_, one.right.terms, other.right.terms, one.names) + "\n";
    if (!decide_candidate(joined, options.prove).empty()) continue;
    one.text = std::move(joined);
    one.title = title_of(one) + "; " + title_of(other);
    other.text.clear();
  }
  std::erase_if(kept_, [](const Kept& k) { return k.text.empty(); });
}

namespace {

std::set<std::string> operators_of_vocabulary() {
  std::set<std::string> out;
  for (const Choice& c : vocabulary()) out.insert(c.word.op);
  return out;
}

}  // namespace

std::string KeptRules::title_of(const Kept& kept) const {
  if (!kept.title.empty()) return kept.title;
  return fmt::format("{} = {}", formula_text(words_, kept.left.terms, kept.names),
                     formula_text(words_, kept.right.terms, kept.names));
}

std::string KeptRules::pack_text(int operators, const std::string& run, bool is_complete) const {
  std::map<std::string, std::string> by_id;
  for (const Kept& k : kept_) {
    const std::string id = Hasher().add(k.text).digest().hex().substr(0, 12);
    const auto clauses = clauses_of(fmt::format("rule r_{}\n{}", id, k.text));
    ISOMER_CHECK(clauses.ok());
    by_id[id] = fmt::format("{}  # {}; {}; {} operator{}\n", on_one_line(*clauses), title_of(k),
                            contract(words_, k.left, k.right), k.operators, k.operators == 1 ? "" : "s");
  }
  std::string out = fmt::format(
      "# Rules made by `isomer rules generate --operators {}`{}: {} of them, each proved for all sizes by "
      "both\n"
      "# witnesses. One a line, sorted by content; behind it: what it says, what it may do to the last "
      "digits.\n",
      operators, is_complete ? "" : ", INCOMPLETE", by_id.size());
  out += fmt::format("# Run: {}\n# Operators: {}\n\n", run, fmt::join(operators_of_vocabulary(), " "));
  for (const auto& [id, text] : by_id) out += text;
  return out;
}

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

}  // namespace isomer::rules
