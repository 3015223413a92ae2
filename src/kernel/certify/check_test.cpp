#include "kernel/certify/check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/base64.h"
#include "io/onnx/program.h"
#include "kernel/certify/check_files.h"
#include "kernel/certify/digest.h"
#include "kernel/prove/flush.h"
#include "kernel/prove/widen.h"
#include "model/eval/program.h"
#include "model/graph/rebuild.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

Graph program(const std::string& text) {
  return testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
}

// A product of two scalings, which one scaling can do.
const std::string kModel =
    "agraph (float[N,3] x) => (float[N,3] y) <float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6}> {\n"
    "t = Mul(x, a)\nz = Mul(t, b)\ny = Relu(z)}";

Claim merge_scalings(const std::string& body = "k = Mul(a, b)\nw = Mul(x, k)") {
  return {.inputs = {"x"},
          .outputs = {"z"},
          .after = program("agraph (float[N,3] x, float[3] a, float[3] b) => (float[N,3] w) {" + body + "}")};
}

Graph optimized() {
  const auto proved = prove_claim(program(kModel), merge_scalings());
  EXPECT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
  auto folded = fold_constants(std::get<Graph>(proved), {"k"});
  EXPECT_TRUE(folded.ok());
  return *folded;
}

Certificate honest() { return {.steps = {merge_scalings(), FoldStep{{"k"}}}, .notes = {}}; }

// With the digests of the two models, as a forger would have them.
CheckReport checked(const Graph& in, const Graph& out, const Certificate& certificate) {
  return check_certificate(in, out, with_digests(certificate, in, out), 7);
}

TEST(Step, IsTakenWhereItIsProved) {
  const Graph result = optimized();
  EXPECT_EQ(result.operator_count(), 2u);
  // What was replaced keeps its name, and the constant is the exact product, rounded once.
  bool seen = false;
  for (const NodeId id : result.order()) {
    const Node& node = result.node(id);
    if (node.kind != NodeKind::Initializer) continue;
    EXPECT_EQ(node.tensor.doubles(), (std::vector<double>{4, 10, 18}));
    seen = true;
  }
  EXPECT_TRUE(seen);
}

TEST(Step, IsRefusedWhereItIsNot) {
  const auto wrong = prove_claim(program(kModel), merge_scalings("k = Mul(a, a)\nw = Mul(x, k)"));
  EXPECT_TRUE(std::holds_alternative<std::string>(wrong));
  // A region that depends on more than the claim says.
  Claim blind = merge_scalings();
  blind.inputs = {};
  EXPECT_TRUE(std::holds_alternative<std::string>(prove_claim(program(kModel), blind)));
  // A name that is taken.
  EXPECT_TRUE(std::holds_alternative<std::string>(
      prove_claim(program(kModel), merge_scalings("t = Mul(a, b)\nw = Mul(x, t)"))));
}

TEST(Step, OwnConstantsDoNotPassForTheModels) {
  // Proved with its own a = {4, 10, 18}, it would be applied with the model's {1, 2, 3}.
  const Claim own{.inputs = {"x"},
                  .outputs = {"z"},
                  .after = program("agraph (float[N,3] x) => (float[N,3] w) <float[3] a = {4, 10, 18}> {\n"
                                   "w = Mul(x, a)}")};
  EXPECT_TRUE(std::holds_alternative<std::string>(prove_claim(program(kModel), own)));
}

// Where x is negative, w is not a number: y was, and with the claim it would not be.
TEST(Step, UsesAnUndefinedValueOnlyWhereTheRegionDid) {
  const Graph in = program("agraph (float[3] x) => (float[3] y, float[3] w) {w = Log(x)\ny = Neg(x)}");
  const auto claim = [](const std::string& body) {
    return Claim{.inputs = {"x", "w"},
                 .outputs = {"y"},
                 .after = program("agraph (float[3] x, float[3] w) => (float[3] q) {" + body + "}")};
  };
  EXPECT_TRUE(std::holds_alternative<std::string>(
      prove_claim(in, claim("n = Neg(x)\nd = Sub(w, w)\nq = Add(n, d)"))));
  const Graph used = program("agraph (float[3] x) => (float[3] y) {w = Log(x)\ns = Neg(x)\ny = Add(s, w)}");
  const auto proved = prove_claim(used, claim("d = Sub(w, x)\nq = Identity(d)"));
  EXPECT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
}

