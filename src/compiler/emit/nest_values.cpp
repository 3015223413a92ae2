// Values of a nest: what NestWriter computes, and where.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/nest_writer.h"
#include "compiler/emit/scalar_text.h"
#include "model/expr/look_up.h"
#include "model/expr/parts.h"

namespace isomer::lower {

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

const std::string* NestWriter::bound(const ExprNode& e) const {
  const auto at = bound_.find(&e);
  return at == bound_.end() ? nullptr : &at->second;
}

std::string NestWriter::make_name(char letter) { return fmt::format("{}{}", letter, next_++); }

std::string NestWriter::define(const ExprNode& e, const std::string& value) {
  const std::string name = make_name('t');
  say(fmt::format("const {} {} = {};", c_type(e.type), name, value));
  return name;
}

std::string NestWriter::value(const ExprRef& e) {
  if (const std::string* known = bound(*e)) return *known;
  if (e->kind == ExprNode::Kind::Number) return number_text(*e);
  if (const auto known = values_.find(e.get()); known != values_.end()) return known->second;
  // An expression with a bound reduction belongs to the place of the binding.
  const bool is_free = !any_part(*e, [&](const ExprNode& part) { return bound_.contains(&part); });
  const std::size_t block = is_free ? block_of(axes_of(*e)) : blocks_.size() - 1;
  std::vector<Block> inside(std::make_move_iterator(blocks_.begin() + static_cast<std::ptrdiff_t>(block) + 1),
                            std::make_move_iterator(blocks_.end()));
  blocks_.resize(block + 1);
  const std::string name = compute(*e);
  values_.emplace(e.get(), name);
  blocks_.back().values.push_back(e.get());
  for (Block& b : inside) blocks_.push_back(std::move(b));
  return name;
}

std::string NestWriter::compute(const ExprNode& e) {
  switch (e.kind) {
    case ExprNode::Kind::IndexNumber:
      return define(e, fmt::format("({})({})", c_type(e.type), text(e.index)));
    case ExprNode::Kind::Read: return define(e, read(e));
    case ExprNode::Kind::Apply: return define(e, apply(e));
    case ExprNode::Kind::Cases: return define(e, choose(e));
    case ExprNode::Kind::Reduce: return as_look_up(e) ? look_up(e) : reduce(e);
    case ExprNode::Kind::Number: break;
  }
  return number_text(e);
}

std::string NestWriter::load(int buffer, const std::string& address, ElementType type) {
  const ElementType stored = plan_.buffer(buffer).type;
  std::string element = fmt::format("{}[{}]", pointer(buffer), address);
  if (stored == ElementType::Float16) return fmt::format("im_from_half({})", element);
  if (stored == ElementType::BFloat16) return fmt::format("im_from_bfloat({})", element);
  if (stored == ElementType::Bool && type == ElementType::Bool)
    return fmt::format("(uint8_t)({} != 0)", element);
  return element;
}

std::string NestWriter::read(const ExprNode& e) {
  const std::string element = load(e.tensor.number, text(address(e.tensor.number, e.at)), e.type);
  const std::string condition = holds(asked_of(e));
  return condition.empty() ? element : fmt::format("{} ? {} : ({})0", condition, element, c_type(e.type));
}

std::string NestWriter::choose(const ExprNode& e) {
  std::string out;
  for (const ExprNode::Case& c : e.cases) {
    const std::string condition = holds(c.when);
    if (condition.empty()) return out + value(c.value);
    out += fmt::format("{} ? {} : ", condition, value(c.value));
  }
  return out + value(e.args[0]);
}

std::string NestWriter::apply(const ExprNode& e) {
  std::vector<std::string> args;
  for (const ExprRef& a : e.args) args.push_back(value(a));
  return e.fn == Fn::Cast ? cast_text(e.args[0]->type, e.type, args[0]) : apply_text(e, args);
}

std::string NestWriter::reduce(const ExprNode& e) {
  const std::string name = make_name('t'), type = is_long_sum(e) ? "double" : c_type(e.type);
  say(fmt::format("{} {} = {};", type, name, start_text(e)));
  for (const Axis& a : e.axes) open_loop(a, "0", text(a.extent));
  if (is_float(e.type) && !e.axes.empty()) say("IM_REORDER");
  const std::string condition = holds(e.domain);
  const std::string all = fmt::format("({}){}", type, value(e.args[0]));
  const std::string combined = combine_text(e.reduction, name, all);
  say(condition.empty() ? fmt::format("{} = {};", name, combined)
                        : fmt::format("{0} = {1} ? {2} : {0};", name, condition, combined));
  close_all(e.axes.size());
  return is_long_sum(e) ? fmt::format("(float){}", name) : name;
}

std::string NestWriter::look_up(const ExprNode& e) {
  const LookUp look = *as_look_up(e);
  const std::string at = value(look.at);
  may_fail_ = true;
  const Dim& extent = look.axis.extent;
  say(fmt::format("if (__builtin_expect((uint64_t)(int64_t){} >= {}, 0)) return 1;", at,
                  extent.is_concrete() ? text(extent) + "u" : fmt::format("(uint64_t)({})", text(extent))));
  define_axis(look.axis, fmt::format("(int64_t){}", at));
  return value(look.value);
}

void NestWriter::store(const std::string& stored) {
  const ElementType type = plan_.buffer(nest_.target).type;
  const std::string place =
      fmt::format("{}[{}]", pointer(nest_.target), text(address(nest_.target, nest_.at)));
  if (type == ElementType::Float16) say(fmt::format("{} = im_to_half({});", place, stored));
  else if (type == ElementType::BFloat16) say(fmt::format("{} = im_to_bfloat({});", place, stored));
  else say(fmt::format("{} = {};", place, stored));
}

}  // namespace isomer::lower
