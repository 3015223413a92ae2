#include "compiler/emit/dim_text.h"

#include <fmt/format.h>

#include "base/check.h"

namespace isomer::lower {
namespace {

using Names = std::function<std::string(std::string_view)>;
using Calls = std::function<std::string(std::string)>;

std::string factor_text(const Dim::Factor& f, const Names& name, const Calls& call) {
  const auto of_two = [&](const char* function) {
    return call(fmt::format("{}({}, {})", function, dim_text(f.a, name, call), dim_text(f.b, name, call)));
  };
  switch (f.kind) {
    case Dim::Factor::Kind::Symbol: return name(f.symbol);
    case Dim::Factor::Kind::Floor: return of_two("im_quotient");
    case Dim::Factor::Kind::Max: return of_two("im_larger");
    case Dim::Factor::Kind::Min: return of_two("im_smaller");
  }
  ISOMER_UNREACHABLE("a kind of factor");
}

}  // namespace

std::string dim_text(const Dim& dim, const Names& name, const Calls& call) {
  if (const auto known = dim.value()) return fmt::format("{}", *known);
  std::string out;
  for (const Dim::Summand& s : dim.summands()) {
    const bool is_negative = s.coefficient < 0;
    const std::int64_t size = is_negative ? -s.coefficient : s.coefficient;
    std::string term = size == 1 && !s.factors.empty() ? "" : fmt::format("{}", size);
    for (const Dim::Factor& f : s.factors) term += (term.empty() ? "" : "*") + factor_text(f, name, call);
    out += out.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
    out += term;
  }
  return out;
}

}  // namespace isomer::lower
