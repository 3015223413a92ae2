#include "compiler/emit/emit_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/intrinsic.h"
#include "model/expr/parts.h"

namespace isomer::lower {
namespace {

// By which the kernels know the width of a tile.
std::int64_t kernel_width(const Tile& tile) { return tile.in_pairs ? -tile.width : tile.width; }

bool is_half(ElementType type) { return type == ElementType::Float16 || type == ElementType::BFloat16; }

std::string literal(double value, ElementType type) {
  const bool is_double = type == ElementType::Double;
  if (std::isnan(value)) return is_double ? "(double)NAN" : "(float)NAN";
  if (std::isinf(value))
    return fmt::format("({}{})", value < 0 ? "-" : "", is_double ? "(double)INFINITY" : "(float)INFINITY");
  std::string digits = is_double ? fmt::format("{:a}", value)
                                 : fmt::format("{:a}", static_cast<double>(static_cast<float>(value)));
  return "(" + digits + (is_double ? ")" : "f)");
}

std::string literal(std::int64_t value, ElementType type) {
  if (type == ElementType::Uint64) return fmt::format("((uint64_t){}ull)", static_cast<std::uint64_t>(value));
  if (value == INT64_MIN) return "INT64_MIN";
  return fmt::format("(({}){})", c_type(type), value);
}

// Sums of so many numbers are float64: runtimes add such ones in pieces, and a norm's last digits come from
// them.
constexpr std::int64_t kLongSum = 1024;

bool is_number(const ExprNode& e) {
  return e.kind == ExprNode::Kind::Number && !(is_float(e.type) && std::isnan(e.number));
}

bool is_long_sum(const ExprNode& e) {
  std::int64_t count = 1;
  for (const Axis& a : e.axes) count *= a.extent.concrete();
  return e.reduction == Reduction::Sum && e.type == ElementType::Float && count >= kLongSum;
}

}  // namespace

std::string c_type(ElementType type) { return is_half(type) ? "float" : stored_type(type); }

std::string stored_type(ElementType type) {
  switch (type) {
    case ElementType::Float: return "float";
    case ElementType::Double: return "double";
    case ElementType::Int8: return "int8_t";
    case ElementType::Int16: return "int16_t";
    case ElementType::Int32: return "int32_t";
    case ElementType::Int64: return "int64_t";
    case ElementType::Bool:
    case ElementType::Uint8: return "uint8_t";
    case ElementType::Uint16:
    case ElementType::Float16:
    case ElementType::BFloat16: return "uint16_t";
    case ElementType::Uint32: return "uint32_t";
    case ElementType::Uint64: return "uint64_t";
    default: ISOMER_UNREACHABLE("not a computable type");
  }
}

// ---- Blocks

void NestWriter::open(const std::string& head) { blocks_.push_back({.head = indent() + head + " {\n"}); }

void NestWriter::close() {
  const Block inner = std::move(blocks_.back());
  blocks_.pop_back();
  blocks_.back().text += inner.head + inner.text + indent() + "}\n";
  for (const ExprNode* e : inner.values) values_.erase(e);
}

void NestWriter::open_loop(const Axis& axis, const std::string& from, const std::string& to,
                           const std::string& pragma) {
  const std::string name = name_of(axis);
  // A pragma stays with its loop, whatever is computed before it.
  const std::string before = pragma.empty() ? "" : pragma + '\n' + indent();
  // Of rows that go strip by strip, the function is told which.
  open(before + fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", name,
                            in_strips(axis) ? "from" : from, in_strips(axis) ? "to" : to));
  blocks_.back().axes.insert(axis.id);
}

// A loop over all of an axis, unless it has one element; how many were opened.
std::size_t NestWriter::open_axis(const Axis& axis) {
  if (axis.extent.is(1)) {
    define_axis(axis, "0");
    return 0;
  }
  open_loop(axis, "0", fmt::format("{}", axis.extent.concrete()));
  return 1;
}

void NestWriter::define_axis(const Axis& axis, const std::string& value) {
  say(fmt::format("const int64_t {} = {};", name_of(axis), value));
  blocks_.back().axes.insert(axis.id);
}

// ---- What threads divide: a function is told which parts it does, from low to high

std::vector<Axis> NestWriter::long_axes(const std::vector<Axis>& axes) const {
  std::vector<Axis> out;
  std::ranges::copy_if(axes, std::back_inserter(out),
                       [&](const Axis& a) { return in_strips(a) || !a.extent.is(1); });
  return out;
}

std::string NestWriter::length(const Axis& axis, const std::string& rows) const {
  return in_strips(axis) ? "(" + rows + ")" : fmt::format("{}", axis.extent.concrete());
}

std::string NestWriter::product(const std::vector<Axis>& axes, const std::string& rows) const {
  std::vector<std::string> words;
  for (const Axis& a : axes) words.push_back(length(a, rows));
  return words.empty() ? "1" : fmt::format("{}", fmt::join(words, " * "));
}

// Batch and outer rows of a tile that all parts are one position of.
std::vector<Axis> NestWriter::tile_axes() const {
  const Tile& tile = *nest_.tile;
  std::vector<Axis> axes = tile.batch;
  const bool by_columns = tile.shared == Tile::Shared::Columns;
  if (!by_columns && !tile.outer_rows.empty())
    axes.insert(axes.end(), tile.outer_rows.begin(), tile.outer_rows.end() - 1);
  return long_axes(axes);
}

std::string NestWriter::units(const std::string& rows) const {
  if (nest_.winograd)
    return fmt::format("{} * {}", product(long_axes(nest_.winograd->batch), rows),
                       nest_.winograd->shared == Tile::Shared::Columns ? nest_.winograd->panels
                                                                       : nest_.winograd->all_tiles());
  if (!nest_.tile) {
    std::vector<Axis> axes;
    for (const Loop& l : shared_loops(nest_)) axes.push_back(l.axis);
    return product(long_axes(axes), rows);
  }
  const Tile& tile = *nest_.tile;
  const std::int64_t columns = tile.columns.extent.concrete();
  std::string inner;
  if (tile.shared == Tile::Shared::Columns)
    inner = fmt::format("{}", (columns + tile.width - 1) / tile.width);
  else if (!tile.outer_rows.empty()) inner = fmt::format("{}", tile.outer_rows.back().extent.concrete());
  else
    inner =
        fmt::format("im_row_tiles<{}>({}, {})", kernel_width(tile), tile.rows.extent.concrete(), tile.block);
  return fmt::format("{} * {}", product(tile_axes(), rows), inner);
}

// A loop that becomes vectors is cut where vectors end, so that no element is computed otherwise.
std::int64_t NestWriter::grain() const {
  constexpr std::int64_t kGrain = 256;
  const bool is_all = !nest_.tile && !nest_.winograd && shared_loops(nest_).size() == nest_.loops.size();
  return is_all ? kGrain : 1;
}

// Positions of several axes out of one number, which is unsigned: a compiler that thinks of negative ones
// makes slower loops of them.
void NestWriter::define_shared(const std::vector<Axis>& axes, std::string number) {
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::string extent = length(axes[k], "to - from");
    const std::string at = k == 0 ? number : fmt::format("{} % (uint64_t){}", number, extent);
    define_axis(axes[k], (in_strips(axes[k]) ? "from + " : "") + fmt::format("(int64_t)({})", at));
    number = fmt::format("({} / (uint64_t){})", number, extent);
  }
}

