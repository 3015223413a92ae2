#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/integer_program.h"
#include "compiler/loops/compose.h"
#include "compiler/schedule/layout.h"
#include "model/expr/reads.h"

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
  // A buffer used by nests that run in turns lives until all of them are done.
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

std::int64_t peak(const std::vector<Block>& blocks, const std::vector<std::int64_t>& places) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) out = std::max(out, places[k] + blocks[k].bytes);
  return out;
}

std::int64_t least_peak(const std::vector<Block>& blocks) {
  std::int64_t out = 0;
  for (const Block& begin : blocks) {
    std::int64_t together = 0;
    for (const Block& b : blocks)
      if (b.first <= begin.first && b.last >= begin.first) together += b.bytes;
    out = std::max(out, together);
  }
  return out;
}

std::vector<std::int64_t> placed_greedily(const std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) { return blocks[k].bytes; });
  std::vector<std::int64_t> places(blocks.size(), 0);
  std::vector<std::size_t> placed;
  for (const std::size_t k : order) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const std::size_t other : placed)
      if (blocks[other].lives_with(blocks[k]))
        taken.emplace_back(places[other], places[other] + blocks[other].bytes);
    std::ranges::sort(taken);
    for (const auto& [from, to] : taken) {
      if (places[k] + blocks[k].bytes <= from) break;
      places[k] = std::max(places[k], to);
    }
    placed.push_back(k);
  }
  return places;
}

// For each pair that lives at the same time, a variable states which is below; places and the peak are
// numbers. The solver gives an order, and places are computed from that, in integers.
std::optional<std::vector<std::int64_t>> placed_exactly(const std::vector<Block>& blocks,
                                                        std::int64_t known_peak, double seconds) {
  const std::size_t n = blocks.size();
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b)
      if (blocks[a].lives_with(blocks[b])) pairs.emplace_back(a, b);
  const auto whole = static_cast<double>(known_peak);
  const auto size = [&](std::size_t k) { return static_cast<double>(blocks[k].bytes) / whole; };
  IntegerProgram program;
  program.reals = n + 1;
  program.costs.assign(pairs.size() + n, 0);
  program.costs.push_back(1);
  const auto place = [&](std::size_t k) { return static_cast<int>(pairs.size() + k); };
  const int top = place(n);
  constexpr double kAny = 1e30;
  for (std::size_t k = 0; k < n; ++k)
    program.rows.push_back({.terms = {{top, 1}, {place(k), -1}}, .least = size(k), .most = kAny});
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [a, b] = pairs[p];
    const int below = static_cast<int>(p);  // 1: a is below b
    program.rows.push_back(
        {.terms = {{place(b), 1}, {place(a), -1}, {below, -1}}, .least = size(a) - 1, .most = kAny});
    program.rows.push_back(
        {.terms = {{place(a), 1}, {place(b), -1}, {below, 1}}, .least = size(b), .most = kAny});
  }
  program.rows.push_back(
      {.terms = {{top, 1}}, .least = static_cast<double>(least_peak(blocks)) / whole, .most = 1});
  const auto answer = solved(program, seconds);
  if (!answer) return std::nullopt;
  std::vector<std::int64_t> places(n, 0);
  for (std::size_t round = 0; round <= n; ++round) {
    bool moved = false;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const auto [a, b] = pairs[p];
      const std::size_t low = (*answer)[p] ? a : b, high = (*answer)[p] ? b : a;
      const std::int64_t least = places[low] + blocks[low].bytes;
      if (places[high] >= least) continue;
      places[high] = least;
      moved = true;
    }
    if (!moved) return places;
  }
  return std::nullopt;  // an order that goes round
}

// Sizes are open: what lies above what at usual sizes does so at all.
static void order_places(Plan& plan, const std::vector<int>& buffers, const std::vector<Block>& blocks,
                         const std::vector<std::int64_t>& places) {
  std::vector<std::size_t> order(buffers.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return places[k]; });
  for (auto high = order.begin(); high != order.end(); ++high) {
    plan.placed.push_back(buffers[*high]);
    for (auto low = order.begin(); low != high; ++low)
      if (blocks[*low].lives_with(blocks[*high])) plan.buffer(buffers[*high]).below.push_back(buffers[*low]);
  }
}

// Large ones first, each at the lowest place that is free while it lives; if that exceeds the peak of live
// bytes, and there are few, an exact plan is computed.
void place_buffers(Plan& plan) {
  constexpr std::size_t kMostBlocks = 80;
  constexpr double kSeconds = 20;
  const auto lives = lifetimes(plan);
  plan.weights = 0;
  std::vector<int> buffers;
  std::vector<Block> blocks;
  for (const auto& [buffer, life] : lives) {
    Storage& s = plan.buffer(buffer);
    const std::int64_t bytes = aligned(plan.sizes.usual(byte_size(s)));
    if (s.kind == Storage::Kind::Local) {
      buffers.push_back(buffer);
      blocks.push_back({.bytes = bytes, .first = life.first, .last = life.last});
    }
    if (s.kind != Storage::Kind::Weight) continue;
    s.offset = plan.weights;
    plan.weights += bytes;
  }
  std::vector<std::int64_t> places = placed_greedily(blocks);
  plan.workspace = plan.greedy_workspace = peak(blocks, places);
  plan.least_workspace = least_peak(blocks);
  if (plan.workspace > plan.least_workspace && blocks.size() <= kMostBlocks && plan.has_values)
    if (auto exact = placed_exactly(blocks, plan.workspace, kSeconds);
        exact && peak(blocks, *exact) < plan.workspace) {
      places = std::move(*exact);
      plan.workspace = peak(blocks, places);
    }
  if (!plan.sizes.is_empty()) order_places(plan, buffers, blocks, places);
  std::vector<Storage*> own;  // of each thread
  std::vector<Block> own_blocks;
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    Storage& s = plan.buffer(buffers[k]);
    s.offset = places[k];
    if (!s.each_thread) continue;
    own.push_back(&s);
    own_blocks.push_back(blocks[k]);
  }
  places = placed_greedily(own_blocks);
  plan.thread_workspace = peak(own_blocks, places);
  for (std::size_t k = 0; k < own.size(); ++k) own[k]->thread_offset = places[k];
}

}  // namespace isomer::lower
