#include "compiler/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "compiler/emit/dim_text.h"
#include "compiler/emit/emit_nest.h"
#include "compiler/emit/scalar_text.h"
#include "compiler/emit/thread_parts.h"
#include "compiler/loops/intrinsic.h"
#include "compiler/loops/open_sizes.h"

namespace isomer::lower {

std::string size_text(const Plan& plan, const Dim& dim) {
  return dim_text(dim, [&](std::string_view name) {
    const auto at = std::ranges::find(plan.sizes.open, name, &OpenSize::name);
    ISOMER_CHECK(at != plan.sizes.open.end(), "a size that no run is given");
    const auto number = at - plan.sizes.open.begin();
    return at->step == 1 ? fmt::format("sizes[{}]", number)
                         : fmt::format("(sizes[{}] / {})", number, at->step);
  });
}

namespace {

// Bytes of the workspace, from that one of a tensor on.
std::string memory_of(const Plan& plan, int buffer, const Dim& from) {
  const Storage& s = plan.buffer(buffer);
  if (!plan.sizes.is_empty()) {
    const auto place = std::ranges::find(plan.placed, buffer) - plan.placed.begin();
    return fmt::format("workspace + places[{}]{}", place, from.is(0) ? "" : " + " + size_text(plan, from));
  }
  const std::int64_t byte = from.concrete();
  if (!s.each_thread) return fmt::format("workspace + {}", s.offset + byte);
  return fmt::format("workspace + (thread == 0 ? {} : {} + (thread - 1) * {})", s.offset + byte,
                     plan.workspace + s.thread_offset + byte, plan.thread_workspace);
}

std::string place_of(const Plan& plan, int buffer) {
  const Storage& s = plan.buffer(buffer);
  const auto port = [&](const std::vector<Port>& ports) {
    for (std::size_t k = 0; k < ports.size(); ++k)
      if (ports[k].buffer == buffer) return k;
    ISOMER_UNREACHABLE("every input and output is a port");
  };
  const std::string type = stored_type(s.type);
  switch (s.kind) {
    case Storage::Kind::Input: return fmt::format("(const {}*)inputs[{}]", type, port(plan.inputs));
    case Storage::Kind::Output: return fmt::format("({}*)outputs[{}]", type, port(plan.outputs));
    case Storage::Kind::Weight: return fmt::format("(const {}*)(weights + {})", type, s.offset);
    case Storage::Kind::Local:
      return fmt::format("({}*)({})", type, memory_of(plan, buffer, origin(s) * Dim(stored_bytes(s.type))));
  }
  ISOMER_UNREACHABLE("a kind of storage");
}

// One row of a ring, with the zeros beside it.
std::string zero_row(const Plan& plan, int buffer, const Dim& row) {
  const Storage& s = plan.buffer(buffer);
  const Dim bytes = s.strides[s.ring_axis] * Dim(stored_bytes(s.type));
  if (row.is_concrete())
    return fmt::format("  memset({}, 0, {});\n",
                       memory_of(plan, buffer, Dim(row.concrete() % s.ring) * bytes), size_text(plan, bytes));
  return fmt::format("  memset({0} + ({1}) % {2} * ({3}), 0, {3});\n", memory_of(plan, buffer, 0),
                     size_text(plan, row), s.ring, size_text(plan, bytes));
}

// The zeros around a buffer, which its writers leave alone. Rows of a ring have theirs beside them, all of
// them; those before the first row are the first ones.
std::string border_of(const Plan& plan, int buffer) {
  const Storage& s = plan.buffer(buffer);
  std::vector<std::int64_t> low, high;
  std::vector<std::string> extent, stride;
  bool has_zeros = false;
  for (const int d : order_of(s, plan.sizes)) {
    const auto k = static_cast<std::size_t>(d);
    const bool is_ring = s.ring > 0 && k == s.ring_axis;
    if (s.extents[k].is(1) && s.low[k] + s.high[k] == 0 && !extent.empty()) continue;
    extent.push_back(size_text(plan, is_ring ? Dim(s.ring) : s.extents[k]));
    low.push_back(is_ring ? 0 : s.low[k]);
    high.push_back(is_ring ? 0 : s.high[k]);
    stride.push_back(size_text(plan, s.strides[k]));
    has_zeros = has_zeros || low.back() + high.back() > 0;
  }
  std::string out;
  if (has_zeros)
    out = fmt::format(
        "  {{\n    {}const int64_t extent[] = {{{}}}, low[] = {{{}}}, high[] = {{{}}}, stride[] = "
        "{{{}}};\n"
        "    im_border({}, {}, extent, low, high, stride);\n  }}\n",
        plan.sizes.is_empty() ? "static " : "", fmt::join(extent, ", "), fmt::join(low, ", "),
        fmt::join(high, ", "), fmt::join(stride, ", "), place_of(plan, buffer), extent.size());
  if (s.ring > 0)
    for (std::int64_t row = 0; row < s.low[s.ring_axis]; ++row) out += zero_row(plan, buffer, row);
  return out;
}

// C++ of a user's own.
std::string function_of(const Intrinsic& own) {
  std::string parameters = fmt::format("{}* {}", c_type(own.output.type), own.output.name);
  for (const Intrinsic::Port& p : own.inputs) {
    parameters += fmt::format(", const {}* {}", stored_type(p.type), p.name);
    for (std::size_t d = 0; d < p.extents.size(); ++d)
      parameters += fmt::format(", int64_t {}_{}", p.name, d);
  }
  return fmt::format("static inline __attribute__((unused)) void {}({}) {{{}\n}}\n", function_name(own),
                     parameters, own.code);
}

// Writes functions, each once, and what calls them.
class Emitter {
 public:
  Emitter(const Plan& plan, const std::string& prefix) : plan_(plan), prefix_(prefix) {}