// One loop over all parts; how many were opened.
std::size_t NestWriter::open_shared(const std::vector<Axis>& axes) {
  const std::vector<Axis> several = long_axes(axes);
  for (const Axis& a : axes)
    if (std::ranges::find(several, a) == several.end()) define_axis(a, "0");
  if (several.empty()) return 0;
  if (several.size() == 1) {
    const std::string begin = in_strips(several[0]) ? "from + " : "";
    open(fmt::format("for (int64_t {0} = {1}low; {0} < {1}high; ++{0})", name_of(several[0]), begin));
    blocks_.back().axes.insert(several[0].id);
    return 1;
  }
  open("for (int64_t unit = low; unit < high; ++unit)");
  define_shared(several, "(uint64_t)unit");
  return 1;
}

std::size_t NestWriter::open_loops(const std::vector<Loop>& loops) {
  std::vector<Axis> shared;
  for (const Loop& l : shared_loops(nest_)) shared.push_back(l.axis);
  std::size_t opened = shared.empty() ? 0 : open_shared(shared);
  for (std::size_t k = shared.size(); k < loops.size(); ++k, ++opened)
    open_loop(loops[k].axis, "0", fmt::format("{}", loops[k].axis.extent.concrete()));
  return opened;
}

// Parts are positions of these axes and of something inside that is `inner` long: a loop over the positions,
// in which x_from to x_to is what there is to do inside.
std::size_t NestWriter::open_shared_around(const std::vector<Axis>& axes, const std::string& inner) {
  const std::vector<Axis> several = long_axes(axes);
  for (const Axis& a : axes)
    if (std::ranges::find(several, a) == several.end()) define_axis(a, "0");
  if (several.empty()) {
    say("const int64_t x_from = low, x_to = high;");
    return 0;
  }
  open(fmt::format("for (int64_t unit = low / {0}; unit * {0} < high; ++unit)", inner));
  say(
      fmt::format("const int64_t x_from = unit * {0} < low ? low - unit * {0} : 0, "
                  "x_to = (unit + 1) * {0} > high ? high - unit * {0} : {0};",
                  inner));
  define_shared(several, "(uint64_t)unit");
  return 1;
}

// ---- Positions

std::string NestWriter::name_of(const Axis& axis) {
  const auto known = axis_names_.find(axis.id);
  if (known != axis_names_.end()) return known->second;
  return axis_names_[axis.id] = fmt::format("i{}", axis_names_.size());
}

std::string NestWriter::pointer(int buffer) {
  auto at = std::ranges::find(buffers_, buffer);
  if (at == buffers_.end()) at = buffers_.insert(buffers_.end(), buffer);
  return fmt::format("p{}", at - buffers_.begin());
}

std::string NestWriter::text(const Index& index) {
  std::string out;
  const auto add = [&](std::int64_t scale, const std::string& word) {
    if (scale == 0) return;
    if (!out.empty()) out += scale < 0 ? " - " : " + ";
    else if (scale < 0) out += "-";
    const std::int64_t size = scale < 0 ? -scale : scale;
    if (word.empty()) out += fmt::format("{}", size);
    else out += size == 1 ? word : fmt::format("{}*{}", size, word);
  };
  for (const Index::Term& t : index.terms()) {
    const std::int64_t scale = t.scale.concrete();
    if (t.atom.kind == Index::AtomKind::Axis) {
      add(scale, name_of(t.atom.axis));
      continue;
    }
    const auto range = t.atom.inner->range();
    const bool is_natural = range && range->low.at_least(0) == true;
    const std::string inner = text(*t.atom.inner);
    const std::int64_t divisor = t.atom.divisor.concrete();
    const bool is_floor = t.atom.kind == Index::AtomKind::Floor;
    add(scale, is_natural
                   ? fmt::format("(({}) {} {})", inner, is_floor ? "/" : "%", divisor)
                   : fmt::format("{}({}, {})", is_floor ? "im_floor_div" : "im_floor_mod", inner, divisor));
  }
  add(index.offset().concrete(), "");
  return out.empty() ? "0" : out;
}

std::string NestWriter::at_least_zero(const Index& index) {
  const auto range = index.range();
  if (range && range->low.at_least(0) == true) return "";
  return fmt::format("{} >= 0", text(index));
}

std::string NestWriter::holds(const Domain& domain) {
  std::vector<std::string> words;
  for (const Index& i : domain)
    if (std::string word = at_least_zero(i); !word.empty()) words.push_back(std::move(word));
  return fmt::format("{}", fmt::join(words, " && "));
}

Index NestWriter::address(int buffer, const std::vector<Index>& at) const {
  return address_of(plan_.buffers[static_cast<std::size_t>(buffer)], at);
}

std::string NestWriter::load(int buffer, const std::string& address, ElementType type) {
  const ElementType stored = plan_.buffers[static_cast<std::size_t>(buffer)].type;
  std::string element = fmt::format("{}[{}]", pointer(buffer), address);
  if (stored == ElementType::Float16) return fmt::format("im_from_half({})", element);
  if (stored == ElementType::BFloat16) return fmt::format("im_from_bfloat({})", element);
  if (stored == ElementType::Bool && type == ElementType::Bool)
    return fmt::format("(uint8_t)({} != 0)", element);
  return element;
}

// ---- Values

const std::set<int>& NestWriter::axes_of(const ExprNode& e) {
  if (const auto known = axes_.find(&e); known != axes_.end()) return known->second;
  std::set<int> axes;
  const auto add = [&](const Index& i) {
    for (const Axis& a : i.axes()) axes.insert(a.id);
  };
  for (const Index& i : e.at) add(i);
  for (const Index& i : e.domain) add(i);
  add(e.index);
  for (const ExprNode::Case& c : e.cases) {
    for (const Index& i : c.when) add(i);
    axes.merge(std::set<int>(axes_of(*c.value)));
  }
  for (const ExprRef& a : e.args) axes.merge(std::set<int>(axes_of(*a)));
  for (const Axis& a : e.axes) axes.erase(a.id);
  return axes_.emplace(&e, std::move(axes)).first->second;
}

std::size_t NestWriter::block_for(const std::set<int>& axes) const {
  std::size_t block = 0;
  for (std::size_t k = 0; k < blocks_.size(); ++k)
    if (std::ranges::any_of(blocks_[k].axes, [&](int a) { return axes.contains(a); })) block = k;
  return block;
}

std::string NestWriter::define(const ExprNode& e, const std::string& value) {
  const std::string name = fmt::format("t{}", next_++);
  say(fmt::format("const {} {} = {};", c_type(e.type), name, value));
  return name;
}

std::string NestWriter::value(const ExprRef& e) {
  if (const auto bound = bound_.find(e.get()); bound != bound_.end()) return bound->second;
  if (e->kind == ExprNode::Kind::Number) return number(*e);
  if (const auto known = values_.find(e.get()); known != values_.end()) return known->second;
  // What a bound reduction is a part of belongs to where that was bound.
  const bool is_free = !any_part(*e, [&](const ExprNode& part) { return bound_.contains(&part); });
  const std::size_t block = is_free ? block_for(axes_of(*e)) : blocks_.size() - 1;
  std::vector<Block> inside(std::make_move_iterator(blocks_.begin() + static_cast<std::ptrdiff_t>(block) + 1),
                            std::make_move_iterator(blocks_.end()));
  blocks_.resize(block + 1);
  std::string name;
  switch (e->kind) {
    case ExprNode::Kind::IndexNumber:
      name = define(*e, fmt::format("({})({})", c_type(e->type), text(e->index)));
      break;
    case ExprNode::Kind::Read: name = define(*e, read(*e)); break;
    case ExprNode::Kind::Apply: name = define(*e, e->fn == Fn::Cast ? cast(*e) : apply(*e)); break;
    case ExprNode::Kind::Cases: name = define(*e, choice(*e)); break;
    case ExprNode::Kind::Reduce: name = as_look_up(*e) ? look_up(*e) : reduce(*e); break;
    case ExprNode::Kind::Number: break;
  }
  values_.emplace(e.get(), name);
  blocks_.back().values.push_back(e.get());
  for (Block& b : inside) blocks_.push_back(std::move(b));
  return name;
}

