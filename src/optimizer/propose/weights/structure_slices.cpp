#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/weights/structure.h"

namespace isomer {
namespace {

using Kind = ProductSum::Kind;

// Slices and padding cost a copy: worth it from this share of an axis on that is neither read nor written.
constexpr std::int64_t kLeastShare = 8;

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

Value sliced(ProgramBuilder& b, Value v, std::size_t axis, const SliceFacts& s) {
  return b.op("Slice", {v, b.integers({s.begin}), b.integers({s.end}),
                        b.integers({static_cast<std::int64_t>(axis)}), b.integers({s.step})});
}

std::int64_t slices_left(const SliceFacts& s) { return (s.end - s.begin + s.step - 1) / s.step; }

// A sum of products without the slices of its constant that are zero.
class Cropping {
 public:
  Cropping(const Site& site, const ProductSum& product, const ConstantStructure& structure)
      : site_(site), p_(product), claim_(site, product), conv_(convolution_at(site, product.id)) {
    for (std::size_t d = 0; d < p_.axes.size(); ++d) {
      // The first two are channels, also where a group of one reads them as a window does.
      const bool is_kernel = p_.axes[d].kind == Kind::Window && conv_ && d >= 2;
      const SliceFacts s = is_kernel ? within_reach(d, structure.axis(d)) : structure.axis(d);
      const std::int64_t left = slices_left(s);
      if (left == 0 || left == p_.sizes[d]) continue;
      const Kind kind = p_.axes[d].kind;
      const bool is_worth_it = (p_.sizes[d] - left) * kLeastShare >= p_.sizes[d];
      const bool is_channel = (kind == Kind::Contracted || kind == Kind::Free) && is_worth_it;
      if (is_kernel || is_channel) cropped_.emplace_back(d, s);
    }
  }

  std::optional<Proposal> propose() {
    if (cropped_.empty()) return std::nullopt;
    Value x = claim_.x(), w = claim_.constant(claim_.after);
    std::optional<std::pair<std::size_t, SliceFacts>> padded;
    for (const auto& [d, s] : cropped_) {
      w = sliced(claim_.after, w, d, s);
      switch (p_.axes[d].kind) {
        case Kind::Contracted: x = sliced(claim_.after, x, static_cast<std::size_t>(p_.axes[d].x), s); break;
        case Kind::Window: x = without_border(x, d - 2, s); break;
        default:
          if (s.step != 1) return std::nullopt;
          padded.emplace(static_cast<std::size_t>(p_.axes[d].y), s);
          extent_ = p_.sizes[d];
      }
    }
    const Attributes convolution = conv_ ? attributes_of(*conv_) : Attributes();
    Value y = Value::none();
    if (padded) {
      std::vector<std::int64_t> pads(2 * p_.rank, 0);
      pads[padded->first] = padded->second.begin;
      pads[p_.rank + padded->first] = extent_ - padded->second.end;
      y = claim_.call(x, w, conv_ ? &convolution : nullptr);
      y = claim_.with_bias(claim_.after.op("Pad", {y, claim_.after.integers(pads)}));
    } else {
      y = whole_call(x, w, conv_ ? &convolution : nullptr);
    }
    return claim_.finish(
        fmt::format("{} without zeros of {}", label(site_.node(p_.id)), site_.name(p_.constant)), y,
        stated());
  }

 private:
  // A named extent is not cut: only the part that meets padding.
  SliceFacts within_reach(std::size_t axis, SliceFacts s) const {
    const Dims& x = *site_.inference.of(p_.x).shape;
    if (x[static_cast<std::size_t>(p_.axes[axis].x)].is_concrete()) return s;
    const Convolution& c = *conv_;
    const std::size_t k = axis - 2;
    const std::int64_t begin = std::min(s.begin, c.pads[k] / c.dilations[k]);
    const std::int64_t end = c.kernel[k] - c.pads[c.kernel.size() + k] / c.dilations[k];
    if (begin != s.begin || end > s.end) s.step = 1;
    s.begin = begin;
    s.end = std::max(s.end, end);
    return s;
  }
  // A kernel's border cut off: less padding, or less of the activation.
  Value without_border(Value x, std::size_t k, const SliceFacts& s) {
    Convolution& c = *conv_;
    const std::size_t rank = c.kernel.size();
    const std::int64_t begin = s.begin * c.dilations[k], end = (c.kernel[k] - s.end) * c.dilations[k];
    const std::int64_t from = std::max<std::int64_t>(0, begin - c.pads[k]);
    const std::int64_t to = std::max<std::int64_t>(0, end - c.pads[rank + k]);
    c.pads[k] = std::max<std::int64_t>(0, c.pads[k] - begin);
    c.pads[rank + k] = std::max<std::int64_t>(0, c.pads[rank + k] - end);
    c.kernel[k] = slices_left(s);
    // The part after the last remaining tap.
    c.dilations[k] *= s.step;
    if (from == 0 && to == 0) return x;
    return claim_.after.slice(x, static_cast<std::int64_t>(k + 2), from, to == 0 ? kToTheEnd : -to);
  }

  Value whole_call(Value x, Value w, const Attributes* attributes) {
    Node node = site_.node(p_.id);
    if (attributes != nullptr) node.attributes = *attributes;
    std::vector<Value> inputs(2);
    const bool is_first = node.inputs[0] == p_.x;
    inputs[is_first ? 0 : 1] = x;
    inputs[is_first ? 1 : 0] = w;
    if (p_.bias.exists()) inputs.push_back(claim_.bias());
    return claim_.after.copy(std::move(node), inputs);
  }

