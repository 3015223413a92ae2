#include "attack/random_program.h"

#include <algorithm>
#include <map>

namespace isomer::attack {

Ref make(Node node) { return std::make_shared<const Node>(std::move(node)); }

Axis local_axis(const Extents& shape, std::size_t dim) { return {static_cast<int>(dim), shape[dim]}; }

std::int64_t evaluate(const Index& index, const std::vector<std::int64_t>& axes) {
  std::int64_t out = index.offset().concrete();
  for (const Index::Term& t : index.terms()) {
    std::int64_t atom = 0;
    switch (t.atom.kind) {
      case Index::AtomKind::Axis: atom = axes[static_cast<std::size_t>(t.atom.axis.id)]; break;
      case Index::AtomKind::Floor:
        atom = floor_div(evaluate(*t.atom.inner, axes), t.atom.divisor.concrete());
        break;
      case Index::AtomKind::Mod:
        atom = floor_mod(evaluate(*t.atom.inner, axes), t.atom.divisor.concrete());
        break;
    }
    out += t.scale.concrete() * atom;
  }
  return out;
}

bool holds(const Domain& when, const std::vector<std::int64_t>& axes) {
  return std::ranges::all_of(when, [&](const Index& i) { return evaluate(i, axes) >= 0; });
}

std::vector<Extents> positions_of(const Extents& shape) {
  std::vector<Extents> out{{}};
  for (const std::int64_t extent : shape) {
    std::vector<Extents> next;
    for (const Extents& p : out) {
      for (std::int64_t i = 0; i < extent; ++i) {
        next.push_back(p);
        next.back().push_back(i);
      }
    }
    out = std::move(next);
  }
  return out;
}

namespace {

Extents random_shape(Random& random, std::int64_t most) {
  Extents out;
  std::int64_t count = 1;
  const int rank = random.between(1, 3);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t extent = random.between(i == 0 ? 2 : 1, 5);
    if (count * extent > most) break;
    out.push_back(extent);
    count *= extent;
  }
  return out;
}

Index drawn_axis(Random& random, const Extents& shape) {
  return local_axis(shape, static_cast<std::size_t>(random.below(static_cast<int>(shape.size()))));
}

}  // namespace

Index random_index(Random& random, const Extents& shape, std::int64_t extent) {
  if (shape.empty() || random.chance(8)) return random.between(0, static_cast<int>(extent) - 1);
  Index a = drawn_axis(random, shape);
  const Index b = drawn_axis(random, shape);
  switch (random.below(12)) {
    case 0: return Index(extent - 1) - a;
    case 1: return Dim(2) * a + Index(random.between(-1, 1));
    case 2: return a + Index(random.between(-2, 2));
    case 3: return a + b - Index(random.between(0, 2));
    case 4: return Index::floor(a, random.between(2, 3));
    case 5: return Index::mod(a + Index(random.below(3)), random.between(2, 4));
    case 6:
      return Index::mod(Index::floor(Dim(random.between(1, 3)) * a + b, random.between(2, 3)),
                        random.between(2, 4));
    case 7: return a - b;
    default: return a;
  }
}

Index random_condition(Random& random, const Extents& shape) {
  if (shape.empty()) return random.between(-1, 0);
  const Index a = drawn_axis(random, shape), b = drawn_axis(random, shape);
  switch (random.below(7)) {
    case 0: return a - Index(random.between(1, 2));
    case 1: return Index(random.between(0, 2)) - a;
    case 2: return a - b + Index(random.between(-1, 1));
    case 3: return a + b - Index(random.between(1, 3));
    case 4: return Index::mod(a, 2) - Index(1);
    case 5: return Index(0) - Index::mod(a + b, 2);
    default: return Index(2) - Dim(2) * a + b;
  }
}