// A normalization as exports spell it: a square root of a mean of squares is no reason to doubt.
TEST(Step, KnowsWhatIsAlwaysDefined) {
  const Graph in = program(
      "agraph (float[N,8] x) => (float[N,8] y) <int64[1] last = {1}, float e = {0.001}, float c = {3}> {\n"
      "m = ReduceMean(x, last)\nd = Sub(x, m)\ns = Mul(d, d)\nv = ReduceMean(s, last)\nw = Add(v, e)\n"
      "r = Sqrt(w)\nn = Div(d, r)\nt = Mul(n, c)\ny = Relu(t)}");
  const Claim claim{.inputs = {"x", "n"},
                    .outputs = {"y"},
                    .after = program("agraph (float[N,8] x, float[N,8] n, float c) => (float[N,8] q) {\n"
                                     "z = Sub(n, n)\na = Add(n, z)\nb = Mul(a, c)\nq = Relu(b)}")};
  const auto proved = prove_claim(in, claim);
  EXPECT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
}

// What the rest of the model needs is known of a region's sizes.
TEST(Step, KnowsForWhichSizesTheModelRuns) {
  const auto model = [](const std::string& more) {
    return program(
        "agraph (float[N,M] x) => (float[N,M] y, float[K] z) <int64[1] one = {-1}, int64[1] a = {0}> {\n"
        "s = Shape(x)\nt = Neg(x)\ny = Identity(t)\n" +
        more + "}");
  };
  const Claim claim{.inputs = {"t"},
                    .outputs = {"y"},
                    .after = program("agraph (float[N,M] t) => (float[N,M] q) {\n"
                                     "r = Shape(t)\nf = Flatten<axis=0>(t)\nq = Reshape(f, r)}")};
  EXPECT_TRUE(
      std::holds_alternative<std::string>(prove_claim(model("z = ReduceSum<keepdims=0>(x, a)"), claim)));
  const auto proved = prove_claim(model("z = ReduceMax<keepdims=1>(x)"), claim);
  EXPECT_TRUE(std::holds_alternative<Graph>(proved)) << std::get<std::string>(proved);
}

// Where k is 0 the Reshape copies, and r has n rows.
TEST(Step, IsRefusedBehindAShapeThatMayBeAnother) {
  const Graph in = program(
      "agraph (float[n,4] x, float[k] z) => (float[k,4] y) <int64[1] four = {4}, int64[1] o = {0}> {\n"
      "c = Shape(z)\ns = Concat<axis=0>(c, four)\nr = Reshape(x, s)\ny = Slice(r, o, c, o)}");
  const Claim claim{
      .inputs = {"r", "c"},
      .outputs = {"y"},
      .after = program("agraph (float[k,4] r, int64[1] c) => (float[k,4] q) {q = Identity(r)}")};
  const auto proved = prove_claim(in, claim);
  ASSERT_TRUE(std::holds_alternative<std::string>(proved));
  EXPECT_EQ(std::get<std::string>(proved), "r may have another shape where a size is 0");
}

TEST(Certificate, SurvivesItsText) {
  const auto read = parse_certificate(to_text(with_digests(honest(), program(kModel), optimized())));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const CheckReport report = check_certificate(program(kModel), optimized(), *read, 7);
  EXPECT_TRUE(report.accepted) << report.reason;
  EXPECT_EQ(report.steps, 2);
}

