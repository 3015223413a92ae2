#include "optimizer/facts/region_form.h"

#include <algorithm>
#include <ranges>

namespace isomer {
namespace {

using Role = FormDigit::Role;
using Kind = InputAxis::Kind;

// Whether the axis is the groups of a grouped convolution: each group sees rows of its own.
bool is_grouped(const InputAxis& a, const RegionMap& map) {
  if (a.kind != Kind::Window || !a.weighted || a.low < 0 || a.high >= a.stride || a.stride == 1) return false;
  return map.outputs[static_cast<std::size_t>(a.digit)].extent * Dim(a.stride) == a.extent;
}

// The pads that give a convolution this number of outputs; nullopt: there are none.
std::optional<FormWindow> window_of(const InputAxis& a, const Dim& outputs) {
  FormWindow out{.stride = a.stride, .low = a.low, .dilation = a.dilation, .weighted = a.weighted};
  out.taps = (a.high - a.low) / a.dilation + 1;
  // A cut at the front becomes taps of weight zero; at the end, too, unless the stride skips it.
  if (out.low > 0) {
    out.taps = a.high + 1;
    out.low = 0;
    out.dilation = 1;
  }
  out.begin = -out.low;
  const auto fits = [&] {
    const Dim room = a.extent + Dim(out.begin + out.end - out.span());
    return Dim::floor(room, Dim(out.stride)) + Dim(1) == outputs;
  };
  for (out.end = 0; out.end <= out.span() + out.stride; ++out.end)
    if (fits()) return out;
  out.end = 0;
  if (!a.extent.is_concrete() || !outputs.is_concrete()) {
    // Cut off at the end: x[:-4].
    for (const std::int64_t most = out.taps + 64; out.taps < most; ++out.taps)
      if (fits()) return out;
    return std::nullopt;
  }
  const std::int64_t rest =
      a.extent.concrete() + out.begin - out.span() - out.stride * (outputs.concrete() - 1);
  if (rest < 0) return std::nullopt;
  out.taps += (rest + out.dilation - 1) / out.dilation;
  return fits() ? std::optional(out) : std::nullopt;
}

class FormBuilder {
 public:
  FormBuilder(const RegionMap& map, RegionForm::Kind kind) : map_(map) { form_.kind = kind; }

  void batch(std::size_t axis) { follow(axis, Role::Batch); }
  void group(std::size_t axis) { follow(axis, Role::Group); }
  void channel(std::size_t axis) {
    form_.input.push_back({.role = Role::Channel, .axis = axis, .extent = map_.inputs[axis].extent});
  }
  void grouped_channels(std::size_t axis) {
    const InputAxis& a = map_.inputs[axis];
    linked_.push_back({a.digit, form_.input.size()});
    form_.input.push_back({.role = Role::Group,
                           .axis = axis,
                           .extent = map_.outputs[static_cast<std::size_t>(a.digit)].extent,
                           .other = a.digit});
    form_.input.push_back({.role = Role::Channel, .axis = axis, .extent = a.stride});
  }
  void window(std::size_t axis) {
    const InputAxis& a = map_.inputs[axis];
    const auto w = window_of(a, map_.outputs[static_cast<std::size_t>(a.digit)].extent);
    if (!w) is_possible_ = false;
    else form_.windows.push_back(*w);
    follow(axis, Role::Window);
  }
  std::optional<RegionForm> finish() {
    if (!is_possible_) return std::nullopt;
    for (const OutputDigit& d : map_.outputs)
      form_.output.push_back({.role = Role::Channel, .axis = d.axis, .extent = d.extent});
    for (const auto& [digit, input] : linked_) {
      FormDigit& d = form_.output[static_cast<std::size_t>(digit)];
      d.role = form_.input[input].role;
      d.other = static_cast<int>(input);
    }
    return std::move(form_);
  }

