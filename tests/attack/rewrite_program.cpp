// Steps that keep a program's meaning, and steps that don't.
#include <algorithm>
#include <functional>

#include "attack/random_program.h"

namespace isomer::attack {
namespace {

using Kind = Node::Kind;
using Step = std::function<std::optional<Ref>(const Ref&)>;

int count_nodes(const Ref& node) {
  int out = 1;
  for (const Ref& a : node->args) out += count_nodes(a);
  return out;
}

// The tree with the k-th node in preorder replaced.
std::optional<Ref> at_node(const Ref& node, int k, const Step& step) {
  if (k == 0) return step(node);
  --k;
  for (std::size_t i = 0; i < node->args.size(); ++i) {
    const int size = count_nodes(node->args[i]);
    if (k < size) {
      const auto part = at_node(node->args[i], k, step);
      if (!part) return std::nullopt;
      Node out = *node;
      out.args[i] = *part;
      return make(std::move(out));
    }
    k -= size;
  }
  return std::nullopt;
}

Ref binary(Fn fn, const Ref& a, const Ref& b) {
  return make({.kind = Kind::Binary, .shape = a->shape, .fn = fn, .args = {a, b}});
}
Ref scale(const Ref& a, double by) {
  return make({.kind = Kind::Scale, .shape = a->shape, .number = by, .args = {a}});
}

std::vector<Index> same_position(const Extents& shape) {
  std::vector<Index> out;
  for (std::size_t i = 0; i < shape.size(); ++i) out.emplace_back(local_axis(shape, i));
  return out;
}
Ref move_of(const Ref& from, const Extents& shape, std::vector<Index> at, Domain when = {}) {
  return make(
      {.kind = Kind::Move, .shape = shape, .at = std::move(at), .when = std::move(when), .args = {from}});
}
std::size_t drawn_dim(Random& random, const Extents& shape) {
  return static_cast<std::size_t>(random.below(static_cast<int>(shape.size())));
}
Ref flipped(const Ref& x, std::size_t dim) {
  auto at = same_position(x->shape);
  at[dim] = Index(x->shape[dim] - 1) - at[dim];
  return move_of(x, x->shape, at);
}
Ref sliced(const Ref& x, std::size_t dim, std::int64_t begin, std::int64_t end) {
  Extents shape = x->shape;
  shape[dim] = end - begin;
  auto at = same_position(shape);
  at[dim] = at[dim] + Index(begin);
  return move_of(x, shape, at);
}
Ref padded(const Ref& x, std::size_t dim, std::int64_t before, std::int64_t extent) {
  Extents shape = x->shape;
  shape[dim] = extent;
  auto at = same_position(shape);
  at[dim] = at[dim] - Index(before);
  return move_of(x, shape, at);
}
bool is_total(const Node& move) {
  return std::ranges::all_of(positions_of(move.shape), [&](const Extents& p) {
    if (!holds(move.when, p)) return false;
    for (std::size_t i = 0; i < move.at.size(); ++i) {
      const std::int64_t v = evaluate(move.at[i], p);
      if (v < 0 || v >= move.args[0]->shape[i]) return false;
    }
    return true;
  });
}
bool is_linear(Fn fn) { return fn == Fn::Add || fn == Fn::Sub; }
bool is_zero_at_zero(Fn fn) {
  return is_linear(fn) || fn == Fn::Mul || fn == Fn::Max || fn == Fn::Min || fn == Fn::Relu ||
         fn == Fn::Tanh || fn == Fn::Abs;
}
bool commutes(Fn fn) { return fn == Fn::Add || fn == Fn::Mul || fn == Fn::Max || fn == Fn::Min; }

Ref with_args(const Ref& node, std::vector<Ref> args) {
  Node out = *node;
  out.args = std::move(args);
  return make(std::move(out));
}

// f(move x) = move f(x), both ways.
std::optional<Ref> swap_with_movement(const Ref& n) {
  const bool is_function = n->kind == Kind::Unary || n->kind == Kind::Binary || n->kind == Kind::Scale;
  if (is_function) {
    const Ref& m = n->args[0];
    if (m->kind != Kind::Move) return std::nullopt;
    const bool harmless = n->kind == Kind::Scale || is_zero_at_zero(n->fn) || is_total(*m);
    if (!harmless) return std::nullopt;
    std::vector<Ref> inner;
    for (const Ref& a : n->args) {
      if (a->kind != Kind::Move || a->at != m->at || a->when != m->when ||
          a->args[0]->shape != m->args[0]->shape)
        return std::nullopt;
      inner.push_back(a->args[0]);
    }
    Node f = *n;
    f.shape = m->args[0]->shape;
    f.args = inner;
    return with_args(m, {make(std::move(f))});
  }
  if (n->kind != Kind::Move) return std::nullopt;
  const Ref& f = n->args[0];
  if (f->kind != Kind::Unary && f->kind != Kind::Binary && f->kind != Kind::Scale) return std::nullopt;
  if (f->kind != Kind::Scale && !is_zero_at_zero(f->fn) && !is_total(*n)) return std::nullopt;
  std::vector<Ref> args;
  for (const Ref& a : f->args) args.push_back(with_args(n, {a}));
  Node out = *f;
  out.shape = n->shape;
  out.args = args;
  return make(std::move(out));
}

std::optional<Ref> distribute(const Ref& n) {
  if (n->kind == Kind::Binary && n->fn == Fn::Mul) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Ref &s = n->args[i], &other = n->args[1 - i];
      if (s->kind == Kind::Binary && is_linear(s->fn))
        return binary(s->fn, binary(Fn::Mul, s->args[0], other), binary(Fn::Mul, s->args[1], other));
      if (s->kind == Kind::Scale) return scale(binary(Fn::Mul, s->args[0], other), s->number);
    }
  }
  if (n->kind == Kind::Scale && n->args[0]->kind == Kind::Binary && is_linear(n->args[0]->fn))
    return binary(n->args[0]->fn, scale(n->args[0]->args[0], n->number),
                  scale(n->args[0]->args[1], n->number));
  if (n->kind == Kind::Reduce && n->reduction == Reduction::Sum) {
    const Ref& body = n->args[0];
    if (body->kind == Kind::Binary && is_linear(body->fn))
      return binary(body->fn, with_args(n, {body->args[0]}), with_args(n, {body->args[1]}));
    if (body->kind == Kind::Scale) return scale(with_args(n, {body->args[0]}), body->number);
  }
  return std::nullopt;
}

