// ReadNode: the strip of a tensor's elements at an index. Internal to Program.
#pragma once

#include "model/eval/strip_nodes.h"

namespace isomer::strip_nodes {

// How elements are stored, and how they are loaded into the type that computes.
template <class T>
struct Plain {
  using Stored = T;
  static T load(Stored x) { return x; }
};
struct StoredBool {
  using Stored = std::uint8_t;
  static std::uint8_t load(Stored x) { return x != 0; }
};
struct StoredFloat16 {
  using Stored = std::uint16_t;
  static float load(Stored x) { return float16_to_float(x); }
};
struct StoredBFloat16 {
  using Stored = std::uint16_t;
  static float load(Stored x) { return bfloat16_to_float(x); }
};

// tensor[at], zero outside. Where every index changes evenly along the strip, one clipped strided copy; where
// floors and mods are of the strip's axis alone, by their tables; else each element by itself.
template <class T, class Storage>
class ReadNode final : public RegisterNode<T> {
 public:
  ReadNode(StripCompiler& compiler, const ExprNode& expr)
      : RegisterNode<T>(compiler), tensor_(expr.tensor), strip_slot_(compiler.strip_slot()) {
    std::int64_t stride = 1;
    for (std::size_t d = expr.at.size(); d-- > 0;) {
      LoopIndex index = compiler.index(expr.at[d]);
      LoopIndex rest = index;
      std::vector<std::int64_t> table = rest.take_table(strip_slot_, compiler.strip_extent());
      const auto slope = rest.slope(strip_slot_);
      if (!slope.has_value() || compiler.mentions_lane(index)) way_ = Way::Lanes;
      else if (!table.empty() && way_ == Way::Straight) way_ = Way::Tables;
      dims_.push_back({.index = std::move(index),
                       .rest = std::move(rest),
                       .table = std::move(table),
                       .slope = slope.value_or(0),
                       .extent = expr.extents[d].concrete(),
                       .stride = stride});
      stride = checked_multiply(stride, std::max<std::int64_t>(1, expr.extents[d].concrete()));
    }
  }

  const void* run(StripState& state) const override {
    const auto& source =
        (tensor_.kind == TensorRef::Kind::Input ? state.inputs
                                                : state.stages)[static_cast<std::size_t>(tensor_.number)];
    const auto* data = reinterpret_cast<const typename Storage::Stored*>(source.data);
    return way_ == Way::Lanes ? run_lanes(state, data) : run_strip(state, data);
  }

 private:
  enum class Way : std::uint8_t { Straight, Tables, Lanes };
  struct Dimension {
    LoopIndex index, rest;  // index = rest + table[strip]
    std::vector<std::int64_t> table;
    std::int64_t slope, extent, stride;  // slope: of the rest
  };

  const void* run_strip(StripState& state, const typename Storage::Stored* data) const {
    int low = 0, high = state.length;
    std::int64_t base = 0, step = 0;
    for (const Dimension& d : dims_) {
      const std::int64_t first = d.rest.at(state.slots.data()), last = first + d.slope * (state.length - 1);
      base += d.stride * first;
      step += d.stride * d.slope;
      if (d.table.empty() && (first < 0 || first >= d.extent || last < 0 || last >= d.extent))
        clip(first, d.slope, d.extent, low, high);
    }
    if constexpr (std::same_as<Storage, Plain<T>>)
      if (way_ == Way::Straight && step == 1 && low == 0 && high == state.length) return data + base;
    T* out = this->out(state);
    std::fill(out, out + low, T{});
    if (way_ == Way::Tables) copy_by_tables(state, data, base, step, low, high, out);
    else if (step == 1)
      for (int i = low; i < high; ++i) out[i] = Storage::load(data[base + i]);
    else
      for (int i = low; i < high; ++i) out[i] = Storage::load(data[base + step * i]);
    std::fill(out + high, out + state.length, T{});
    return out;
  }

  void copy_by_tables(const StripState& state, const typename Storage::Stored* data, std::int64_t base,
                      std::int64_t step, int low, int high, T* out) const {
    std::array<std::int64_t, kStripLength> offsets;
    std::array<std::uint8_t, kStripLength> inside;
    for (int i = low; i < high; ++i) {
      offsets[static_cast<std::size_t>(i)] = base + step * i;
      inside[static_cast<std::size_t>(i)] = 1;
    }
    const std::int64_t begin = state.slots[static_cast<std::size_t>(strip_slot_)];
    for (const Dimension& d : dims_) {
      if (d.table.empty()) continue;
      const std::int64_t first = d.rest.at(state.slots.data());
      for (int i = low; i < high; ++i) {
        const std::int64_t more = d.table[static_cast<std::size_t>(begin + i)],
                           at = first + d.slope * i + more;
        offsets[static_cast<std::size_t>(i)] += d.stride * more;
        inside[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(at >= 0 && at < d.extent);
      }
    }
    for (int i = low; i < high; ++i)
      out[i] = inside[static_cast<std::size_t>(i)] != 0
                   ? Storage::load(data[offsets[static_cast<std::size_t>(i)]])
                   : T{};
  }

  const void* run_lanes(StripState& state, const typename Storage::Stored* data) const {
    T* out = this->out(state);
    for_each_lane(state, strip_slot_, 0, state.length, [&](int i) {
      std::int64_t offset = 0;
      bool inside = true;
      for (const Dimension& d : dims_) {
        const std::int64_t at = d.index.at(state.slots.data());
        inside = inside && at >= 0 && at < d.extent;
        offset += d.stride * at;
      }
      out[i] = inside ? Storage::load(data[offset]) : T{};
    });
    return out;
  }

  TensorRef tensor_;
  int strip_slot_;
  Way way_ = Way::Straight;
  std::vector<Dimension> dims_;
};

}  // namespace isomer::strip_nodes
