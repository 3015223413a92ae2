#include "equate/moved_constant.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "model/graph/program_builder.h"

namespace isomer {
namespace {

constexpr std::size_t kMostBlocks = 96;  // pieces that a constant is put together of
constexpr int kMostSmall = 4;            // pieces of a few numbers: more of them are coincidences
constexpr std::size_t kMostPlaces = 48;  // at which one number is looked for
constexpr std::int64_t kMostElements = 1 << 26;
constexpr std::int64_t kMostTimes = 64;  // largest factor by which numbers are repeated

Extents strides_of(const Extents& extents) {
  Extents out(extents.size(), 1);
  for (std::size_t d = extents.size(); d-- > 1;) out[d - 1] = out[d] * extents[d];
  return out;
}

// A tensor of 32-bit floats as bits, in some shape.
struct Numbers {
  std::span<const std::uint32_t> bits;
  Extents extents, strides;
  Numbers(std::span<const std::uint32_t> given, Extents shape)
      : bits(given), extents(std::move(shape)), strides(strides_of(extents)) {}
  std::size_t rank() const { return extents.size(); }
};

// wanted[low + i] = source[from + step · i], i < size; `axis[d]` is the source's axis that d runs along, or
// -1.
struct Block {
  std::size_t source = 0;
  Extents low, size, from;         // from: per axis of the source
  std::vector<int> axis;           // per axis of the wanted tensor
  std::vector<std::int64_t> step;  // likewise
  std::int64_t volume() const { return element_count(size).value(); }
};

class Finder {
 public:
  Finder(const Numbers& wanted, const std::vector<Numbers>& sources, bool is_own_shape)
      : wanted_(wanted), sources_(sources), is_own_shape_(is_own_shape) {}
  std::optional<std::vector<Block>> find();
  // Whether its numbers are not the sources', in whatever shape.
  bool is_hopeless() const { return is_hopeless_; }

 private:
  std::optional<Block> best_at(std::int64_t seed);
  Block grown(std::int64_t seed, std::size_t source, std::int64_t place) const;
  void choose_step(Block& block, std::int64_t seed, std::int64_t place, std::size_t d) const;
  bool slab_is_equal(const Block& block, std::size_t d) const;
  void cover(const Block& block);

