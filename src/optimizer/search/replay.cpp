#include "optimizer/search/replay.h"

#include <algorithm>

#include "model/graph/rebuild.h"

namespace isomer {

Renaming::Renaming(const Graph& from, const Graph& to, std::string suffix) : suffix_(std::move(suffix)) {
  for (std::size_t k = 0; k < from.order().size(); ++k) {
    const auto &a = from.node(from.order()[k]).outputs, &b = to.node(to.order()[k]).outputs;
    for (std::size_t o = 0; o < a.size() && o < b.size(); ++o) names_.emplace(a[o], b[o]);
  }
}

std::string Renaming::operator()(const std::string& name) const {
  if (const auto at = names_.find(name); at != names_.end()) return at->second;
  if (name.ends_with(kFoldedSuffix))
    return (*this)(name.substr(0, name.size() - kFoldedSuffix.size())).append(kFoldedSuffix);
  return name.empty() ? name : name + suffix_;
}

std::vector<std::string> Renaming::operator()(std::vector<std::string> names) const {
  for (std::string& n : names) n = (*this)(n);
  return names;
}

Graph Renaming::operator()(const Graph& program) const {
  return with_changed_nodes(program, [&](Node& node) { node.outputs = (*this)(node.outputs); });
}

Replay::Replay(const Draft& draft, Renaming renaming) : steps_(&draft.steps), renamed_(std::move(renaming)) {
  for (const Draft::Taken& t : draft.taken)
    if (t.is_claim) told_.push_back(&t);
}

std::vector<Proposal> Replay::next() {
  std::vector<Proposal> out;
  for (; std::holds_alternative<Claim>((*steps_)[at_]); ++at_, ++claim_)
    out.push_back({.kind = told_[claim_]->change.kind,
                   .what = told_[claim_]->what,
                   .claim = with_names(std::get<Claim>((*steps_)[at_]), renamed_),
                   .folds = {}});
  if (out.empty()) out.push_back({.kind = "simplify", .what = "constants", .claim = {}, .folds = {}});
  out.back().folds = renamed_(std::get<FoldStep>((*steps_)[at_++]).values);
  return out;
}

Result<Draft> replayed(SearchContext& context, Draft draft, std::vector<Replay>& all) {
  while (!std::ranges::all_of(all, &Replay::is_done)) {
    ISOMER_TRY(Workpiece piece, Workpiece::of(draft.graph));
    StepMaker maker(std::move(piece), context.proofs, context.options.seed, context.options.stop());
    std::vector<Step> steps;
    for (Replay& replay : all) {
      if (replay.is_done()) continue;
      for (const Proposal& p : replay.next()) {
        auto step = maker.prove(p);
        // How it was proved elsewhere is only a hint.
        if (p.claim.attempt && std::holds_alternative<std::string>(step)) {
          Proposal anyhow = p;
          anyhow.claim.attempt.reset();
          step = maker.prove(anyhow);
        }
        if (auto* why = std::get_if<std::string>(&step)) {
          context.report.refused.push_back(p.what + ": " + *why);
          replay.is_stuck = true;
          break;
        }
        steps.push_back(std::get<Step>(std::move(step)));
      }
    }
    draft = maker.with(draft, pointers_to(steps));
  }
  return draft;
}

}  // namespace isomer
