#include "optimizer/search/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "optimizer/facts/site.h"
#include "optimizer/propose/list.h"
#include "runtime/engines/runtime.h"

namespace isomer {
namespace {

constexpr int kMostRounds = 8;                 // of simplifying
constexpr std::int64_t kSlowNs = 100'000'000;  // of a proof: worth remembering how it went
constexpr int kMostPricings = 3;               // of proposals, while more is learned of the machine
constexpr const char* kUserRules = "user";     // whoever gives rules wants them asked
constexpr double kShareOfProofs = 0.5;         // of the search's time that is left, in one go

std::string key_of(const Proposal& p) {
  std::string key = p.kind + " " + p.what;
  for (const auto* names : {&p.claim.outputs, &p.claim.inputs, &p.folds})
    for (const std::string& name : *names) key += " " + name;
  return key;
}

}  // namespace

std::vector<Proposal> Moves::first_proposals(const Workpiece& piece, const std::set<std::string>& first) {
  ++context_.report.states;
  std::set<std::string> others;
  for (const Proposer* p : proposers())
    if (const std::string name(p->name); !first.contains(name) && name != kUserRules) others.insert(name);
  return asked(piece, false, others);
}

std::vector<Proposal> Moves::with_others(std::vector<Proposal> known, const Workpiece& piece,
                                         const std::set<std::string>& first) {
  std::set<std::string> asked_already = first;
  asked_already.insert(kUserRules);
  std::vector<std::string> declined = std::move(context_.report.declined);
  for (Proposal& p : asked(piece, false, asked_already)) known.push_back(std::move(p));
  auto& all_declined = context_.report.declined;
  all_declined.insert(all_declined.end(), declined.begin(), declined.end());
  return in_order(std::move(known), context_.options.any_price);
}

void Moves::sort_like(const std::vector<Proposal>& order, std::vector<Step>& steps) {
  std::map<std::string, std::size_t> places;
  for (std::size_t k = 0; k < order.size(); ++k) places.emplace(key_of(order[k]), k);
  const auto place = [&](const Step& s) {
    const auto at = places.find(key_of(s.proposal));
    return at == places.end() ? order.size() : at->second;
  };
  std::ranges::stable_sort(steps, {}, place);
}

std::vector<Proposal> Moves::asked(const Workpiece& piece, bool relaxed,
                                   const std::set<std::string>& left_out) {
  const SearchOptions& options = context_.options;
  context_.tell_so_far({});
  std::set<std::string> without = options.without;
  without.insert("simplify");  // done
  without.insert(left_out.begin(), left_out.end());
  context_.learn(piece.graph(), piece.inference());
  Proposals found;
  std::map<std::string, double> proposing;
  // Prices are of what is known: what proposals bring that is new to the machine is asked about, and they are
  // priced again.
  for (int round = 0; round < kMostPricings; ++round) {
    found = propose_all(piece.graph(), piece.inference(),
                        {.any_price = options.any_price,
                         .relaxed = relaxed,
                         .without = without,
                         .machine = &context_.machine()},
                        options.user_rules.get(), &proposing);
    if (!learn_from(piece, found)) break;
  }
  for (const auto& [kind, seconds] : proposing) context_.report.asked[kind].seconds += seconds;
  if (scope_ == Scope::Model) context_.report.declined = std::move(found.declined);
  // Without a runtime to ask, the analytic cost has the last word.
  if (context_.trials == nullptr && !options.any_price && !relaxed)
    std::erase_if(found.list, [](const Proposal& p) { return p.gain <= 0; });
  return std::move(found.list);
}

bool Moves::learn_from(const Workpiece& piece, const Proposals& found) {
  if (context_.trials == nullptr) return false;
  const Site site(piece.graph(), piece.inference(), context_.machine());
  bool has_learned = false;
  for (const Proposal& p : found.list) {
    const Graph program = with_constants(site, p.claim.after);
    const auto inference = infer(program);
    if (inference.ok() && context_.learn(program, *inference)) has_learned = true;
  }
  return has_learned;
}

std::vector<Step> Moves::proved(const StepMaker& maker, const std::vector<Proposal>& proposals) {
  std::vector<Step> out;
  const double least_left =
      context_.trials && scope_ == Scope::Model ? context_.options.seconds_left() * (1 - kShareOfProofs) : 0;
  was_cut_short_ = false;
  for (const Proposal& p : proposals) {
    const std::string key = scope_ == Scope::Model ? key_of(p) : "";
    if (seen_.contains(key)) continue;
    was_cut_short_ = !out.empty() && context_.options.seconds_left() < least_left;
    if (was_cut_short_ || context_.is_over()) break;
    if (scope_ == Scope::Model) seen_.insert(key);
    ++context_.tried;
    context_.tell_so_far(out);
    context_.options.progress("proving: " +
                              describe_at(p.kind, p.claim.outputs.empty() ? "" : p.claim.outputs[0]));
    const std::int64_t start = now_ns();
    auto step = answer(maker, p);
    SearchReport::Asked& asked = context_.report.asked[p.kind];
    asked.seconds += static_cast<double>(now_ns() - start) * 1e-9;
    ++asked.tried;
    if (std::holds_alternative<Step>(step)) ++asked.proved;
    if (auto* taken = std::get_if<Step>(&step)) out.push_back(std::move(*taken));
    else if (context_.options.seconds_left() <= 0) {
      context_.is_over();  // says so in the report: the proof was given up, which says nothing about it
      break;
    } else if (scope_ == Scope::Model)
      context_.report.refused.push_back(p.what + ": " + std::get<std::string>(step));
  }
  return out;
}

// The step, proved, or why not; what took long is remembered, either way.
std::variant<Step, std::string> Moves::answer(const StepMaker& maker, const Proposal& proposal) {
  // Simplifications are proved faster than they are looked up.
  if (proposal.kind == "simplify" || !proposal.widens.empty()) return maker.prove(proposal);
  const auto tried = context_.tried_before.of(maker.piece(), proposal.claim);
  if (const auto why = why_in_vain(tried)) return *why;
  const std::string key = memory_.key(maker.piece(), proposal.claim);
  const ProofMemory::Hint hint = memory_.find(key);
  if (hint.refusal) {
    ++context_.report.known_refusals;
    return *hint.refusal;
  }
  if (hint.attempt) {
    Proposal known = proposal;
    known.claim.attempt = hint.attempt;
    if (auto step = maker.prove(known); std::holds_alternative<Step>(step)) {
      ++context_.report.known_proofs;
      return step;
    }
  }
  const std::int64_t start = now_ns();
  auto step = maker.prove(proposal);
  if (std::holds_alternative<std::string>(step) && context_.options.seconds_left() > 0)
    context_.tried_before.note(TriedBefore::What::Unproved, tried);
  if (now_ns() - start < kSlowNs || context_.options.seconds_left() <= 0) return step;
  if (const auto* taken = std::get_if<Step>(&step); taken && !taken->claims.empty())
    memory_.keep_attempt(key, taken->claims.front().proof().attempt);
  else if (const auto* why = std::get_if<std::string>(&step)) memory_.keep_refusal(key, *why);
  return step;
}

// What a search before this one says; nullopt: nothing.
std::optional<std::string> Moves::why_in_vain(const std::optional<Digest>& tried) {
  TriedBefore& before = context_.tried_before;
  const bool is_slower = context_.trials != nullptr && context_.options.plans.trust_timings &&
                         before.contains(TriedBefore::What::Slower, tried);
  if (!is_slower && !before.contains(TriedBefore::What::Unproved, tried)) return std::nullopt;
  ++context_.report.plans.spared;
  return is_slower ? "the store of plans says that it is not faster" : "the store of plans knows no proof";
}

Result<Draft> Moves::simplified(Draft draft) {
  if (context_.options.without.contains("simplify")) return draft;
  for (int round = 0; round < kMostRounds; ++round) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(draft.graph));
    const Proposals found = kSimplify(piece.graph(), piece.inference());
    StepMaker maker(std::move(piece), context_.proofs, context_.options.seed, context_.options.stop());
    const std::vector<Step> steps = proved(maker, found.list);
    if (steps.empty()) break;
    draft = maker.with(draft, pointers_to(steps));
    note_trouble(maker);
  }
  return draft;
}

void Moves::allow_left_out(const std::vector<const StepGroup*>& groups, const Draft& before,
                           const Draft& after) {
  std::set<std::string> chosen, gone;
  for (std::size_t k = before.taken.size(); k < after.taken.size(); ++k) chosen.insert(after.taken[k].what);
  const std::vector<const Step*> steps = all_steps(groups);
  for (const Step* s : steps)
    if (chosen.contains(s->proposal.what)) gone.insert(s->replaced.begin(), s->replaced.end());
  for (const Step* s : steps) {
    const bool is_slower = context_.trials != nullptr && s->ratio <= 1;
    if (is_slower || chosen.contains(s->proposal.what)) continue;
    if (std::ranges::any_of(s->replaced, [&](const std::string& name) { return gone.contains(name); }))
      seen_.erase(key_of(s->proposal));
  }
}

void Moves::note_trouble(const StepMaker& maker) {
  if (scope_ == Scope::State) return;
  auto& refused = context_.report.refused;
  refused.insert(refused.end(), maker.trouble().begin(), maker.trouble().end());
}

}  // namespace isomer