  const Numbers& wanted_;
  const std::vector<Numbers>& sources_;
  std::vector<bool> covered_;
  bool is_own_shape_;
  std::size_t last_source_ = 0;
  bool is_hopeless_ = false;
};

bool is_zero(std::uint32_t bits) { return (bits & 0x7fffffffu) == 0; }

Extents position_of(std::int64_t linear, const Numbers& n) {
  Extents out(n.rank());
  for (std::size_t d = 0; d < n.rank(); ++d) {
    out[d] = linear / n.strides[d];
    linear %= n.strides[d];
  }
  return out;
}

// The axis and step along which the source continues as the wanted tensor does along axis d.
void Finder::choose_step(Block& block, std::int64_t seed, std::int64_t place, std::size_t d) const {
  if (block.low[d] + 1 >= wanted_.extents[d]) return;
  const std::uint32_t next = wanted_.bits[static_cast<std::size_t>(seed + wanted_.strides[d])];
  if (is_zero(next)) return;
  const Numbers& source = sources_[block.source];
  for (std::size_t back = source.rank(); back-- > 0;) {
    if (std::ranges::find(block.axis, static_cast<int>(back)) != block.axis.end()) continue;
    const std::int64_t here = block.from[back], extent = source.extents[back];
    for (std::int64_t distance = 1; distance < extent; ++distance)
      for (const std::int64_t step : {distance, -distance}) {
        if (here + step < 0 || here + step >= extent) continue;
        if (source.bits[static_cast<std::size_t>(place + step * source.strides[back])] != next) continue;
        block.axis[d] = static_cast<int>(back);
        block.step[d] = step;
        return;
      }
  }
}

// Whether the block may be one longer along axis d.
bool Finder::slab_is_equal(const Block& block, std::size_t d) const {
  const Numbers& source = sources_[block.source];
  const auto a = static_cast<std::size_t>(block.axis[d]);
  const std::int64_t end = block.low[d] + block.size[d],
                     reach = block.from[a] + block.step[d] * block.size[d];
  if (end >= wanted_.extents[d] || reach < 0 || reach >= source.extents[a]) return false;
  std::int64_t w = 0, s = 0;
  for (std::size_t k = 0; k < wanted_.rank(); ++k) w += block.low[k] * wanted_.strides[k];
  for (std::size_t k = 0; k < source.rank(); ++k) s += block.from[k] * source.strides[k];
  w += block.size[d] * wanted_.strides[d];
  s += block.step[d] * block.size[d] * source.strides[a];
  Extents at(wanted_.rank(), 0);
  const auto source_stride = [&](std::size_t k) {
    return block.axis[k] < 0 ? 0 : block.step[k] * source.strides[static_cast<std::size_t>(block.axis[k])];
  };
  while (true) {
    if (wanted_.bits[static_cast<std::size_t>(w)] != source.bits[static_cast<std::size_t>(s)]) return false;
    std::size_t k = wanted_.rank();
    while (k-- > 0) {
      if (k == d) continue;
      w += wanted_.strides[k];
      s += source_stride(k);
      if (++at[k] < block.size[k]) break;
      w -= at[k] * wanted_.strides[k];
      s -= at[k] * source_stride(k);
      at[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return true;
  }
}

Block Finder::grown(std::int64_t seed, std::size_t source, std::int64_t place) const {
  Block block{.source = source,
              .low = position_of(seed, wanted_),
              .size = Extents(wanted_.rank(), 1),
              .from = position_of(place, sources_[source]),
              .axis = std::vector<int>(wanted_.rank(), -1),
              .step = std::vector<std::int64_t>(wanted_.rank(), 0)};
  for (std::size_t d = wanted_.rank(); d-- > 0;) {
    choose_step(block, seed, place, d);
    if (block.axis[d] < 0) continue;
    while (slab_is_equal(block, d)) ++block.size[d];
    if (block.size[d] == 1) block.axis[d] = -1;
  }
  return block;
}

std::optional<Block> Finder::best_at(std::int64_t seed) {
  const std::uint32_t number = wanted_.bits[static_cast<std::size_t>(seed)];
  std::optional<Block> best;
  std::size_t places = 0;
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    const std::size_t source = (last_source_ + k) % sources_.size();
    const auto& bits = sources_[source].bits;
    for (auto at = std::ranges::find(bits, number); at != bits.end();
         at = std::find(at + 1, bits.end(), number)) {
      Block block = grown(seed, source, at - bits.begin());
      if (!best || block.volume() > best->volume()) best = std::move(block);
      if (++places >= kMostPlaces) return best;
    }
    // A run of this many equal numbers is no coincidence.
    if (best && best->volume() >= 16) break;
  }
  return best;
}

void Finder::cover(const Block& block) {
  Extents at(wanted_.rank(), 0);
  std::int64_t w = 0;
  for (std::size_t k = 0; k < wanted_.rank(); ++k) w += block.low[k] * wanted_.strides[k];
  while (true) {
    covered_[static_cast<std::size_t>(w)] = true;
    std::size_t k = wanted_.rank();
    while (k-- > 0) {
      w += wanted_.strides[k];
      if (++at[k] < block.size[k]) break;
      w -= at[k] * wanted_.strides[k];
      at[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return;
  }
}

std::optional<std::vector<Block>> Finder::find() {
  covered_.assign(wanted_.bits.size(), false);
  int small = 0;
  const std::int64_t few = std::min<std::int64_t>(8, static_cast<std::int64_t>(wanted_.bits.size()) / 8);
  std::vector<Block> out;
  for (std::size_t i = 0; i < wanted_.bits.size(); ++i) {
    if (covered_[i] || is_zero(wanted_.bits[i])) continue;
    if (out.size() == kMostBlocks) return std::nullopt;
    auto block = best_at(static_cast<std::int64_t>(i));
    // A whole source that occurs, however small, is no coincidence.
    const bool is_small = block && block->volume() <= few &&
                          (block->volume() < 4 || block->volume() < std::ssize(sources_[block->source].bits));
    if (!block || (is_small && ++small > kMostSmall)) {
      // Only coincidences were found in its own shape: another shape does not help.
      is_hopeless_ = !block || (is_own_shape_ && static_cast<std::size_t>(small) > out.size());
      return std::nullopt;
    }
    last_source_ = block->source;
    cover(*block);
    out.push_back(std::move(*block));
  }
  return out;
}

// Puts blocks together: concatenations where the box can be cut between blocks, zeros around the rest.
class Assembler {
 public:
  Assembler(ProgramBuilder& b, const std::vector<Block>& blocks, const std::vector<Numbers>& sources,
            std::vector<Value> values)
      : b_(b), blocks_(blocks), sources_(sources), values_(std::move(values)) {}

  std::optional<Value> box(const Extents& low, const Extents& high, const std::vector<std::size_t>& inside) {
    Extents size(low.size());
    for (std::size_t d = 0; d < low.size(); ++d) size[d] = high[d] - low[d];
    if (inside.empty()) return b_.op("ConstantOfShape", {b_.integers(size)});
    if (inside.size() == 1) {
      const Block& block = blocks_[inside[0]];
      std::vector<std::int64_t> pads, after;
      bool padded = false;
      for (std::size_t d = 0; d < low.size(); ++d) {
        pads.push_back(block.low[d] - low[d]);
        after.push_back(high[d] - block.low[d] - block.size[d]);
        padded = padded || pads[d] != 0 || after[d] != 0;
      }
      pads.insert(pads.end(), after.begin(), after.end());
      const Value cut = cut_out(block);
      return padded ? b_.op("Pad", {cut, b_.integers(pads)}) : cut;
    }
    for (std::size_t d = 0; d < low.size(); ++d)
      if (auto made = along(d, low, high, inside)) return made;
    return std::nullopt;
  }

 private:
  std::optional<Value> along(std::size_t d, const Extents& low, const Extents& high,
                             const std::vector<std::size_t>& inside) {
    std::vector<std::int64_t> cuts{low[d], high[d]};
    for (const std::size_t k : inside) cuts.push_back(blocks_[k].low[d]);
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    std::erase_if(cuts, [&](std::int64_t c) {
      return std::ranges::any_of(inside, [&](std::size_t k) {
        return blocks_[k].low[d] < c && c < blocks_[k].low[d] + blocks_[k].size[d];
      });
    });
    if (cuts.size() <= 2) return std::nullopt;
    std::vector<Value> parts;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      Extents l = low, h = high;
      l[d] = cuts[i];
      h[d] = cuts[i + 1];
      std::vector<std::size_t> mine;
      for (const std::size_t k : inside)
        if (l[d] <= blocks_[k].low[d] && blocks_[k].low[d] < h[d]) mine.push_back(k);
      const auto part = box(l, h, mine);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    return b_.op("Concat", parts, with({{"axis", static_cast<std::int64_t>(d)}}));
  }

  Value cut_out(const Block& block) {
    const Numbers& source = sources_[block.source];
    const std::size_t rank = source.rank();
    Extents low = block.from, high(rank), step(rank, 1), cut(rank, 1);
    for (std::size_t a = 0; a < rank; ++a) high[a] = low[a] + 1;
    std::vector<std::int64_t> order;
    for (std::size_t d = 0; d < block.axis.size(); ++d) {
      if (block.axis[d] < 0) continue;
      const auto a = static_cast<std::size_t>(block.axis[d]);
      order.push_back(block.axis[d]);
      step[a] = block.step[d];
      cut[a] = block.size[d];
      high[a] = low[a] + block.step[d] * (block.size[d] - 1) + (block.step[d] > 0 ? 1 : -1);
      if (high[a] < 0) high[a] = -source.extents[a] - 1;  // up to the beginning
    }
    for (std::size_t a = 0; a < rank; ++a)
      if (std::ranges::find(order, static_cast<std::int64_t>(a)) == order.end())
        order.push_back(static_cast<std::int64_t>(a));
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    Value value = values_[block.source];
    if (cut != source.extents || std::ranges::any_of(step, [](std::int64_t s) { return s != 1; }))
      value =
          b_.op("Slice", {value, b_.integers(low), b_.integers(high), b_.integers(axes), b_.integers(step)});
    Extents shape(rank);
    for (std::size_t a = 0; a < rank; ++a) shape[a] = cut[static_cast<std::size_t>(order[a])];
    if (order != axes) value = b_.op("Transpose", {value}, with({{"perm", order}}));
    if (shape != block.size) value = b_.op("Reshape", {value, b_.integers(block.size)});
    return value;
  }

  ProgramBuilder& b_;
  const std::vector<Block>& blocks_;
  const std::vector<Numbers>& sources_;
  std::vector<Value> values_;
};

// Shapes of the same elements: as it is, with an axis split by a small factor, without axes of 1.
std::vector<Extents> readings(const Extents& extents) {
  std::vector<Extents> out{extents};
  for (const std::int64_t factor : {2, 4, 3, 8, 16, 32})
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (extents[d] % factor != 0 || extents[d] <= factor) continue;
      Extents outer = extents, inner = extents;
      outer[d] = extents[d] / factor;
      outer.insert(outer.begin() + static_cast<std::ptrdiff_t>(d) + 1, factor);
      out.push_back(outer);
      inner[d] = factor;
      inner.insert(inner.begin() + static_cast<std::ptrdiff_t>(d) + 1, extents[d] / factor);
      out.push_back(inner);
    }
  return out;
}

std::span<const std::uint32_t> bits_of(const Tensor& t) { return t.as<std::uint32_t>(); }

bool has_many_values(std::span<const std::uint32_t> bits) {
  std::uint32_t first = 0;
  for (const std::uint32_t b : bits) {
    if (is_zero(b) || b == first) continue;
    if (first != 0) return true;
    first = b;
  }
  return false;
}

using Source = MovedConstants::Source;

Value write(ProgramBuilder& b, const Source& source) {
  const Value v = b.constant(source.constant);
  return source.factor ? b.op(source.divides ? "Div" : "Mul", {v, b.constant(*source.factor)}) : v;
}

std::optional<Graph> in_shape(const Tensor& wanted, const Extents& shape, const std::vector<Source>& tensors,
                              const std::vector<Numbers>& sources, const Opsets& opsets, bool& is_hopeless) {
  const Numbers numbers(bits_of(wanted), shape);
  Finder finder(numbers, sources, shape == wanted.extents());
  const auto blocks = finder.find();
  is_hopeless = finder.is_hopeless();
  if (!blocks) return std::nullopt;
  ProgramBuilder b(opsets, "moved.");
  std::vector<Value> values(sources.size());
  for (const Block& block : *blocks)
    if (!values[block.source].exists()) values[block.source] = write(b, tensors[block.source]);
  std::vector<std::size_t> all(blocks->size());
  std::iota(all.begin(), all.end(), 0);
  const auto made = Assembler(b, *blocks, sources, values).box(Extents(shape.size(), 0), shape, all);
  if (!made) return std::nullopt;
  b.output(shape == wanted.extents() ? *made : b.op("Reshape", {*made, b.integers(wanted.extents())}));
  return b.graph();
}

// The same numbers in the same order.
std::optional<Graph> reshaped(const Tensor& wanted, const Source& source, const Opsets& opsets) {
  const Tensor& t = source.numbers;
  if (t.count() != wanted.count() || std::memcmp(t.bytes().data, wanted.bytes().data, t.bytes().size) != 0)
    return std::nullopt;
  ProgramBuilder b(opsets, "moved.");
  const Value v = write(b, source);
  b.output(t.extents() == wanted.extents() ? b.op("Identity", {v})
                                           : b.op("Reshape", {v, b.integers(wanted.extents())}));
  return b.graph();
}

bool fits(const Tensor& t) { return t.type() == ElementType::Float && t.rank() > 0 && t.count() > 0; }

std::vector<Source> plain(const std::vector<Tensor>& tensors) {
  std::vector<Source> out;
  for (const Tensor& t : tensors)
    if (fits(t)) out.push_back({.numbers = t, .constant = t});
  return out;
}

constexpr std::size_t kMostFactors = 4;
constexpr std::int64_t kMostScaled = 1 << 25;  // elements of all products

// The products in float of the sources with a number.
std::vector<Source> scaled(const std::vector<Tensor>& tensors, const std::vector<Tensor>& numbers) {
  std::vector<Source> out;
  std::int64_t elements = 0;
  for (const Tensor& factor : numbers)
    for (const Tensor& t : tensors)
      for (const bool divides : {false, true}) {
        if (!fits(t) || t.count() < 2) continue;
        elements += t.count();
        if (elements > kMostScaled) continue;
        const float by = factor.as<float>()[0];
        std::vector<float> values;
        values.reserve(static_cast<std::size_t>(t.count()));
        for (const float v : t.as<float>()) values.push_back(divides ? v / by : v * by);
        out.push_back({.numbers = Tensor::of(ElementType::Float, t.extents(), values),
                       .constant = t,
                       .factor = factor,
                       .divides = divides});
      }
  return out;
}

std::vector<Tensor> factors_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    if (t.type() != ElementType::Float || t.count() != 1) continue;
    const float v = t.as<float>()[0];
    const bool is_known = std::ranges::any_of(out, [&](const Tensor& o) { return o.as<float>()[0] == v; });
    if (v != 0 && v != 1 && v != -1 && !is_known && out.size() < kMostFactors) out.push_back(t);
  }
  return out;
}

// A tensor that repeats the same numbers along an axis: [outer, times, inner].
struct Repeated {
  std::int64_t outer, times, inner;
};

bool is_repeated(std::span<const std::uint32_t> bits, const Repeated& r) {
  for (std::int64_t o = 0; o < r.outer; ++o) {
    const auto* first = bits.data() + o * r.times * r.inner;
    if (std::memcmp(first, first + r.inner, static_cast<std::size_t>((r.times - 1) * r.inner) * 4) != 0)
      return false;
  }
  return true;
}

std::optional<Repeated> repeated(const Tensor& t) {
  for (std::int64_t times = std::min<std::int64_t>(t.count(), kMostTimes); times > 1; --times) {
    if (t.count() % times != 0) continue;
    std::int64_t inner = t.count();
    for (const std::int64_t extent : t.extents()) {
      const std::int64_t behind = inner / extent;
      if (extent % times == 0)
        for (const std::int64_t step : {behind, inner / times}) {
          const Repeated r{.outer = t.count() / (times * step), .times = times, .inner = step};
          if (is_repeated(bits_of(t), r)) return r;
        }
      inner = behind;
    }
  }
  return std::nullopt;
}

Value copied(ProgramBuilder& b, const Graph& program) {
  std::map<NodeId, NodeId> made;
  for (const NodeId id : program.order()) {
    std::vector<Value> inputs = program.node(id).inputs;
    for (Value& v : inputs)
      if (v.exists()) v.node = made.at(v.node);
    made.emplace(id, b.copy(program.node(id), inputs).node);
  }
  const Value result = program.outputs()[0];
  return {made.at(result.node), result.output};
}

}  // namespace

MovedConstants::MovedConstants(const std::vector<Tensor>& sources, const std::vector<Tensor>& preferred)
    : plain_(plain(sources)) {
  const auto products = scaled(preferred, factors_of(sources));
  if (products.empty()) return;
  products_ = plain(preferred);
  products_.insert(products_.end(), products.begin(), products.end());
}

std::optional<Graph> MovedConstants::find(const Tensor& wanted, const Opsets& opsets) const {
  if (!fits(wanted) || wanted.count() > kMostElements || !has_many_values(bits_of(wanted)))
    return std::nullopt;
  for (const auto* list : {&plain_, &products_}) {
    const std::vector<Source>& sources = *list;
    for (const Source& s : sources)
      if (auto program = reshaped(wanted, s, opsets)) return program;
    std::vector<Numbers> numbers;
    for (const Source& s : sources) numbers.emplace_back(bits_of(s.numbers), s.numbers.extents());
    bool is_hopeless = sources.empty();
    for (const Extents& shape : readings(wanted.extents())) {
      if (is_hopeless) break;
      if (auto program = in_shape(wanted, shape, sources, numbers, opsets, is_hopeless)) return program;
    }
  }
  return find_repeated(wanted, opsets);
}

std::optional<Graph> MovedConstants::find_repeated(const Tensor& wanted, const Opsets& opsets) const {
  const auto r = repeated(wanted);
  if (!r) return std::nullopt;
  std::vector<float> once;
  for (std::int64_t o = 0; o < r->outer; ++o) {
    const auto part = wanted.as<float>().subspan(static_cast<std::size_t>(o * r->times * r->inner),
                                                 static_cast<std::size_t>(r->inner));
    once.insert(once.end(), part.begin(), part.end());
  }
  const auto program = find(Tensor::of(ElementType::Float, {r->outer, r->inner}, once), opsets);
  if (!program) return std::nullopt;
  ProgramBuilder b(opsets, "repeated.");
  Value v = b.reshape(copied(b, *program), {r->outer, 1, r->inner});
  v = b.op("Expand", {v, b.integers({r->outer, r->times, r->inner})});
  b.output(b.reshape(v, wanted.extents()));
  return b.graph();
}

}  // namespace isomer