// A reduction over a box is one over two parts of it.
std::optional<Ref> split_reduction(Random& random, const Ref& n) {
  if (n->kind != Kind::Reduce) return std::nullopt;
  const Index cut = random_condition(random, n->args[0]->shape);
  Node left = *n, right = *n;
  left.when.push_back(cut);
  right.when.push_back(Index(-1) - cut);
  const Fn join = n->reduction == Reduction::Sum   ? Fn::Add
                  : n->reduction == Reduction::Max ? Fn::Max
                                                   : Fn::Min;
  return binary(join, make(std::move(left)), make(std::move(right)));
}

// Σ_r x[p, r] read backwards, or the reduced axes in another order.
std::optional<Ref> reorder_reduction(Random& random, const Ref& n) {
  if (n->kind != Kind::Reduce) return std::nullopt;
  const Extents& whole = n->args[0]->shape;
  const std::size_t first = n->shape.size();
  Node out = *n;
  if (whole.size() - first == 2 && random.chance(60)) {
    Extents shape = whole;
    std::swap(shape[first], shape[first + 1]);
    auto at = same_position(shape);
    std::swap(at[first], at[first + 1]);
    out.args = {move_of(n->args[0], shape, at)};
    for (Index& c : out.when)
      c = c.substitute([&](const Axis& a) { return at[static_cast<std::size_t>(a.id)]; });
    return make(std::move(out));
  }
  const std::size_t dim =
      first + drawn_dim(random, Extents(whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end()));
  auto at = same_position(whole);
  at[dim] = Index(whole[dim] - 1) - at[dim];
  out.args = {move_of(n->args[0], whole, at)};
  for (Index& c : out.when)
    c = c.substitute([&](const Axis& a) { return at[static_cast<std::size_t>(a.id)]; });
  return make(std::move(out));
}

