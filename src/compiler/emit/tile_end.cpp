#include "compiler/emit/tile_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/emit/scalar_text.h"

namespace isomer::lower {

bool TileEnd::goes_by_vectors() const {
  const Nest& nest = out_.nest();
  return can_compute(*nest.value) && is_along_columns(nest.target, nest.at) &&
         stride(out_.address(nest.target, nest.at), columns_) == 1;
}

// Whether an access along the columns of a tile goes step by step, or does not go at all.
bool TileEnd::is_along_columns(int buffer, const std::vector<Index>& at) const {
  const Storage& s = out_.plan().buffer(buffer);
  if (s.type != ElementType::Float) return false;
  const Index place = out_.address(buffer, at);
  if (std::ranges::any_of(place.terms(), [&](const Index::Term& t) {
        return t.atom.kind != Index::AtomKind::Axis && t.atom.inner->mentions(columns_);
      }))
    return false;
  for (std::size_t d = 0; d < at.size(); ++d)
    if (!stays_inside(s, d, at[d])) return false;
  return stride(place, columns_) == 1 || stride(place, columns_) == 0;
}

bool TileEnd::can_compute(const ExprNode& e) const {
  if (&e == out_.nest().reduction.get()) return true;
  if (e.type != ElementType::Float) return false;
  switch (e.kind) {
    case ExprNode::Kind::Number: return true;
    case ExprNode::Kind::Read: return is_along_columns(e.tensor.number, e.at);
    case ExprNode::Kind::Apply: {
      static constexpr std::array kKnown{Fn::Add, Fn::Sub, Fn::Mul, Fn::Neg, Fn::Max, Fn::Min, Fn::Relu};
      return std::ranges::find(kKnown, e.fn) != kKnown.end() &&
             std::ranges::all_of(e.args, [&](const ExprRef& a) { return can_compute(*a); });
    }
    default: return false;
  }
}

std::string TileEnd::read(const ExprNode& e) {
  const Index place = out_.address(e.tensor.number, e.at);
  const std::string from = fmt::format("{} + ({})", out_.pointer(e.tensor.number), out_.text(place));
  const bool goes_along = stride(place, columns_) == 1;
  return goes_along ? fmt::format("im_load<count.value>({})", from) : fmt::format("im_splat(*({}))", from);
}

std::string TileEnd::apply(const ExprNode& e) {
  std::vector<std::string> a;
  for (const ExprRef& arg : e.args) a.push_back(value(*arg));
  switch (e.fn) {
    case Fn::Neg: return "-" + a[0];
    case Fn::Relu: return fmt::format("im_above({}, im_splat(0.0f))", a[0]);
    case Fn::Add: return fmt::format("{} + {}", a[0], a[1]);
    case Fn::Sub: return fmt::format("{} - {}", a[0], a[1]);
    case Fn::Mul: return fmt::format("{} * {}", a[0], a[1]);
    default: break;
  }
  for (const std::size_t k : {std::size_t{1}, std::size_t{0}})
    if (is_plain_number(*e.args[k]))
      return fmt::format("{}({}, {})", e.fn == Fn::Max ? "im_above" : "im_below", a[1 - k], a[k]);
  return fmt::format("im_v{}({}, {})", e.fn == Fn::Max ? "max" : "min", a[0], a[1]);
}

std::string TileEnd::value(const ExprNode& e) {
  if (&e == out_.nest().reduction.get()) return "sum";
  if (const auto at = known_.find(&e); at != known_.end()) return at->second;
  const std::string text = e.kind == ExprNode::Kind::Number ? fmt::format("im_splat({})", number_text(e))
                           : e.kind == ExprNode::Kind::Read ? read(e)
                                                            : apply(e);
  const std::string name = out_.make_name('v');
  out_.say(fmt::format("const im_vector {} = {};", name, text));
  known_[&e] = name;
  return name;
}

void TileEnd::define_function() {
  const Nest& nest = out_.nest();
  out_.open(
      "const auto end_of = [=](int64_t m, int64_t n, auto count, im_vector sum) "
      "__attribute__((always_inline))");
  out_.define_axis(nest.tile->rows, "first + m");
  out_.define_axis(columns_, fmt::format("{}*panel + n", nest.tile->width));
  const std::string result = value(*nest.value);
  out_.say(fmt::format("im_store<count.value>({} + ({}), {});", out_.pointer(nest.target),
                       out_.text(out_.address(nest.target, nest.at)), result));
  out_.close("};");
}

}  // namespace isomer::lower