TEST(Certificate, TellsWhatAStepKnowsOfConstants) {
  const Graph in = program(
      "agraph (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1.0, 2.0, 3.0, 4.0, 0.0, 0.0}> {y = "
      "MatMul(x, w)}");
  const std::string cut = "int64[1] o = {0}, int64[1] e = {2}, int64[1] c = {1}";
  Claim claim{.inputs = {"x"},
              .outputs = {"y"},
              .after = program("agraph (float[2,3] x, float[3,2] w) => (float[2,2] q) <" + cut +
                               "> {\nv = Slice(w, o, e, o)\nu = Slice(x, o, e, c)\nq = MatMul(u, v)}")};
  claim.facts = {{"w", program("agraph (float[3,2] w) => (float[3,2] k) <" + cut +
                               ", int64[4] p = {0, 0, 1, 0}> {\ns = Slice(w, o, e, o)\nk = Pad(s, p)}")}};
  const auto out = prove_claim(in, claim);
  ASSERT_TRUE(std::holds_alternative<Graph>(out)) << std::get<std::string>(out);
  const Certificate certificate = with_digests({.steps = {claim}, .notes = {}}, in, std::get<Graph>(out));
  const auto read = parse_certificate(to_text(certificate));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const CheckReport report = check_certificate(in, std::get<Graph>(out), *read, 7);
  EXPECT_TRUE(report.accepted) << report.reason;
}

TEST(Certificate, IsRejectedForAnythingElse) {
  const Graph in = program(kModel), out = optimized();
  Certificate none;
  EXPECT_FALSE(checked(in, out, none).accepted);
  Certificate unfolded = honest();
  unfolded.steps.pop_back();
  EXPECT_FALSE(checked(in, out, unfolded).accepted);
  Certificate swapped = honest();
  std::swap(swapped.steps[0], swapped.steps[1]);
  EXPECT_FALSE(checked(in, out, swapped).accepted);
  // One element of one constant of IN is another one.
  std::string other = kModel;
  other.replace(other.find("4, 5, 6"), 7, "4, 5, 7");
  EXPECT_FALSE(checked(program(other), out, honest()).accepted);
  // OUT does a little more.
  EXPECT_FALSE(checked(in, in, honest()).accepted);
  EXPECT_TRUE(checked(in, in, none).accepted);
}

// A constant of 100 numbers, more than a proof takes by value, whose largest is at one place.
std::string peak(const std::string& name, int at) {
  std::string out = "float[100] " + name + " = {";
  for (int k = 0; k < 100; ++k)
    out += std::to_string(k == at ? 2.0 : 0.001 * ((k * 37) % 89)) + (k < 99 ? ", " : "}");
  return out;
}

TEST(Certificate, AClaimIsNotAnsweredByTheProofOfAnother) {
  const Graph in =
      program("agraph (float[100] x, float[100] z) => (float[1] y, float[1] w) <" + peak("c1", 37) + ", " +
              peak("c2", 5) +
              "> {\ni = ArgMax<keepdims=1>(c1)\ny = Gather(x, i)\nj = ArgMax<keepdims=1>(c2)\nw = "
              "Gather(z, j)}");
  const auto slice = [&](const std::string& y, const std::string& x, int at) {
    return Claim{
        .inputs = {x},
        .outputs = {y},
        .after = program("agraph (float[100] " + x + ") => (float[1] q" + y + ") <int64[1] b" + y + " = {" +
                         std::to_string(at) + "}, int64[1] e" + y + " = {" + std::to_string(at + 1) +
                         "}> {q" + y + " = Slice(" + x + ", b" + y + ", e" + y + ")}")};
  };
  const auto model = [&](int first, int second) {
    return Certificate{.steps = {slice("y", "x", first), slice("w", "z", second)}, .notes = {}};
  };
  const Workpiece piece = *Workpiece::of(in);
  EXPECT_TRUE(std::holds_alternative<ProvedClaim>(piece.prove(slice("y", "x", 37))));
  EXPECT_TRUE(std::holds_alternative<ProvedClaim>(piece.prove(slice("w", "z", 5))));
  EXPECT_EQ(checked(in, in, model(37, 37)).step, 1);
  EXPECT_EQ(checked(in, in, model(5, 5)).step, 0);
}

// OUT with a folded constant whose first element is `units` units in the last place away.
Graph nudged(const Graph& out, int units) {
  return with_changed_nodes(out, [&](Node& node) {
    if (node.kind != NodeKind::Initializer || !is_float(node.tensor.type())) return;
    std::vector<double> values = *node.tensor.doubles();
    float first = static_cast<float>(values[0]);
    for (int k = 0; k < units; ++k) first = std::nextafter(first, 1e9F);
    values[0] = first;
    node.tensor = convert(Tensor::of(ElementType::Double, node.tensor.extents(), values), ElementType::Float);
  });
}