std::string NestWriter::number(const ExprNode& e) const {
  return is_float(e.type) ? literal(e.number, e.type) : literal(e.integer, e.type);
}

// What a read has to ask before it is known to be inside of its tensor.
Domain NestWriter::asked_of(const ExprNode& e) const {
  Domain inside;
  for (std::size_t d = 0; d < e.at.size(); ++d)
    if (!stays_inside(plan_.buffers[static_cast<std::size_t>(e.tensor.number)], d, e.at[d]))
      inside = both(std::move(inside), between(0, e.at[d], e.extents[d]));
  return inside;
}

std::string NestWriter::read(const ExprNode& e) {
  const std::string element = load(e.tensor.number, text(address(e.tensor.number, e.at)), e.type);
  const std::string condition = holds(asked_of(e));
  return condition.empty() ? element : fmt::format("{} ? {} : ({})0", condition, element, c_type(e.type));
}

std::string NestWriter::choice(const ExprNode& e) {
  std::string out;
  for (const ExprNode::Case& c : e.cases) {
    const std::string condition = holds(c.when);
    if (condition.empty()) return out + value(c.value);
    out += fmt::format("{} ? {} : ", condition, value(c.value));
  }
  return out + value(e.args[0]);
}

std::string NestWriter::cast(const ExprNode& e) {
  const ElementType from = e.args[0]->type;
  std::string a = value(e.args[0]);
  if (from == e.type) return a;
  if (e.type == ElementType::Bool) return fmt::format("(uint8_t)({} != 0)", a);
  if (e.type == ElementType::Float16) return fmt::format("im_from_half(im_to_half((float){}))", a);
  if (e.type == ElementType::BFloat16) return fmt::format("im_from_bfloat(im_to_bfloat((float){}))", a);
  if (is_float(from) && !is_float(e.type)) return fmt::format("im_to_integer<{}>({})", c_type(e.type), a);
  return fmt::format("({}){}", c_type(e.type), a);
}

std::string NestWriter::apply(const ExprNode& e) {
  std::vector<std::string> a;
  for (const ExprRef& arg : e.args) a.push_back(value(arg));
  const std::string type = c_type(e.type), of = c_type(e.args[0]->type);
  const bool is_real = is_float(e.args[0]->type);
  const auto whole = [&](char op) {
    return fmt::format("({0})((uint64_t){1} {2} (uint64_t){3})", type, a[0], op, a[1]);
  };
  const auto real = [&](char op) { return fmt::format("{} {} {}", a[0], op, a[1]); };
  switch (e.fn) {
    case Fn::Add: return is_real ? real('+') : whole('+');
    case Fn::Sub: return is_real ? real('-') : whole('-');
    case Fn::Mul: return is_real ? real('*') : whole('*');
    case Fn::Div: return is_real ? real('/') : fmt::format("im_div<{}>({}, {})", type, a[0], a[1]);
    case Fn::Neg: return is_real ? "-" + a[0] : fmt::format("({})(0 - (uint64_t){})", type, a[0]);
    case Fn::Mod: return fmt::format("im_mod({}, {})", a[0], a[1]);
    case Fn::Fmod: return fmt::format("im_fmod({}, {})", a[0], a[1]);
    case Fn::Pow: return fmt::format("im_pow({}, {})", a[0], a[1]);
    case Fn::Max:
    case Fn::Min: {
      const char* const near = e.fn == Fn::Max ? "im_above" : "im_below";
      const char* const any = e.fn == Fn::Max ? "im_max" : "im_min";
      for (const std::size_t k : {std::size_t{1}, std::size_t{0}})
        if (is_number(*e.args[k])) return fmt::format("{}<{}>({}, {})", near, of, a[1 - k], a[k]);
      return fmt::format("{}<{}>({}, {})", any, of, a[0], a[1]);
    }
    case Fn::Equal: return fmt::format("(uint8_t)({} == {})", a[0], a[1]);
    case Fn::Less: return fmt::format("(uint8_t)({} < {})", a[0], a[1]);
    case Fn::LessOrEqual: return fmt::format("(uint8_t)({} <= {})", a[0], a[1]);
    case Fn::And:
    case Fn::BitAnd: return fmt::format("({})({} & {})", type, a[0], a[1]);
    case Fn::Or:
    case Fn::BitOr: return fmt::format("({})({} | {})", type, a[0], a[1]);
    case Fn::Xor:
    case Fn::BitXor: return fmt::format("({})({} ^ {})", type, a[0], a[1]);
    case Fn::Not: return fmt::format("(uint8_t)({} == 0)", a[0]);
    case Fn::BitNot: return fmt::format("({})~{}", type, a[0]);
    case Fn::ShiftLeft: return fmt::format("im_shift_left<{}>({}, {})", type, a[0], a[1]);
    case Fn::ShiftRight: return fmt::format("im_shift_right<{}>({}, {})", type, a[0], a[1]);
    case Fn::IsNaN: return is_real ? fmt::format("(uint8_t)({0} != {0})", a[0]) : "(uint8_t)0";
    case Fn::IsPositiveInf: return is_real ? fmt::format("(uint8_t)({} == INFINITY)", a[0]) : "(uint8_t)0";
    case Fn::IsNegativeInf: return is_real ? fmt::format("(uint8_t)({} == -INFINITY)", a[0]) : "(uint8_t)0";
    case Fn::Where: return fmt::format("{} ? {} : {}", a[0], a[1], a[2]);
    case Fn::Abs: return is_real ? fmt::format("im_abs({})", a[0]) : fmt::format("im_abs<{}>({})", of, a[0]);
    case Fn::Relu: return fmt::format("im_relu<{}>({})", of, a[0]);
    case Fn::Sign: return fmt::format("im_sign<{}>({})", of, a[0]);
    case Fn::Cast: ISOMER_UNREACHABLE("a cast is written elsewhere");
    default: return fmt::format("im_{}({})", isomer::name(e.fn), a[0]);
  }
}

std::string NestWriter::combine(Reduction reduction, const std::string& a, const std::string& b) {
  switch (reduction) {
    case Reduction::Sum: return fmt::format("{} + {}", a, b);
    case Reduction::Product: return fmt::format("{} * {}", a, b);
    case Reduction::Max: return fmt::format("im_max({}, {})", a, b);
    case Reduction::Min: return fmt::format("im_min({}, {})", a, b);
  }
  ISOMER_UNREACHABLE("a reduction");
}

// What a reduction of nothing is.
std::string NestWriter::start(const ExprNode& e) {
  const std::string type = c_type(e.type);
  switch (e.reduction) {
    case Reduction::Sum: return fmt::format("({})0", type);
    case Reduction::Product: return fmt::format("({})1", type);
    case Reduction::Max:
    case Reduction::Min: break;
  }
  const bool is_max = e.reduction == Reduction::Max;
  if (is_float(e.type)) return is_max ? "(float)-INFINITY" : "(float)INFINITY";
  return fmt::format("im_{}_of<{}>()", is_max ? "least" : "most", type);
}