Ref random_move(Random& random, const Ref& from, const Extents& shape) {
  Node out{.kind = Node::Kind::Move, .shape = shape, .args = {from}};
  if (!shape.empty() && random.chance(20)) {
    std::vector<Index> position;
    for (std::size_t i = 0; i < shape.size(); ++i) position.emplace_back(local_axis(shape, i));
    const Index linear = linearize(position, to_dims(shape)) + Index(random.chance(25) ? 1 : 0);
    out.at = delinearize(linear, to_dims(from->shape));
    // Beyond the last element the first index runs over.
    if (!from->shape.empty() && from->shape.size() > 1) {
      std::int64_t stride = 1;
      for (std::size_t i = 1; i < from->shape.size(); ++i) stride *= from->shape[i];
      out.at[0] = Index::floor(linear, stride);
    }
  } else {
    for (const std::int64_t extent : from->shape) out.at.push_back(random_index(random, shape, extent));
  }
  if (random.chance(20)) out.when.push_back(random_condition(random, shape));
  return make(std::move(out));
}

Fn random_unary(Random& random) {
  static const std::vector<Fn> all{Fn::Relu, Fn::Relu, Fn::Exp, Fn::Sigmoid, Fn::Tanh, Fn::Abs};
  return random.one_of(all);
}

Ref random_program(Random& random, const std::vector<Extents>& inputs, const Extents& shape, int depth) {
  const auto smaller = [&](const Extents& s) { return random_program(random, inputs, s, depth - 1); };
  if (depth <= 0 || random.chance(10)) {
    const int k = random.below(static_cast<int>(inputs.size()));
    const Extents& own = inputs[static_cast<std::size_t>(k)];
    const Ref input = make({.kind = Node::Kind::Input, .shape = own, .input = k});
    return own == shape && random.chance(60) ? input : random_move(random, input, shape);
  }
  switch (random.below(13)) {
    case 0:
    case 1: return random_move(random, smaller(random_shape(random, 24)), shape);
    case 2:
    case 3:
    case 4:
      return make(
          {.kind = Node::Kind::Unary, .shape = shape, .fn = random_unary(random), .args = {smaller(shape)}});
    case 5:
    case 6:
    case 7: {
      static const std::vector<Fn> all{Fn::Add, Fn::Add, Fn::Sub, Fn::Mul,
                                       Fn::Mul, Fn::Max, Fn::Min, Fn::Div};
      const Fn fn = random.one_of(all);
      return make(
          {.kind = Node::Kind::Binary, .shape = shape, .fn = fn, .args = {smaller(shape), smaller(shape)}});
    }
    case 8: {
      static const std::vector<double> all{-1, 2, 0.5, -0.25, 3};
      return make({.kind = random.chance(80) ? Node::Kind::Scale : Node::Kind::Shift,
                   .shape = shape,
                   .number = random.one_of(all),
                   .args = {smaller(shape)}});
    }
    case 9: {
      Node out{.kind = Node::Kind::Choose, .shape = shape, .args = {smaller(shape), smaller(shape)}};
      out.when.push_back(random_condition(random, shape));
      return make(std::move(out));
    }
    default: {
      static const std::vector<Reduction> all{Reduction::Sum, Reduction::Sum, Reduction::Sum, Reduction::Max,
                                              Reduction::Min};
      Node out{.kind = Node::Kind::Reduce, .shape = shape, .reduction = random.one_of(all)};
      Extents whole = shape;
      for (int i = random.chance(25) ? 2 : 1; i > 0; --i) whole.push_back(random.between(1, 4));
      if (random.chance(35)) out.when.push_back(random_condition(random, whole));
      out.args = {smaller(whole)};
      return make(std::move(out));
    }
  }
}

Pair random_pair(std::uint64_t seed) {
  Random random(seed);
  Pair out;
  for (int k = random.between(1, 3); k > 0; --k) out.inputs.push_back(random_shape(random, 12));
  const Extents shape = random_shape(random, 16);
  out.a = random_program(random, out.inputs, shape, random.between(1, 3));
  out.b = out.a;
  int steps = random.between(1, 3);
  for (int tries = 0; steps > 0 && tries < 40; ++tries) {
    if (auto next = rewritten(random, out.b, out.inputs)) {
      out.b = *next;
      --steps;
    }
  }
  if (random.chance(70)) {
    for (int tries = 0; !out.mutated && tries < 20; ++tries) {
      if (auto next = mutated(random, out.b, out.inputs)) {
        out.b = *next;
        out.mutated = true;
      }
    }
    // Sometimes it is the original that carries the fault.
    if (random.chance(50)) std::swap(out.a, out.b);
  }
  return out;
}

