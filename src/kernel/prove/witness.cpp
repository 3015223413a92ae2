#include "kernel/prove/witness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/hash.h"
#include "kernel/prove/facts.h"
#include "kernel/prove/shrink.h"
#include "kernel/prove/value_numbers.h"
#include "model/eval/field_pair.h"
#include "model/eval/program.h"
#include "model/expr/parts.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"

namespace isomer {
namespace {

bool applies(const ExprNode& e, const std::function<bool(Fn)>& which) {
  return any_part(e, [&](const ExprNode& part) {
    return (part.kind == ExprNode::Kind::Apply && which(part.fn)) ||
           (part.kind == ExprNode::Kind::Reduce && part.reduction != Reduction::Sum && which(Fn::Max));
  });
}

bool is_ring(Fn fn) { return fn == Fn::Add || fn == Fn::Sub || fn == Fn::Mul || fn == Fn::Neg; }

bool is_selecting(Fn fn) {
  switch (fn) {
    case Fn::Relu:
    case Fn::Abs:
    case Fn::Sign:
    case Fn::Sqrt:  // of a square, the absolute value
    case Fn::Pow:
    case Fn::Max:
    case Fn::Min:
    case Fn::Equal:
    case Fn::Less:
    case Fn::LessOrEqual:
    case Fn::Where: return true;
    default: return false;
  }
}

// Relative to the largest value: far more than float64 rounds, far less than a wrong constant changes.
constexpr double kRoundingInDouble = 1e-10;

// The number of keys. A large program has many positions, and gets fewer keys.
struct Effort {
  int rounds = 0;       // keys under which a program that selects is compared
  int most_barren = 0;  // keys in a row that compare no further element: of roots about half of the keys do
};
Effort effort_for(double operations) {
  return {.rounds = std::clamp(static_cast<int>(2e5 / (operations + 1)), 3, 24),
          .most_barren = std::clamp(static_cast<int>(2e8 / (operations + 1)), 20, 60)};
}

// Evaluates two programs of concrete sizes; what they have in common once.
class FieldRun {
 public:
  FieldRun(const Instance& instance, const WitnessOptions& options) : instance_(instance), options_(options) {
    numbers_.add(instance.a, instance.a_info);
    numbers_.add(instance.b, instance.b_info);
    look(instance_.a, instance_.a_info);
    look(instance_.b, instance_.b_info);
  }
  // A selection (relu, max, a comparison) hides a difference under half of the keys, so a program with one
  // gets many keys. A key may also leave elements untested (a root that is in no lane, a root of a negative
  // draw): further keys are used until every element was compared, so that no answer depends on luck.
  WitnessReport run(std::uint64_t key, const Effort& effort) {
    covered_.assign(instance_.a.outputs().size(), {});
    field_ = ElementType::Field;
    WitnessReport all;
    const int rounds = selecting_ ? effort.rounds : 1;
    int wanted = rounds;
    for (int r = 0, barren = 0; (wanted > 0 || !is_covered()) && barren < effort.most_barren; ++r) {
      covered_count_ = 0;
      const ElementType before = field_;
      const WitnessReport report = run_once(mix(key + static_cast<std::uint64_t>(r)));
      if (field_ != before) wanted = rounds;
      if (report.outcome == WitnessReport::Outcome::Differ || !problem_.empty()) return report;
      const bool is_of_use = report.test.points > 0 && (wanted > 0 || covered_count_ > 0);
      barren = is_of_use ? 0 : barren + 1;
      if (!is_of_use) continue;
      wanted = std::max(0, wanted - 1);
      all = report;
    }
    if (wanted > 0 || !is_covered())
      return {.outcome = WitnessReport::Outcome::NotTested,
              .test = {},
              .what = "no lane of the field was left to compare in"};
    all.outcome = WitnessReport::Outcome::Agree;
    return all;
  }

 private:
  using Key = std::pair<int, std::uint32_t>;

  bool is_covered() const {
    return std::ranges::all_of(covered_, [](const std::vector<bool>& output) {
      return std::ranges::find(output, false) == output.end();
    });
  }
  // Elements of an output that this key has compared; `tested` of an element: whether there was a lane for
  // it.
  template <class Tested>
  void cover(std::size_t output, std::size_t count, const Tested& tested) {
    covered_[output].resize(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      if (covered_[output][i] || !tested(i)) continue;
      covered_[output][i] = true;
      ++covered_count_;
    }
  }

