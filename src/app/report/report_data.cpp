#include "app/report/report_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/optimize/proposer_names.h"
#include "app/report/summary.h"
#include "optimizer/facts/price.h"
#include "optimizer/propose/change.h"
#include "optimizer/propose/list.h"

namespace isomer {
namespace {

using Json = ReportData;

// Without what is computed beforehand.
std::vector<CountedOperator> operators_of(const Graph& graph, std::vector<NodeId> ids,
                                          const std::set<NodeId>& folded) {
  std::erase_if(ids, [&](NodeId id) { return folded.contains(id); });
  return count_operators(graph, ids);
}

// The step that a region is named by: what was measured to gain most; a simplification only if there is no
// other.
const Note* main_note(const ChangedRegion& region, const std::vector<Note>& notes) {
  const Note* out = nullptr;
  for (const std::size_t claim : region.claims) {
    if (claim >= notes.size()) continue;
    const Note& note = notes[claim];
    const auto rank = [](const Note& n) { return std::pair(n.kind != "simplify", n.ratio); };
    if (out == nullptr || rank(note) > rank(*out)) out = &note;
  }
  return out;
}

std::string title_of(const Change& change) {
  if (change.kind == kSimplify.name) return describe(change);
  if (change.before.empty()) return "values that others are made of";
  if (change.after.empty()) return "nodes that are not needed any more";
  return describe(change);
}

// Changes that read the same are one to their reader.
class EqualChanges {
 public:
  std::size_t number(const std::string& kind, const std::string& title) {
    const auto [at, is_new] = numbers_.emplace(std::pair(kind, title), list_.size());
    if (is_new) list_.push_back({{"kind", kind}, {"title", title}});
    return at->second;
  }
  Json json() && { return std::move(list_); }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
  Json list_ = Json::array();
};

Json steps_of(const Certificate& certificate, const std::vector<Note>& notes) {
  Json out = Json::array();
  for (const CertifiedStep& step : certificate.steps) {
    const auto* claim = std::get_if<Claim>(&step);
    if (claim == nullptr) continue;
    const Note* note = out.size() < notes.size() ? &notes[out.size()] : nullptr;
    out.push_back({note ? note->kind : "",
                   note ? describe_at(note->what, note->where)
                        : fmt::format("{} computed another way", fmt::join(claim->outputs, ", ")),
                   note ? note->ratio : 0, claim->facts.size()});
  }
  return out;
}

Json opaque_of(const Model& model) {
  Json out = Json::array();
  const auto summary = summarize(model, {});
  if (!summary.ok()) return out;
  for (const OpaqueEntry& e : summary->opaque)
    out.push_back({e.node, e.domain.empty() ? e.op : e.domain + "." + e.op, e.reason});
  return out;
}

// The fields of the JSON of `optimize` that the page shows.
Json run_of(const Json& optimized) {
  if (!optimized.is_object()) return {};
  Json out;
  for (const char* field :
       {"result",       "reason",      "ratio",    "low",       "high",    "before",  "after",
        "error_before", "error_after", "bytes_in", "bytes_out", "runtime", "machine", "inputs",
        "steps",        "stopped_by",  "seconds",  "search",    "advice",  "regions", "sizes"})
    if (optimized.contains(field)) out[field] = optimized[field];
  out["refused"] = optimized.contains("not_taken") ? optimized["not_taken"].size() : 0;
  return out;
}

Json laws_json(const Json& groups) {
  Json out = Json::object();
  for (const Json& group : groups) {
    const std::string kind = group["kind"].get<std::string>();
    const Proposer* p = proposer_named(kind);
    out[kind] = {
        {"title", p ? p->title : "another way to compute the same"},
        {"formula", p ? p->law : "l(x) = r(x) for all x"},
        {"says", p ? p->finds : "The values after were proved equal to those before, for all inputs."}};
  }
  return out;
}

std::size_t widened(const Certificate& certificate) {
  std::size_t out = 0;
  for (const CertifiedStep& step : certificate.steps)
    if (const auto* wide = std::get_if<WidenStep>(&step)) out += wide->values.size();
  return out;
}

double ratio_of_model(const Certificate& certificate) {
  for (const Note& note : certificate.notes)
    if (note.kind == "measured") return note.ratio;
  return 0;
}

}  // namespace

ReportData report_data(const ReportRequest& request, const Certificate& certificate, const Lineage& lineage,
                       const Widths& widths) {
  const Graph &in = request.in.graph, &out = request.out.graph;
  SharedTexts texts;
  const DrawnGraph before(in, widths.before, texts), after(out, widths.after, texts);
  const std::vector<Note> notes = notes_of_claims(certificate);
  const std::set<NodeId> folded_in = folded_nodes(in), folded_out = folded_nodes(out);
  EqualChanges groups;
  Json regions = Json::array(), kept_in = Json::array(), kept_out = Json::array();
  for (const ChangedRegion& region : lineage.changed) {
    const Note* note = main_note(region, notes);
    const std::string kind = note                                            ? note->kind
                             : region.claims.empty() && !certificate.pairing ? "simplify"
                                                                             : "";
    const std::string title = title_of({.kind = kind,
                                        .before = operators_of(in, region.before, folded_in),
                                        .after = operators_of(out, region.after, folded_out)});
    regions.push_back({{"group", groups.number(kind, title)},
                       {"before", before.numbers(region.before)},
                       {"after", after.numbers(region.after)},
                       {"steps", region.claims}});
  }
  for (const auto& [a, b] : lineage.kept) {
    kept_in.push_back(before.number(a));
    kept_out.push_back(after.number(b));
  }
  Json group_list = std::move(groups).json();
  Json laws = laws_json(group_list);
  const double ratio = ratio_of_model(certificate);
  return {{"version", request.version},
          {"names",
           {{"in", request.in_name}, {"out", request.out_name}, {"certificate", request.certificate_name}}},
          {"fixed", request.fixed},
          {"is_pairing", certificate.pairing.has_value()},
          {"proofs", certificate.pairing ? certificate.pairing->equations.size() : certificate.steps.size()},
          {"ratio", ratio > 0 ? Json(ratio) : Json()},
          {"widened", widened(certificate)},
          {"run", run_of(request.optimized)},
          {"widths",
           {{"unit", widths.unit},
            {"others_before", rounded(widths.others_before)},
            {"others_after", rounded(widths.others_after)},
            {"runtime", widths.runtime},
            {"inputs", widths.inputs},
            {"threads", widths.threads},
            {"why", widths.why}}},
          {"texts", texts.json()},
          {"before", before.json()},
          {"after", after.json()},
          {"regions", std::move(regions)},
          {"kept", Json::array({std::move(kept_in), std::move(kept_out)})},
          {"groups", std::move(group_list)},
          {"steps", steps_of(certificate, notes)},
          {"kinds", proposer_names()},
          {"laws", std::move(laws)},
          {"opaque", opaque_of(request.in)}};
}

}  // namespace isomer