 private:
  void follow(std::size_t axis, Role role) {
    const InputAxis& a = map_.inputs[axis];
    linked_.push_back({a.digit, form_.input.size()});
    form_.input.push_back({.role = role, .axis = axis, .extent = a.extent, .other = a.digit});
  }
  const RegionMap& map_;
  RegionForm form_;
  std::vector<std::pair<int, std::size_t>> linked_;  // digits of the output, and of the input
  bool is_possible_ = true;
};

bool is_window(const RegionMap& map, std::size_t d) {
  return map.inputs[d].kind == Kind::Window && !is_grouped(map.inputs[d], map);
}

std::optional<RegionForm> convolution(const RegionMap& map, bool pointwise) {
  FormBuilder b(map, RegionForm::Kind::Convolution);
  const std::size_t rank = map.inputs.size();
  const auto is_channel = [&](std::size_t d) {
    return map.inputs[d].kind == Kind::Full || is_grouped(map.inputs[d], map) ||
           (map.inputs[d].kind == Kind::Parallel && map.inputs[d].weighted);
  };
  std::size_t first_channel = rank, windows = 0, parallel = 0;
  for (std::size_t d = rank; d-- > 0;) {
    if (is_channel(d)) first_channel = d;
    windows += is_window(map, d) ? 1 : 0;
    parallel += !is_window(map, d) && !is_channel(d) ? 1 : 0;
  }
  if ((windows == 0 && !pointwise) || windows > 3) return std::nullopt;
  // Images have their channels before the windows: what is parallel behind them is a window of one tap.
  std::size_t taken = windows;
  for (std::size_t d = 0; d < rank; ++d) {
    const InputAxis& a = map.inputs[d];
    const bool is_last_batch =
        first_channel == rank && parallel >= 2 && d + 1 < rank && is_window(map, d + 1);
    if (is_window(map, d)) {
      b.window(d);
    } else if (is_grouped(a, map)) {
      b.grouped_channels(d);
    } else if (a.kind == Kind::Full) {
      b.channel(d);
    } else if (a.weighted) {
      b.group(d);
    } else if (d > first_channel && taken < 3) {
      b.window(d);
      ++taken;
    } else if (is_last_batch && a.extent.is_concrete()) {
      b.group(d);  // images of single channels
    } else {
      b.batch(d);
    }
  }
  return taken == 0 ? std::nullopt : b.finish();
}

std::optional<RegionForm> product(const RegionMap& map) {
  FormBuilder b(map, RegionForm::Kind::Product);
  bool has_channels = false;
  for (std::size_t d = 0; d < map.inputs.size(); ++d) {
    const InputAxis& a = map.inputs[d];
    if (a.kind == Kind::Parallel) {
      if (a.weighted) b.group(d);
      else b.batch(d);
      continue;
    }
    if (!a.extent.is_concrete()) return std::nullopt;
    has_channels = true;
    if (is_grouped(a, map)) b.grouped_channels(d);
    else b.channel(d);
  }
  return has_channels ? b.finish() : std::nullopt;
}

std::optional<RegionForm> scaling(const RegionMap& map) {
  FormBuilder b(map, RegionForm::Kind::Scaling);
  for (std::size_t d = 0; d < map.inputs.size(); ++d) {
    const InputAxis& a = map.inputs[d];
    if (a.kind != Kind::Parallel && !a.extent.is(1)) return std::nullopt;
    if (a.digit < 0) b.channel(d);
    else if (a.weighted) b.group(d);
    else b.batch(d);
  }
  return b.finish();
}

// How many elements of the input an element of the output is a sum over.
double reads_of_an_output(const RegionForm& form) {
  double out = 1;
  for (const std::size_t k : form.input_digits(Role::Channel))
    out *= static_cast<double>(form.input[k].extent.value().value_or(1));
  for (const FormWindow& w : form.windows) out *= static_cast<double>(w.taps);
  return out;
}

}  // namespace

std::vector<std::size_t> RegionForm::input_digits(Role role) const {
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < input.size(); ++k)
    if (input[k].role == role) out.push_back(k);
  return out;
}

std::vector<std::size_t> RegionForm::output_digits(Role role) const {
  std::vector<std::size_t> out;
  if (role == Role::Channel) {
    for (std::size_t k = 0; k < output.size(); ++k)
      if (output[k].role == role) out.push_back(k);
    return out;
  }
  for (const std::size_t k : input_digits(role)) out.push_back(static_cast<std::size_t>(input[k].other));
  return out;
}

std::vector<RegionForm> forms_of(const RegionMap& map) {
  std::vector<RegionForm> out;
  const auto add = [&](std::optional<RegionForm> form) {
    if (form) out.push_back(std::move(*form));
  };
  add(scaling(map));
  if (!out.empty()) return out;
  // Channels in front of two or more parallel axes: an image, and a convolution of one tap. Also in front of
  // one for a batch of a named size: a product from the left may not run for a batch of none.
  std::size_t behind = 0;
  for (const InputAxis& a : map.inputs | std::views::reverse) {
    if (a.kind != Kind::Parallel || a.weighted) break;
    ++behind;
  }
  const bool named =
      std::ranges::any_of(map.inputs, [](const InputAxis& a) { return !a.extent.is_concrete(); });
  add(convolution(map, behind >= 2 || (behind == 1 && named)));
  auto dense = product(map);
  if (out.empty() || (dense && reads_of_an_output(*dense) <= reads_of_an_output(out[0])))
    add(std::move(dense));
  return out;
}

}  // namespace isomer