TEST(Certificate, AFoldMayDifferInItsLastBit) {
  const Graph in = program(kModel), out = optimized();
  EXPECT_EQ(checked(in, out, honest()).last_bits, 0);
  const CheckReport other = checked(in, nudged(out, 1), honest());
  EXPECT_TRUE(other.accepted) << other.reason;
  EXPECT_EQ(other.last_bits, 1);
  EXPECT_EQ(other.rounded_constants(), 1);
  EXPECT_FALSE(checked(in, nudged(out, 2), honest()).accepted);
}

TEST(Certificate, AFoldMayNotDifferWhereItsLastBitDecides) {
  const std::string jumps =
      "agraph (float[N,3] x) => (float[N,3] y) <float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6}> {\n"
      "t = Mul(x, a)\nz = Mul(t, b)\ny = Floor(z)}";
  const Graph in = program(jumps);
  const auto proved = prove_claim(in, merge_scalings());
  ASSERT_TRUE(std::holds_alternative<Graph>(proved));
  const auto out = fold_constants(std::get<Graph>(proved), {"k"});
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(checked(in, *out, honest()).accepted);
  EXPECT_FALSE(checked(in, nudged(*out, 1), honest()).accepted);
}

TEST(Certificate, AConstantThatWasNotFoldedStaysAsItIs) {
  const Graph in = program(kModel);
  Certificate none;
  EXPECT_FALSE(checked(in, nudged(in, 1), none).accepted);
}

TEST(Certificate, WhatItAssumesHoldsForThisCheckOnly) {
  const auto own = [](const std::string& op) {
    return testing::parsed(
        "<ir_version: 8, opset_import: [\"\" : 18, \"acme\" : 1]>\n"
        "agraph (float[4] x) => (float[4] y) {y = " +
        op + "}");
  };
  const Graph in = own("acme.Secret(x)");
  const Claim claim{.inputs = {"x"},
                    .outputs = {"y"},
                    .after = testing::parsed("<ir_version: 8, opset_import: [\"\" : 18, \"acme\" : 1]>\n"
                                             "agraph (float[4] x) => (float[4] q) {q = Add(x, x)}")};
  const Certificate plain{.steps = {claim}, .notes = {}};
  Certificate stated = plain;
  stated.assumed = {"operator acme::Secret(x: T[n]) -> (y: T[n]) {\n  y[i] = x[i] + x[i]\n}"};
  const auto asked = [&](Certificate certificate) {
    const auto assumed = certificate.assumed;
    certificate = with_digests(std::move(certificate), in, own("Add(x, x)"));
    certificate.assumed = assumed;
    return check_certificate(in, own("Add(x, x)"), certificate, 7);
  };
  EXPECT_FALSE(asked(plain).accepted);
  const CheckReport report = asked(stated);
  EXPECT_TRUE(report.accepted) << report.reason;
  EXPECT_EQ(report.assumed, stated.assumed);
  EXPECT_FALSE(asked(plain).accepted);
  // And it survives its text.
  const auto read = parse_certificate(to_text(stated));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->assumed, stated.assumed);
}

TEST(Certificate, IsAboutTwoModelsOnly) {
  const Graph in = program(kModel), out = optimized();
  Certificate other = with_digests(honest(), in, out);
  std::swap(other.in_digest, other.out_digest);
  EXPECT_FALSE(check_certificate(in, out, other, 7).accepted);
  EXPECT_FALSE(check_certificate(in, out, honest(), 7).accepted);
  other = with_digests(honest(), in, in);
  EXPECT_EQ(check_certificate(in, out, other, 7).reason, "the certificate is about another result");
}

