#include "app/report/lineage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "app/report/outline.h"
#include "kernel/prove/widen.h"

namespace isomer {
namespace {

bool is_operator(const Graph& graph, NodeId id) { return graph.node(id).kind == NodeKind::Operator; }

std::unordered_map<std::string, NodeId> makers_of(const Graph& graph) {
  std::unordered_map<std::string, NodeId> out;
  for (const NodeId id : graph.order())
    if (is_operator(graph, id))
      for (const std::string& name : graph.node(id).outputs)
        if (!name.empty()) out.emplace(name, id);
  return out;
}

// Which region each operator of both graphs is in; those that are in none are kept.
struct Placed {
  std::unordered_map<NodeId, std::size_t> before, after;
  std::vector<std::pair<NodeId, NodeId>> kept;
};

const std::string* first_name(const std::vector<std::string>& names) {
  const auto at = std::ranges::find_if(names, [](const std::string& n) { return !n.empty(); });
  return at == names.end() ? nullptr : &*at;
}

Placed placed_by_steps(const Graph& in, const Graph& out, Outline& outline) {
  Placed placed;
  const auto makers = makers_of(out);
  for (const OutlineItem& item : outline.items()) {
    if (!item.is_operator) continue;
    if (!item.is_alive) {
      if (item.original && item.region)
        placed.before.emplace(*item.original, outline.unions.find(*item.region));
      continue;
    }
    const std::string* name = first_name(item.outputs);
    const auto at = name ? makers.find(*name) : makers.end();
    if (at == makers.end()) continue;
    if (item.region) placed.after.emplace(at->second, outline.unions.find(*item.region));
    else if (item.original && in.node(*item.original).op == out.node(at->second).op)
      placed.kept.emplace_back(*item.original, at->second);
  }
  return placed;
}

// The casts at the borders of nodes that now compute in float32, as one region.
void place_casts(const Graph& out, RegionUnions& unions, Placed& placed) {
  const auto is_wide = [&](Value v) { return v.exists() && out.name_of(v).ends_with(kWideSuffix); };
  std::optional<std::size_t> region;
  for (const NodeId id : out.order()) {
    const Node& node = out.node(id);
    if (!is_operator(out, id) || node.op != "Cast" || placed.after.contains(id)) continue;
    if (std::ranges::any_of(placed.kept, [&](const auto& kept) { return kept.second == id; })) continue;
    if (!is_wide({id, 0}) && !is_wide(node.inputs[0])) continue;
    if (!region) region = unions.add();
    placed.after.emplace(id, *region);
  }
}

// Nodes that the steps don't explain (all that changed, in a certificate of `isomer prove`): those with an
// output of the same name are the same, others go with what they read or are read by.
void place_rest(const Graph& in, const Graph& out, RegionUnions& unions, Placed& placed) {
  std::set<NodeId> kept_in, kept_out;
  for (const auto& [a, b] : placed.kept) {
    kept_in.insert(a);
    kept_out.insert(b);
  }
  const auto makers = makers_of(out);
  for (const NodeId id : in.order()) {
    if (!is_operator(in, id) || placed.before.contains(id) || kept_in.contains(id)) continue;
    const std::string* name = first_name(in.node(id).outputs);
    const auto at = name ? makers.find(*name) : makers.end();
    if (at == makers.end() || placed.after.contains(at->second) || kept_out.contains(at->second) ||
        out.node(at->second).op != in.node(id).op)
      continue;
    placed.kept.emplace_back(id, at->second);
    kept_in.insert(id);
    kept_out.insert(at->second);
  }
  std::map<std::string, std::size_t> by_name;  // outputs of a region without steps
  const auto place = [&](const Graph& graph, const std::set<NodeId>& kept,
                         std::unordered_map<NodeId, std::size_t>& regions) {
    for (const NodeId id : graph.order()) {
      if (!is_operator(graph, id) || kept.contains(id)) continue;
      auto at = regions.find(id);
      const bool is_explained = at != regions.end();
      for (const Value v : graph.node(id).inputs) {
        const auto source = v.exists() ? regions.find(v.node) : regions.end();
        if (is_explained || source == regions.end()) continue;
        if (at == regions.end()) at = regions.emplace(id, source->second).first;
        else unions.join(at->second, source->second);
      }
      if (at == regions.end()) at = regions.emplace(id, unions.add()).first;
      if (is_explained) continue;
      for (const std::string& name : graph.node(id).outputs)
        if (!name.empty())
          if (const auto [same, is_new] = by_name.emplace(name, at->second); !is_new)
            unions.join(same->second, at->second);
    }
  };
  place(in, kept_in, placed.before);
  place(out, kept_out, placed.after);
}

Lineage gathered(const Graph& in, const Graph& out, Outline& outline, const Placed& placed) {
  RegionUnions& unions = outline.unions;
  Lineage lineage;
  std::map<std::size_t, std::size_t> numbers;
  const auto region = [&](std::size_t r) -> ChangedRegion& {
    const auto [at, is_new] = numbers.emplace(unions.find(r), lineage.changed.size());
    if (is_new) lineage.changed.emplace_back();
    return lineage.changed[at->second];
  };
  for (const NodeId id : in.order())
    if (const auto at = placed.before.find(id); at != placed.before.end())
      region(at->second).before.push_back(id);
  for (const NodeId id : out.order())
    if (const auto at = placed.after.find(id); at != placed.after.end())
      region(at->second).after.push_back(id);
  for (std::size_t k = 0; k < outline.claims().size(); ++k)
    if (const auto at = numbers.find(unions.find(outline.claims()[k])); at != numbers.end())
      lineage.changed[at->second].claims.push_back(k);
  std::map<NodeId, NodeId> kept(placed.kept.begin(), placed.kept.end());
  for (const NodeId id : in.order())
    if (const auto at = kept.find(id); at != kept.end()) lineage.kept.emplace_back(*at);
  return lineage;
}

}  // namespace

Lineage lineage_of(const Graph& in, const Graph& out, const Certificate& certificate) {
  Outline outline(in);
  for (std::size_t at = 0; at < certificate.steps.size();) {
    std::vector<const Claim*> claims;
    for (; at < certificate.steps.size(); ++at) {
      const auto* claim = std::get_if<Claim>(&certificate.steps[at]);
      if (claim == nullptr) break;
      claims.push_back(claim);
    }
    if (!claims.empty()) outline.replace(claims);
    if (at == certificate.steps.size()) break;
    const CertifiedStep& step = certificate.steps[at++];
    if (const auto* fold = std::get_if<FoldStep>(&step)) outline.fold(fold->values);
    else if (const auto* wide = std::get_if<WidenStep>(&step)) outline.widen(wide->values);
  }
  Placed placed = placed_by_steps(in, out, outline);
  place_casts(out, outline.unions, placed);
  place_rest(in, out, outline.unions, placed);
  return gathered(in, out, outline, placed);
}

std::vector<Note> notes_of_claims(const Certificate& certificate) {
  std::vector<Note> out;
  for (const Note& note : certificate.notes)
    if (!note.where.empty()) out.push_back(note);
  const auto claims = std::ranges::count_if(
      certificate.steps, [](const CertifiedStep& s) { return std::holds_alternative<Claim>(s); });
  if (out.size() != static_cast<std::size_t>(claims)) out.clear();
  return out;
}

}  // namespace isomer
