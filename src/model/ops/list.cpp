#include "model/ops/list.h"

#include <algorithm>
#include <array>

#include "model/ops/operator.h"

namespace isomer {

namespace ops {
#define ISOMER_DECLARE(op) extern const Operator k##op;
ISOMER_OPERATORS(ISOMER_DECLARE)
#undef ISOMER_DECLARE
}  // namespace ops

std::span<const Operator* const> all_operators() {
#define ISOMER_ADDRESS(op) &ops::k##op,
  static const std::array all{ISOMER_OPERATORS(ISOMER_ADDRESS)};
#undef ISOMER_ADDRESS
  return all;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const auto all = all_operators();
  const auto at =
      std::ranges::find_if(all, [&](const Operator* op) { return op->name == name && op->domain == domain; });
  return at == all.end() ? nullptr : *at;
}

}  // namespace isomer