std::string NestWriter::reduce(const ExprNode& e) {
  const std::string name = fmt::format("t{}", next_++), type = is_long_sum(e) ? "double" : c_type(e.type);
  say(fmt::format("{} {} = {};", type, name, start(e)));
  for (const Axis& a : e.axes) open_loop(a, "0", fmt::format("{}", a.extent.concrete()));
  if (is_float(e.type) && !e.axes.empty()) say("IM_REORDER");
  const std::string condition = holds(e.domain);
  const std::string all = fmt::format("({}){}", type, value(e.args[0]));
  const std::string combined = combine(e.reduction, name, all);
  say(condition.empty() ? fmt::format("{} = {};", name, combined)
                        : fmt::format("{0} = {1} ? {2} : {0};", name, condition, combined));
  for (std::size_t k = 0; k < e.axes.size(); ++k) close();
  return is_long_sum(e) ? fmt::format("(float){}", name) : name;
}

std::string NestWriter::look_up(const ExprNode& e) {
  const LookUp look = *as_look_up(e);
  const std::string at = value(look.at);
  may_fail_ = true;
  const std::string extent = fmt::format("{}", look.axis.extent.concrete());
  say(fmt::format("if (__builtin_expect((uint64_t)(int64_t){} >= {}u, 0)) return 1;", at, extent));
  define_axis(look.axis, fmt::format("(int64_t){}", at));
  return value(look.value);
}

// ---- Nests

// The formula's axes, where loops are something else.
void NestWriter::define_axes(bool with_reduced) {
  for (const AxisOfLoops& a : nest_.of) {
    if (a.is_reduced && !with_reduced) continue;
    if (a.index == Index(a.axis)) continue;
    define_axis(a.axis, text(a.index));
  }
}

void NestWriter::store(const std::string& stored) {
  const ElementType type = plan_.buffers[static_cast<std::size_t>(nest_.target)].type;
  const std::string place =
      fmt::format("{}[{}]", pointer(nest_.target), text(address(nest_.target, nest_.at)));
  if (type == ElementType::Float16) say(fmt::format("{} = im_to_half({});", place, stored));
  else if (type == ElementType::BFloat16) say(fmt::format("{} = im_to_bfloat({});", place, stored));
  else say(fmt::format("{} = {};", place, stored));
}

std::string NestWriter::body() {
  blocks_.emplace_back();
  pointer(nest_.target);
  if (is_shared(nest_)) say("if (low < 0) __builtin_unreachable();");
  if (nest_.winograd) winograd();
  else if (nest_.reduction && nest_.tile) tiled();
  else if (nest_.call) by_intrinsic();
  else if (nest_.reduction) reduced();
  else plain();
  if (may_fail_) say("return 0;");
  ISOMER_CHECK(blocks_.size() == 1, "every block is closed");
  return blocks_[0].text;
}

void NestWriter::plain() {
  std::size_t opened = open_loops(nest_.loops);
  define_axes(false);
  if (const std::string condition = holds(nest_.guard); !condition.empty()) {
    open(fmt::format("if ({})", condition));
    ++opened;
  }
  store(value(nest_.value.ref()));
  for (std::size_t k = 0; k < opened; ++k) close();
}

std::string NestWriter::pragma_of(const Loop& loop) {
  return loop.kind == Loop::Kind::Unrolled ? "IM_UNROLL" : "";
}

// Loops from the first reduced one on go over a tile of sums: first all that is added to them, then what
// becomes of them. A vector loop, which is the innermost one, is an element of the tile.
void NestWriter::reduced() {
  const ExprNode& reduction = *nest_.reduction;
  const auto first = std::ranges::find_if(nest_.loops, [&](const Loop& l) { return is_reduced(nest_, l); });
  const std::vector<Loop> outer(nest_.loops.begin(), first);
  std::vector<Loop> inner(first, nest_.loops.end());
  std::optional<Loop> lanes;
  if (nest_.lanes) {
    lanes = inner.back();
    inner.pop_back();
  }
  std::int64_t tile = 1;
  Index place;
  for (const Loop& l : inner) {
    if (is_reduced(nest_, l)) continue;
    place = Dim(l.axis.extent.concrete()) * place + Index(l.axis);
    tile *= l.axis.extent.concrete();
  }
  const auto open_inner = [&](bool with_reduced) {
    std::size_t opened = 0;
    for (const Loop& l : inner) {
      if (!with_reduced && is_reduced(nest_, l)) continue;
      open_loop(l.axis, "0", fmt::format("{}", l.axis.extent.concrete()), pragma_of(l));
      ++opened;
    }
    return opened;
  };
  if (!lanes && is_extremum_along(inner)) return extremum(outer, inner);
  const bool is_long = !lanes && is_long_sum(reduction);
  const std::string type = lanes ? "im_lanes" : is_long ? "double" : c_type(reduction.type);
  const std::string zero = lanes ? fmt::format("im_all({})", start(reduction)) : start(reduction);
  const std::size_t around = open_loops(outer);
  say(fmt::format("{} sum[{}];", type, tile));
  if (lanes) say("IM_UNROLL");
  say(fmt::format("for (int64_t n = 0; n < {}; ++n) sum[n] = {};", tile, zero));
  const std::size_t first_block = blocks_.size();
  std::size_t opened = open_inner(true);
  if (opened > 0 && is_float(reduction.type)) say("IM_REORDER");
  if (lanes) define_axis(lanes->axis, "0");
  define_axes(true);
  if (lanes) {
    const auto reduced_loops =
        std::ranges::find_if(inner, [&](const Loop& l) { return !is_reduced(nest_, l); }) - inner.begin();
    skip_outside(reduction, first_block, first_block + static_cast<std::size_t>(reduced_loops));
  }
  const std::string sum = fmt::format("sum[{}]", text(place));
  const std::string condition = holds_here(both(nest_.guard, reduction.domain));
  const std::string added = lanes ? vector_value(*reduction.args[0], lanes->axis)
                                  : fmt::format("({}){}", type, value(reduction.args[0]));
  const std::string combined = combine(reduction.reduction, sum, added);
  say(condition.empty() ? fmt::format("{} = {};", sum, combined)
                        : fmt::format("if ({}) {} = {};", condition, sum, combined));
  for (; opened > 0; --opened) close();
  known_.clear();
  opened = open_inner(false);
  bound_[nest_.reduction.get()] = is_long ? fmt::format("(float){}", sum) : sum;
  const bool in_vectors =
      lanes && ends_in_lanes(*nest_.value, lanes->axis) && goes_along(nest_.target, nest_.at, lanes->axis);
  if (in_vectors) {
    define_axis(lanes->axis, "0");
  } else if (lanes) {
    say("float lanes[16];");
    say(fmt::format("*(im_lanes*)lanes = {};", sum));
    open_loop(lanes->axis, "0", fmt::format("{}", lanes->axis.extent.concrete()));
    ++opened;
    bound_[nest_.reduction.get()] = fmt::format("lanes[{}]", name_of(lanes->axis));
  }
  define_axes(false);
  Domain kept;
  std::ranges::copy_if(nest_.guard, std::back_inserter(kept), [&](const Index& g) {
    return !std::ranges::any_of(inner,
                                [&](const Loop& l) { return is_reduced(nest_, l) && g.mentions(l.axis); });
  });
  if (const std::string inside = holds(kept); !inside.empty()) {
    open(fmt::format("if ({})", inside));
    ++opened;
  }
  if (in_vectors)
    say(fmt::format("im_put<{}>({} + ({}), {});", lanes->axis.extent.concrete(), pointer(nest_.target),
                    text(address(nest_.target, nest_.at)), vector_value(*nest_.value, lanes->axis)));
  else store(value(nest_.value.ref()));
  for (opened += around; opened > 0; --opened) close();
}

