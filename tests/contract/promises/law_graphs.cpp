#include "contract/promises/law_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernel/prove/translate.h"
#include "model/eval/program.h"

namespace isomer::laws {
namespace {

using contract::DrawnCase;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
constexpr int kSliceByInputs = 10;   // the opset since which Slice has steps, and its bounds as inputs
constexpr int kConstantOfShape = 9;  // since that opset

using Shapes = std::vector<Dims>;  // per input; empty where it is absent

// One side of a law.
class Side {
 public:
  Side(const DrawnCase& drawn, const Shapes& shapes) : drawn_(drawn), shapes_(shapes) {
    if (drawn.op->domain.empty()) graph.opsets[""] = drawn.call.opset;
    else graph.opsets = {{"", 17}, {std::string(drawn.op->domain), drawn.call.opset}};
  }
  Graph graph;

  int opset() const { return graph.opset(""); }
  std::size_t inputs() const { return drawn_.inputs.size(); }
  ElementType type(int j) const { return drawn_.call.in(j).type.type; }

  // A graph input, or the constant that the call was drawn with.
  Value input(int j) {
    const auto at = static_cast<std::size_t>(j);
    const std::string name = fmt::format("x{}", j);
    if (drawn_.is_constant[at]) return initializer(*drawn_.inputs[at], name);
    return input(j, name, shapes_[at]);
  }
  // Another one of its type.
  Value input(int j, std::string name, const Dims& shape) { return input(type(j), std::move(name), shape); }
  Value input(ElementType type, std::string name, const Dims& shape) {
    Node node;
    node.kind = NodeKind::Input;
    node.outputs = {std::move(name)};
    node.declared.type = type;
    node.declared.shape.emplace(shape.begin(), shape.end());
    const Value value{graph.add(std::move(node)), 0};
    graph.add_input(value);
    return value;
  }
  std::vector<Value> all_inputs() {
    std::vector<Value> out;
    for (std::size_t j = 0; j < inputs(); ++j)
      out.push_back(drawn_.inputs[j] ? input(static_cast<int>(j)) : Value::none());
    return out;
  }
  Value initializer(const Tensor& tensor, std::string name = "") {
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {name.empty() ? fresh() : std::move(name)};
    node.tensor = tensor;
    return {graph.add(std::move(node)), 0};
  }
  Value integers(const std::vector<std::int64_t>& values) {
    return initializer(Tensor::of(ElementType::Int64, {static_cast<std::int64_t>(values.size())}, values));
  }
  Value number(ElementType type, double value) {
    return initializer(convert(Tensor::of<double>(ElementType::Double, {}, {value}), type));
  }

  Value apply(std::string op, std::vector<Value> inputs, Attributes attributes = {}) {
    Node node;
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {fresh()};
    node.attributes = std::move(attributes);
    return {graph.add(std::move(node)), 0};
  }
  // The drawn call, on these inputs.
  Value call(std::vector<Value> inputs, int output) {
    Node node;
    node.op = drawn_.op->name;
    node.domain = drawn_.op->domain;
    node.inputs = std::move(inputs);
    for (int k = 0; k < drawn_.call.output_count; ++k) node.outputs.push_back(fresh());
    node.attributes = drawn_.call.attributes;
    return {graph.add(std::move(node)), static_cast<std::uint32_t>(output)};
  }

  Value slice(Value x, int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
    if (opset() >= kSliceByInputs)
      return apply("Slice", {x, integers({start}), integers({end}), integers({axis}), integers({step})});
    using Integers = std::vector<std::int64_t>;
    return apply(
        "Slice", {x},
        Attributes({{"starts", Integers{start}}, {"ends", Integers{end}}, {"axes", Integers{axis}}}));
  }
  Value concat(std::vector<Value> parts, int axis) {
    return apply("Concat", std::move(parts), Attributes({{"axis", std::int64_t{axis}}}));
  }
  Value swap_axes(Value x, int rank, int a, int b) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
    return apply("Transpose", {x}, Attributes({{"perm", order}}));
  }
  // a x + b y
  Value combine(Value a, Value x, Value b, Value y) {
    return apply("Add", {apply("Mul", {a, x}), apply("Mul", {b, y})});
  }
  Value zeros_like(Value x, ElementType type) {
    const Tensor zero = convert(Tensor::of<double>(ElementType::Double, {1}, {0}), type);
    return apply("ConstantOfShape", {apply("Shape", {x})}, Attributes({{"value", zero}}));
  }

  Graph finish(Value value) {
    graph.add_output(value);
    return std::move(graph);
  }

 private:
  std::string fresh() { return fmt::format("v{}", made_++); }
  const DrawnCase& drawn_;
  const Shapes& shapes_;
  int made_ = 0;
};

class Writer {
 public:
  Writer(const DrawnCase& drawn, const Promise& promise, Sizes sizes)
      : drawn_(drawn), promise_(promise), sizes_(sizes), shapes_(shapes()) {}

