#include "lower/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "lower/emit_nest.h"

namespace isomer::lower {
namespace {

std::string place_of(const Plan& plan, int buffer) {
  const Storage& s = plan.buffers[static_cast<std::size_t>(buffer)];
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
      return fmt::format("({}*)(workspace + {})", type, s.offset + origin(s) * stored_bytes(s.type));
  }
  ISOMER_UNREACHABLE("a kind of storage");
}

// The zeros around a buffer, which its writers leave alone.
std::string border_of(const Plan& plan, int buffer) {
  const Storage& s = plan.buffers[static_cast<std::size_t>(buffer)];
  std::vector<std::int64_t> extent, low, high, stride;
  for (const int d : order_of(s)) {
    const auto k = static_cast<std::size_t>(d);
    if (s.extents[k] == 1 && s.low[k] + s.high[k] == 0 && !extent.empty()) continue;
    extent.push_back(s.extents[k]);
    low.push_back(s.low[k]);
    high.push_back(s.high[k]);
    stride.push_back(s.strides[k]);
  }
  return fmt::format(
      "  {{\n    static const int64_t extent[] = {{{}}}, low[] = {{{}}}, high[] = {{{}}}, stride[] = "
      "{{{}}};\n"
      "    im_border({}, {}, extent, low, high, stride);\n  }}\n",
      fmt::join(extent, ", "), fmt::join(low, ", "), fmt::join(high, ", "), fmt::join(stride, ", "),
      place_of(plan, buffer), extent.size());
}

}  // namespace

Emitted emit(const Plan& plan, const std::string& prefix) {
  Emitted out;
  std::map<std::string, std::string> functions;  // by what they say
  std::string calls;
  std::set<int> bordered;
  for (const Nest& nest : plan.nests) {
    NestWriter writer(plan, nest);
    const std::string body = writer.body();
    std::string parameters, arguments;
    for (std::size_t k = 0; k < writer.buffers().size(); ++k) {
      const int buffer = writer.buffers()[k];
      const bool is_target = buffer == nest.target || (nest.winograd && buffer == nest.winograd->scratch);
      parameters += fmt::format("{}{}{}* __restrict p{}", k == 0 ? "" : ", ", is_target ? "" : "const ",
                                stored_type(plan.buffers[static_cast<std::size_t>(buffer)].type), k);
      arguments += (k == 0 ? "" : ", ") + place_of(plan, buffer);
    }
    if (!plan.buffers[static_cast<std::size_t>(nest.target)].low.empty() &&
        bordered.insert(nest.target).second)
      calls += border_of(plan, nest.target);
    const std::string result = writer.may_fail() ? "int" : "void";
    const std::string text = fmt::format("({}) {{\n{}}}\n", parameters, body);
    auto [known, is_new] = functions.try_emplace(result + text, "");
    if (is_new) {
      known->second = fmt::format("{}_{}", prefix, out.functions++);
      // A name must not become code: no line ends in it, nor a backslash that would join the next line.
      std::string title = nest.name;
      std::ranges::replace_if(title, [](char c) { return c < ' ' || c > '~' || c == '\\' || c == '?'; }, '.');
      out.code += fmt::format("// {}\nstatic __attribute__((noinline)) {} {}{}\n", title, result,
                              known->second, text);
    }
    calls += writer.may_fail() ? fmt::format("  if ({}({}) != 0) return 1;\n", known->second, arguments)
                               : fmt::format("  {}({});\n", known->second, arguments);
  }
  out.code += fmt::format(
      "static int {}_all(const void* const* inputs, void* const* outputs, char* workspace, const char* "
      "weights) {{\n"
      "  (void)inputs, (void)outputs, (void)workspace, (void)weights;\n{}  return 0;\n}}\n",
      prefix, calls);
  return out;
}

}  // namespace isomer::lower