// A tile of sums, as above, to which calls add.
void NestWriter::by_intrinsic() {
  const Intrinsic& own = plan_.intrinsics[nest_.call->intrinsic];
  const auto first = std::ranges::find_if(nest_.loops, [&](const Loop& l) { return is_reduced(nest_, l); });
  const std::size_t kept = own.axes.size(), called = kept + own.value->axes.size();
  const auto inner = std::min(first, nest_.loops.end() - static_cast<std::ptrdiff_t>(called));
  const auto call = nest_.loops.end() - static_cast<std::ptrdiff_t>(called);
  const std::size_t around = open_loops({nest_.loops.begin(), inner});
  std::int64_t tile = 1;
  Index place;
  AxisMap over_loops, at_first;
  for (std::size_t k = 0; k < called; ++k) {
    const Axis& axis = call[static_cast<std::ptrdiff_t>(k)].axis;
    at_first.emplace(axis.id, Index(0));
    if (k >= kept) continue;
    place = axis.extent * place + Index(axis);
    tile *= axis.extent.concrete();
  }
  for (const AxisOfLoops& a : nest_.of) over_loops.emplace(a.axis.id, with_axes(a.index, at_first));
  const std::string type = c_type(nest_.reduction->type);
  say(fmt::format("__attribute__((aligned(64))) {} sum[{}];", type, tile));
  say(fmt::format("for (int64_t n = 0; n < {}; ++n) sum[n] = 0;", tile));
  std::size_t opened = 0;
  for (auto loop = inner; loop < call; ++loop, ++opened)
    open_loop(loop->axis, "0", fmt::format("{}", loop->axis.extent.concrete()), pragma_of(*loop));
  std::string arguments = "sum";
  for (const IntrinsicCall::Factor& factor : nest_.call->factors) {
    std::vector<Index> at;
    for (const Index& i : factor.read->at) at.push_back(with_axes(i, over_loops));
    const int buffer = factor.read->tensor.number;
    arguments += fmt::format(", {} + ({})", pointer(buffer), text(address(buffer, at)));
    for (const std::int64_t stride : factor.strides) arguments += fmt::format(", {}", stride);
  }
  say(fmt::format("{}({});", function_name(own), arguments));
  for (; opened > 0; --opened) close();
  for (std::size_t k = 0; k < kept; ++k, ++opened) {
    const Axis& axis = call[static_cast<std::ptrdiff_t>(k)].axis;
    open_loop(axis, "0", fmt::format("{}", axis.extent.concrete()));
  }
  define_axes(false);
  bound_[nest_.reduction.get()] = fmt::format("sum[{}]", text(place));
  store(value(nest_.value.ref()));
  for (opened += around; opened > 0; --opened) close();
}

// Steps of a window that add nothing are skipped in the loop of the sum that knows it, one of the blocks from
// `first` to `end`: those outside of the sum's domain, and, of a sum of products, those that are zero since a
// factor is read outside of its tensor.
void NestWriter::skip_outside(const ExprNode& reduction, std::size_t first, std::size_t end) {
  Domain all = reduction.domain;
  const auto look_at = [&](const ExprNode& e, const auto& self) -> void {
    if (e.kind == ExprNode::Kind::Apply && e.fn == Fn::Mul)
      for (const ExprRef& a : e.args) self(*a, self);
    if (e.kind != ExprNode::Kind::Read) return;
    for (const Index& i : asked_of(e)) all.push_back(i);
  };
  if (reduction.reduction == Reduction::Sum) look_at(*reduction.args[0], look_at);
  for (const Index& i : all) {
    const std::string condition = at_least_zero(i);
    std::set<int> axes;
    for (const Axis& a : i.axes()) axes.insert(a.id);
    const std::size_t block = block_for(axes);
    if (condition.empty() || block < first || block >= end || known_.contains(condition)) continue;
    blocks_[block].text +=
        std::string(2 * (block + 1), ' ') + fmt::format("if (!({})) continue;\n", condition);
    known_.insert(condition);
  }
}

// Conditions but those that are known to hold.
std::string NestWriter::holds_here(const Domain& domain) {
  std::vector<std::string> words;
  for (const Index& i : domain)
    if (std::string word = at_least_zero(i); !word.empty() && !known_.contains(word))
      words.push_back(std::move(word));
  return fmt::format("{}", fmt::join(words, " && "));
}

// The formula's axis that goes along a vector loop.
std::optional<Axis> NestWriter::axis_along(const Axis& lane) const {
  std::optional<Axis> out;
  for (const AxisOfLoops& a : nest_.of) {
    if (!a.index.mentions(lane)) continue;
    if (out || stride(a.index, lane) != 1) return std::nullopt;
    out = a.axis;
  }
  return out;
}

// Whether an access is of neighbours in memory along a vector loop.
bool NestWriter::goes_along(int buffer, const std::vector<Index>& at, const Axis& lane) const {
  const auto axis = axis_along(lane);
  if (!axis || plan_.buffers[static_cast<std::size_t>(buffer)].type != ElementType::Float) return false;
  const Index place = address(buffer, at);
  return stride(place, *axis) == 1 && std::ranges::none_of(place.terms(), [&](const Index::Term& t) {
           return t.atom.kind != Index::AtomKind::Axis && t.atom.inner->mentions(*axis);
         });
}

// Whether what becomes of sums of lanes can be computed by lanes, too.
bool NestWriter::ends_in_lanes(const ExprNode& e, const Axis& lane) {
  if (&e == nest_.reduction.get()) return true;
  if (e.type != ElementType::Float) return false;
  switch (e.kind) {
    case ExprNode::Kind::Number: return true;
    case ExprNode::Kind::Read: {
      const auto axis = axis_along(lane);
      const auto mentions = [&](const Index& i) { return i.mentions(*axis); };
      if (!axis || plan_.buffers[static_cast<std::size_t>(e.tensor.number)].type != ElementType::Float)
        return false;
      if (std::ranges::any_of(asked_of(e), mentions)) return false;
      return std::ranges::none_of(e.at, mentions) || goes_along(e.tensor.number, e.at, lane);
    }
    case ExprNode::Kind::Apply: {
      static constexpr std::array kKnown{Fn::Add, Fn::Sub, Fn::Mul, Fn::Div, Fn::Max, Fn::Min, Fn::Relu};
      return std::ranges::find(kKnown, e.fn) != kKnown.end() &&
             std::ranges::all_of(e.args, [&](const ExprRef& a) { return ends_in_lanes(*a, lane); });
    }
    default: return false;
  }
}