TEST(Certificate, LargeConstantNodesAreComparedByTheirElements) {
  const auto model = [](float last) {
    Graph graph = program("agraph (float[N,2000] x) => (float[N,2000] y) {y = Relu(x)}");
    std::vector<float> values(2000, 1.0F);
    values.back() = last;
    Node node;
    node.op = "Constant";
    node.outputs = {"c"};
    node.attributes.set("value", Tensor::of(ElementType::Float, {2000}, values));
    const Value c{graph.add(std::move(node)), 0};
    graph.add_output(c);
    return graph;
  };
  EXPECT_TRUE(checked(model(1), model(1), {}).accepted);
  EXPECT_FALSE(checked(model(1), model(2), {}).accepted);
}

TEST(Certificate, WhatIsDeclaredOfValuesIsCompared) {
  const Graph in = program(kModel);
  Graph out = in;
  out.declare("z", {.type = ElementType::Float, .shape = std::vector<std::optional<Dim>>{Dim(7)}});
  EXPECT_FALSE(checked(in, out, {}).accepted);
  EXPECT_TRUE(checked(out, out, {}).accepted);
  EXPECT_TRUE(checked(out, in, {}).accepted) << "an inner value need not be declared";
}

TEST(Certificate, WhatRunsInsideOfANodeIsCompared) {
  const auto model = [](const std::string& op) {
    Graph graph = program("agraph (float[N] x) => () {}");
    graph.functions.write().emplace(FunctionName{"own", "F"}, "");
    graph.opsets["own"] = 1;
    Node node;
    node.op = "F";
    node.domain = "own";
    node.inputs = {graph.inputs()[0]};
    node.outputs = {"y"};
    node.bodies = {
        {.attribute = "",
         .graph = std::make_shared<Graph>(program("agraph (float[N] a) => (float[N] b) {b = " + op + "(a)}")),
         .captured = {}}};
    graph.add_output({graph.add(std::move(node)), 0});
    return graph;
  };
  EXPECT_TRUE(checked(model("Relu"), model("Relu"), {}).accepted);
  EXPECT_FALSE(checked(model("Relu"), model("Neg"), {}).accepted);
}

// y and w are the shapes of two calls' outputs, or of the second call's.
Graph shapes_of_calls(const std::string& of_y) {
  Graph graph = program("agraph (float[N] x, float[N] z) => () {}");
  graph.functions.write().emplace(FunctionName{"own", "F"}, "");
  graph.opsets["own"] = 1;
  std::map<std::string, Value> made;
  for (std::size_t k = 0; k < 2; ++k) {
    Node call;
    call.op = "F";
    call.domain = "own";
    call.inputs = {graph.inputs()[k]};
    call.outputs = {k == 0 ? "r1" : "r2"};
    call.bodies = {{.attribute = "",
                    .graph = std::make_shared<Graph>(program("agraph (float[] a) => (b) {b = NonZero(a)}")),
                    .captured = {}}};
    made[call.outputs[0]] = {graph.add(call), 0};
  }
  for (const auto& [name, of] : {std::pair(std::string("y"), of_y), {"w", "r2"}}) {
    Node shape;
    shape.op = "Shape";
    shape.inputs = {made.at(of)};
    shape.outputs = {name};
    graph.add_output({graph.add(shape), 0});
  }
  return graph;
}

TEST(Certificate, TwoCallsOfAFunctionHaveNotTheSameShape) {
  const Claim claim{
      .inputs = {"r1", "r2"},
      .outputs = {"y"},
      .after = program("agraph (int64[1,k] r1, int64[1,k] r2) => (int64[2] q) {q = Shape(r2)}")};
  EXPECT_FALSE(
      checked(shapes_of_calls("r1"), shapes_of_calls("r2"), {.steps = {claim}, .notes = {}}).accepted);
}

TEST(Certificate, AFunctionThatWasNotWrittenOutIsComparedByWhatItSays) {
  const auto model = [](const std::string& digest) {
    Graph graph = shapes_of_calls("r1");
    const Graph bare = with_changed_nodes(graph, [](Node& node) { node.bodies.clear(); });
    Graph out = bare;
    out.functions.write().begin()->second = digest;
    return out;
  };
  EXPECT_TRUE(checked(model("1"), model("1"), {}).accepted);
  EXPECT_FALSE(checked(model("1"), model("2"), {}).accepted);
  EXPECT_NE(model_digest(model("1")), model_digest(model("2")));
}