  std::optional<Question> write() const {
    switch (promise_.kind) {
      case Kind::Slice: return moved([](Side& s, Value v, int axis) { return s.slice(v, axis, 1, kEnd); });
      case Kind::Stride:
        if (side().opset() < kSliceByInputs) return std::nullopt;
        return moved([](Side& s, Value v, int axis) { return s.slice(v, axis, 0, kEnd, 2); });
      case Kind::Rotation:
        return moved([](Side& s, Value v, int axis) {
          const Value head = s.slice(v, axis, 0, 1), tail = s.slice(v, axis, 1, kEnd);
          return s.concat({tail, head}, axis);
        });
      case Kind::Swap:
        return moved([](Side& s, Value v, int axis) {
          const Value first = s.slice(v, axis, 0, 1), second = s.slice(v, axis, 1, 2);
          return s.concat({second, first, s.slice(v, axis, 2, kEnd)}, axis);
        });
      case Kind::Concat: return concatenate();
      case Kind::Transpose: return transposed();
      case Kind::Linear:
      case Kind::Affine:
      case Kind::Independent: return combined();
      case Kind::Zero: return zero();
    }
    return std::nullopt;
  }

 private:
  Side side() const { return {drawn_, shapes_}; }
  bool is_constant(int input) const { return drawn_.is_constant[static_cast<std::size_t>(input)]; }

  // Whether the axes of the law can be of any size: a constant's is what it is.
  bool may_be_symbolic(const Along& along) const {
    return std::ranges::none_of(along.places, [&](const Place& p) { return is_constant(p.input); });
  }

  // Two or more: an extent of one would be stretched.
  static Dim at_least_two(const std::string& name) { return Dim::symbol(name) + Dim(2); }

  Shapes shapes() const {
    Shapes out(drawn_.inputs.size());
    for (std::size_t j = 0; j < out.size(); ++j) {
      if (!drawn_.inputs[j]) continue;
      out[j] = drawn_.call.inputs[j]->type.shape;
      if (drawn_.is_constant[j] || sizes_ != Sizes::AllSymbolic) continue;
      for (Dim& d : out[j])
        if (d.concrete() >= 2) d = at_least_two(fmt::format("n{}", d.concrete()));
    }
    if (sizes_ == Sizes::Drawn) return out;
    // After the others: the axes of the law are distinguished from those of equal extent.
    for (std::size_t k = 0; k < promise_.axes.size(); ++k) {
      const bool open = may_be_symbolic(promise_.axes[k]);
      for (const Place& p : promise_.axes[k].places) {
        Dim& d = out[static_cast<std::size_t>(p.input)][static_cast<std::size_t>(p.axis)];
        d = open ? at_least_two(k == 0 ? "along" : "across") : Dim(extent_of(p));
      }
    }
    return out;
  }
  std::int64_t extent_of(const Place& p) const {
    return drawn_.inputs[static_cast<std::size_t>(p.input)]->extents()[static_cast<std::size_t>(p.axis)];
  }

  Question asked(Graph before, Graph after) const {
    Call call = drawn_.call;
    for (std::size_t j = 0; j < shapes_.size(); ++j)
      if (call.inputs[j]) call.inputs[j]->type.shape = shapes_[j];
    return {std::move(call), std::move(before), std::move(after)};
  }

  template <class Move>
  Question moved(const Move& move) const {
    const Along& along = promise_.axes[0];
    Side before = side(), after = side();
    const Value whole = before.call(before.all_inputs(), promise_.output);
    std::vector<Value> inputs = after.all_inputs();
    for (const Place& p : along.places) {
      Value& v = inputs[static_cast<std::size_t>(p.input)];
      v = move(after, v, p.axis);
    }
    return asked(before.finish(move(before, whole, along.output_axis)),
                 after.finish(after.call(std::move(inputs), promise_.output)));
  }

  // Inputs come in two parts; a constant is cut after its first position.
  std::pair<Value, Value> parts(Side& s, const Place& p) const {
    const Value whole = is_constant(p.input) ? s.input(p.input) : Value::none();
    if (whole.exists()) return {s.slice(whole, p.axis, 0, 1), s.slice(whole, p.axis, 1, kEnd)};
    Dims first = shapes_[static_cast<std::size_t>(p.input)], second = first;
    Dim& d = second[static_cast<std::size_t>(p.axis)];
    if (d.is_concrete()) {
      d = d - Dim(1);
      first[static_cast<std::size_t>(p.axis)] = 1;
    } else {
      first[static_cast<std::size_t>(p.axis)] = at_least_two("first");
    }
    return {s.input(p.input, fmt::format("u{}", p.input), first),
            s.input(p.input, fmt::format("w{}", p.input), second)};
  }