// Whether one loop is left, which takes the largest or smallest of a row of floats.
bool NestWriter::is_extremum_along(const std::vector<Loop>& inner) const {
  const ExprNode& reduction = *nest_.reduction;
  if (inner.size() != 1 || inner[0].axis.extent.concrete() < 32 || reduction.type != ElementType::Float ||
      !reduction.domain.empty() || !nest_.guard.empty() ||
      (reduction.reduction != Reduction::Max && reduction.reduction != Reduction::Min))
    return false;
  const ExprNode& e = *reduction.args[0];
  if (e.kind != ExprNode::Kind::Read ||
      plan_.buffers[static_cast<std::size_t>(e.tensor.number)].type != ElementType::Float)
    return false;
  for (std::size_t d = 0; d < e.at.size(); ++d)
    if (!stays_inside(plan_.buffers[static_cast<std::size_t>(e.tensor.number)], d, e.at[d])) return false;
  const Index at = address(e.tensor.number, e.at);
  return std::ranges::any_of(at.terms(),
                             [&](const Index::Term& t) {
                               return t.atom.kind == Index::AtomKind::Axis && t.atom.axis == inner[0].axis &&
                                      t.scale.is(1);
                             }) &&
         std::ranges::all_of(at.terms(),
                             [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
}

void NestWriter::extremum(const std::vector<Loop>& outer, const std::vector<Loop>& inner) {
  const ExprNode& e = *nest_.reduction->args[0];
  std::size_t opened = open_loops(outer);
  define_axes(false);
  AxisMap first;
  for (const AxisOfLoops& a : nest_.of)
    if (a.is_reduced) first[a.axis.id] = Index(0);
  const std::string row = fmt::format("{} + ({})", pointer(e.tensor.number),
                                      text(with_axes(address(e.tensor.number, e.at), first)));
  const bool is_max = nest_.reduction->reduction == Reduction::Max;
  say(fmt::format("const float sum = im_{}_of_row({}, {});", is_max ? "max" : "min", row,
                  inner[0].axis.extent.concrete()));
  bound_[nest_.reduction.get()] = "sum";
  store(value(nest_.value.ref()));
  for (; opened > 0; --opened) close();
}

// Sixteen elements along an axis at once, or fewer: reads that are next to each other, or the same.
std::string NestWriter::vector_value(const ExprNode& e, const Axis& lane) {
  if (const auto bound = bound_.find(&e); bound != bound_.end()) return bound->second;
  if (e.kind == ExprNode::Kind::Read) {
    const bool is_along = std::ranges::any_of(nest_.of, [&](const AxisOfLoops& a) {
      return a.index.mentions(lane) &&
             std::ranges::any_of(e.at, [&](const Index& i) { return i.mentions(a.axis); });
    });
    const std::string condition = holds_here(asked_of(e));
    const std::string place = text(address(e.tensor.number, e.at));
    const std::string element = is_along ? fmt::format("im_few<{}>({} + ({}))", lane.extent.concrete(),
                                                       pointer(e.tensor.number), place)
                                         : fmt::format("im_all({}[{}])", pointer(e.tensor.number), place);
    return condition.empty() ? element : fmt::format("({} ? {} : im_all(0.0f))", condition, element);
  }
  if (e.kind == ExprNode::Kind::Number) return fmt::format("im_all({})", number(e));
  ISOMER_CHECK(e.kind == ExprNode::Kind::Apply && (e.args.size() == 2 || e.fn == Fn::Relu));
  const std::string a = vector_value(*e.args[0], lane);
  if (e.fn == Fn::Relu) return fmt::format("im_relu({})", a);
  const std::string b = vector_value(*e.args[1], lane);
  switch (e.fn) {
    case Fn::Add: return fmt::format("({} + {})", a, b);
    case Fn::Sub: return fmt::format("({} - {})", a, b);
    case Fn::Mul: return fmt::format("({} * {})", a, b);
    case Fn::Div: return fmt::format("({} / {})", a, b);
    case Fn::Max:
    case Fn::Min: {
      const bool is_max = e.fn == Fn::Max;
      for (const std::size_t k : {std::size_t{1}, std::size_t{0}})
        if (is_number(*e.args[k]))
          return fmt::format("{}({}, {})", is_max ? "im_above" : "im_below", k == 1 ? a : b, k == 1 ? b : a);
      return fmt::format("{}({}, {})", is_max ? "im_max" : "im_min", a, b);
    }
    default: ISOMER_UNREACHABLE("a function that the schedule lets through");
  }
}

// Whether an access along the columns of a tile goes step by step, or does not go at all.
bool NestWriter::is_along_columns(int buffer, const std::vector<Index>& at) {
  const Storage& s = plan_.buffers[static_cast<std::size_t>(buffer)];
  if (s.type != ElementType::Float) return false;
  const Axis& columns = nest_.tile->columns;
  const Index place = address(buffer, at);
  if (std::ranges::any_of(place.terms(), [&](const Index::Term& t) {
        return t.atom.kind != Index::AtomKind::Axis && t.atom.inner->mentions(columns);
      }))
    return false;
  for (std::size_t d = 0; d < at.size(); ++d)
    if (!stays_inside(s, d, at[d])) return false;
  return stride(place, columns) == 1 || stride(place, columns) == 0;
}

// Whether what becomes of a tile's sums can be computed a vector at a time.
bool NestWriter::ends_in_vectors(const ExprNode& e) {
  if (&e == nest_.reduction.get()) return true;
  if (e.type != ElementType::Float) return false;
  switch (e.kind) {
    case ExprNode::Kind::Number: return true;
    case ExprNode::Kind::Read: return is_along_columns(e.tensor.number, e.at);
    case ExprNode::Kind::Apply: {
      static constexpr std::array kKnown{Fn::Add, Fn::Sub, Fn::Mul, Fn::Neg, Fn::Max, Fn::Min, Fn::Relu};
      return std::ranges::find(kKnown, e.fn) != kKnown.end() &&
             std::ranges::all_of(e.args, [&](const ExprRef& a) { return ends_in_vectors(*a); });
    }
    default: return false;
  }
}

std::string NestWriter::in_vectors(const ExprNode& e,
                                   std::unordered_map<const ExprNode*, std::string>& known) {
  if (&e == nest_.reduction.get()) return "sum";
  if (const auto at = known.find(&e); at != known.end()) return at->second;
  std::string text;
  if (e.kind == ExprNode::Kind::Number) {
    text = fmt::format("im_splat({})", number(e));
  } else if (e.kind == ExprNode::Kind::Read) {
    const Index place = address(e.tensor.number, e.at);
    const std::string from = fmt::format("{} + ({})", pointer(e.tensor.number), this->text(place));
    const bool goes_along = stride(place, nest_.tile->columns) == 1;
    text = goes_along ? fmt::format("im_load<count.value>({})", from) : fmt::format("im_splat(*({}))", from);
  } else {
    std::vector<std::string> a;
    for (const ExprRef& arg : e.args) a.push_back(in_vectors(*arg, known));
    const bool is_max = e.fn == Fn::Max || e.fn == Fn::Min;
    if (e.fn == Fn::Neg) text = "-" + a[0];
    else if (e.fn == Fn::Relu) text = fmt::format("im_above({}, im_splat(0.0f))", a[0]);
    else if (!is_max)
      text = fmt::format("{} {} {}", a[0], e.fn == Fn::Add ? '+' : e.fn == Fn::Sub ? '-' : '*', a[1]);
    else if (is_number(*e.args[0]) || is_number(*e.args[1])) {
      const std::size_t k = is_number(*e.args[1]) ? 1 : 0;
      text = fmt::format("{}({}, {})", e.fn == Fn::Max ? "im_above" : "im_below", a[1 - k], a[k]);
    } else {
      text = fmt::format("im_v{}({}, {})", e.fn == Fn::Max ? "max" : "min", a[0], a[1]);
    }
  }
  const std::string name = fmt::format("v{}", next_++);
  say(fmt::format("const im_vector {} = {};", name, text));
  known[&e] = name;
  return name;
}

// What becomes of the sums of a tile: a function of where they are.
void NestWriter::end_in_vectors() {
  const Tile& tile = *nest_.tile;
  open(
      "const auto end_of = [=](int64_t m, int64_t n, auto count, im_vector sum) "
      "__attribute__((always_inline))");
  define_axis(tile.rows, "first + m");
  define_axis(tile.columns, fmt::format("{}*panel + n", tile.width));
  std::unordered_map<const ExprNode*, std::string> known;
  const std::string out = in_vectors(*nest_.value, known);
  say(fmt::format("im_store<count.value>({} + ({}), {});", pointer(nest_.target),
                  text(address(nest_.target, nest_.at)), out));
  close();
  std::string& around = blocks_.back().text;
  around.insert(around.size() - 1, ";");
}

// for batch, blocks of outer rows, groups of panels of columns, outer rows, tiles of rows, panels: the tile,
// then what becomes of its elements.
void NestWriter::tiled() {
  const Tile& tile = *nest_.tile;
  const Axis panel{.id = -2, .extent = (tile.columns.extent.concrete() + tile.width - 1) / tile.width};
  const Axis first{.id = -3, .extent = tile.rows.extent};
  axis_names_[panel.id] = "panel";
  axis_names_[first.id] = "first";
  const std::int64_t rows = tile.rows.extent.concrete(), columns = tile.columns.extent.concrete();
  const ExprNode& product = *nest_.reduction->args[0];
  const ExprNode& read_left = *product.args[tile.left_first ? 0 : 1];
  const Index left = address(tile.left, read_left.at);
  const auto step = [&](const Axis& axis) { return stride(left, axis); };

  const bool in_pieces = tile.chunk > 0;
  const std::int64_t kernel = kernel_width(tile);
  const std::int64_t block_rows = tile.outer_rows.empty() ? std::min(rows, tile.block) : rows * tile.block;
  say(in_pieces ? fmt::format("float tile[{} * {} * {}] __attribute__((aligned(64)));", tile.group,
                              block_rows, tile.width)
                : fmt::format("float tile[im_rows<{}>::most * {}] __attribute__((aligned(64)));", kernel,
                              tile.width));
  const std::int64_t in_block = tile.outer_rows.empty() ? std::min(rows, tile.block) : rows;
  say(fmt::format("constexpr int64_t height = im_tile_height<{}>({});", kernel, in_block));
  const std::vector<Axis>& outer = tile.outer_rows;
  const std::int64_t panels = panel.extent.concrete();
  const std::int64_t length = outer.empty() ? rows : outer.back().extent.concrete();
  const bool by_rows = tile.shared == Tile::Shared::Rows, by_columns = tile.shared == Tile::Shared::Columns;
  // Without outer rows, what is divided are tiles of rows, so many in a block.
  const bool by_tiles = by_rows && outer.empty();
  std::vector<Axis> around = tile.batch;
  if (!outer.empty()) around.insert(around.end(), outer.begin(), outer.end() - 1);
  std::size_t opened = 0;
  if (by_tiles) {
    say(fmt::format(
        "constexpr int64_t tiles = ({} + height - 1) / height, all_tiles = im_row_tiles<{}>({}, {});",
        in_block, kernel, rows, tile.block));
  }
  if (by_rows) {
    opened += open_shared_around(around, by_tiles ? "all_tiles" : fmt::format("{}", length));
  } else if (by_columns) {
    opened += open_shared_around(tile.batch, fmt::format("{}", panels));
    for (std::size_t k = 0; k + 1 < outer.size(); ++k) opened += open_axis(outer[k]);
  } else {
    for (const Axis& a : around) opened += open_axis(a);
  }
  if (by_tiles) {
    open(fmt::format("for (int64_t block = x_from / tiles; block * tiles < x_to; ++block)"));
    say(fmt::format("const int64_t start = block * {0}, end = start + {0} < {1} ? start + {0} : {1};",
                    tile.block, length));
    say("const int64_t first_row = start + (x_from > block * tiles ? x_from - block * tiles : 0) * height;");
    say("const int64_t last_row = start + (x_to - block * tiles) * height;");
    say("const int64_t end_row = last_row < end ? last_row : end;");
  } else {
    open(fmt::format("for (int64_t start = {}; start < {}; start += {})", by_rows ? "x_from" : "0",
                     by_rows ? "x_to" : fmt::format("{}", length), tile.block));
    say(fmt::format("const int64_t end = start + {0} < {1} ? start + {0} : {1};", tile.block,
                    by_rows ? "x_to" : fmt::format("{}", length)));
  }
  open(fmt::format("for (int64_t group = {}; group < {}; group += {})", by_columns ? "x_from" : "0",
                   by_columns ? "x_to" : fmt::format("{}", panels), tile.group));
  say(fmt::format("const int64_t next = group + {0} < {1} ? group + {0} : {1};", tile.group,
                  by_columns ? "x_to" : fmt::format("{}", panels)));
  opened += 2;

  std::vector<Index> at;
  for (const Axis& a : tile.kept) at.emplace_back(a);
  at.emplace_back(panel);
  at.resize(plan_.buffers[static_cast<std::size_t>(tile.right)].extents.size());
  std::vector<Axis> reduced = tile.outer;  // outermost first
  reduced.push_back(tile.depth);
  const std::int64_t pieces = reduced[0].extent.concrete();
  std::int64_t below = tile.width;  // of the panel, per step of the outermost reduced axis
  for (std::size_t k = 1; k < reduced.size(); ++k) below *= reduced[k].extent.concrete();
  AxisMap by{{tile.rows.id, Index(first)}};
  for (const Axis& a : nest_.reduction->axes) by[a.id] = Index(0);
  // Steps and counts of the three reduced loops that a tile has; missing ones are loops of one.
  std::vector<std::int64_t> steps(3 - reduced.size(), 0);
  std::vector<std::string> counts(3 - reduced.size(), "1");
  for (const Axis& a : reduced) {
    steps.push_back(step(a));
    counts.push_back(fmt::format("{}", a.extent.concrete()));
  }
  std::string begin = text(with_axes(left, by)), panel_at = text(address(tile.right, at));
  std::int64_t halves = 0;  // of a rounded block of rows
  if (tile.in_pairs) {
    Storage paired = plan_.buffers[static_cast<std::size_t>(tile.right)];
    std::int64_t& depth = paired.extents[paired.extents.size() - 2];
    depth = paired_depth(depth);
    halves = 16 * depth;
    for (const Axis& a : tile.outer) halves *= a.extent.concrete();
    if (tile.outer_rows.empty() && rows == 1) halves = 0;
    paired.strides = row_major(paired.extents);
    panel_at = text(address_of(paired, at));
    if (halves > 0) say(fmt::format("uint16_t half[IM_HALVES({})] __attribute__((aligned(64)));", halves));
  }
  if (in_pieces) {
    open(fmt::format("for (int64_t piece = 0; piece < {}; piece += {})", pieces, tile.chunk));
    say(fmt::format("const int64_t more = piece + {0} < {1} ? {0} : {1} - piece;", tile.chunk, pieces));
    counts[3 - reduced.size()] = "more";
    begin += fmt::format(" + {}*piece", step(reduced[0]));
    panel_at += fmt::format(" + {}*piece", below);
  }
  const auto open_rows = [&] {
    if (!outer.empty()) open_loop(outer.back(), "start", "end");
    open(fmt::format("for (int64_t first = {}; first < {}; first += height)",
                     by_tiles        ? "first_row"
                     : outer.empty() ? "start"
                                     : "0",
                     by_tiles        ? "end_row"
                     : outer.empty() ? "end"
                                     : fmt::format("{}", rows)));
    blocks_.back().axes.insert(first.id);
    say(fmt::format("const int64_t rows = first + height < {0} ? height : {0} - first;",
                    outer.empty() ? "end" : fmt::format("{}", rows)));
    return outer.empty() ? std::size_t{1} : std::size_t{2};
  };
  const auto open_panels = [&] { open_loop(panel, "group", "next"); };
  std::string sums = "tile";
  if (in_pieces)
    sums = fmt::format("tile + {}*((panel - group)*{} + {})", tile.width, block_rows,
                       outer.empty() ? "first - start"
                                     : fmt::format("({} - start)*{} + first", name_of(outer.back()), rows));
  std::size_t inside = open_rows();
  say(fmt::format("const im_left left = {{{} + ({}), {}, {}, {}, {}, {}, {}, {}}};", pointer(tile.left),
                  begin, step(tile.rows), steps[0], steps[1], steps[2], counts[0], counts[1], counts[2]));
  if (halves > 0) {
    say("IM_TILES;");
    say("im_left_pairs(left, rows, half);");
  }
  open_panels();
  ++inside;
  const bool in_end = ends_in_vectors(*nest_.value) && is_along_columns(nest_.target, nest_.at) &&
                      stride(address(nest_.target, nest_.at), tile.columns) == 1;
  const auto in_pairs = [&](std::int64_t wanted, const std::string& end_of) {
    return fmt::format("im_tile_pairs<{}, {}>(rows, left, {}, (const uint16_t*){} + ({}), tile{});",
                       tile.width, wanted, halves > 0 ? "half" : "nullptr", pointer(tile.right), panel_at,
                       end_of);
  };
  const std::string plain =
      tile.in_pairs ? in_pairs(tile.width, "")
                    : fmt::format("im_tiles<{}>::run(rows, left, {} + ({}), {}{});", tile.width,
                                  pointer(tile.right), panel_at, sums, in_pieces ? ", piece > 0" : "");
  if (in_end) {
    if (in_pieces) {
      open(fmt::format("if (piece + more < {})", pieces));
      say(plain);
      say("continue;");
      close();
    }
    end_in_vectors();
    // Heights of tiles: of a whole block, of the last one.
    const std::int64_t all = outer.empty() ? std::min(rows, tile.block) : rows,
                       last = outer.empty() ? rows % all : 0;
    const auto run = [&](std::int64_t wanted) {
      if (tile.in_pairs) return in_pairs(wanted, ", end_of");
      return fmt::format("im_tile<{}, {}, {}, {}>(rows, left, {} + ({}), {}, {}, end_of);", tile.width,
                         wanted, all, last, pointer(tile.right), panel_at, sums,
                         in_pieces ? "piece > 0" : "false");
    };
    if (columns % tile.width == 0) {
      say(run(tile.width));
    } else if (panels == 1) {
      say(run(columns));
    } else {
      say(fmt::format("if (panel + 1 < {}) {}", panels, run(tile.width)));
      say("else " + run(columns % tile.width));
    }
    if (in_pieces) ++opened;
    for (opened += inside; opened > 0; --opened) close();
    return;
  }
  say(plain);
  if (in_pieces) {
    for (; inside > 0; --inside) close();
    close();  // the pieces
    inside = open_rows();
    open_panels();
    ++inside;
  }
  open("for (int64_t m = 0; m < rows; ++m)");
  define_axis(tile.rows, "first + m");
  std::string width = fmt::format("{}", tile.width);
  if (columns % tile.width != 0) {
    say(fmt::format("const int64_t width = {0} - {1}*panel < {1} ? {0} - {1}*panel : {1};", columns,
                    tile.width));
    width = "width";
  }
  open(fmt::format("for (int64_t n = 0; n < {}; ++n)", width));
  define_axis(tile.columns, fmt::format("{}*panel + n", tile.width));
  bound_[nest_.reduction.get()] = fmt::format("({})[{}*m + n]", sums, tile.width);
  store(value(nest_.value.ref()));
  for (opened += inside + 2; opened > 0; --opened) close();
}

// Blocks of tiles: their inputs transformed, products, then tile by tile what becomes of the outputs.
void NestWriter::winograd() {
  const Winograd& w = *nest_.winograd;
  const Storage& image = plan_.buffers[static_cast<std::size_t>(w.left)];
  const ExprNode& read_left = *nest_.reduction->args[0]->args[w.left_first ? 0 : 1];
  const std::int64_t rows = w.row.extent.concrete(), columns = w.column.extent.concrete(),
                     outputs = w.output.extent.concrete();
  const std::int64_t across = w.tiles_across(), all = w.all_tiles();
  const std::int64_t ld = w.row_length(), plane = w.tiles * ld;
  std::size_t opened = 0;
  const bool by_panels = w.shared == Tile::Shared::Columns;
  if (is_shared(nest_)) opened += open_shared_around(w.batch, fmt::format("{}", by_panels ? w.panels : all));
  else
    for (const Axis& a : w.batch) opened += open_axis(a);
  std::vector<Index> first_window = read_left.at;
  first_window[w.row_axis] = first_window[w.column_axis] = first_window[w.channel_axis] = Index(0);
  const std::string scratch = pointer(w.scratch);
  say(fmt::format("const im_image image = {{{} + ({}), {}, {}, {}, {}, {}, {}, {}, {}}};", pointer(w.left),
                  text(address(w.left, first_window)), image.strides[w.row_axis],
                  image.strides[w.column_axis], image.extents[w.row_axis], image.extents[w.column_axis],
                  w.channels, w.top, w.left_edge, across));
  say(fmt::format("float* v = (float*){0};\n{1}float* m = v + {2};", scratch, indent(), w.points() * plane));
  if (w.shared == Tile::Shared::Rows) {
    // Blocks about equally large.
    say(
        fmt::format("const int64_t blocks = (x_to - x_from + {0} - 1) / {0}, step = (x_to - x_from + blocks "
                    "- 1) / blocks;",
                    w.tiles));
    open("for (int64_t first = x_from; first < x_to; first += step)");
    say("const int64_t tiles = first + step < x_to ? step : x_to - first;");
  } else {
    open(fmt::format("for (int64_t first = 0; first < {}; first += {})", all, w.tiles));
    say(fmt::format("const int64_t tiles = first + {0} < {1} ? {0} : {1} - first;", w.tiles, all));
  }
  ++opened;
  say(fmt::format("im_winograd_input<{}>(image, {}, first, tiles, v, {}, {});", w.size, pointer(w.zeros), ld,
                  plane));
  say(fmt::format("im_winograd_products<{}, {}>(v, {}, {}, {}, {}, {}, {}, {}, tiles, {}, m);", w.size,
                  w.width, ld, plane, pointer(w.weights), w.panels, by_panels ? "x_from" : "0",
                  by_panels ? "x_to" : fmt::format("{}", w.panels), w.channels, w.tiles));
  std::string first_output = "0", end_output = fmt::format("{}", outputs);
  if (by_panels) {
    first_output = fmt::format("x_from * {}", w.width);
    end_output = "end";
    say(fmt::format("const int64_t end = x_to * {0} < {1} ? x_to * {0} : {1};", w.width, outputs));
  }
  open("for (int64_t i = 0; i < tiles; ++i)");
  say("const uint64_t number = (uint64_t)(first + i);");
  say(fmt::format(
      "const int64_t row = (int64_t)(number / {0} * {1}), column = (int64_t)(number % {0} * {1});", across,
      w.size));
  open(fmt::format("for (int64_t c = {}; c < {}; c += 16)", first_output, end_output));
  say(fmt::format("float tile[{}];", 16 * w.size * w.size));
  say(fmt::format("im_winograd_output<{3}>(m + (c / {0} * {1} + i) * {0} + c % {0}, {2}, tile);", w.width,
                  w.tiles, w.panels * w.tiles * w.width, w.size));
  open(fmt::format("for (int64_t k = 0; k < {} && row + k < {}; ++k)", w.size, rows));
  define_axis(w.row, "row + k");
  open(fmt::format("for (int64_t j = 0; j < {} && column + j < {}; ++j)", w.size, columns));
  define_axis(w.column, "column + j");
  open("for (int64_t n = 0; n < 16; ++n)");
  define_axis(w.output, "c + n");
  bound_[nest_.reduction.get()] = fmt::format("tile[{}*k + 16*j + n]", 16 * w.size);
  store(value(nest_.value.ref()));
  for (opened += 5; opened > 0; --opened) close();
}

}  // namespace isomer::lower
