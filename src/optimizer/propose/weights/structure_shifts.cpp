#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/weights/structure.h"

namespace isomer {
namespace {

constexpr std::size_t kMostRuns = 32;
constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

// Neighbouring channels of the output that are neighbouring channels of the activation, seen through one tap.
struct Run {
  std::int64_t begin = 0, count = 0;  // of the output
  std::int64_t from = 0;              // of the activation
  Extents tap;
};

struct Shifts {
  std::vector<Run> runs;
  std::vector<float> scale;  // per channel
};

// nullopt: a channel of the output is more than one number of the activation, or none.
std::optional<Shifts> shifts_of(const Convolution& c, const Tensor& weights) {
  const bool is_single = c.w[1] == 1 && c.groups == c.channels;
  if (c.groups != 1 && !is_single) return std::nullopt;
  const std::span<const float> numbers = weights.as<float>();
  const auto per_channel = static_cast<std::size_t>(weights.count() / c.channels);
  Shifts out;
  for (std::int64_t k = 0; k < c.channels; ++k) {
    const auto row = numbers.subspan(static_cast<std::size_t>(k) * per_channel, per_channel);
    const auto is_number = [](float v) { return v != 0; };
    const auto at = std::ranges::find_if(row, is_number);
    if (at == row.end() || std::any_of(at + 1, row.end(), is_number)) return std::nullopt;
    out.scale.push_back(*at);
    Run next{.begin = k, .count = 1, .tap = Extents(c.kernel.size(), 0)};
    auto place = static_cast<std::int64_t>(at - row.begin());
    for (std::size_t d = c.kernel.size(); d-- > 0; place /= c.kernel[d]) next.tap[d] = place % c.kernel[d];
    next.from = is_single ? k : place;
    if (!out.runs.empty() && out.runs.back().tap == next.tap &&
        next.from == out.runs.back().from + out.runs.back().count)
      ++out.runs.back().count;
    else out.runs.push_back(std::move(next));
    if (out.runs.size() > kMostRuns) return std::nullopt;
  }
  return out;
}

class Shifting {
 public:
  Shifting(const Site& site, const ProductSum& product, const Convolution& c)
      : site_(site), p_(product), c_(c), claim_(site, product) {}

  std::optional<Proposal> propose(const Shifts& s) {
    ProgramBuilder &a = claim_.after, &f = claim_.fact;
    Value x = claim_.x();
    if (std::ranges::any_of(c_.pads, [](std::int64_t p) { return p != 0; })) {
      std::vector<std::int64_t> pads{0, 0};
      pads.insert(pads.end(), c_.pads.begin(),
                  c_.pads.begin() + static_cast<std::ptrdiff_t>(c_.kernel.size()));
      pads.insert(pads.end(), {0, 0});
      pads.insert(pads.end(), c_.pads.begin() + static_cast<std::ptrdiff_t>(c_.kernel.size()), c_.pads.end());
      x = a.op("Pad", {x, a.integers(pads)});
    }
    // Strided slices are slower than blocks that become channels.
    const auto block_size = size_of_blocks();
    if (block_size) x = a.op("SpaceToDepth", {x}, with({{"blocksize", *block_size}}));
    std::vector<Value> parts, blocks;
    for (const Run& run : s.runs) {
      parts.push_back(block_size ? channels(x, run, *block_size) : part(x, run));
      blocks.push_back(block(run));
    }
    Value y = parts.size() == 1 ? parts[0] : a.concat(parts, 1);
    Value w = blocks.size() == 1 ? blocks[0] : f.concat(blocks, 0);
    if (std::ranges::any_of(s.scale, [](float v) { return v != 1; })) {
      Extents here(c_.kernel.size() + 1, 1), there(c_.kernel.size() + 2, 1);
      here[0] = there[0] = c_.channels;
      y = a.op("Mul", {y, a.constant(Tensor::of(ElementType::Float, here, s.scale))});
      w = f.op("Mul", {w, f.constant(Tensor::of(ElementType::Float, there, s.scale))});
    }
    return claim_.finish(fmt::format("{} moves {} parts", label(site_.node(p_.id)), parts.size()),
                         claim_.with_bias(y), w);
  }