  Emitted run() {
    for (const Intrinsic& own : plan_.intrinsics) out_.code += function_of(own);
    for (std::size_t n = 0; n < plan_.nests.size();) {
      const std::size_t length = strip_length(plan_, n);
      if (length > 0 && plan_.nests[n].strip->open) open_strips(n, length);
      else if (length > 0 && plan_.nests[n].strip->apart) strips_apart(n, length);
      else if (length > 0) strips(n, length);
      else whole(plan_.nests[n]);
      n += std::max<std::size_t>(1, length);
    }
    out_.code += fmt::format(
        "#if IM_SHARE == 0\nstatic int {}_all({}const void* const* inputs, void* const* outputs, char* "
        "workspace, const char* "
        "weights, im_team* team) {{\n"
        "  (void)inputs, (void)outputs, (void)workspace, (void)weights, (void)team;\n{}{}  return "
        "0;\n}}\n#endif\n",
        prefix_, plan_.sizes.is_empty() ? "" : "const int64_t* sizes, ", places(), calls_);
    return std::move(out_);
  }

 private:
  const Storage& target(const Nest& nest) const { return plan_.buffer(nest.target); }

  // Code that computes the sizes of this run.
  std::string places() const {
    if (plan_.sizes.is_empty()) return "";
    return fmt::format("  int64_t places[{}];\n  {}_places(sizes, places);\n", plan_.placed.size() + 1,
                       prefix_);
  }
  void border(const Nest& nest) {
    if (!target(nest).low.empty() && bordered_.insert(nest.target).second)
      calls_ += border_of(plan_, nest.target);
  }
  void whole(const Nest& nest) {
    const std::string call = call_of(nest);
    border(nest);
    calls_ += "  " + call;
  }
  // Strip by strip, what each has to do; zeros behind the last row, where that was written.
  void strips(std::size_t first, std::size_t length) {
    const std::size_t count = plan_.nests[first].strip->done.size();
    const std::string rows = done_table(first, length);
    std::string body;
    for (std::size_t n = 0; n < length; ++n) {
      const Nest& nest = plan_.nests[first + n];
      border(nest);
      body += "      " + call_of(nest, fmt::format("done[k][{}]", n), fmt::format("done[k + 1][{}]", n));
      const std::string zeros = zeros_behind(nest);
      if (zeros.empty()) continue;
      body += fmt::format("      if (done[k][{0}] < {1} && done[k + 1][{0}] == {1}) {{\n{2}      }}\n", n,
                          nest.strip->done.back(), zeros);
    }
    calls_ += fmt::format(
        "  {{\n    static const int64_t done[][{}] = {{{}}};\n    for (int64_t k = 0; k < {}; ++k) {{\n{}    "
        "}}\n  }}\n",
        length, rows, count, body);
  }