TEST(Certificate, DefaultsOfInputsAreCompared) {
  const auto model = [](const std::string& inputs, const std::string& constants) {
    return program("agraph (float[2] x" + inputs + ") => (float[2] y) " + constants + "{y = Add(x, w)}");
  };
  const Graph in = model(", float[2] w = {1, 2}", "");
  EXPECT_TRUE(checked(in, in, {}).accepted);
  for (const Graph& out :
       {model(", float[2] w = {1, 3}", ""), model("", "<float[2] w = {1, 2}>"), model(", float[2] w", "")}) {
    EXPECT_FALSE(checked(in, out, {}).accepted);
    EXPECT_FALSE(checked(out, in, {}).accepted);
    EXPECT_NE(model_digest(in), model_digest(out));
  }
}

TEST(Step, TakesNoNameThatTheFileDeclaresSomethingOf) {
  Graph model = program(kModel);
  model.declare("k", {.type = ElementType::Int64});
  EXPECT_TRUE(std::holds_alternative<std::string>(prove_claim(model, merge_scalings())));
}

TEST(Certificate, UnknownFieldsAreRefused) {
  EXPECT_FALSE(parse_certificate("").ok());
  EXPECT_FALSE(parse_certificate("{\"isomer_certificate\":1}\n").ok());
  EXPECT_FALSE(parse_certificate("{\"isomer_certificate\":4}\n").ok());
  const std::string head = "{\"isomer_certificate\":4,\"in\":\"0\",\"out\":\"1\"}\n";
  EXPECT_TRUE(parse_certificate(head).ok());
  EXPECT_TRUE(parse_certificate(head + "{\"note\":{\"kind\":3,\"ratio\":\"x\"}}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"fold\":[\"k\"],\"trust\":true}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"fold\":\"k\"}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "[]\n").ok());
  const Graph program = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[1] x) => (float[1] k) {k = Abs(x)}");
  const std::string step = "{\"replace\":[\"z\"],\"from\":[\"x\"],\"by\":\"" +
                           to_base64(write_program(program).value()) + "\",\"facts\":";
  EXPECT_TRUE(parse_certificate(head + step + "[]}\n").ok());
  EXPECT_FALSE(parse_certificate(head + step + "{}}\n").ok());
  EXPECT_FALSE(parse_certificate(head + step + "[{\"constant\":\"w\"}]}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"replace\":[\"z\"],\"from\":[\"x\"],\"by\":\"agraph\"}\n").ok());
}

TEST(Certificate, OfAnotherFormatIsRefusedByItsNumber) {
  const auto old = parse_certificate("{\"isomer_certificate\":3,\"in\":\"0\",\"out\":\"1\"}\n");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().message, "line 1: a certificate of format 3; only format 4 is read: make it again");
}

// A value that is rounded to 16 bits on purpose, and then an operator of 16 bits.
const std::string kRounded =
    "agraph (float[3] x) => (float16[3] y) {\nh = Cast<to=10>(x)\ne = Exp(h)\ny = Tanh(e)}";

TEST(Widening, IsAcceptedAndCounted) {
  const Graph in = program(kRounded);
  const auto out = widen(in, {"e", "y"});
  ASSERT_TRUE(out.ok());
  const Certificate certificate{.steps = {WidenStep{{"e", "y"}}}, .notes = {}};
  const CheckReport report = checked(in, *out, certificate);
  EXPECT_TRUE(report.accepted) << report.reason;
  EXPECT_EQ(report.widened, 2);
  const auto again = parse_certificate(to_text(with_digests(certificate, in, *out)));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(check_certificate(in, *out, *again, 7).accepted);
  // Another graph than the one that was widened.
  EXPECT_FALSE(checked(in, in, certificate).accepted);
}

