#include "compiler/emit/lane_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "compiler/emit/scalar_text.h"

namespace isomer::lower {

void LaneWriter::skip_outside(const ExprNode& reduction, std::size_t first, std::size_t end) {
  Domain all = reduction.domain;
  const auto look_at = [&](const ExprNode& e, const auto& self) -> void {
    if (e.kind == ExprNode::Kind::Apply && e.fn == Fn::Mul)
      for (const ExprRef& a : e.args) self(*a, self);
    if (e.kind != ExprNode::Kind::Read) return;
    for (const Index& i : out_.asked_of(e)) all.push_back(i);
  };
  if (reduction.reduction == Reduction::Sum) look_at(*reduction.args[0], look_at);
  for (const Index& i : all) {
    const std::string condition = out_.at_least_zero(i);
    std::set<int> axes;
    for (const Axis& a : i.axes()) axes.insert(a.id);
    const std::size_t block = out_.block_of(axes);
    if (condition.empty() || block < first || block >= end || known_.contains(condition)) continue;
    out_.say_in(block, fmt::format("if (!({})) continue;", condition));
    known_.insert(condition);
  }
}

std::string LaneWriter::holds(const Domain& domain) {
  std::vector<std::string> words;
  for (const Index& i : domain)
    if (std::string word = out_.at_least_zero(i); !word.empty() && !known_.contains(word))
      words.push_back(std::move(word));
  return fmt::format("{}", fmt::join(words, " && "));
}

// The formula's axis that goes along the vector loop.
std::optional<Axis> LaneWriter::axis_along() const {
  std::optional<Axis> along;
  for (const AxisOfLoops& a : out_.nest().of) {
    if (!a.index.mentions(lane_)) continue;
    if (along || stride(a.index, lane_) != 1) return std::nullopt;
    along = a.axis;
  }
  return along;
}

// Whether an access is of neighbours in memory along the vector loop.
bool LaneWriter::goes_along(int buffer, const std::vector<Index>& at) const {
  const auto axis = axis_along();
  if (!axis || out_.plan().buffer(buffer).type != ElementType::Float) return false;
  const Index place = out_.address(buffer, at);
  return stride(place, *axis) == 1 && std::ranges::none_of(place.terms(), [&](const Index::Term& t) {
           return t.atom.kind != Index::AtomKind::Axis && t.atom.inner->mentions(*axis);
         });
}

bool LaneWriter::can_finish() const {
  return can_compute(*out_.nest().value) && goes_along(out_.nest().target, out_.nest().at);
}

bool LaneWriter::can_read(const ExprNode& e) const {
  const auto axis = axis_along();
  if (!axis || out_.plan().buffer(e.tensor.number).type != ElementType::Float) return false;
  const auto mentions = [&](const Index& i) { return i.mentions(*axis); };
  if (std::ranges::any_of(out_.asked_of(e), mentions)) return false;
  return std::ranges::none_of(e.at, mentions) || goes_along(e.tensor.number, e.at);
}

bool LaneWriter::can_compute(const ExprNode& e) const {
  if (&e == out_.nest().reduction.get()) return true;
  if (e.type != ElementType::Float) return false;
  switch (e.kind) {
    case ExprNode::Kind::Number: return true;
    case ExprNode::Kind::Read: return can_read(e);
    case ExprNode::Kind::Apply: {
      static constexpr std::array kKnown{Fn::Add, Fn::Sub, Fn::Mul, Fn::Div, Fn::Max, Fn::Min, Fn::Relu};
      return std::ranges::find(kKnown, e.fn) != kKnown.end() &&
             std::ranges::all_of(e.args, [&](const ExprRef& a) { return can_compute(*a); });
    }
    default: return false;
  }
}

std::string LaneWriter::read(const ExprNode& e) {
  const bool is_along = std::ranges::any_of(out_.nest().of, [&](const AxisOfLoops& a) {
    return a.index.mentions(lane_) &&
           std::ranges::any_of(e.at, [&](const Index& i) { return i.mentions(a.axis); });
  });
  const std::string condition = holds(out_.asked_of(e));
  const std::string place = out_.text(out_.address(e.tensor.number, e.at));
  const std::string element = is_along ? fmt::format("im_few<{}>({} + ({}))", lane_.extent.concrete(),
                                                     out_.pointer(e.tensor.number), place)
                                       : fmt::format("im_all({}[{}])", out_.pointer(e.tensor.number), place);
  return condition.empty() ? element : fmt::format("({} ? {} : im_all(0.0f))", condition, element);
}

std::string LaneWriter::value(const ExprNode& e) {
  if (const std::string* bound = out_.bound(e)) return *bound;
  if (e.kind == ExprNode::Kind::Read) return read(e);
  if (e.kind == ExprNode::Kind::Number) return fmt::format("im_all({})", number_text(e));
  ISOMER_CHECK(e.kind == ExprNode::Kind::Apply && (e.args.size() == 2 || e.fn == Fn::Relu));
  const std::string a = value(*e.args[0]);
  if (e.fn == Fn::Relu) return fmt::format("im_relu({})", a);
  const std::string b = value(*e.args[1]);
  switch (e.fn) {
    case Fn::Add: return fmt::format("({} + {})", a, b);
    case Fn::Sub: return fmt::format("({} - {})", a, b);
    case Fn::Mul: return fmt::format("({} * {})", a, b);
    case Fn::Div: return fmt::format("({} / {})", a, b);
    case Fn::Max:
    case Fn::Min: {
      const bool is_max = e.fn == Fn::Max;
      for (const std::size_t k : {std::size_t{1}, std::size_t{0}})
        if (is_plain_number(*e.args[k]))
          return fmt::format("{}({}, {})", is_max ? "im_above" : "im_below", k == 1 ? a : b, k == 1 ? b : a);
      return fmt::format("{}({}, {})", is_max ? "im_max" : "im_min", a, b);
    }
    default: ISOMER_UNREACHABLE("a function that the schedule lets through");
  }
}

}  // namespace isomer::lower