 private:
  // For a square kernel that moves by its own size.
  std::optional<std::int64_t> size_of_blocks() const {
    const std::int64_t size = c_.strides[0];
    const Dims& x = *site_.inference.of(p_.x).shape;
    const bool is_plain = c_.kernel == Extents{size, size} && c_.strides == c_.kernel &&
                          c_.pads == Extents(4, 0) && c_.dilations == Extents(2, 1);
    if (!is_plain || size < 2) return std::nullopt;
    for (const std::size_t d : {2, 3})
      if (!x[d].is_concrete() || x[d].concrete() % size != 0) return std::nullopt;
    return size;
  }
  Value channels(Value x, const Run& run, std::int64_t block_size) {
    const std::int64_t all = (*site_.inference.of(p_.x).shape)[1].concrete();
    const std::int64_t from = (run.tap[0] * block_size + run.tap[1]) * all + run.from;
    return claim_.after.slice(x, 1, from, from + run.count);
  }

  // The values that the tap reads while the kernel moves.
  Value part(Value x, const Run& run) {
    std::vector<std::int64_t> begin, end, axes, steps;
    const auto cut = [&](std::size_t axis, std::int64_t from, std::int64_t to, std::int64_t step) {
      if (from == 0 && to == kToTheEnd && step == 1) return;
      begin.push_back(from);
      end.push_back(to);
      axes.push_back(static_cast<std::int64_t>(axis));
      steps.push_back(step);
    };
    const bool is_whole = (*site_.inference.of(p_.x).shape)[1].is(run.count);
    if (!is_whole) cut(1, run.from, run.from + run.count, 1);
    for (std::size_t d = 0; d < c_.kernel.size(); ++d) {
      const std::int64_t behind = (c_.kernel[d] - 1 - run.tap[d]) * c_.dilations[d];
      cut(d + 2, run.tap[d] * c_.dilations[d], behind == 0 ? kToTheEnd : -behind, c_.strides[d]);
    }
    ProgramBuilder& a = claim_.after;
    if (axes.empty()) return x;
    return a.op("Slice", {x, a.integers(begin), a.integers(end), a.integers(axes), a.integers(steps)});
  }

  // Its weights: ones at this tap, where the channels meet.
  Value block(const Run& run) {
    ProgramBuilder& f = claim_.fact;
    Value ones = f.zeros({run.count, c_.w[1]});
    if (c_.w[1] == 1 && c_.groups != 1)
      ones = f.op("Expand", {f.constant(Tensor::of(ElementType::Float, {1, 1}, std::vector<float>{1})),
                             f.integers({run.count, 1})});
    else ones = f.op("EyeLike", {ones}, with({{"k", run.from}}));
    Extents shape = c_.w, pads(2 * c_.w.size(), 0);
    shape[0] = run.count;
    for (std::size_t d = 0; d < c_.kernel.size(); ++d) {
      shape[d + 2] = 1;
      pads[d + 2] = run.tap[d];
      pads[c_.w.size() + d + 2] = c_.kernel[d] - 1 - run.tap[d];
    }
    return f.op("Pad", {f.reshape(ones, shape), f.integers(pads)});
  }

  const Site& site_;
  const ProductSum& p_;
  const Convolution& c_;
  StructureClaim claim_;
};

}  // namespace

bool propose_shifts(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                    Proposals& out) {
  const auto c = structure.has_zeros() ? convolution_at(site, product.id) : std::nullopt;
  if (!c) return false;
  const auto shifts = shifts_of(*c, structure.tensor());
  if (!shifts) return false;
  out.add(Shifting(site, product, *c).propose(*shifts));
  return true;
}

}  // namespace isomer