  // exp as a function without laws can be followed everywhere; where the law was needed, the pair of fields
  // has it; where the order of numbers was needed, float64. Once one of them does not do, only the next one
  // counts: keys under which it happens to agree are no test.
  WitnessReport run_once(std::uint64_t key) {
    key_ = key;
    for (;;) {
      WitnessReport report = run_with_integers();
      const bool agrees = report.outcome == WitnessReport::Outcome::Agree && untested_ == 0;
      const bool differs = report.outcome == WitnessReport::Outcome::Differ;
      ElementType next = field_;
      if (field_ == ElementType::Field && differs && needs_pair_) next = ElementType::FieldPair;
      else if (options_.ordered && !agrees) next = ElementType::Double;
      if (next == field_) return report;
      field_ = next;
      covered_.assign(covered_.size(), {});
    }
  }

  // Integers are drawn wide, or, if they then point outside of a tensor, as 0 and 1, or as 0 and -1, which
  // are inside even of one position.
  enum class Integers : std::uint8_t { Wide, Bits, Signs };
  WitnessReport run_with_integers() {
    WitnessReport report;
    for (const Integers integers : {Integers::Wide, Integers::Bits, Integers::Signs}) {
      integers_ = integers;
      report = compare_all();
      if (report.outcome != WitnessReport::Outcome::NotTested || !drew_integers_) break;
    }
    return report;
  }

  WitnessReport compare_all() {
    WitnessReport report;
    values_.clear();
    problem_.clear();
    untested_ = 0;
    for (std::size_t k = 0; k < instance_.a.outputs().size(); ++k) {
      const auto x = evaluate(instance_.a, instance_.a_info, instance_.a.outputs()[k]);
      const auto y = evaluate(instance_.b, instance_.b_info, instance_.b.outputs()[k]);
      if ((!x || !y) && problem_.empty()) problem_ = "an output can't be evaluated";
      if (!x || !y) return {.outcome = WitnessReport::Outcome::NotTested, .test = {}, .what = problem_};
      if (!compare_outputs(*x, *y, k, report)) return report;
    }
    report.outcome =
        report.test.points > 0 ? WitnessReport::Outcome::Agree : WitnessReport::Outcome::NotTested;
    report.test.whole = true;
    report.test.polynomial = polynomial_;
    return report;
  }

  void look(const Graph& graph, const Inference& inference) {
    for (const NodeId id : graph.order()) {
      if (graph.node(id).kind != NodeKind::Operator || inference.opaque.contains(id)) continue;
      const Definition definition = define_node(graph, inference, id);
      const auto* formula = std::get_if<Formula>(&definition);
      if (formula == nullptr) continue;
      for (const Stage& s : formula->stages) {
        needs_pair_ = needs_pair_ || applies(*s.value, [](Fn fn) { return fn == Fn::Exp; });
        polynomial_ = polynomial_ && !applies(*s.value, [](Fn fn) { return !is_ring(fn); });
        selecting_ = selecting_ || applies(*s.value, is_selecting);
      }
    }
  }

  // A tensor of pseudo-random elements, a function of (value, coordinate, key).
  Tensor drawn(ElementType type, const Extents& extents, std::uint64_t who, bool positive) {
    drew_integers_ = drew_integers_ || is_integer(type);
    const auto count = static_cast<std::size_t>(element_count(extents).value_or(0));
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = mix(mix(who ^ key_) + i);
      if (!is_float(type)) values[i] = integer(type, bits);
      else if (positive) values[i] = static_cast<std::int64_t>((Zp::of(word(bits)) * Zp::of(word(bits))).v);
      else values[i] = word(bits);
    }
    if (is_float(type) && field_ == ElementType::Double) return drawn_reals(extents, values, positive);
    const Tensor integers = Tensor::of(ElementType::Int64, extents, values);
    return convert(integers, is_float(type) ? field_ : type);
  }
  std::int64_t integer(ElementType type, std::uint64_t bits) const {
    const auto bit = static_cast<std::int64_t>(bits % 2);
    if (!is_integer(type)) return bit;
    if (integers_ == Integers::Wide) return static_cast<std::int64_t>(bits);
    return integers_ == Integers::Bits ? bit : -bit;
  }
  // Both signs, and magnitudes from 1/16 to 16: on all sides of the numbers that programs compare with.
  static Tensor drawn_reals(const Extents& extents, const std::vector<std::int64_t>& bits, bool positive) {
    std::vector<double> values;
    for (const std::int64_t b : bits) {
      const std::uint64_t word = mix(static_cast<std::uint64_t>(b));
      const double size = std::exp2(static_cast<double>(word >> 11u) * 0x1p-50 - 4);
      values.push_back(positive || word % 2 == 0 ? size : -size);
    }
    return Tensor::of(ElementType::Double, extents, values);
  }
  static std::int64_t word(std::uint64_t bits) { return static_cast<std::int64_t>(bits % Zp::kModulus); }

