#include "search/moves.h"

#include <fmt/format.h>

#include "propose/list.h"

namespace isomer {
namespace {

constexpr int kMostRounds = 8;  // of simplifying

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
  std::set<std::string> without = options.without;
  without.insert("simplify");  // done
  Proposals found = propose_all(piece.graph(), piece.inference(),
                                {.any_price = options.any_price,
                                 .relaxed = relaxed,
                                 .without = without,
                                 .machine = &context_.machine()});
  if (of_ == Of::Model) context_.report.declined = std::move(found.declined);
  // Without a runtime to ask, the analytic cost has the last word.
  if (context_.trials == nullptr && !options.any_price && !relaxed)
    std::erase_if(found.list, [](const Proposal& p) { return p.gain <= 0; });
  return std::move(found.list);
}

std::vector<Step> Moves::proved(const StepMaker& maker, const std::vector<Proposal>& proposals) {
  std::vector<Step> out;
  for (const Proposal& p : proposals) {
    const std::string key = of_ == Of::Model ? key_of(p) : "";
    if (seen_.contains(key)) continue;
    if (context_.is_over()) break;
    if (of_ == Of::Model) seen_.insert(key);
    ++context_.tried;
    context_.options.progress(fmt::format("proving: {}", p.what));
    auto step = maker.prove(p);
    if (auto* taken = std::get_if<Step>(&step)) out.push_back(std::move(*taken));
    else if (of_ == Of::Model) context_.report.refused.push_back(p.what + ": " + std::get<std::string>(step));
  }
  return out;
}

Result<Draft> Moves::simplified(Draft draft) {
  if (context_.options.without.contains("simplify")) return draft;
  for (int round = 0; round < kMostRounds; ++round) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(draft.graph));
    const Proposals found = propose_simplify(piece.graph(), piece.inference());
    StepMaker maker(std::move(piece), context_.proofs, context_.options.seed);
    const std::vector<Step> steps = proved(maker, found.list);
    if (steps.empty()) break;
    draft = maker.with(draft, pointers_to(steps));
    note_trouble(maker);
  }
  return draft;
}

void Moves::note_trouble(const StepMaker& maker) {
  if (of_ == Of::State) return;
  auto& refused = context_.report.refused;
  refused.insert(refused.end(), maker.trouble().begin(), maker.trouble().end());
}

}  // namespace isomer
