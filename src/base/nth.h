// An element by a signed number, as dimensions, ids and differences of iterators are.
#pragma once

#include <concepts>
#include <cstddef>

namespace isomer {

template <class List, std::integral Number>
constexpr decltype(auto) nth(List& list, Number k) {
  return list[static_cast<std::size_t>(k)];
}

}  // namespace isomer