TEST(Widening, LosesNoRoundingOfTheModel) {
  const Graph in = program(kRounded);
  // A forger's choice: x itself instead of x rounded to 16 bits.
  const Graph out = program(
      "agraph (float[3] x) => (float16[3] y) {\ne_wide = Exp(x)\ny_wide = Tanh(e_wide)\ny = "
      "Cast<to=10>(y_wide)}");
  for (const std::vector<std::string>& values :
       {std::vector<std::string>{"h", "e", "y"}, {"h"}, {"e", "y"}, {"x", "e", "y"}, {"nobody"}})
    EXPECT_FALSE(checked(in, out, {.steps = {WidenStep{values}}, .notes = {}}).accepted) << values[0];
}

TEST(Widening, HasNoOtherFields) {
  const std::string head =
      to_text(with_digests({.steps = {}, .notes = {}}, program(kRounded), program(kRounded)));
  EXPECT_TRUE(parse_certificate(head + "{\"widen\": [\"e\"]}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"widen\": [\"e\"], \"fold\": []}\n").ok());
  EXPECT_FALSE(parse_certificate(head + "{\"widen\": \"e\"}\n").ok());
}

// Two denormal numbers, one of each sign, beside the smallest normal number, a zero and a one.
const std::string kDenormal =
    "agraph (float[5] x) => (float[5] y) <float[5] w = {1e-40, -3e-39, 1.1754944e-38, 0, 1}> {\ny = Mul(x, "
    "w)}";
const std::string kFlushed =
    "agraph (float[5] x) => (float[5] y) <float[5] w = {0, 0, 1.1754944e-38, 0, 1}> {\ny = Mul(x, w)}";

TEST(Flush, IsAcceptedStatedAndCounted) {
  const Graph in = program(kDenormal), out = program(kFlushed);
  const Certificate certificate{.steps = {FlushStep{{"w"}}}, .notes = {}};
  const CheckReport report = checked(in, out, certificate);
  EXPECT_TRUE(report.accepted) << report.reason;
  EXPECT_EQ(report.flushed, 2u);
  const auto said = check_models(in, out, to_text(with_digests(certificate, in, out)));
  EXPECT_TRUE(said.report.accepted) << said.report.reason;
  EXPECT_NE(said.text().find("but for 2 denormal numbers of its constants, which are zero"),
            std::string::npos)
      << said.text();
  // Without the step the numbers are others.
  EXPECT_FALSE(checked(in, out, {.steps = {}, .notes = {}}).accepted);
}

TEST(Flush, ChangesDenormalNumbersOnly) {
  const Graph in = program(kDenormal);
  const Certificate certificate{.steps = {FlushStep{{"w"}}}, .notes = {}};
  for (const char* numbers :
       {"0, 0, 0, 0, 1", "0, -3e-39, 1.1754944e-38, 0, 1", "0, 0, 1.1754944e-38, 0, 0"}) {
    const Graph out = program(std::string("agraph (float[5] x) => (float[5] y) <float[5] w = {") + numbers +
                              "}> {\ny = Mul(x, w)}");
    EXPECT_FALSE(checked(in, out, certificate).accepted) << numbers;
  }
}

TEST(Flush, IsOfConstantsOnlyAndBeforeAllOtherSteps) {
  const Graph in = program(kDenormal), out = program(kFlushed);
  for (const char* name : {"x", "y", "none"})
    EXPECT_FALSE(checked(in, out, {.steps = {FlushStep{{"w", name}}}, .notes = {}}).accepted) << name;
  EXPECT_FALSE(checked(in, out, {.steps = {FoldStep{{}}, FlushStep{{"w"}}}, .notes = {}}).accepted);
  const std::string head = to_text(with_digests({.steps = {}, .notes = {}}, in, out));
  EXPECT_FALSE(parse_certificate(head + "{\"flush\": [\"w\"], \"fold\": []}\n").ok());
}

TEST(Flush, ReadsConstantNodes) {
  const Graph in = program(
      "agraph (float[2] x) => (float[2] y) {\nw = Constant<value_floats = [1e-40, 2.0]>()\ny = Mul(x, w)}");
  const auto out = flush_denormals(in, {"w"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out->numbers, 1u);
  EXPECT_TRUE(checked(in, out->graph, {.steps = {FlushStep{{"w"}}}, .notes = {}}).accepted);
}

}  // namespace
}  // namespace isomer
