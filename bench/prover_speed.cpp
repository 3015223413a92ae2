// How long proofs take: the hard ones of the prover's issue, sets and field timed apart.
//   isomer-prover-speed [PART]      only cases whose name contains PART
// One line per case: verdict, milliseconds of the set algebra, milliseconds of the field witness.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "kernel/prove/prove.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

struct Case {
  std::string name, inputs, output, a, b;
};

Graph program(const std::string& inputs, const std::string& output, const std::string& body) {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" +
                           output + ") {\n" + body + "\n}");
  if (!graph.ok()) {
    fmt::print(stderr, "{}\n{}\n", graph.error().message, body);
    std::exit(2);
  }
  return *graph;
}

std::string list(int n, const std::function<std::string(int)>& item, const char* between = ", ") {
  std::string out;
  for (int i = 0; i < n; ++i) out += (i ? between : "") + item(i);
  return out;
}

std::string ints(const std::vector<int>& v) {
  return "[" +
         list(static_cast<int>(v.size()),
              [&](int i) { return fmt::format("{}", v[static_cast<std::size_t>(i)]); }) +
         "]";
}

std::string shape_constant(const std::string& name, const std::vector<int>& v) {
  return fmt::format("{} = Constant<value_ints={}>()\n", name, ints(v));
}

std::string matrix(const std::string& name, const std::vector<std::vector<double>>& rows) {
  std::string values;
  for (const auto& r : rows)
    for (const double v : r)
      values +=
          (values.empty() ? "" : ", ") + fmt::format("{:.9g}", v) + (v == static_cast<int>(v) ? ".0" : "");
  return fmt::format("{} = Constant<value = float[{},{}] {{{}}}>()\n", name, rows.size(), rows[0].size(),
                     values);
}

Case concat_of_convolutions(int n) {
  const std::string pads = "<pads=[1,1,1,1]>";
  return {fmt::format("relu of {} concatenated convolutions", n),
          "float[1,16,28,28] x, " + list(n, [](int i) { return fmt::format("float[8,16,3,3] w{}", i); }),
          fmt::format("float[1,{},28,28] y", 8 * n),
          list(
              n, [&](int i) { return fmt::format("c{0} = Conv{1}(x, w{0})", i, pads); }, "\n") +
              "\nt = Concat<axis=1>(" + list(n, [](int i) { return fmt::format("c{}", i); }) +
              ")\ny = Relu(t)",
          "k = Concat<axis=0>(" + list(n, [](int i) { return fmt::format("w{}", i); }) + ")\nt = Conv" +
              pads + "(x, k)\ny = Relu(t)"};
}

Case concat_of_relus(int n) {
  Case c = concat_of_convolutions(n);
  c.name = fmt::format("concat of {} relus = relu of one convolution", n);
  const std::string pads = "<pads=[1,1,1,1]>";
  c.a = list(
            n, [&](int i) { return fmt::format("c{0} = Conv{1}(x, w{0})\nr{0} = Relu(c{0})", i, pads); },
            "\n") +
        "\ny = Concat<axis=1>(" + list(n, [](int i) { return fmt::format("r{}", i); }) + ")";
  return c;
}

// Layer k sees the concatenation of all before it; once joined pairwise, once all at once.
Case dense_net(int layers) {
  Case c{fmt::format("DenseNet block of {} layers, concatenated pairwise or at once", layers),
         "float[1,16,14,14] x, " +
             list(layers, [](int i) { return fmt::format("float[8,{},3,3] w{}", 16 + 8 * i, i); }),
         fmt::format("float[1,{},14,14] y", 16 + 8 * layers), "", ""};
  std::string all = "x", last = "x";
  for (int i = 0; i < layers; ++i) {
    c.a += fmt::format("a{0} = Relu({1})\nc{0} = Conv<pads=[1,1,1,1]>(a{0}, w{0})\n", i, last);
    const std::string joined = i + 1 == layers ? "y" : fmt::format("p{}", i);
    c.a += fmt::format("{} = Concat<axis=1>({}, c{})\n", joined, last, i);
    last = joined;
  }
  for (int i = 0; i < layers; ++i) {
    c.b += fmt::format(
        "q{0} = Concat<axis=1>({1})\na{0} = Relu(q{0})\nc{0} = Conv<pads=[1,1,1,1]>(a{0}, w{0})\n", i, all);
    all += fmt::format(", c{}", i);
  }
  c.b += "y = Concat<axis=1>(" + all + ")";
  return c;
}

