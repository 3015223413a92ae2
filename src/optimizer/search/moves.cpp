#include "optimizer/search/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "optimizer/facts/nodes_saved.h"
#include "optimizer/facts/site.h"
#include "optimizer/propose/list.h"
#include "optimizer/search/prove_ahead.h"
#include "runtime/engines/runtime.h"

namespace isomer {
namespace {

constexpr int kMostRounds = 8;                 // of simplifying
constexpr std::int64_t kSlowNs = 100'000'000;  // of a proof: worth remembering how it went
constexpr int kMostPricings = 3;               // of proposals, while more is learned of the machine
constexpr double kShareOfProofs = 0.5;         // of the search's time that is left, in one go

std::string key_of(const Proposal& p) {
  std::string key = p.kind + " " + p.what;
  for (const auto* names : {&p.claim.outputs, &p.claim.inputs, &p.folds})
    for (const std::string& name : *names) key += " " + name;
  return key;
}

}  // namespace

std::vector<Proposal> Moves::proposals(const Workpiece& piece, bool relaxed) {
  const SearchOptions& options = context_.options;
  ++context_.report.states;
  context_.tell_so_far({});
  std::set<std::string> without = options.without;
  without.insert("simplify");  // done
  context_.learn(piece.graph(), piece.inference());
  Proposals found;
  std::map<std::string, double> proposing;
  // Prices cover known kinds of nodes: new kinds in proposals are measured, and the proposals are priced
  // again.
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
  // Without a runtime, the analytic cost decides.
  if (context_.trials == nullptr && !options.any_price && !relaxed)
    std::erase_if(found.list, [](const Proposal& p) { return p.gain <= 0; });
  if (options.fewer_nodes) {
    const Site site(piece.graph(), piece.inference(), context_.machine());
    std::erase_if(found.list, [&](const Proposal& p) { return nodes_saved(site, p) <= 0; });
  }
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
  const auto seen_as = [&](const Proposal& p) { return scope_ == Scope::Model ? key_of(p) : ""; };
  std::vector<const Proposal*> open = pointers_to(proposals);
  std::erase_if(open, [&](const Proposal* p) { return seen_.contains(seen_as(*p)); });
  ProveAhead ahead(open,
                   [&](const Proposal& p, const std::atomic<bool>& stop) { prove_ahead(maker, p, stop); });
  for (std::size_t k = 0; k < open.size(); ++k) {
    const Proposal& p = *open[k];
    ahead.reach(k);
    const std::string key = seen_as(p);
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
  if (context_.options.seconds_left() > 0) keep_slow(key, start, step);
  return step;
}

void Moves::prove_ahead(const StepMaker& maker, const Proposal& proposal,
                        const std::atomic<bool>& stop) const {
  if (!proposal.widens.empty() || proposal.claim.outputs.empty()) return;
  Proposal known = proposal;
  std::string key;
  if (proposal.kind != "simplify") {
    key = memory_.key(maker.piece(), proposal.claim);
    const ProofMemory::Hint hint = memory_.find(key);
    if (hint.refusal) return;
    if (hint.attempt) known.claim.attempt = hint.attempt;
  }
  bool is_new = false;
  const ProofSource ask = [&](const Graph& a, const Graph& b, ProveOptions options) -> Verdict {
    options.stop = &stop;
    const auto verdict = context_.proofs.prove_ahead(a, b, options);
    is_new = verdict.has_value();
    return verdict.value_or(NotDecided{"another thread proves it"});
  };
  const std::int64_t start = now_ns();
  const auto step = maker.prove(known, ask);
  if (is_new && !stop && !known.claim.attempt) keep_slow(key, start, step);
}

void Moves::keep_slow(const std::string& key, std::int64_t start,
                      const std::variant<Step, std::string>& step) const {
  if (now_ns() - start < kSlowNs) return;
  if (const auto* taken = std::get_if<Step>(&step); taken && !taken->claims.empty())
    memory_.keep_attempt(key, taken->claims.front().proof().attempt);
  else if (const auto* why = std::get_if<std::string>(&step)) memory_.keep_refusal(key, *why);
}

Result<Draft> Moves::simplified(Draft draft) {
  if (context_.options.without.contains("simplify")) return draft;
  for (int round = 0; round < kMostRounds; ++round) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(draft.graph));
    const Proposals found =
        kSimplify(piece.graph(), piece.inference(), {.fewer_nodes = context_.options.fewer_nodes});
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