  static std::uint64_t place(const Digest& d) { return d.high ^ mix(d.low); }

  Tensor constant(const Tensor& tensor) {
    if (!is_float(tensor.type())) return tensor;
    if (options_.by_value.takes(tensor)) return convert(tensor, field_);
    Hasher hasher;
    add_content(hasher, without_unit_axes(tensor), ContentDigests::Full);
    return drawn(tensor.type(), tensor.extents(), place(hasher.digest()),
                 options_.keep_signs && all_positive(tensor));
  }

  std::optional<Tensor> unknown(const Graph& graph, const Inference& inference, Value v, std::uint64_t who) {
    const ValueInfo& info = inference.of(v);
    const auto extents = concrete_shape(info);
    if (!extents || !is_computable(info.type)) {
      problem_ = fmt::format("the shape of {} is not known", graph.name_of(v));
      return std::nullopt;
    }
    return drawn(info.type, *extents, who, false);
  }

  std::optional<Tensor> evaluate(const Graph& graph, const Inference& inference, Value wanted) {
    // Everything that the value depends on, in order.
    std::set<NodeId> needed{wanted.node};
    std::vector<NodeId> open{wanted.node};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (values_.contains({numbers_.of(graph, id), 0}) || known_constant(graph, {id, 0}) ||
          inference.opaque.contains(id))
        continue;
      for (const Value& v : graph.node(id).inputs)
        if (v.exists() && needed.insert(v.node).second) open.push_back(v.node);
    }
    for (const NodeId id : graph.order())
      if (needed.contains(id) && !values_.contains({numbers_.of(graph, id), 0}) &&
          !evaluate_node(graph, inference, id))
        return std::nullopt;
    const auto at = values_.find({numbers_.of(graph, wanted.node), wanted.output});
    if (at == values_.end()) return std::nullopt;
    return at->second;
  }

  // A node's formula in the field, compiled once for all keys; nullptr: it has none.
  struct Compiled {
    Program program;
    std::vector<bool> reads;  // the inputs that are there
  };
  const Compiled* compile(const Graph& graph, const Inference& inference, NodeId id) {
    const auto key = std::pair(numbers_.of(graph, id), field_);
    if (const auto known = programs_.find(key); known != programs_.end()) return &known->second;
    const Definition definition = define_node(graph, inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) return nullptr;
    Compiled made{Program::compile(lift(*formula, field_)), {}};
    for (const auto& input : formula->inputs) made.reads.push_back(input.has_value());
    return &programs_.emplace(key, std::move(made)).first->second;
  }

