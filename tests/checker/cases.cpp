#include "checker/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "base/hash.h"
#include "kernel/certify/digest.h"
#include "model/graph/text/text.h"
#include "optimizer/propose/proposer.h"

namespace isomer::checker {
namespace {

constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\" : 18]>\n";

Graph parsed(const std::string& text) {
  auto graph = parse_graph(kHead + text);
  if (!graph.ok()) throw std::runtime_error(graph.error().message + " in\n" + text);
  return std::move(*graph);
}

// "float[2, 3] w = {0.5, ...}": multiples of 1/64 within 1 of zero, the same on every machine.
std::string constant(const std::string& name, const Extents& extents, bool positive = false) {
  std::vector<double> values;
  const std::uint64_t key = Hasher().add(std::string_view(name)).digest().high;
  for (std::int64_t i = 0; i < element_count(extents).value_or(0); ++i) {
    const auto drawn = static_cast<double>(mix(key + static_cast<std::uint64_t>(i)) % 129);
    values.push_back(positive ? (drawn + 1) / 64 : (drawn - 64) / 64);
  }
  return fmt::format("float[{}] {} = {{{}}}", fmt::join(extents, ", "), name, fmt::join(values, ", "));
}

// Takes every claim as it comes; the steps are honest, since each is proved.
void take(Case& c, const Claim& claim, const std::vector<std::string>& folds) {
  const auto proved = prove_claim(c.out, claim);
  if (const auto* why = std::get_if<std::string>(&proved)) throw std::runtime_error(c.name + ": " + *why);
  c.out = std::get<Graph>(proved);
  c.certificate.steps.emplace_back(claim);
  auto folded = fold_constants(c.out, folds);
  if (!folded.ok()) throw std::runtime_error(c.name + ": " + folded.error().message);
  c.out = std::move(*folded);
  c.certificate.steps.emplace_back(FoldStep{folds});
}

Case collapsed(std::string name, const std::string& text) {
  Case c{.name = std::move(name), .in = parsed(text), .out = {}, .certificate = {}};
  c.out = c.in;
  for (bool changed = true; changed;) {
    changed = false;
    const auto inference = infer(c.out);
    if (!inference.ok()) throw std::runtime_error(inference.error().message);
    const Proposals found = kCollapse(c.out, *inference, {.any_price = true});
    for (const Proposal& p : found.list) {
      const std::size_t before = c.out.operator_count();
      if (std::holds_alternative<std::string>(prove_claim(c.out, p.claim))) continue;
      Case next = c;
      take(next, p.claim, p.folds);
      if (next.out.operator_count() >= before) continue;
      next.certificate.notes.push_back({.kind = p.kind, .what = p.what});
      c = std::move(next);
      changed = true;
      break;
    }
  }
  if (c.certificate.steps.empty()) throw std::runtime_error(c.name + " is not improved");
  return c;
}

Case claimed(std::string name, const std::string& text, const Claim& claim,
             const std::vector<std::string>& folds) {
  Case c{.name = std::move(name), .in = parsed(text), .out = {}, .certificate = {}};
  c.out = c.in;
  take(c, claim, folds);
  c.certificate.notes.push_back({.kind = "by hand", .what = "a step"});
  return c;
}

// Two scalings that one does.
Case scalings() {
  return claimed("scalings",
                 "agraph (float[N, 3] x) => (float[N, 3] y, float[N, 3] t) <" + constant("a", {3}) + ", " +
                     constant("b", {3}) + "> {t = Mul(x, a)\nz = Mul(t, b)\ny = Relu(z)}",
                 {.inputs = {"x"},
                  .outputs = {"z"},
                  .after = parsed("agraph (float[N, 3] x, float[3] a, float[3] b) => (float[N, 3] w) "
                                  "{k = Mul(a, b)\nw = Mul(x, k)}")},
                 {"k"});
}

// A scale goes past Relu, since it is positive: a fact about its bytes. Large enough not to take part by
// value.
Case positive() {
  return claimed("positive",
                 "agraph (float[N, 72] x, float[N, 72] u) => (float[N, 72] y, float[N, 72] v) <" +
                     constant("s", {72}, true) +
                     "> {t = Mul(x, s)\nr = Relu(t)\ny = Add(r, u)\nv = Sigmoid(u)}",
                 {.inputs = {"x"},
                  .outputs = {"r"},
                  .after = parsed("agraph (float[N, 72] x, float[72] s) => (float[N, 72] w) "
                                  "{q = Relu(x)\nw = Mul(q, s)}")},
                 {});
}

// Beside what changes, a call of a function that the model defines.
Case with_body() {
  Case c = scalings();
  c.name = "with a body";
  c.runs = false;
  for (Graph* graph : {&c.in, &c.out}) {
    graph->functions.write() = {{{.domain = "own", .name = "F", .overload = {}}, "F"}};
    graph->opsets["own"] = 1;
    Node node;
    node.op = "F";
    node.domain = "own";
    node.inputs = {graph->inputs()[0]};
    node.outputs = {"called"};
    node.bodies = {
        {.attribute = "",
         .graph = std::make_shared<Graph>(
             parsed("agraph (float[N, 3] p) => (float[N, 3] q) <float[3] k = {0.5, -2.0, 3.0}> "
                    "{m = Mul(p, k)\nl = LeakyRelu<alpha=0.25>(m)\ns = Softmax<axis=1>(l)\nq = Sub(s, m)}")),
         .captured = {}}};
    graph->add_output({graph->add(std::move(node)), 0});
  }
  return c;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> out;
  out.push_back(scalings());
  out.push_back(positive());
  out.push_back(with_body());
  out.push_back(collapsed(
      "branches", "agraph (float[N, 2, 4, 4] x) => (float[N, 2, 4, 4] y) <" + constant("w", {2, 2, 3, 3}) +
                      ", " + constant("v", {2, 2, 1, 1}) + ", " + constant("b", {2}) +
                      "> {p = Conv<pads = [1, 1, 1, 1]>(x, w)\nq = Conv(x, v, b)\nr = Add(p, q)\n"
                      "s = Add(r, x)\ny = Relu(s)}"));
  out.push_back(collapsed("low rank", "agraph (float[N, 4] x) => (float[N, 3] y) <" + constant("w", {4, 3}) +
                                          ", " + constant("p", {4, 1}) + ", " + constant("q", {1, 3}) + ", " +
                                          constant("m", {3, 3}) + ", " + constant("n", {3, 3}) +
                                          "> {a = MatMul(x, w)\nc = MatMul(x, p)\nd = MatMul(c, q)\n"
                                          "e = Add(a, d)\nf = Relu(e)\ng = MatMul(f, m)\n"
                                          "h = MatMul(f, n)\ny = Sub(g, h)}"));
  for (Case& c : out) c.certificate = with_digests(c.certificate, c.in, c.out);
  return out;
}

}  // namespace isomer::checker
