#include "compiler/emit/nest_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/emit/dim_text.h"
#include "compiler/emit/thread_parts.h"

namespace isomer::lower {

NestWriter::NestWriter(const Plan& plan, const Nest& nest) : plan_(plan), nest_(nest) {
  blocks_.emplace_back();
  pointer(nest_.target);
}

std::string NestWriter::finish() {
  if (may_fail_) say("return 0;");
  ISOMER_CHECK(blocks_.size() == 1, "every block is closed");
  std::string begin;
  for (std::size_t k = 0; k < quotients_.size(); ++k)
    begin += fmt::format("  const int64_t q{} = {};\n", k, quotients_[k]);
  return begin + blocks_[0].text;
}

// ---- Blocks

void NestWriter::open(const std::string& head) { blocks_.push_back({.head = indent() + head + " {\n"}); }

void NestWriter::close(const std::string& end) {
  const Block inner = std::move(blocks_.back());
  blocks_.pop_back();
  blocks_.back().text += inner.head + inner.text + indent() + end + '\n';
  for (const ExprNode* e : inner.values) values_.erase(e);
}

void NestWriter::close_all(std::size_t count) {
  for (; count > 0; --count) close();
}

std::size_t NestWriter::block_of(const std::set<int>& axes) const {
  std::size_t block = 0;
  for (std::size_t k = 0; k < blocks_.size(); ++k)
    if (std::ranges::any_of(blocks_[k].axes, [&](int a) { return axes.contains(a); })) block = k;
  return block;
}

void NestWriter::say_in(std::size_t block, const std::string& line) {
  blocks_[block].text += std::string(2 * (block + 1), ' ') + line + '\n';
}

// ---- Axes

void NestWriter::open_loop(const Axis& axis, const std::string& from, const std::string& to,
                           const std::string& pragma) {
  const std::string name = name_of(axis);
  const bool is_strip = in_strips(nest_, axis);
  // A pragma stays with its loop, whatever is computed before it.
  const std::string before = pragma.empty() ? "" : pragma + '\n' + indent();
  open(before + fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", name, is_strip ? "from" : from,
                            is_strip ? "to" : to));
  note_axis(axis);
}

void NestWriter::open_loop(const Loop& loop) {
  open_loop(loop.axis, "0", text(loop.axis.extent), loop.kind == Loop::Kind::Unrolled ? "IM_UNROLL" : "");
}

void NestWriter::open_elements(const Axis& axis, const std::string& count) {
  const bool is_next = stride(address(nest_.target, nest_.at), axis) == 1;
  open((is_next ? "IM_VECTOR\n" + indent() : "") + fmt::format("for (int64_t n = 0; n < {}; ++n)", count));
}

std::size_t NestWriter::open_axis(const Axis& axis) {
  if (axis.extent.is(1)) {
    define_axis(axis, "0");
    return 0;
  }
  open_loop(axis, "0", text(axis.extent));
  return 1;
}

void NestWriter::define_axis(const Axis& axis, const std::string& value) {
  say(fmt::format("const int64_t {} = {};", name_of(axis), value));
  note_axis(axis);
}

void NestWriter::define_axes(bool with_reduced) {
  for (const AxisOfLoops& a : nest_.of) {
    if (a.is_reduced && !with_reduced) continue;
    if (a.index == Index(a.axis)) continue;
    define_axis(a.axis, text(a.index));
  }
}

std::string NestWriter::name_of(const Axis& axis) {
  const auto known = axis_names_.find(axis.id);
  if (known != axis_names_.end()) return known->second;
  return axis_names_[axis.id] = fmt::format("i{}", axis_names_.size());
}

// ---- Positions

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
    const std::int64_t scale = t.scale.value().value_or(1);
    const std::string times = t.scale.is_concrete() ? "" : fmt::format("({})*", text(t.scale));
    if (t.atom.kind == Index::AtomKind::Axis) {
      add(scale, times + name_of(t.atom.axis));
      continue;
    }
    const auto range = t.atom.inner->range();
    const bool is_natural = range && range->low.at_least(0) == true;
    const std::string inner = text(*t.atom.inner);
    const std::string divisor =
        t.atom.divisor.is_concrete() ? text(t.atom.divisor) : fmt::format("({})", text(t.atom.divisor));
    const bool is_floor = t.atom.kind == Index::AtomKind::Floor;
    add(scale, times + (is_natural ? fmt::format("(({}) {} {})", inner, is_floor ? "/" : "%", divisor)
                                   : fmt::format("{}({}, {})", is_floor ? "im_floor_div" : "im_floor_mod",
                                                 inner, divisor)));
  }
  if (index.offset().is_concrete()) add(index.offset().concrete(), "");
  else add(1, fmt::format("({})", text(index.offset())));
  return out.empty() ? "0" : out;
}

std::string NestWriter::text(const Dim& dim) {
  const auto number_in = [](std::vector<std::string>& known, std::string_view text) {
    auto at = std::ranges::find(known, text);
    if (at == known.end()) at = known.insert(known.end(), std::string(text));
    return at - known.begin();
  };
  return dim_text(
      dim, [&](std::string_view name) { return fmt::format("s{}", number_in(sizes_, name)); },
      [&](const std::string& call) { return fmt::format("q{}", number_in(quotients_, call)); });
}

std::string NestWriter::factor_text(const Dim& dim) {
  return dim.is_concrete() ? text(dim) : fmt::format("({})", text(dim));
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
  return address_of(plan_.buffer(buffer), at);
}

Domain NestWriter::asked_of(const ExprNode& e) const {
  Domain inside;
  for (std::size_t d = 0; d < e.at.size(); ++d)
    if (!stays_inside(plan_.buffer(e.tensor.number), d, e.at[d]))
      inside = both(std::move(inside), between(0, e.at[d], e.extents[d]));
  return inside;
}

}  // namespace isomer::lower