  bool evaluate_node(const Graph& graph, const Inference& inference, NodeId id) {
    const Node& node = graph.node(id);
    const int number = numbers_.of(graph, id);
    if (const auto tensor = known_constant(graph, {id, 0})) {
      if (is_computable(tensor->type())) values_.emplace(Key{number, 0}, constant(*tensor));
      return true;
    }
    const bool is_input = node.kind != NodeKind::Operator;
    if (is_input || inference.opaque.contains(id)) {
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        // An input is known by its name; what an unmodelled operator computes, by its value number.
        Hasher hasher;
        if (is_input) hasher.add(node.outputs[0]);
        else hasher.add(number).add(static_cast<int>(k));
        auto tensor = unknown(graph, inference, {id, k}, place(hasher.digest()));
        if (!tensor) return false;
        values_.emplace(Key{number, k}, std::move(*tensor));
      }
      return true;
    }
    const Compiled* compiled = compile(graph, inference, id);
    if (compiled == nullptr) {
      problem_ = fmt::format("{} has no formula", label(node));
      return false;
    }
    std::vector<std::optional<Tensor>> inputs(compiled->reads.size());
    for (std::size_t k = 0; k < inputs.size() && k < node.inputs.size(); ++k) {
      if (!compiled->reads[k] || !node.inputs[k].exists()) continue;
      const Value v = node.inputs[k];
      const auto at = values_.find({numbers_.of(graph, v.node), v.output});
      if (at == values_.end()) {
        problem_ = fmt::format("{} has no value in the field", graph.name_of(v));
        return false;
      }
      inputs[k] = at->second;
    }
    auto results = compiled->program.run(inputs, key_);
    if (!results.ok()) {
      problem_ = fmt::format("{}: {}", label(node), results.error().message);
      return false;
    }
    for (std::uint32_t k = 0; k < results->size(); ++k)
      values_.emplace(Key{number, k}, std::move((*results)[k]));
    return true;
  }

  bool compare_outputs(const Tensor& x, const Tensor& y, std::size_t output, WitnessReport& report) {
    const auto differ = [&](std::int64_t i) {
      report.outcome = WitnessReport::Outcome::Differ;
      report.what =
          fmt::format("output {} differs mod p at element {} of {}", output, i, text(to_dims(x.extents())));
      return false;
    };
    if (x.type() != y.type() || x.extents() != y.extents()) return differ(0);
    if (x.type() == ElementType::FieldPair) {
      const auto a = x.as<FieldPair>(), b = y.as<FieldPair>();
      for (std::size_t i = 0; i < a.size(); ++i) {
        const Agreement agreement = compare(a[i], b[i]);
        if (!agreement.agree) return differ(static_cast<std::int64_t>(i));
        ++(agreement.tested ? report.test.points : untested_);
      }
      cover(output, a.size(), [&](std::size_t i) { return compare(a[i], b[i]).tested; });
      return true;
    }
    if (x.type() == ElementType::Double) {
      const auto a = x.as<double>(), b = y.as<double>();
      double most = 1;
      bool is_any = false;
      for (const double v : a)
        if (std::isfinite(v)) most = std::max(most, std::abs(v));
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i])) continue;
        if (!(std::abs(a[i] - b[i]) <= kRoundingInDouble * most)) return differ(static_cast<std::int64_t>(i));
        ++report.test.points;
        is_any = true;
      }
      // An undefined element of A promises nothing about B; at least one defined element must exist.
      cover(output, a.size(), [&](std::size_t) { return is_any || a.empty(); });
      return true;
    }
    cover(output, static_cast<std::size_t>(x.count()), [](std::size_t) { return true; });
    const auto size = x.bytes().size / static_cast<std::size_t>(std::max<std::int64_t>(x.count(), 1));
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const auto at = static_cast<std::size_t>(i) * size;
      if (std::memcmp(x.bytes().data + at, y.bytes().data + at, size) != 0) return differ(i);
    }
    report.test.points += x.count();
    return true;
  }

  const Instance& instance_;
  const WitnessOptions& options_;
  std::uint64_t key_ = 0;
  ValueNumbers numbers_;
  ElementType field_ = ElementType::Field;
  bool needs_pair_ = false, polynomial_ = true, selecting_ = false;
  Integers integers_ = Integers::Wide;
  bool drew_integers_ = false;
  std::int64_t untested_ = 0;               // elements that this key leaves without a lane
  std::vector<std::vector<bool>> covered_;  // by output, by element
  std::size_t covered_count_ = 0;           // by this key
  std::map<Key, Tensor> values_;
  std::map<std::pair<int, ElementType>, Compiled> programs_;
  std::string problem_;
};

// Programs of concrete sizes, made smaller where they are too large.
WitnessReport test_concrete(const Graph& a, const Graph& b, std::uint64_t key,
                            const WitnessOptions& options) {
  WitnessReport last{
      .outcome = WitnessReport::Outcome::NotTested, .test = {}, .what = "the sizes are not all known"};
  struct Choice {
    Instance instance;
    double price = 0;
  };
  const auto choose = [&](Resized what) -> std::optional<Choice> {
    auto instance = shrunk(a, b, what, options.most_operations, options.by_value);
    if (!instance) return std::nullopt;
    const auto x = operations(instance->a, instance->a_info), y = operations(instance->b, instance->b_info);
    if (x && y) return Choice{std::move(*instance), *x + *y};
    last.what = "too large to evaluate mod p";
    return std::nullopt;
  };
  const auto decides = [&](const Choice& choice, double affordable) {
    if (choice.price > affordable * options.most_operations) {
      last.what = "too large to evaluate mod p";
      return false;
    }
    WitnessReport report = FieldRun(choice.instance, options).run(key, effort_for(choice.price));
    const bool differs = report.outcome == WitnessReport::Outcome::Differ;
    if (report.outcome == WitnessReport::Outcome::Agree || (differs && !choice.instance.is_smaller)) {
      last = std::move(report);
      return true;
    }
    // A difference of the smaller programs does not imply one of the larger ones.
    last.what = differs ? "it is too large, and not equal at smaller sizes" : report.what;
    return false;
  };
  // With the constants as they are a larger instance is affordable: it is the same question at another size.
  // But a shape vector alone may keep it large: if it can be made small with them, that goes first.
  const auto inputs = choose(Resized::Inputs);
  std::optional<Choice> all;
  if (!inputs || inputs->price > options.most_operations) {
    all = choose(Resized::All);
    if (inputs && all && all->price <= options.most_operations && decides(*all, 1)) return last;
  }
  if (inputs && decides(*inputs, 30)) return last;
  if (!all) all = choose(Resized::All);
  if (all && (!inputs || all->price > options.most_operations || inputs->price <= options.most_operations))
    decides(*all, 100);
  return last;
}

