#include "model/ops/shared/attribute.h"

#include <algorithm>

namespace isomer {

bool operator==(const RawAttribute& a, const RawAttribute& b) {
  return a.is_graph == b.is_graph && a.content() == b.content() &&
         std::ranges::equal(a.outside, b.outside,
                            [](const Tensor& x, const Tensor& y) { return x.same_bits(y); });
}

Attributes::Attributes(std::vector<Attribute> attributes) : all_(std::move(attributes)) {
  std::ranges::sort(all_, {}, &Attribute::name);
}

const Attribute::Value* Attributes::find(std::string_view name) const {
  const auto at =
      std::ranges::lower_bound(all_, name, {}, [](const Attribute& a) -> std::string_view { return a.name; });
  return at != all_.end() && at->name == name ? &at->value : nullptr;
}

void Attributes::set(std::string name, Attribute::Value value) {
  const auto at = std::ranges::lower_bound(all_, name, {}, &Attribute::name);
  if (at != all_.end() && at->name == name) at->value = std::move(value);
  else all_.insert(at, Attribute{std::move(name), std::move(value)});
}

}  // namespace isomer
