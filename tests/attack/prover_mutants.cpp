// isomer-prover-mutants [--mutants N] [--seed S] RULES...: mutants of rewrites at the level of graphs, each
// witness of the prover alone against evaluation in float64 at three sizes and five kinds of inputs. Exit
// code 1: something false was proved.
//
// A mutant is the text of one side with an attribute, an axis, an operand, an operator, a number or a node
// changed, once or twice; those that are no legal model, or of another shape, are not counted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "attack/random_program.h"
#include "base/hash.h"
#include "kernel/prove/prove.h"
#include "kernel/prove/shrink.h"
#include "model/eval/program.h"
#include "model/graph/infer.h"
#include "model/graph/interpret.h"
#include "model/graph/text/text.h"
#include "rules/text/rule.h"

namespace isomer::attack {
namespace {

struct Rewrite {
  std::string name;
  RuleInstance rule;
};

std::vector<Rewrite> load(const std::vector<std::string>& files) {
  std::vector<Rewrite> out;
  for (const std::string& file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    const auto rules = parse_rules(text.str());
    if (!rules.ok()) throw std::runtime_error(file + ": " + rules.error().message);
    for (const Rule& r : *rules)
      for (const RuleInstance& i : r.instances) out.push_back({r.name, i});
  }
  return out;
}

// ---- mutation of text

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

struct Match {
  std::size_t at, length;
  std::string text;
};

std::vector<Match> all_matches(const std::string& line, const std::string& pattern, std::size_t from = 0) {
  std::vector<Match> out;
  const std::regex regex(pattern);
  for (auto m = std::sregex_iterator(line.begin() + static_cast<std::ptrdiff_t>(from), line.end(), regex);
       m != std::sregex_iterator(); ++m)
    out.push_back(
        {static_cast<std::size_t>(m->position()) + from, static_cast<std::size_t>(m->length()), m->str()});
  return out;
}

// The operands of a node's line: the names in its last parentheses.
std::vector<Match> operands(const std::string& line) {
  const std::size_t open = line.rfind('(');
  return open == std::string::npos ? std::vector<Match>{}
                                   : all_matches(line, "[A-Za-z_][A-Za-z_0-9]*", open + 1);
}

std::string replaced(const std::string& line, const Match& m, const std::string& by) {
  return line.substr(0, m.at) + by + line.substr(m.at + m.length);
}

std::optional<std::string> other_operator(Random& random, const std::string& op) {
  static const std::vector<std::vector<std::string>> families{
      {"Add", "Sub", "Mul", "Div", "Max", "Min"},
      {"Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Exp", "Identity", "Sqrt"},
      {"MaxPool", "AveragePool"},
      {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"},
  };
  for (const auto& family : families) {
    if (std::ranges::find(family, op) == family.end()) continue;
    const std::string& other = random.one_of(family);
    if (other != op) return other;
  }
  return std::nullopt;
}

// Whether it is a line of a node that computes something.
bool is_node(const std::string& line) {
  return line.find(" = ") != std::string::npos && line.rfind('(') != std::string::npos &&
         line.find("agraph") == std::string::npos;
}

std::optional<std::string> mutate_line(Random& random, const std::string& line,
                                       const std::vector<std::string>& names) {
  const auto args = operands(line);
  switch (random.below(9)) {
    case 0:  // operand order
      if (args.size() < 2) return std::nullopt;
      else {
        const auto i = static_cast<std::size_t>(random.below(static_cast<int>(args.size()) - 1));
        return replaced(replaced(line, args[i + 1], args[i].text), args[i], args[i + 1].text);
      }
    case 1:  // another operand
      if (args.empty()) return std::nullopt;
      return replaced(line, random.one_of(args), random.one_of(names));
    case 2:
    case 3:
    case 4: {  // a number of an attribute: axis, pad, stride, permutation, split, element, scale
      const std::size_t from = line.find('<');
      if (from == std::string::npos) return std::nullopt;
      const auto numbers = all_matches(line, "-?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?", from);
      if (numbers.empty()) return std::nullopt;
      const Match& m = random.one_of(numbers);
      if (m.at > 0 && std::isalpha(static_cast<unsigned char>(line[m.at - 1])) != 0) return std::nullopt;
      if (random.chance(25) && numbers.size() > 1) {
        const auto i = static_cast<std::size_t>(random.below(static_cast<int>(numbers.size()) - 1));
        return replaced(replaced(line, numbers[i + 1], numbers[i].text), numbers[i], numbers[i + 1].text);
      }
      if (m.text.find('.') != std::string::npos)
        return replaced(line, m,
                        random.chance(50) ? "-" + m.text : fmt::format("{:.6f}", std::stod(m.text) * 2));
      const std::int64_t v = std::stoll(m.text);
      return replaced(line, m, std::to_string(random.chance(80) ? v + (random.chance(50) ? 1 : -1) : -v));
    }
    case 5:
    case 6: {  // another operator
      const auto words = all_matches(line, "[A-Z][A-Za-z]+");
      for (const Match& w : words)
        if (const auto other = other_operator(random, w.text)) return replaced(line, w, *other);
      return std::nullopt;
    }
    default: {  // a dropped node
      const std::size_t equals = line.find(" = ");
      if (args.empty() || line.substr(0, equals).find(',') != std::string::npos) return std::nullopt;
      return line.substr(0, equals) + " = Identity (" + random.one_of(args).text + ")";
    }
  }
}

std::optional<Graph> mutant(Random& random, const Graph& graph) {
  std::vector<std::string> lines = lines_of(text(graph));
  for (int changes = random.chance(25) ? 2 : 1; changes > 0; --changes) {
    std::vector<std::size_t> nodes;
    std::vector<std::string> names;
    for (const Value& v : graph.inputs()) names.push_back(graph.name_of(v));
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (is_node(lines[i])) nodes.push_back(i);
    if (nodes.empty()) return std::nullopt;
    const std::size_t at = random.one_of(nodes);
    for (const std::size_t i : nodes)
      if (i < at)
        for (const Match& m : all_matches(lines[i].substr(0, lines[i].find(" = ")), "[A-Za-z_][A-Za-z_0-9]*"))
          names.push_back(m.text);
    if (names.empty()) return std::nullopt;
    if (random.chance(8) && nodes.size() > 1) {
      // A function on the other side of its neighbour: the operators of two nodes in a row change places.
      const auto k = static_cast<std::size_t>(random.below(static_cast<int>(nodes.size()) - 1));
      std::string &a = lines[nodes[k]], &b = lines[nodes[k + 1]];
      const auto x = all_matches(a, " = [A-Za-z]+( <[^>]*>)?"), y = all_matches(b, " = [A-Za-z]+( <[^>]*>)?");
      if (x.empty() || y.empty()) return std::nullopt;
      a = replaced(a, x[0], y[0].text);
      b = replaced(b, y[0], x[0].text);
      continue;
    }
    const auto changed = mutate_line(random, lines[at], names);
    if (!changed || *changed == lines[at]) return std::nullopt;
    lines[at] = *changed;
  }
  std::string all;
  for (const std::string& l : lines) all += l + "\n";
  auto parsed = parse_graph(all);
  if (!parsed.ok()) return std::nullopt;
  return std::move(*parsed);
}

// ---- the oracle

std::vector<Sizes> prime_sizes(Random& random, const std::set<std::string>& symbols,
                               const Dims& preconditions) {
  std::vector<Sizes> out;
  if (symbols.empty()) return {Sizes{}};
  for (int tries = 0; tries < 40 && out.size() < 3; ++tries) {
    Sizes sizes;
    std::vector<std::int64_t> primes{2, 3, 5, 7, 2, 3, 5, 1};
    for (const std::string& s : symbols) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<int>(primes.size())));
      sizes[s] = primes[at];
      if (primes.size() > 1) primes.erase(primes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const bool fits = std::ranges::all_of(preconditions, [&](const Dim& d) {
      const auto value = d.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
        const auto at = sizes.find(name);
        return at == sizes.end() ? std::nullopt : std::optional(at->second);
      });
      return value && *value >= 0;
    });
    if (fits) out.push_back(std::move(sizes));
  }
  return out;
}