bool has_other_shapes(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info) {
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const auto &x = a_info.of(a.outputs()[k]).shape, &y = b_info.of(b.outputs()[k]).shape;
    const auto left = x ? concrete(*x) : std::nullopt, right = y ? concrete(*y) : std::nullopt;
    if (left && right && *left != *right) return true;
  }
  return false;
}

// Conditions under which the inputs have elements: behind strides and kernels, small sizes leave none.
Dims nonempty(const Graph& a, const Graph& b, const Dims& preconditions) {
  Dims out = preconditions;
  for (const Graph* graph : {&a, &b})
    for (const Value input : graph->inputs())
      if (const auto& shape = graph->node(input.node).declared.shape)
        for (const auto& dim : *shape)
          if (dim && !dim->is_concrete()) out.push_back(*dim - Dim(1));
  return out;
}

bool has_elements(const Graph& graph, const Inference& inference) {
  return std::ranges::all_of(graph.outputs(), [&](Value v) {
    const auto& shape = inference.of(v).shape;
    return shape && std::ranges::all_of(*shape, [](const Dim& d) { return d.at_least(1) == true; });
  });
}

WitnessReport test_symbolic(const Graph& a, const Graph& b, const std::set<std::string>& symbols,
                            const WitnessOptions& options) {
  WitnessReport all;
  all.what = "no small sizes make both programs well formed";
  int instances = 0;
  const Dims conditions = nonempty(a, b, options.preconditions);
  std::vector<Sizes> choices = small_sizes(symbols, conditions, options.key, 40);
  std::ranges::copy(small_sizes(symbols, conditions, options.key, 20, kSizesOfParts),
                    std::back_inserter(choices));
  // Nearly all programs agree on one element: softmax, and any other share of the whole.
  const auto has_single = [](const Sizes& sizes) {
    return std::ranges::any_of(sizes, [](const auto& s) { return s.second == 1; });
  };
  const bool may_skip_single = !std::ranges::all_of(choices, has_single);
  bool is_any_whole = false;  // at which there is something to compare
  for (std::size_t k = 0; instances < 3; ++k) {
    if (k == choices.size() && !is_any_whole) {
      is_any_whole = true;
      std::ranges::copy(small_sizes(symbols, conditions, options.key, 6, kSizesBehindStrides),
                        std::back_inserter(choices));
    }
    if (k == choices.size()) break;
    const Sizes sizes = choices[k];
    const Graph sized_a = at_sizes(a, sizes), sized_b = at_sizes(b, sizes);
    const auto a_info = infer(sized_a), b_info = infer(sized_b);
    if (!a_info.ok() || !b_info.ok()) continue;
    is_any_whole = is_any_whole || has_elements(sized_a, *a_info);
    const WitnessReport report =
        has_other_shapes(sized_a, *a_info, sized_b, *b_info)
            ? WitnessReport{.outcome = WitnessReport::Outcome::Differ,
                            .test = {},
                            .what = "an output has another shape"}
            : test_concrete(sized_a, sized_b, mix(options.key + static_cast<std::uint64_t>(instances)),
                            options);
    if (report.outcome == WitnessReport::Outcome::Differ) {
      WitnessReport out = report;
      for (const auto& [symbol, size] : sizes) out.what += fmt::format(", {} = {}", symbol, size);
      return out;
    }
    if (report.outcome == WitnessReport::Outcome::NotTested) {
      if (instances == 0) all.what = report.what;
      continue;
    }
    if (may_skip_single && has_single(sizes)) continue;
    ++instances;
    all.outcome = WitnessReport::Outcome::Agree;
    all.test.points += report.test.points;
    all.test.whole = true;
    all.test.polynomial = report.test.polynomial;
  }
  return all;
}

}  // namespace

WitnessReport field_witness(const Graph& a, const Graph& b, const WitnessOptions& options) {
  auto symbols = symbols_of(a);
  symbols.merge(symbols_of(b));
  if (!symbols.empty()) return test_symbolic(a, b, symbols, options);
  return test_concrete(a, b, options.key, options);
}

}  // namespace isomer
