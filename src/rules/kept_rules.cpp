#include "rules/kept_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "rules/derive.h"
#include "rules/generalize.h"
#include "rules/rule_text.h"
#include "rules/vocabulary.h"

namespace isomer::rules {
namespace {

// Rules that are asked together; those that the first of them implies are dropped afterwards. A constant, so
// that the pack is the same for any number of threads.
constexpr std::size_t kBatch = 32;
// Steps of a derivation that is worth looking for, and how far: a rule too many costs less than an hour.
constexpr DeriveBounds kDerivable{.steps = 3, .most_terms = 400, .most_nodes = 10};

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
  for (const char* known : {"not proved at", "symbolic scale", "divides by a symbol", "is not known unless",
                            "may fail where the first program runs"})
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
  std::string text;  // as it is proposed; with what it requires, if that is found
  std::vector<Sides> sides;
  std::size_t known = 0;        // equations there were
  bool is_last_chance = false;  // doubtful, and asked for all that
  enum class Fate : std::uint8_t { Derived, Doubtful, Decided } fate = Fate::Derived;
  std::string why;  // decided: it is dropped
};

// The words of the vocabulary come first, so that they have the same numbers in every process.
KeptRules::KeptRules(Words& words) : words_(words) {
  for (const Choice& c : vocabulary()) words_.add(c.word);
}

bool KeptRules::follows(const Asked& asked, const EquationIndex& from) const {
  return !asked.sides.empty() && std::ranges::all_of(asked.sides, [&](const Sides& s) {
    return s.first && s.second && derive(words_, from, *s.first, *s.second, kDerivable);
  });
}

KeptRules::Asked KeptRules::read(std::string text) {
  const auto rules = parse_rules("rule proposed\n" + text);
  ISOMER_CHECK(rules.ok());
  return {.text = std::move(text),
          .sides = sides_of(words_, (*rules)[0]),
          .known = index_.all().size(),
          .why = {}};
}

void KeptRules::ask(Asked& asked, const KeepOptions& options) const {
  if (follows(asked, index_)) return;
  asked.fate = Asked::Fate::Doubtful;
  if (!asked.is_last_chance && doubtful_.all().size() > index_.all().size() && follows(asked, doubtful_))
    return;
  asked.fate = Asked::Fate::Decided;
  // What holds of two groups may hold of any number of them.
  if (std::string grouped = with_any_groups(asked.text);
      grouped != asked.text && decide_candidate(grouped, options.prove).empty())
    asked.text = std::move(grouped);
  else asked.why = decide_candidate(asked.text, options.prove);
}

void KeptRules::ask_all(std::vector<Asked>& batch, const KeepOptions& options) const {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < batch.size() && !options.stop.stop_requested(); i = next++)
      ask(batch[i], options);
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
}

void KeptRules::settle(GenerateStage& stage, Asked& asked) {
  // What came before it in the batch may imply it.
  if (index_.all().size() > asked.known && follows(asked, index_)) return;
  ++stage.after_derivability;
  if (!asked.why.empty()) {
    ++stage.dropped[cause(asked.why)];
    if (asked.why != "refuted") doubt({.text = asked.text, .operators = stage.operators, .is_kept = false});
    return;
  }
  ++(asked.text.find("require ") != std::string::npos ? stage.conditional : stage.proved);
  keep(asked.text, stage.operators);
}

void KeptRules::decide(GenerateStage& stage, std::vector<ProposedRule> proposed, const KeepOptions& options) {
  std::vector<std::string> later;  // doubtful
  const auto go = [&](std::size_t count, bool is_last_chance, const auto& text_at) {
    for (std::size_t at = 0; at < count;) {
      std::vector<Asked> batch;
      for (; at < count && batch.size() < kBatch; ++at) {
        std::string text = text_at(at);
        if (!is_last_chance && !texts_.insert(text).second) continue;
        batch.push_back(read(std::move(text)));
        batch.back().is_last_chance = is_last_chance;
      }
      ask_all(batch, options);
      if (options.stop.stop_requested()) return;
      for (Asked& asked : batch) {
        if (asked.fate == Asked::Fate::Doubtful) later.push_back(asked.text);
        if (asked.fate == Asked::Fate::Decided) settle(stage, asked);
      }
      if (options.progress)
        options.progress(fmt::format("{} operators: {} of {} {}, {} rules", stage.operators, at, count,
                                     is_last_chance ? "doubtful" : "proposed", kept_.size()));
    }
  };
  go(proposed.size(), false, [&](std::size_t i) { return std::move(proposed[i].text); });
  const std::vector<std::string> doubtful = std::exchange(later, {});
  const std::size_t asked = std::min<std::size_t>(doubtful.size(), options.most_doubtful);
  stage.doubtful = doubtful.size();
  stage.doubtful_left_out = doubtful.size() - asked;
  if (!options.stop.stop_requested()) go(asked, true, [&](std::size_t i) { return doubtful[i]; });
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
    by_id[id] =
        fmt::format("# {}\n# {}; {} operator{}\nrule r_{}\n{}", title_of(k),
                    contract(words_, k.left, k.right), k.operators, k.operators == 1 ? "" : "s", id, k.text);
  }
  std::string out = fmt::format(
      "# Rules made by `isomer rules generate --operators {}`{}: {} of them, each proved for all sizes by "
      "both\n"
      "# witnesses. Sorted by content. Above each: what it says, and what it may do to the last digits.\n",
      operators, is_complete ? "" : ", INCOMPLETE", by_id.size());
  out += fmt::format("# Run: {}\n# Operators: {}\n", run, fmt::join(operators_of_vocabulary(), " "));
  for (const auto& [id, text] : by_id) out += '\n' + text;
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