Tensor drawn(const ValueInfo& info, std::uint64_t key, int kind) {
  const Extents extents = *concrete(*info.shape);
  std::vector<double> values(static_cast<std::size_t>(*element_count(extents)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = mix(mix(key) + i);
    const double unit = static_cast<double>(bits >> 11u) / 9007199254740992.0;
    switch (kind) {
      case 0: values[i] = (unit - 0.5) * 4; break;
      case 1: values[i] = static_cast<double>(bits % 5) - 2; break;  // zeros and ties
      case 2: values[i] = unit * 3 + 0.01; break;
      case 3: values[i] = -unit * 3 - 0.01; break;
      default: values[i] = 0;
    }
  }
  return convert(Tensor::of(ElementType::Double, extents, values), info.type);
}

struct Observed {
  bool compared = false, differ = false, undefined = false;  // undefined: the first finite, the second not
};

// Both programs at one input; adds to what was seen.
void observe(const Graph& a, const Graph& b, std::uint64_t key, Observed& seen) {
  const auto a_info = infer(a), b_info = infer(b);
  if (!a_info.ok() || !b_info.ok()) return;
  for (int kind = 0; kind < 5; ++kind) {
    NamedTensors feeds, for_b;
    for (const Value& v : a.inputs()) {
      const ValueInfo& info = a_info->of(v);
      if (!info.shape || !concrete(*info.shape)) return;
      feeds.emplace(a.name_of(v), drawn(info, key + mix(feeds.size()), kind));
    }
    for (const Value& v : b.inputs()) {
      if (!feeds.contains(b.name_of(v))) return;
      for_b.emplace(b.name_of(v), feeds.at(b.name_of(v)));
    }
    const auto x = interpret(a, feeds, Arithmetic::Double), y = interpret(b, for_b, Arithmetic::Double);
    if (!x.ok() || !y.ok() || x->opaque || y->opaque) return;
    for (std::size_t k = 0; k < a.outputs().size(); ++k) {
      const Tensor &s = x->outputs.at(a.name_of(a.outputs()[k])),
                   &t = y->outputs.at(b.name_of(b.outputs()[k]));
      if (s.extents() != t.extents() || s.type() != t.type()) {
        seen.differ = true;
        return;
      }
      const auto u = s.doubles(), w = t.doubles();
      if (!u || !w) return;
      seen.compared = true;
      double scale = 1;
      for (const double d : *u)
        if (std::isfinite(d)) scale = std::max(scale, std::abs(d));
      for (std::size_t i = 0; i < u->size(); ++i) {
        if (!std::isfinite((*u)[i])) continue;
        if (!std::isfinite((*w)[i])) seen.undefined = true;
        else if (std::abs((*u)[i] - (*w)[i]) > 1e-7 * scale) seen.differ = true;
      }
    }
  }
}

// ---- the judgement

struct Tally {
  std::int64_t mutants = 0, different = 0, undefined = 0, sets_false = 0, field_false = 0, sets_proved = 0,
               field_agree = 0, missed = 0;
};

int run(std::int64_t wanted, std::uint64_t seed, const std::vector<std::string>& files) {
  const std::vector<Rewrite> rewrites = load(files);
  Random random(seed);
  Tally t;
  std::set<std::string> seen_texts, rules;
  const std::clock_t start = std::clock();
  for (std::int64_t tries = 0; t.mutants < wanted && tries < 200 * wanted; ++tries) {
    const Rewrite& r = random.one_of(rewrites);
    const bool turned = random.chance(50);
    Graph a = turned ? r.rule.right : r.rule.left, base = turned ? r.rule.left : r.rule.right;
    auto changed = mutant(random, base);
    if (!changed) continue;
    Graph b = std::move(*changed);
    auto symbols = symbols_of(a);
    symbols.merge(symbols_of(b));
    const auto sizes = prime_sizes(random, symbols, r.rule.preconditions);
    // One half at symbolic sizes, the other at the first of the concrete ones.
    Observed seen;
    const bool at_once = !symbols.empty() && random.chance(50);
    for (std::size_t k = 0; k < sizes.size() && (!at_once || k == 0); ++k)
      observe(at_sizes(a, sizes[k]), at_sizes(b, sizes[k]), random.bits(), seen);
    if (!seen.compared && !seen.differ) continue;
    if (!seen_texts.insert(text(a) + text(b) + (at_once && !sizes.empty() ? "!" : "")).second) continue;
    if (at_once) {
      a = at_sizes(a, sizes[0]);
      b = at_sizes(b, sizes[0]);
    }
    ++t.mutants;
    rules.insert(r.name);
    if (seen.differ) ++t.different;
    if (seen.undefined) ++t.undefined;
    ProveOptions sets{.preconditions = r.rule.preconditions, .field = false};
    sets.budget.set_operations = std::uint64_t{1} << 18u;
    const bool by_sets = std::holds_alternative<Proved>(prove_equal(a, b, sets));
    const bool by_field =
        std::holds_alternative<Proved>(prove_equal(a, b,
                                                   {.preconditions = r.rule.preconditions,
                                                    .key = seed + static_cast<std::uint64_t>(tries),
                                                    .sets = false}));
    t.sets_proved += by_sets;
    t.field_agree += by_field;
    const bool false_sets = by_sets && (seen.differ || seen.undefined), false_field = by_field && seen.differ;
    t.sets_false += false_sets;
    t.field_false += false_field;
    if (!seen.differ && !seen.undefined && !by_sets) ++t.missed;
    if (false_sets || false_field) {
      fmt::print("---- FALSE by the {}: {}\n{}\n{}\n", false_sets ? "sets" : "field", r.name, text(a),
                 text(b));
      std::fflush(stdout);
    }
  }
  fmt::print(
      "{} mutants of {} rewrites, {} different, {} undefined where the original is not | sets: {} false, {} "
      "proved, {} of the "
      "rest not proved | field: {} false, {} agree | {:.0f} s\n",
      t.mutants, rules.size(), t.different, t.undefined, t.sets_false, t.sets_proved, t.missed, t.field_false,
      t.field_agree, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  return t.sets_false + t.field_false == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isomer::attack

int main(int argc, char** argv) {
  std::int64_t mutants = 200;
  std::uint64_t seed = 1;
  std::vector<std::string> files;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--mutants" && i + 1 < arguments.size()) mutants = std::stoll(arguments[++i]);
      else if (arguments[i] == "--seed" && i + 1 < arguments.size()) seed = std::stoull(arguments[++i]);
      else files.push_back(arguments[i]);
    }
    return isomer::attack::run(mutants, seed, files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "isomer-prover-mutants: %s\n", error.what());
    return 2;
  }
}