// Two reduced axes one after the other; or one written out.
std::optional<Ref> unfold_reduction(Random& random, const Ref& n) {
  if (n->kind != Kind::Reduce) return std::nullopt;
  const Extents& whole = n->args[0]->shape;
  const std::size_t first = n->shape.size();
  if (whole.size() - first == 2) {
    Node inner = *n, outer = *n;
    inner.shape.push_back(whole[first]);
    if (n->reduction != Reduction::Sum && !n->when.empty()) return std::nullopt;
    outer.when = {};
    outer.args = {make(std::move(inner))};
    return make(std::move(outer));
  }
  if (whole.size() - first != 1 || n->reduction != Reduction::Sum || random.chance(50)) return std::nullopt;
  Ref out;
  for (std::int64_t r = 0; r < whole[first]; ++r) {
    auto at = same_position(n->shape);
    at.emplace_back(r);
    Domain when;
    for (const Index& c : n->when)
      when.push_back(c.substitute([&](const Axis& a) { return at[static_cast<std::size_t>(a.id)]; }));
    const Ref part = move_of(n->args[0], n->shape, at, when);
    out = out ? binary(Fn::Add, out, part) : part;
  }
  return out;
}

// A condition of a sum as a choice inside of it.
std::optional<Ref> condition_inside(const Ref& n) {
  if (n->kind != Kind::Reduce || n->reduction != Reduction::Sum || n->when.empty()) return std::nullopt;
  Node out = *n;
  out.when = {};
  out.args = {move_of(n->args[0], n->args[0]->shape, same_position(n->args[0]->shape), n->when)};
  return make(std::move(out));
}

// x as itself, moved there and back, in two parts, or by cases.
std::optional<Ref> the_same(Random& random, const Ref& x, const std::vector<Extents>& inputs) {
  if (x->shape.empty()) return std::nullopt;
  const std::size_t dim = drawn_dim(random, x->shape);
  const std::int64_t extent = x->shape[dim];
  switch (random.below(9)) {
    case 0: return flipped(flipped(x, dim), dim);
    case 1: {  // reshape and back
      std::int64_t count = 1;
      for (const std::int64_t e : x->shape) count *= e;
      Extents shape{count};
      for (const std::int64_t d : {2, 3, 5})
        if (count % d == 0 && random.chance(60)) shape = {count / d, d};
      const Ref there =
          move_of(x, shape, delinearize(linearize(same_position(shape), to_dims(shape)), to_dims(x->shape)));
      return move_of(there, x->shape,
                     delinearize(linearize(same_position(x->shape), to_dims(x->shape)), to_dims(shape)));
    }
    case 2:
    case 3: {  // two slices side by side
      if (extent < 2) return std::nullopt;
      const std::int64_t cut = random.between(1, static_cast<int>(extent) - 1);
      return binary(Fn::Add, padded(sliced(x, dim, 0, cut), dim, 0, extent),
                    padded(sliced(x, dim, cut, extent), dim, cut, extent));
    }
    case 4: {  // a slice of a padded one
      const std::int64_t before = random.between(0, 2);
      return sliced(padded(x, dim, before, extent + before + random.between(0, 2)), dim, before,
                    before + extent);
    }
    case 5: {
      Node out{.kind = Kind::Choose, .shape = x->shape, .args = {x, x}};
      out.when.push_back(random_condition(random, x->shape));
      return make(std::move(out));
    }
    case 6: {  // x + y - y
      const Ref y = random_program(random, inputs, x->shape, 1);
      return binary(Fn::Sub, binary(Fn::Add, x, y), y);
    }
    case 7: {  // even and odd positions apart
      auto at = same_position(x->shape);
      const Index odd = Index::mod(at[dim], 2) - Index(1);
      return binary(Fn::Add, move_of(x, x->shape, at, {odd}), move_of(x, x->shape, at, {Index(-1) - odd}));
    }
    default: {  // q·floor(i / q) + i mod q
      auto at = same_position(x->shape);
      at[dim] = Dim(2) * Index::floor(at[dim], 2) + Index::mod(at[dim], 2);
      return move_of(x, x->shape, at);
    }
  }
}