  // The same, where it is known at the sizes of this run how many strips there are.
  void open_strips(std::size_t first, std::size_t length) {
    std::string next, body;
    for (std::size_t n = 0; n < length; ++n) {
      const Nest& nest = plan_.nests[first + n];
      const Strip::Open& open = *nest.strip->open;
      const std::string all = size_text(plan_, nest.strip->rows.extent);
      border(nest);
      next += fmt::format("      next[{}] = k == strips ? {} : im_smaller({}, im_larger(0, {} * k + {}));\n",
                          n, all, all, open.step, open.offset);
      body += "      " + call_of(nest, fmt::format("done[{}]", n), fmt::format("next[{}]", n));
      if (const std::string zeros = zeros_behind(nest); !zeros.empty())
        body +=
            fmt::format("      if (done[{0}] < {1} && next[{0}] == {1}) {{\n{2}      }}\n", n, all, zeros);
    }
    calls_ += fmt::format(
        "  {{\n    const int64_t strips = {};\n    int64_t done[{}] = {{0}}, next[{}];\n    for (int64_t k = "
        "1; k "
        "<= strips; ++k) {{\n{}{}      memcpy(done, next, sizeof(done));\n    }}\n  }}\n",
        size_text(plan_, plan_.nests[first].strip->open->count), length, length, next, body);
  }

  // The same, where threads divide the rows of the last nest: of each strip, each does the rows that its own
  // ones need.
  void strips_apart(std::size_t first, std::size_t length) {
    const std::size_t count = plan_.nests[first].strip->done.size();
    const std::int64_t rows = plan_.nests[first + length - 1].strip->done.back();
    std::string borders, body;
    for (std::size_t n = 0; n < length; ++n) {
      const Nest& nest = plan_.nests[first + n];
      if (!target(nest).each_thread) border(nest);
      else if (!target(nest).low.empty()) borders += border_of(plan_, nest.target);
      body += fmt::format(
          "        from = done[k][{0}] > first[low][{0}] ? done[k][{0}] : first[low][{0}];\n"
          "        to = done[k + 1][{0}] < last[high][{0}] ? done[k + 1][{0}] : last[high][{0}];\n"
          "        if (from < to) {{\n          {1}        }}\n",
          n, call_of(nest, "from", "to"));
      if (const std::string zeros = zeros_behind(nest); !zeros.empty())
        body += fmt::format("        if (from < to && to == {}) {{\n{}        }}\n", nest.strip->done.back(),
                            zeros);
    }
    const auto needed = [&](Extents Strip::* which) {
      return table(first, length, static_cast<std::size_t>(rows) + 1,
                   [&](const Strip& s, std::size_t r) { return (s.*which)[r]; });
    };
    calls_ += fmt::format(
        "  {{\n    static const int64_t done[][{0}] = {{{1}}},\n      first[][{0}] = {{{2}}},\n      "
        "last[][{0}] = "
        "{{{3}}};\n    if (im_for(team, {4}, 1, [&](int64_t low, int64_t high, int64_t thread) {{\n"
        "      (void)thread;\n{5}      int64_t from, to;\n      for (int64_t k = 0; k < {6}; ++k) {{\n{7}    "
        "  "
        "}}\n      return 0;\n    }}) != 0) return 1;\n  }}\n",
        length, done_table(first, length), needed(&Strip::first), needed(&Strip::last), rows, borders, count,
        body);
  }
  // Rows of an array of C++, each of which has a number of every nest.
  template <class F>
  std::string table(std::size_t first, std::size_t length, std::size_t count, const F& number) const {
    std::string out;
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<std::int64_t> row;
      for (std::size_t n = first; n < first + length; ++n) row.push_back(number(*plan_.nests[n].strip, k));
      out += fmt::format("{}{{{}}}", k == 0 ? "" : ", ", fmt::join(row, ", "));
    }
    return out;
  }
  std::string done_table(std::size_t first, std::size_t length) const {
    return table(first, length, plan_.nests[first].strip->done.size() + 1,
                 [](const Strip& s, std::size_t k) { return k == 0 ? 0 : s.done[k - 1]; });
  }
  // Code that writes the zeros after the last row of a ring.
  std::string zeros_behind(const Nest& nest) const {
    const Storage& s = target(nest);
    std::string out;
    if (s.ring == 0 || s.low.empty()) return out;
    const Dim behind = s.extents[s.ring_axis] + Dim(s.low[s.ring_axis]);
    for (std::int64_t row = 0; row < s.high[s.ring_axis]; ++row)
      out += "      " + zero_row(plan_, nest.target, behind + Dim(row));
    return out;
  }

