#include <algorithm>
#include <map>

#include "expr/reads.h"
#include "lower/compose.h"
#include "lower/layout.h"

namespace isomer::lower {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Lifetime {
  std::size_t first = SIZE_MAX, last = 0;  // numbers of nests
};

std::map<int, Lifetime> lifetimes(const Plan& plan) {
  std::map<int, Lifetime> out;
  const auto use = [&](int buffer, std::size_t n) {
    Lifetime& life = out[buffer];
    life.first = std::min(life.first, n);
    life.last = std::max(life.last, n);
  };
  for (std::size_t n = 0; n < plan.nests.size(); ++n) {
    const Nest& nest = plan.nests[n];
    use(nest.target, n);
    std::vector<Axis> reduced;
    // Weights that a kernel has in an order of its own are needed in no other.
    const bool is_kernel = nest.tile || nest.winograd;
    const Expr value =
        is_kernel ? with_part(nest.value, nest.reduction, number(nest.reduction->type, 0)) : nest.value;
    for_each_read(*value, reduced,
                  [&](const ExprNode& e, const std::vector<Axis>&) { use(e.tensor.number, n); });
    if (nest.tile)
      for (const int b : {nest.tile->left, nest.tile->right}) use(b, n);
    if (nest.winograd)
      for (const int b :
           {nest.winograd->left, nest.winograd->weights, nest.winograd->zeros, nest.winograd->scratch})
        use(b, n);
  }
  // What nests that run in turns use lives until all of them are done.
  for (std::size_t n = 0; n < plan.nests.size();) {
    const std::size_t length = strip_length(plan, n);
    for (auto& [buffer, life] : out) {
      if (length == 0 || life.first >= n + length || life.last < n) continue;
      life.first = std::min(life.first, n);
      life.last = std::max(life.last, n + length - 1);
    }
    n += std::max<std::size_t>(1, length);
  }
  return out;
}

}  // namespace

// Large ones first, each at the lowest place that nobody who lives at the same time has.
void place_buffers(Plan& plan) {
  const auto lives = lifetimes(plan);
  std::vector<int> order;
  plan.weights = plan.workspace = 0;
  for (const auto& [buffer, life] : lives) {
    Storage& s = plan.buffers[static_cast<std::size_t>(buffer)];
    if (s.kind == Storage::Kind::Local) order.push_back(buffer);
    if (s.kind != Storage::Kind::Weight) continue;
    s.offset = plan.weights;
    plan.weights += aligned(s.size * stored_bytes(s.type));
  }
  const auto bytes = [&](int b) {
    const Storage& s = plan.buffers[static_cast<std::size_t>(b)];
    return aligned(s.size * stored_bytes(s.type));
  };
  std::ranges::stable_sort(order, [&](int a, int b) { return bytes(a) > bytes(b); });
  std::vector<int> placed;
  for (const int buffer : order) {
    const Lifetime& life = lives.at(buffer);
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const int other : placed) {
      const Lifetime& its = lives.at(other);
      if (its.last < life.first || life.last < its.first) continue;
      const std::int64_t from = plan.buffers[static_cast<std::size_t>(other)].offset;
      taken.emplace_back(from, from + bytes(other));
    }
    std::ranges::sort(taken);
    std::int64_t at = 0;
    for (const auto& [from, to] : taken) {
      if (at + bytes(buffer) <= from) break;
      at = std::max(at, to);
    }
    plan.buffers[static_cast<std::size_t>(buffer)].offset = at;
    plan.workspace = std::max(plan.workspace, at + bytes(buffer));
    placed.push_back(buffer);
  }
}

}  // namespace isomer::lower