std::optional<Ref> arithmetic(Random& random, const Ref& n) {
  if (n->kind == Kind::Binary) {
    const Ref &a = n->args[0], &b = n->args[1];
    if (random.chance(40) && commutes(n->fn)) return binary(n->fn, b, a);
    if (n->fn == Fn::Sub) return binary(Fn::Add, a, scale(b, -1));
    if (commutes(n->fn) && a->kind == Kind::Binary && a->fn == n->fn)
      return binary(n->fn, a->args[0], binary(n->fn, a->args[1], b));
    if (n->fn == Fn::Div && b->kind == Kind::Scale && b->number != 0)
      return scale(binary(Fn::Div, a, b->args[0]), 1 / b->number);
  }
  if (n->kind == Kind::Scale && random.chance(50))
    return binary(Fn::Add, scale(n->args[0], n->number / 2), scale(n->args[0], n->number / 2));
  if (n->kind == Kind::Unary && n->fn == Fn::Relu)
    return binary(Fn::Max, n->args[0], move_of(n->args[0], n->shape, same_position(n->shape), {Index(-1)}));
  if (n->kind == Kind::Choose && n->when.size() == 1) {
    const Index c = n->when[0];
    const auto at = same_position(n->shape);
    return binary(Fn::Add, move_of(n->args[0], n->shape, at, {c}),
                  move_of(n->args[1], n->shape, at, {Index(-1) - c}));
  }
  return std::nullopt;
}

Domain changed(Random& random, Domain when, const Extents& shape) {
  if (when.empty() || random.chance(30)) {
    when.push_back(random_condition(random, shape));
  } else if (random.chance(40)) {
    when.pop_back();
  } else {
    when.back() =
        random.chance(60) ? when.back() + Index(random.chance(50) ? 1 : -1) : Index(-1) - when.back();
  }
  return when;
}

}  // namespace

std::optional<Ref> rewritten(Random& random, const Ref& root, const std::vector<Extents>& inputs) {
  if (count_nodes(root) > 40) return std::nullopt;
  return at_node(root, random.below(count_nodes(root)), [&](const Ref& n) -> std::optional<Ref> {
    switch (random.below(9)) {
      case 0:
      case 1: return swap_with_movement(n);
      case 2: return distribute(n);
      case 3: return split_reduction(random, n);
      case 4: return reorder_reduction(random, n);
      case 5: return random.chance(50) ? unfold_reduction(random, n) : condition_inside(n);
      case 6: return arithmetic(random, n);
      default: return the_same(random, n, inputs);
    }
  });
}

std::optional<Ref> mutated(Random& random, const Ref& root, const std::vector<Extents>& inputs) {
  return at_node(root, random.below(count_nodes(root)), [&](const Ref& n) -> std::optional<Ref> {
    Node out = *n;
    if (random.chance(10) && n != root) return random_program(random, inputs, n->shape, 1);
    if (random.chance(10) && !n->shape.empty()) {
      const std::size_t dim = drawn_dim(random, n->shape);
      return flipped(n, dim);
    }
    switch (n->kind) {
      case Kind::Input: return std::nullopt;
      case Kind::Move: {
        if (n->at.empty() || random.chance(30)) {
          out.when = changed(random, out.when, n->shape);
          break;
        }
        Index& i = out.at[static_cast<std::size_t>(random.below(static_cast<int>(out.at.size())))];
        switch (random.below(4)) {
          case 0: i = i + Index(random.chance(50) ? 1 : -1); break;
          case 1: i = Dim(random.chance(50) ? 2 : -1) * i; break;
          case 2: std::swap(out.at.front(), out.at.back()); break;
          default:
            i = random_index(random, n->shape,
                             n->args[0]->shape[static_cast<std::size_t>(&i - out.at.data())]);
        }
        break;
      }
      case Kind::Unary:
        if (random.chance(30)) return n->args[0];
        out.fn = random_unary(random);
        break;
      case Kind::Binary:
        if (random.chance(30)) return n->args[static_cast<std::size_t>(random.below(2))];
        if (random.chance(50)) std::swap(out.args[0], out.args[1]);
        else out.fn = random.one_of(std::vector<Fn>{Fn::Add, Fn::Sub, Fn::Mul, Fn::Max, Fn::Min});
        break;
      case Kind::Scale:
      case Kind::Shift:
        if (random.chance(30)) return n->args[0];
        out.number = -out.number;
        break;
      case Kind::Choose:
        if (random.chance(30)) std::swap(out.args[0], out.args[1]);
        else out.when = changed(random, out.when, n->shape);
        if (out.when.empty()) return n->args[0];
        break;
      case Kind::Reduce:
        if (random.chance(60)) out.when = changed(random, out.when, n->args[0]->shape);
        else
          out.reduction =
              random.one_of(std::vector<Reduction>{Reduction::Sum, Reduction::Max, Reduction::Min});
        break;
    }
    return make(std::move(out));
  });
}

}  // namespace isomer::attack