  Question concatenate() const {
    const Along& along = promise_.axes[0];
    Side before = side(), after = side();
    std::vector<Value> whole(before.inputs()), head(after.inputs()), tail(after.inputs());
    for (std::size_t j = 0; j < whole.size(); ++j) {
      if (!drawn_.inputs[j]) continue;
      const auto at = std::ranges::find(along.places, static_cast<int>(j), &Place::input);
      if (at == along.places.end()) {
        whole[j] = before.input(static_cast<int>(j));
        head[j] = tail[j] = after.input(static_cast<int>(j));
        continue;
      }
      if (is_constant(at->input)) {
        whole[j] = before.input(at->input);
      } else {
        const auto [u, w] = parts(before, *at);
        whole[j] = before.concat({u, w}, at->axis);
      }
      std::tie(head[j], tail[j]) = parts(after, *at);
    }
    const Value h = after.call(std::move(head), promise_.output);
    const Value t = after.call(std::move(tail), promise_.output);
    return asked(before.finish(before.call(std::move(whole), promise_.output)),
                 after.finish(after.concat({h, t}, along.output_axis)));
  }

  std::optional<Question> transposed() const {
    const Along &a = promise_.axes[0], &b = promise_.axes[1];
    Side before = side(), after = side();
    const Value whole = before.call(before.all_inputs(), promise_.output);
    std::vector<Value> inputs = after.all_inputs();
    for (std::size_t k = 0; k < a.places.size(); ++k) {
      const auto j = static_cast<std::size_t>(a.places[k].input);
      inputs[j] = after.swap_axes(inputs[j], drawn_.inputs[j]->rank(), a.places[k].axis, b.places[k].axis);
    }
    const Definition definition = define(*drawn_.op, drawn_.call);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) return std::nullopt;
    const auto rank = static_cast<int>(formula->output(promise_.output).axes.size());
    return asked(before.finish(before.swap_axes(whole, rank, a.output_axis, b.output_axis)),
                 after.finish(after.call(std::move(inputs), promise_.output)));
  }

  std::optional<Question> combined() const {
    const int i = promise_.input;
    const auto at = static_cast<std::size_t>(i);
    if (is_constant(i)) return std::nullopt;
    Side before = side(), after = side();
    const auto values_of = [&](Side& s) {
      std::vector<Value> x = s.all_inputs(), y = x;
      y[at] = s.input(i, "y", shapes_[at]);
      return std::pair(x, y);
    };
    auto [x, y] = values_of(before);
    auto [z, w] = values_of(after);
    if (promise_.kind == Kind::Independent)
      return asked(before.finish(before.call(x, promise_.output)),
                   after.finish(after.call(w, promise_.output)));
    const auto weights = [&](Side& s) {
      const Value a = s.input(s.type(i), "a", {});
      if (promise_.kind == Kind::Linear) return std::pair(a, s.input(s.type(i), "b", {}));
      return std::pair(a, s.apply("Sub", {s.number(s.type(i), 1), a}));
    };
    const auto [a, b] = weights(before);
    const Value fx = before.call(x, promise_.output), fy = before.call(y, promise_.output);
    const auto [c, d] = weights(after);
    z[at] = after.combine(c, z[at], d, w[at]);
    return asked(before.finish(before.combine(a, fx, b, fy)), after.finish(after.call(z, promise_.output)));
  }

  std::optional<Question> zero() const {
    Side before = side(), after = side();
    if (before.opset() < kConstantOfShape) return std::nullopt;
    const Definition definition = define(*drawn_.op, drawn_.call);
    const auto* formula = std::get_if<Formula>(&definition);
    if (formula == nullptr) return std::nullopt;
    const auto read = read_inputs(*formula);  // what isn't (indices, axes) is a part of the call
    const auto at_zero = [&](Side& s) {
      std::vector<Value> zeros = s.all_inputs();
      for (std::size_t j = 0; j < zeros.size(); ++j)
        if (zeros[j].exists() && read[j]) zeros[j] = s.zeros_like(zeros[j], s.type(static_cast<int>(j)));
      return s.call(std::move(zeros), promise_.output);
    };
    const Value value = at_zero(before), shaped = at_zero(after);
    return asked(before.finish(value),
                 after.finish(after.zeros_like(shaped, formula->output(promise_.output).type)));
  }

  const DrawnCase& drawn_;
  const Promise& promise_;
  Sizes sizes_;
  Shapes shapes_;
};

}  // namespace

std::optional<Question> question(const DrawnCase& drawn, const Promise& promise, Sizes sizes) {
  return Writer(drawn, promise, sizes).write();
}

}  // namespace isomer::laws