Case shuffle() {
  return {"channel shuffle under relu", "float[1,116,28,28] x, float[116,116,1,1] w", "float[1,116,28,28] y",
          "c = Conv(x, w)\n" + shape_constant("s", {1, 2, 58, 28, 28}) +
              shape_constant("t", {1, 116, 28, 28}) +
              "r = Reshape(c, s)\np = Transpose<perm=[0,2,1,3,4]>(r)\nq = Reshape(p, t)\ny = Relu(q)",
          "c = Conv(x, w)\nz = Relu(c)\n" + shape_constant("s", {1, 2, 58, 28, 28}) +
              shape_constant("t", {1, 116, 28, 28}) +
              "r = Reshape(z, s)\np = Transpose<perm=[0,2,1,3,4]>(r)\ny = Reshape(p, t)"};
}

Case shuffle_into_weights() {
  Case c = shuffle();
  c.name = "channel shuffle folded into weights, under relu";
  c.b =
      shape_constant("s", {2, 58, 116, 1, 1}) + shape_constant("t", {116, 116, 1, 1}) +
      "r = Reshape(w, s)\np = Transpose<perm=[1,0,2,3,4]>(r)\nk = Reshape(p, t)\nq = Conv(x, k)\ny = Relu(q)";
  return c;
}

// One-dimensional Winograd: x [C, n], w [O, C, 3]; tiles of m outputs from m + 2 inputs.
Case winograd(int m, bool relu, const std::vector<std::vector<double>>& bt,
              const std::vector<std::vector<double>>& g, const std::vector<std::vector<double>>& at) {
  const int n = 48, tiles = n / m, t = m + 2, channels = 32, outputs = 24;
  Case c{fmt::format("{}Winograd F({},3)", relu ? "relu of " : "", m),
         fmt::format("float[1,{},{}] x, float[{},{},3] w", channels, n, outputs, channels),
         fmt::format("float[1,{},{}] y", outputs, n), "", ""};
  const std::string last = relu ? "z" : "y";
  c.a = last + " = Conv<pads=[1,1]>(x, w)\n" + (relu ? "y = Relu(z)" : "");
  // Tiles: pad, then gather t shifted strided slices.
  c.b = matrix("bt", bt) + matrix("g", g) + matrix("at", at);
  c.b +=
      "pads = Constant<value_ints=[0,0,1,0,0,1]>()\naxes = Constant<value_ints=[2]>()\nsteps = "
      "Constant<value_ints=[" +
      fmt::format("{}", m) + "]>()\nxp = Pad(x, pads)\n";
  for (int i = 0; i < t; ++i)
    c.b += fmt::format(
        "from{0} = Constant<value_ints=[{0}]>()\nto{0} = Constant<value_ints=[{1}]>()\n"
        "v{0} = Slice(xp, from{0}, to{0}, axes, steps)\nu{0} = Unsqueeze(v{0}, zero)\n",
        i, i + m * (tiles - 1) + 1);
  c.b = "zero = Constant<value_ints=[0]>()\n" + c.b + "d = Concat<axis=0>(" +
        list(t, [](int i) { return fmt::format("u{}", i); }) + ")\n";
  // d: [t, 1, C, tiles]; input transform bt [t, t], weights g [t, 3], output at [m, t].
  c.b += "v = Einsum<equation=\"ab,bnct->anct\">(bt, d)\n";
  c.b += "u = Einsum<equation=\"ak,ock->aoc\">(g, w)\n";
  c.b += "p = Einsum<equation=\"aoc,anct->anot\">(u, v)\n";
  c.b += "o = Einsum<equation=\"ma,anot->notm\">(at, p)\n";
  c.b += shape_constant("final", {1, outputs, n}) + last + " = Reshape(o, final)\n" +
         (relu ? "y = Relu(z)" : "");
  return c;
}