  // The slices that are left, with zeros around and between them.
  Value stated() {
    ProgramBuilder& f = claim_.fact;
    Value w = claim_.constant(f);
    Extents sizes = p_.sizes;
    for (const auto& [d, s] : cropped_) {
      w = sliced(f, w, d, s);
      sizes[d] = slices_left(s);
    }
    std::vector<std::int64_t> pads(2 * sizes.size(), 0);
    for (const auto& [d, s] : cropped_) {
      std::int64_t length = s.end - s.begin;
      if (s.step > 1) {
        w = f.unsqueeze(w, {static_cast<std::int64_t>(d + 1)});
        w = f.pad_end(w, sizes.size() + 1, d + 1, s.step - 1);
        sizes[d] *= s.step;
        w = f.reshape(w, sizes);
        length = sizes[d];
        if (s.begin + length > p_.sizes[d]) {
          length = p_.sizes[d] - s.begin;
          w = f.slice(w, static_cast<std::int64_t>(d), 0, length);
          sizes[d] = length;
        }
      }
      pads[d] = s.begin;
      pads[sizes.size() + d] = p_.sizes[d] - s.begin - length;
    }
    const bool is_padded = std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; });
    return is_padded ? f.op("Pad", {w, f.integers(pads)}) : w;
  }

  const Site& site_;
  const ProductSum& p_;
  StructureClaim claim_;
  std::optional<Convolution> conv_;
  std::vector<std::pair<std::size_t, SliceFacts>> cropped_;
  std::int64_t extent_ = 0;
};

// A sum of products whose constant has equal slices: an axis [outer, times, unit] that doesn't depend on
// times.
class Repetition {
 public:
  Repetition(const Site& site, const ProductSum& product, std::size_t axis, const SliceFacts& s)
      : site_(site), p_(product), claim_(site, product), axis_(axis), times_(s.times), unit_(s.unit) {
    outer_ = p_.sizes[axis] / (times_ * unit_);
  }

  // Computed once, and copied.
  std::optional<Proposal> of_output() {
    const Dims& y = *site_.inference.of({p_.id, 0}).shape;
    const Value once = claim_.call(claim_.x(), few(claim_.after));
    const auto all = repeated(claim_.after, once, y, static_cast<std::size_t>(p_.axes[axis_].y));
    return all ? finish(*all) : std::nullopt;
  }

  // Values that meet equal slices are added up first.
  std::optional<Proposal> of_input() {
    const Dims& x = *site_.inference.of(p_.x).shape;
    const auto axis = static_cast<std::size_t>(p_.axes[axis_].x);
    const auto apart = shape_with(x, axis, {outer_, times_, unit_}),
               whole = shape_with(x, axis, {outer_ * unit_});
    if (!apart || !whole) return std::nullopt;
    ProgramBuilder& a = claim_.after;
    const Value sums =
        a.reduce("ReduceSum", a.reshape(claim_.x(), *apart), static_cast<std::int64_t>(axis + 1));
    return finish(claim_.call(a.reshape(sums, *whole), few(a)));
  }

 private:
  Value few(ProgramBuilder& b) {
    Extents apart = p_.sizes, whole = p_.sizes;
    const auto at = apart.begin() + static_cast<std::ptrdiff_t>(axis_);
    apart.insert(apart.erase(at), {outer_, times_, unit_});
    whole[axis_] = outer_ * unit_;
    const Value all = b.reshape(claim_.constant(b), apart);
    return b.reshape(b.slice(all, static_cast<std::int64_t>(axis_ + 1), 0, 1), whole);
  }
  std::optional<Value> repeated(ProgramBuilder& b, Value v, const Dims& shape, std::size_t axis) {
    std::vector<std::int64_t> times(shape.size(), 1);
    times[axis] = times_;
    if (outer_ == 1) return b.op("Tile", {v, b.integers(times)});
    times[axis] = 1;
    times.insert(times.begin() + static_cast<std::ptrdiff_t>(axis + 1), {times_, 1});
    const auto apart = shape_with(shape, axis, {outer_, 1, unit_});
    const auto whole = shape_with(shape, axis, {outer_ * times_ * unit_});
    if (!apart || !whole) return std::nullopt;
    return b.reshape(b.op("Tile", {b.reshape(v, *apart), b.integers(times)}), *whole);
  }
  std::optional<Proposal> finish(Value y) {
    return claim_.finish(fmt::format("{} of {} different slices", label(site_.node(p_.id)), outer_ * unit_),
                         claim_.with_bias(y),
                         *repeated(claim_.fact, few(claim_.fact), to_dims(p_.sizes), axis_));
  }

  const Site& site_;
  const ProductSum& p_;
  StructureClaim claim_;
  std::size_t axis_;
  std::int64_t times_, unit_, outer_ = 1;
};

}  // namespace

void propose_fewer_slices(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                          Proposals& out) {
  out.add(Cropping(site, product, structure).propose());
  for (std::size_t d = 0; d < product.axes.size(); ++d) {
    const SliceFacts& s = structure.axis(d);
    if (s.times == 1) continue;
    const Kind kind = product.axes[d].kind;
    if (kind == Kind::Free) out.add(Repetition(site, product, d, s).of_output());
    if (kind == Kind::Contracted) out.add(Repetition(site, product, d, s).of_input());
  }
}

}  // namespace isomer
