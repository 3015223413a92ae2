#include "compiler/loops/compose.h"

#include <algorithm>
#include <unordered_map>

#include "model/expr/parts.h"

namespace isomer::lower {
namespace {

// Rebuilds an expression from its leaves; what is shared stays shared.
class Rebuilder {
 public:
  virtual ~Rebuilder() = default;
  ExprRef rebuild(const ExprRef& expr) {
    if (const auto known = done_.find(expr.get()); known != done_.end()) return known->second;
    ExprRef out = make(expr);
    done_.emplace(expr.get(), out);
    kept_.push_back(expr);
    return out;
  }

 protected:
  virtual ExprRef make(const ExprRef& expr) = 0;
  ExprRef with_parts(ExprNode node) {
    for (ExprRef& a : node.args) a = rebuild(a);
    for (ExprNode::Case& c : node.cases) c.value = rebuild(c.value);
    return std::make_shared<const ExprNode>(std::move(node));
  }

 private:
  std::unordered_map<const ExprNode*, ExprRef> done_;
  std::vector<ExprRef> kept_;  // so that no pointer is used again
};

class AxisRebuilder final : public Rebuilder {
 public:
  AxisRebuilder(AxisMap by, AxisNumbers& numbers) : by_(std::move(by)), numbers_(numbers) {}

 private:
  ExprRef make(const ExprRef& expr) override {
    ExprNode node = *expr;
    // An axis that several reductions have stays one: what they share is rebuilt once.
    for (Axis& a : node.axes) {
      const auto [fresh, is_new] = fresh_.try_emplace(a.id);
      if (is_new) fresh->second = numbers_.make(a.extent);
      by_[a.id] = Index(fresh->second);
      a = fresh->second;
    }
    for (Index& i : node.at) i = with_axes(i, by_);
    for (Index& i : node.domain) i = with_axes(i, by_);
    for (ExprNode::Case& c : node.cases)
      for (Index& i : c.when) i = with_axes(i, by_);
    node.index = with_axes(node.index, by_);
    return with_parts(std::move(node));
  }
  AxisMap by_;
  AxisNumbers& numbers_;
  std::map<int, Axis> fresh_;
};

class SymbolRebuilder final : public Rebuilder {
 public:
  explicit SymbolRebuilder(const Dim::Substitution& by) : by_(by) {}

 private:
  ExprRef make(const ExprRef& expr) override {
    ExprNode node = *expr;
    for (Dim& d : node.extents) d = d.substitute(by_);
    for (Axis& a : node.axes) a.extent = a.extent.substitute(by_);
    for (Index& i : node.at) i = i.substitute_symbols(by_);
    for (Index& i : node.domain) i = i.substitute_symbols(by_);
    for (ExprNode::Case& c : node.cases)
      for (Index& i : c.when) i = i.substitute_symbols(by_);
    node.index = node.index.substitute_symbols(by_);
    return with_parts(std::move(node));
  }
  const Dim::Substitution& by_;
};

class ReadRebuilder final : public Rebuilder {
 public:
  explicit ReadRebuilder(const ReadMap& by) : by_(by) {}

 private:
  ExprRef make(const ExprRef& expr) override {
    if (expr->kind == ExprNode::Kind::Read) {
      const auto other = by_(*expr);
      return other ? other->ref() : expr;
    }
    return expr->args.empty() ? expr : with_parts(*expr);
  }
  const ReadMap& by_;
};

class PartRebuilder final : public Rebuilder {
 public:
  PartRebuilder(const ExprRef& part, const Expr& by) : part_(part), by_(by) {}

 private:
  ExprRef make(const ExprRef& expr) override {
    if (expr == part_) return by_.ref();
    return expr->args.empty() ? expr : with_parts(*expr);
  }
  const ExprRef& part_;
  const Expr& by_;
};

}  // namespace

AxisMap over_loops(const Nest& nest) {
  AxisMap out;
  for (const AxisOfLoops& a : nest.of) out.emplace(a.axis.id, a.index);
  return out;
}

Index with_axes(const Index& index, const AxisMap& by) {
  return index
      .substitute([&](const Axis& axis) {
        const auto other = by.find(axis.id);
        return other == by.end() ? Index(axis) : other->second;
      })
      .recombine();
}

Expr with_axes(const Expr& expr, const AxisMap& by, AxisNumbers& numbers) {
  return AxisRebuilder(by, numbers).rebuild(expr.ref());
}
Expr with_symbols(const Expr& expr, const Dim::Substitution& by) {
  return SymbolRebuilder(by).rebuild(expr.ref());
}
Expr with_reads(const Expr& expr, const ReadMap& by) { return ReadRebuilder(by).rebuild(expr.ref()); }
Expr with_part(const Expr& expr, const ExprRef& part, const Expr& by) {
  return PartRebuilder(part, by).rebuild(expr.ref());
}

ExprRef main_reduction(const Expr& expr) {
  const std::function<ExprRef(const ExprRef&)> find = [&](const ExprRef& e) -> ExprRef {
    if (e->kind == ExprNode::Kind::Reduce && !as_look_up(*e)) return e;
    for (const ExprRef& a : e->args)
      if (ExprRef found = find(a)) return found;
    for (const ExprNode::Case& c : e->cases)
      if (ExprRef found = find(c.value)) return found;
    return nullptr;
  };
  return find(expr.ref());
}

bool has_reduction(const Expr& expr) { return main_reduction(expr) != nullptr; }

void replace_reduction(Nest& nest, ExprNode by) {
  const auto reduction = std::make_shared<const ExprNode>(std::move(by));
  nest.value = with_part(nest.value, nest.reduction, Expr(reduction));
  nest.reduction = reduction;
}

Nest part_of(const Nest& nest, const Axis& axis, const Dim& low, const Dim& high, AxisNumbers& numbers) {
  Nest out = nest;
  const Axis fresh = numbers.make(high - low);
  const AxisMap by{{axis.id, Index(fresh) + Index(low)}};
  std::ranges::replace(out.axes, axis, fresh);
  for (Index& i : out.at) i = with_axes(i, by);
  out.value = with_axes(out.value, by, numbers);
  return out;
}

std::optional<std::pair<Axis, Interval>> as_interval(const Domain& domain) {
  std::optional<Axis> axis;
  Interval out{0, INT64_MAX};
  for (const Index& i : domain) {
    if (i.terms().size() != 1 || i.terms()[0].atom.kind != Index::AtomKind::Axis) return std::nullopt;
    const Index::Term& term = i.terms()[0];
    const auto scale = term.scale.value(), offset = i.offset().value();
    if (!scale || !offset || (*scale != 1 && *scale != -1)) return std::nullopt;
    if (axis && !(*axis == term.atom.axis)) return std::nullopt;
    axis = term.atom.axis;
    if (*scale == 1) out.low = std::max(out.low, -*offset);
    else out.high = std::min(out.high, *offset + 1);
  }
  if (!axis || !axis->extent.value()) return std::nullopt;
  out.high = std::min(out.high, axis->extent.concrete());
  return std::pair{*axis, out};
}

}  // namespace isomer::lower
