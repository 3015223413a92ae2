#include <fmt/format.h>

#include "compiler/schedule/layout.h"
#include "compiler/schedule/reducer.h"
#include "compiler/schedule/tiler.h"

namespace isomer::lower {
namespace {

// Copies for a nest are made before the first strip of its group.
void put(std::vector<Nest>& out, Nest part, const Nest& whole) {
  auto at = out.end();
  if (whole.strip && !part.strip)
    while (at != out.begin() && std::prev(at)->strip && std::prev(at)->strip->group == whole.strip->group)
      --at;
  out.insert(at, std::move(part));
}

}  // namespace

Status schedule_nests(Plan& plan, AxisNumbers& numbers, Exactness exactness, const Schedules& own) {
  std::vector<Nest> out;
  Packing packing(plan, numbers);
  for (const Nest& nest : plan.nests) {
    std::optional<TileRequest> request;
    if (const auto lines = own.find(nest.name); lines != own.end()) {
      auto said = tile_request(lines->second);
      if (!said) return Error{fmt::format("{}: {}", nest.name, said.error().message)};
      request = *said;
    }
    auto parts = tile_nest(nest, packing, exactness, request);
    if (request && !parts)
      return Error{fmt::format("{}: tensorize: {}", nest.name,
                               request->winograd ? "it is no 3x3 convolution that Winograd's tiles fit"
                                                 : "it is no sum of products with such factors")};
    if (!parts) {
      for (Nest& part : with_ordered_loops(nest, packing)) out.push_back(std::move(part));
      continue;
    }
    for (Nest& part : *parts) {
      if (!part.tile && !part.winograd) reset_loops(part, plan);
      put(out, std::move(part), nest);
    }
  }
  plan.nests = std::move(out);
  return Done{};
}

}  // namespace isomer::lower