  // The function of a nest, unless an equal one exists, and its call. For a strip: rows from, to.
  std::string call_of(const Nest& nest, const std::string& from = {}, const std::string& to = {}) {
    const NestFunction function = emit_nest(plan_, nest);
    std::string parameters, arguments;
    for (std::size_t k = 0; k < function.buffers.size(); ++k) {
      const int buffer = function.buffers[k];
      const bool is_target = buffer == nest.target || (nest.winograd && buffer == nest.winograd->scratch);
      parameters += fmt::format("{}{}{}* __restrict p{}", k == 0 ? "" : ", ", is_target ? "" : "const ",
                                stored_type(plan_.buffer(buffer).type), k);
      arguments += (k == 0 ? "" : ", ") + place_of(plan_, buffer);
    }
    for (std::size_t k = 0; k < function.sizes.size(); ++k) {
      parameters += fmt::format(", int64_t s{}", k);
      arguments += ", " + size_text(plan_, Dim::symbol(function.sizes[k]));
    }
    if (nest.strip) {
      parameters += ", int64_t from, int64_t to";
      arguments += ", " + from + ", " + to;
    }
    if (is_shared(nest)) {
      parameters += ", int64_t low, int64_t high";
      arguments += ", low, high";
    }
    const std::string result = function.may_fail ? "int" : "void";
    const std::string text = fmt::format("({}) {{\n{}}}\n", parameters, function.body);
    auto [known, is_new] = functions_.try_emplace(result + text, "");
    if (is_new) {
      const std::size_t number = out_.functions++;
      known->second = fmt::format("{}_{}", prefix_, number);
      // A name must not become code: no line ends in it, nor a backslash that would join the next line.
      std::string title = nest.name;
      std::ranges::replace_if(title, [](char c) { return c < ' ' || c > '~' || c == '\\' || c == '?'; }, '.');
      const std::string head = fmt::format("IM_FUNCTION {} {}", result, known->second);
      out_.code += fmt::format("// {}\n#if IM_IN_SHARE({})\n{}{}#else\n{}({});\n#endif\n\n", title, number,
                               head, text, head, parameters);
    }
    std::string call = fmt::format("{}({})", known->second, arguments);
    if (is_shared(nest))
      call = fmt::format(
          "im_for(team, {}, {}, [&](int64_t low, int64_t high, int64_t thread) {{ {}{}; }})",
          part_count(plan_, nest, to + " - " + from, [&](const Dim& dim) { return size_text(plan_, dim); }),
          part_grain(nest), function.may_fail ? "return " : "",
          call + (function.may_fail ? "" : "; return 0"));
    return function.may_fail ? fmt::format("if ({} != 0) return 1;\n", call) : call + ";\n";
  }

