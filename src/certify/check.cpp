#include "certify/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "certify/digest.h"
#include "graph/content.h"
#include "graph/names.h"

namespace isomer {
namespace {

// Nodes by their first named output; those without are known by their content only.
std::string key_of(const Node& node) {
  for (const std::string& o : node.outputs)
    if (!o.empty()) return o;
  return "(" + node.name;
}

// By every element: the two may be of different files.
bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const Attribute& x, const Attribute& y) {
    const auto *t = std::get_if<Tensor>(&x.value), *u = std::get_if<Tensor>(&y.value);
    if (t != nullptr && u != nullptr) return x.name == y.name && t->same_bits(*u);
    return same_content(Attributes({x}), Attributes({y}));
  });
}

// What runs inside: subgraphs, and functions that the model defines.
bool same_bodies(const std::vector<Body>& a, const std::vector<Body>& b) {
  return std::ranges::equal(a, b, [](const Body& x, const Body& y) {
    return x.attribute == y.attribute && x.captured == y.captured && !first_difference(*x.graph, *y.graph);
  });
}

bool same_node(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  return x.kind == y.kind && x.op == y.op && x.domain == y.domain && x.overload == y.overload &&
         x.outputs == y.outputs && x.extras == y.extras && x.declared == y.declared &&
         names_of(a, x.inputs) == names_of(b, y.inputs) &&
         names_of(a, x.captures) == names_of(b, y.captures) && same_attributes(x.attributes, y.attributes) &&
         same_bodies(x.bodies, y.bodies) && (x.kind != NodeKind::Initializer || x.tensor.same_bits(y.tensor));
}

// What the files declare of values: nothing that wasn't declared before, and of outputs all that was. A wrong
// declaration changes no value, but a runtime may refuse the model for it.
std::optional<std::string> first_other_declaration(const Graph& a, const Graph& b) {
  for (const auto& [name, type] : b.declared()) {
    const auto at = a.declared().find(name);
    if (at == a.declared().end() || at->second != type)
      return fmt::format("{} is declared otherwise than before", name);
  }
  for (const Value& v : b.outputs())
    if (a.declared().contains(b.name_of(v)) && !b.declared().contains(b.name_of(v)))
      return fmt::format("{} is declared no more", b.name_of(v));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> first_difference(const Graph& a, const Graph& b) {
  if (names_of(a, a.inputs()) != names_of(b, b.inputs())) return "the inputs are not the same";
  if (names_of(a, a.outputs()) != names_of(b, b.outputs())) return "the outputs are not the same";
  if (a.opsets != b.opsets || a.functions != b.functions) return "the operator sets are not the same";
  if (auto declared = first_other_declaration(a, b)) return declared;
  std::map<std::string, NodeId> nodes;
  for (const NodeId id : a.order())
    if (!nodes.emplace(key_of(a.node(id)), id).second) return "two nodes make the same value";
  std::set<std::string> seen;
  for (const NodeId id : b.order()) {
    const std::string key = key_of(b.node(id));
    const auto at = nodes.find(key);
    if (at == nodes.end()) return fmt::format("{} is not accounted for", label(b.node(id)));
    if (!seen.insert(key).second) return "two nodes make the same value";
    if (!same_node(a, a.node(at->second), b, b.node(id)) ||
        a.is_overridable(at->second) != b.is_overridable(id))
      return fmt::format("{} is not what the steps make of it", label(b.node(id)));
  }
  if (seen.size() != nodes.size()) {
    for (const auto& [key, id] : nodes)
      if (!seen.contains(key)) return fmt::format("{} is missing", label(a.node(id)));
  }
  return std::nullopt;
}

CheckReport check_certificate(const Graph& in, const Graph& out, const Certificate& certificate,
                              std::uint64_t key) {
  CheckReport report;
  if (certificate.in_digest != model_digest(in)) {
    report.reason = "the certificate is about another original";
    return report;
  }
  if (certificate.out_digest != model_digest(out)) {
    report.reason = "the certificate is about another result";
    return report;
  }
  Graph now = in;
  const auto rejected = [&](int step, const std::string& why) {
    return CheckReport{.accepted = false, .step = step, .reason = why, .steps = report.steps};
  };
  ProofCache proofs;
  for (std::size_t at = 0; at < certificate.steps.size();) {
    // Claims that follow one another are about one graph and are applied together.
    std::vector<ProvedClaim> proved;
    const auto piece = Workpiece::of(now);
    if (!piece.ok()) return rejected(report.steps, piece.error().message);
    for (; at < certificate.steps.size(); ++at) {
      const auto* claim = std::get_if<Claim>(&certificate.steps[at]);
      if (claim == nullptr) break;
      auto answer = piece->prove(*claim, {.key = key, .refute = false}, &proofs);
      if (const auto* why = std::get_if<std::string>(&answer)) return rejected(report.steps, *why);
      proved.push_back(std::get<ProvedClaim>(std::move(answer)));
      ++report.steps;
    }
    if (!proved.empty()) {
      auto next = piece->with(proved);
      if (!next.ok()) return rejected(report.steps - 1, next.error().message);
      now = std::move(*next);
    }
    for (; at < certificate.steps.size(); ++at) {
      const auto* fold = std::get_if<FoldStep>(&certificate.steps[at]);
      if (fold == nullptr) break;
      auto folded = fold_constants(now, fold->values);
      if (!folded.ok()) return rejected(report.steps, folded.error().message);
      now = std::move(*folded);
      ++report.steps;
    }
  }
  if (certificate.pairing) {
    const PairedReport paired = check_pairing(now, out, *certificate.pairing, key);
    const int before = report.steps;
    report.steps += paired.equations;
    if (paired.refusal) return rejected(before + paired.equation.value_or(paired.equations), *paired.refusal);
    report.paired = paired;
  } else if (const auto difference = first_difference(now, out)) {
    report.reason = *difference;
    return report;
  }
  report.accepted = true;
  return report;
}

}  // namespace isomer