// One axis of a two-dimensional convolution by F(4,3): six products of [3, 1] kernels instead of twelve taps.
// The fractions of the transforms are gathered in one division by 24.
Case winograd_axis() {
  const int n = 16, m = 4, t = 6, tiles = n / m;
  const std::vector<std::vector<int>> bt{{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                         {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
      g{{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 24}},
      at{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
  Case c{"one axis of Winograd F(4,3) in two dimensions", "float[1,16,16,16] x, float[24,16,3,3] w",
         "float[1,24,16,16] y", "y = Conv<pads=[1,1,1,1]>(x, w)",
         "pads = Constant<value_ints=[0,0,0,1,0,0,0,1]>()\nax = Constant<value_ints=[3]>()\n"
         "steps = Constant<value_ints=[4]>()\none = Constant<value_ints=[1]>()\nlast = "
         "Constant<value_ints=[4]>()\nxp = Pad(x, pads)\n"};
  int next = 0;
  // Σ factor · value over those that are not zero.
  const auto sum = [&](const std::string& name, const std::vector<int>& row, const std::string& of) {
    std::string total;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == 0) continue;
      const std::string k = fmt::format("k{}", next++), part = fmt::format("m{}", next++);
      c.b += fmt::format("{0} = Constant<value_float={1}.0>()\n{2} = Mul({3}{4}, {0})\n", k, row[i], part, of,
                         i);
      if (total.empty()) {
        total = part;
        continue;
      }
      const std::string both = fmt::format("s{}", next++);
      c.b += fmt::format("{} = Add({}, {})\n", both, total, part);
      total = both;
    }
    c.b += fmt::format("{} = Identity({})\n", name, total);
  };
  for (int i = 0; i < t; ++i)
    c.b += fmt::format(
        "f{0} = Constant<value_ints=[{0}]>()\ne{0} = Constant<value_ints=[{1}]>()\nd{0} = Slice(xp, f{0}, "
        "e{0}, ax, steps)\n",
        i, i + m * (tiles - 1) + 1);
  for (int k = 0; k < 3; ++k)
    c.b += fmt::format(
        "wf{0} = Constant<value_ints=[{0}]>()\nwe{0} = Constant<value_ints=[{1}]>()\nw{0} = Slice(w, wf{0}, "
        "we{0}, ax, one)\n",
        k, k + 1);
  for (int a = 0; a < t; ++a) {
    sum(fmt::format("V{}", a), bt[static_cast<std::size_t>(a)], "d");
    sum(fmt::format("U{}", a), g[static_cast<std::size_t>(a)], "w");
    c.b += fmt::format("P{0} = Conv<pads=[1,0,1,0]>(V{0}, U{0})\n", a);
  }
  for (int o = 0; o < m; ++o) {
    sum(fmt::format("o{}", o), at[static_cast<std::size_t>(o)], "P");
    c.b += fmt::format("q{0} = Unsqueeze(o{0}, last)\n", o);
  }
  c.b += "all = Concat<axis=4>(q0, q1, q2, q3)\n" + shape_constant("final", {1, 24, 16, 16}) +
         "r = Reshape(all, final)\nd24 = Constant<value_float=24.0>()\ny = Div(r, d24)";
  return c;
}

Case attention() {
  // [1, 16, 64], 4 heads of 16: heads by reshape and transpose, or by einsum on weights split into heads.
  const std::string in = "float[1,16,64] x, float[64,64] q, float[64,64] k, float[64,64] v, float[64,64] o";
  const std::string head = shape_constant("s", {1, 16, 4, 16}) + shape_constant("t", {1, 16, 64});
  const std::string scale = "c = Constant<value_float=0.25>()\n";
  std::string a = head + scale;
  for (const char* n : {"q", "k", "v"})
    a += fmt::format(
        "{0}1 = MatMul(x, {0})\n{0}2 = Reshape({0}1, s)\n{0}3 = Transpose<perm=[0,2,1,3]>({0}2)\n", n);
  a += "kt = Transpose<perm=[0,1,3,2]>(k3)\nr = MatMul(q3, kt)\nrs = Mul(r, c)\np = Softmax<axis=-1>(rs)\nz "
       "= MatMul(p, v3)\n"
       "zt = Transpose<perm=[0,2,1,3]>(z)\nzr = Reshape(zt, t)\ny = MatMul(zr, o)";
  std::string b = shape_constant("s", {1, 16, 4, 16}) + shape_constant("h", {4, 16, 64}) + scale;
  b += "qs = Mul(q, c)\n";
  b += "q1 = MatMul(x, qs)\nq2 = Reshape(q1, s)\n";
  for (const char* n : {"k", "v"}) b += fmt::format("{0}1 = MatMul(x, {0})\n{0}2 = Reshape({0}1, s)\n", n);
  b += "r = Einsum<equation=\"bqhd,bkhd->bhqk\">(q2, k2)\np = Softmax<axis=-1>(r)\nz = "
       "Einsum<equation=\"bhqk,bkhd->bqhd\">(p, v2)\n"
       "oh = Reshape(o, h)\ny = Einsum<equation=\"bqhd,hdm->bqm\">(z, oh)";
  return {"attention with head reshapes and softmax", in, "float[1,16,64] y", a, b};
}

Case layer_norm() {
  const std::string e =
      "e = Constant<value_float=1e-5>()\ntwo = Constant<value_float=2.0>()\nax = "
      "Constant<value_ints=[-1]>()\n";
  return {"LayerNorm in both variance forms", "float[2,16,64] x, float[64] g, float[64] h",
          "float[2,16,64] y",
          e + "m = ReduceMean(x, ax)\nd = Sub(x, m)\nq = Pow(d, two)\nv = ReduceMean(q, ax)\nw = Add(v, "
              "e)\nr = Sqrt(w)\n"
              "n = Div(d, r)\ns = Mul(n, g)\ny = Add(s, h)",
          e + "m = ReduceMean(x, ax)\nq = Mul(x, x)\nn = ReduceMean(q, ax)\nk = Mul(m, m)\nv = Sub(n, k)\nw "
              "= Add(v, e)\n"
              "r = Sqrt(w)\nd = Sub(x, m)\nz = Div(d, r)\ns = Mul(z, g)\ny = Add(s, h)"};
}

Case stacked() {
  return {"three stacked convolutions, a scale moved from first to last",
          "float[1,16,20,20] x, float[16,16,3,3] w1, float[16,16,3,3] w2, float[16,16,3,3] w3, float[1] s",
          "float[1,16,20,20] y",
          "xs = Mul(x, s)\na = Conv<pads=[1,1,1,1]>(xs, w1)\nb = Conv<pads=[1,1,1,1]>(a, w2)\ny = "
          "Conv<pads=[1,1,1,1]>(b, w3)",
          "a = Conv<pads=[1,1,1,1]>(x, w1)\nb = Conv<pads=[1,1,1,1]>(a, w2)\nws = Mul(w3, s)\ny = "
          "Conv<pads=[1,1,1,1]>(b, ws)"};
}

Case stacked_relu() {
  Case c = stacked();
  c.name = "three stacked convolutions with relu, weights concatenated in halves";
  c.inputs =
      "float[1,16,20,20] x, float[8,16,3,3] w1, float[8,16,3,3] v1, float[16,16,3,3] w2, float[16,16,3,3] w3";
  c.a =
      "k = Concat<axis=0>(w1, v1)\na = Conv<pads=[1,1,1,1]>(x, k)\nar = Relu(a)\nb = "
      "Conv<pads=[1,1,1,1]>(ar, w2)\n"
      "br = Relu(b)\ny = Conv<pads=[1,1,1,1]>(br, w3)";
  c.b =
      "a1 = Conv<pads=[1,1,1,1]>(x, w1)\na2 = Conv<pads=[1,1,1,1]>(x, v1)\nr1 = Relu(a1)\nr2 = Relu(a2)\n"
      "ar = Concat<axis=1>(r1, r2)\nb = Conv<pads=[1,1,1,1]>(ar, w2)\nbr = Relu(b)\ny = "
      "Conv<pads=[1,1,1,1]>(br, w3)";
  return c;
}

std::vector<Case> cases() {
  const std::vector<std::vector<double>> bt2{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
      g2{{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}}, at2{{1, 1, 1, 0}, {0, 1, -1, -1}};
  return {concat_of_convolutions(8),
          concat_of_convolutions(64),
          concat_of_relus(64),
          dense_net(6),
          dense_net(24),
          shuffle(),
          shuffle_into_weights(),
          winograd(2, false, bt2, g2, at2),
          winograd(2, true, bt2, g2, at2),
          winograd_axis(),
          attention(),
          layer_norm(),
          stacked(),
          stacked_relu()};
}

// This thread's processor time, because the machine may be busy with other things.
double ms(const std::function<void()>& work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
  };
  const double start = now();
  work();
  return now() - start;
}

int run(const std::string& part) {
  std::vector<double> sets, both;
  int open = 0;
  for (const Case& c : cases()) {
    if (c.name.find(part) == std::string::npos) continue;
    const Graph a = program(c.inputs, c.output, c.a), b = program(c.inputs, c.output, c.b);
    Verdict by_sets = NotDecided{}, by_field = NotDecided{};
    const double first = ms([&] { by_sets = prove_equal(a, b, {.field = false}); });
    const double second = ms([&] { by_field = prove_equal(a, b); }) - first;
    const bool proved = std::holds_alternative<Proved>(by_sets) && std::holds_alternative<Proved>(by_field);
    open += !proved;
    sets.push_back(first);
    both.push_back(first + second);
    fmt::print("{:9} sets {:8.1f} ms  field {:8.1f} ms  {}{}\n", proved ? "proved" : "NOT", first, second,
               c.name,
               proved ? "" : ": " + text(by_sets).substr(0, 300) + " | " + text(by_field).substr(0, 300));
    std::fflush(stdout);
  }
  const auto at = [](std::vector<double> v, double q) {
    if (v.empty()) return 0.0;
    std::ranges::sort(v);
    return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
  };
  fmt::print("median: sets {:.1f} ms, both {:.1f} ms; largest: sets {:.1f} ms; {} not proved\n",
             at(sets, 0.5), at(both, 0.5), at(sets, 1), open);
  return open == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) { return isomer::run(argc > 1 ? argv[1] : ""); }