  const Plan& plan_;
  const std::string& prefix_;
  Emitted out_;
  std::map<std::string, std::string> functions_;  // by what they say
  std::string calls_;
  std::set<int> bordered_;
};

}  // namespace

std::string emit_sizes(const Plan& plan, const std::string& prefix) {
  constexpr std::int64_t kAlignment = 64;
  std::vector<std::string> bytes, least, below, first{"0"};
  std::size_t count = 0;
  for (const int buffer : plan.placed) {
    const Storage& s = plan.buffer(buffer);
    bytes.push_back(fmt::format("({} + {}) / {} * {}", size_text(plan, byte_size(s)), kAlignment - 1,
                                kAlignment, kAlignment));
    for (const int low : s.below)
      below.push_back(fmt::format("{}", std::ranges::find(plan.placed, low) - plan.placed.begin()));
    count += s.below.size();
    first.push_back(fmt::format("{}", count));
  }
  for (std::size_t k = 0; k < plan.sizes.open.size(); ++k) {
    const OpenSize& size = plan.sizes.open[k];
    least.push_back(fmt::format("sizes[{}] >= {}", k, size.least * size.step));
    least.push_back(fmt::format("sizes[{}] <= {}", k,
                                size.most ? std::min(*size.most * size.step, kMostSize) : kMostSize));
    if (size.step > 1) least.push_back(fmt::format("sizes[{}] % {} == 0", k, size.step));
  }
  const auto shapes = [&](const std::vector<Port>& ports) {
    std::string out;
    for (std::size_t k = 0; k < ports.size(); ++k) {
      out += fmt::format("    case {}:\n", k);
      Dims extents = plan.buffer(ports[k].buffer).extents;
      if (ports[k].by_sample) extents[0] = Dim::symbol(plan.sizes.batch);
      for (std::size_t d = 0; d < extents.size(); ++d)
        out += fmt::format("      shape[{}] = {};\n", d, size_text(plan, extents[d]));
      out += fmt::format("      return {};\n", extents.size());
    }
    return out;
  };
  const auto list = [](const std::vector<std::string>& words) {
    return words.empty() ? "0" : fmt::format("{}", fmt::join(words, ", "));
  };
  return fmt::format(R"(
// Whether a run may have these sizes.
static inline int {0}_may_have(const int64_t* sizes) {{ return {1}; }}
// Where buffers lie in the workspace: each above those that live at the same time and are placed before it. The end of all.
static inline int64_t {0}_places(const int64_t* sizes, int64_t* places) {{
  const int64_t bytes[] = {{{2}}};
  static const int below[] = {{{3}}}, first[] = {{{4}}};
  int64_t end = 0;
  for (int k = 0; k < {5}; ++k) {{
    places[k] = 0;
    for (int i = first[k]; i < first[k + 1]; ++i) places[k] = im_larger(places[k], places[below[i]] + bytes[below[i]]);
    end = im_larger(end, places[k] + bytes[k]);
  }}
  return end;
}}
// Shapes, and their ranks; -1: there is no such port.
static inline int {0}_shape_in(const int64_t* sizes, int number, int64_t* shape) {{
  switch (number) {{
{6}    default: return -1;
  }}
}}
static inline int {0}_shape_out(const int64_t* sizes, int number, int64_t* shape) {{
  switch (number) {{
{7}    default: return -1;
  }}
}}
)",
                     prefix, fmt::join(least, " && "), list(bytes), list(below), list(first),
                     plan.placed.size(), shapes(plan.inputs), shapes(plan.outputs));
}

Emitted emit(const Plan& plan, const std::string& prefix) { return Emitter(plan, prefix).run(); }

}  // namespace isomer::lower