namespace {

class Writer {
 public:
  Writer(Random& random, FormulaBuilder& builder) : random_(random), builder_(builder) {}

  Expr value(const Ref& node, const std::vector<Index>& at) {
    if (node->kind == Node::Kind::Input) return builder_.input(node->input).at(at);
    if (const auto* tensor = staged(node)) return tensor->at(at);
    return written(node, at);
  }

  Expr written(const Ref& node, const std::vector<Index>& at) {
    const auto arg = [&](std::size_t k) { return value(node->args[k], at); };
    switch (node->kind) {
      case Node::Kind::Input: break;
      case Node::Kind::Unary: return apply(node->fn, {arg(0)});
      case Node::Kind::Binary: {
        const Expr left = arg(0);  // in this order: arguments of a call have none
        const Expr right = arg(1);
        return apply(node->fn, {left, right});
      }
      case Node::Kind::Scale: return arg(0) * node->number;
      case Node::Kind::Shift: return arg(0) + node->number;
      case Node::Kind::Move: return moved(*node, at);
      case Node::Kind::Choose: {
        const Expr yes = arg(0);
        const Expr no = arg(1);
        return cases({{put(node->when, at), yes}}, no);
      }
      case Node::Kind::Reduce: {
        std::vector<Index> all = at;
        std::vector<Axis> axes;
        for (std::size_t i = at.size(); i < node->args[0]->shape.size(); ++i) {
          axes.push_back(builder_.axis(node->args[0]->shape[i]));
          all.emplace_back(axes.back());
        }
        return reduce(node->reduction, axes, value(node->args[0], all), put(node->when, all));
      }
    }
    return builder_.input(node->input).at(at);
  }

 private:
  static Index put(const Index& index, const std::vector<Index>& at) {
    return index.substitute([&](const Axis& a) { return at[static_cast<std::size_t>(a.id)]; });
  }
  static Domain put(const Domain& when, const std::vector<Index>& at) {
    Domain out;
    for (const Index& i : when) out.push_back(put(i, at));
    return out;
  }

  const FormulaBuilder::Tensor* staged(const Ref& node) {
    const auto known = stages_.find(node);
    if (known != stages_.end()) return known->second ? &*known->second : nullptr;
    std::optional<FormulaBuilder::Tensor> made;
    if (random_.chance(50)) {
      const auto axes = builder_.axes(to_dims(node->shape));
      made = builder_.stage(axes, written(node, to_indices(axes)));
    }
    const auto at = stages_.emplace(node, made).first;
    return at->second ? &*at->second : nullptr;
  }

  Expr moved(const Node& node, const std::vector<Index>& at) {
    std::vector<Index> inner;
    for (const Index& i : node.at) inner.push_back(put(i, at));
    Domain inside = put(node.when, at);
    const Ref& from = node.args[0];
    const bool is_tensor = from->kind == Node::Kind::Input || staged(from) != nullptr;
    // A tensor is zero outside by itself; a value written in place needs a condition.
    if (!is_tensor)
      for (std::size_t i = 0; i < inner.size(); ++i)
        inside = both(inside, between(0, inner[i], from->shape[i]));
    Expr body = value(from, inner);
    if (inside.empty()) return body;
    return cases({{inside, body}}, number(body.type(), 0));
  }

  Random& random_;
  FormulaBuilder& builder_;
  std::map<Ref, std::optional<FormulaBuilder::Tensor>> stages_;
};

}  // namespace

Formula formula_of(Random& random, const Ref& root, const std::vector<Extents>& inputs) {
  std::vector<std::optional<TensorType>> types;
  for (const Extents& e : inputs) types.push_back(TensorType{ElementType::Float, to_dims(e)});
  FormulaBuilder builder(types);
  Writer writer(random, builder);
  const auto axes = builder.axes(to_dims(root->shape));
  builder.output(axes, writer.value(root, to_indices(axes)));
  return std::move(builder).finish();
}

}  // namespace isomer::attack
