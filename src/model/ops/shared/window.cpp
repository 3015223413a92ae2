#include "model/ops/shared/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace isomer {
namespace {

// A list attribute of `size` values, none below `least`; `otherwise` if it is absent.
std::vector<std::int64_t> read_list(const Call& call, const std::string& name, std::size_t size,
                                    std::int64_t least, std::int64_t otherwise) {
  const auto list = call.integers(name);
  if (!list) return std::vector<std::int64_t>(size, otherwise);
  if (list->size() != size)
    throw IllegalCall(fmt::format("{} has {} values, not {}", name, list->size(), size), name);
  if (!list->empty() && std::ranges::min(*list) < least)
    throw IllegalCall(fmt::format("{} must be at least {}", name, least), name);
  return *list;
}

// Kernel, strides, dilations and explicit pads.
Window read_taps(const Call& call, const Dims& kernel) {
  const std::size_t d = kernel.size();
  const auto given = read_list(call, "kernel_shape", d, 1, 0);
  for (std::size_t i = 0; i < d; ++i) {
    if (kernel[i].is_concrete() && kernel[i].concrete() < 1)
      throw IllegalCall("the kernel must be at least 1", "kernel_shape");
    if (given[i] != 0 && !call.may_equal(kernel[i], given[i]))
      throw IllegalCall("kernel_shape is not the weight's", "kernel_shape");
  }
  // Some runtimes crop, ONNX Runtime refuses to load it.
  if (const auto given_pads = call.integers("pads"); given_pads && !given_pads->empty())
    if (std::ranges::min(*given_pads) < 0) throw OpaqueCall("pads below 0, on which runtimes differ");
  const Dims pads = to_dims(read_list(call, "pads", 2 * d, 0, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(d);
  return {.kernel = kernel,
          .output = {},
          .strides = read_list(call, "strides", d, 1, 1),
          .dilations = read_list(call, "dilations", d, 1, 1),
          .pad_begin = {pads.begin(), middle},
          .pad_end = {middle, pads.end()}};
}

enum class AutoPad : std::uint8_t { NotSet, Valid, SameUpper, SameLower };

AutoPad read_auto_pad(const Call& call) {
  const std::string text = call.text("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::NotSet;
  // Runtimes differ in which of the two counts.
  if (call.has_attribute("pads")) throw OpaqueCall("both auto_pad and pads are given");
  if (text == "VALID") return AutoPad::Valid;
  if (text == "SAME_UPPER") return AutoPad::SameUpper;
  if (text == "SAME_LOWER") return AutoPad::SameLower;
  throw IllegalCall("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER", "auto_pad");
}

// Shares out the padding of one dimension; the odd one goes to the end under SAME_UPPER, else to the
// beginning.
void share_pad(Window& w, std::size_t i, const Dim& total, AutoPad mode) {
  const Dim half = Dim::floor(total, 2);
  w.pad_begin[i] = mode == AutoPad::SameUpper ? half : total - half;
  w.pad_end[i] = total - w.pad_begin[i];
}

// auto_pad SAME: ceil(extent / stride) windows.
void read_same(Window& w, std::size_t i, const Dim& extent, AutoPad mode) {
  const Dim stride = w.strides[i];
  if (w.dilations[i] != 1) throw OpaqueCall("auto_pad SAME with dilations, on which runtimes differ");
  // The standard pads by zero at least; runtimes crop such an input, from two elements on at its beginning
  // too.
  if ((w.kernel[i] + 1).at_least(stride) != true)
    throw OpaqueCall("auto_pad SAME with a stride beyond the kernel");
  const Dim total = w.kernel[i] - stride + Dim::mod(Dim(0) - extent, stride);
  share_pad(w, i, w.kernel[i].at_least(stride) == true ? total : Dim::max(total, 0), mode);
  w.output[i] = Dim::ceil(extent, stride);
}

// floor(((extent + pads) - span) / stride) + 1 windows; ceil with ceil_mode, but for windows that begin in
// the end padding.
void read_explicit(const Call& call, Window& w, std::size_t i, const Dim& extent, bool ceil_mode) {
  const Dim stride = w.strides[i], slack = extent + w.pad_begin[i] + w.pad_end[i] - w.span(i);
  // With ceil_mode one window is left if less than a stride is missing.
  if ((ceil_mode ? slack + stride - 1 : slack).at_least(0) == false)
    throw OpaqueCall("the kernel is larger than the padded input");
  w.output[i] = Dim::floor(slack, stride) + 1;
  if (!ceil_mode) return;
  w.overhangs = true;
  w.output[i] = Dim::ceil(slack, stride) + 1;
  const Dim starts = Dim::ceil(extent + w.pad_begin[i], stride);
  if (w.span(i).at_least(w.pad_end[i] + stride) == true || starts.at_least(w.output[i]) == true) return;
  // Before opset 22 the standard has such a window, runtimes don't.
  if (call.opset < 22) throw OpaqueCall("with ceil_mode a window may begin in the padding");
  w.output[i] = Dim::min(w.output[i], starts);
}

}  // namespace

Dim Window::span(std::size_t i) const { return Dim(dilations[i]) * (kernel[i] - 1) + 1; }

Index Window::position(std::size_t i, const Index& p, const Index& k) const {
  return Dim(strides[i]) * p + Dim(dilations[i]) * k - Index(pad_begin[i]);
}

Window read_window(const Call& call, const Dims& spatial, const Dims& kernel) {
  Window w = read_taps(call, kernel);
  const AutoPad mode = read_auto_pad(call);
  const bool ceil_mode = call.flag("ceil_mode", false);
  if (ceil_mode && mode == AutoPad::Valid)
    throw OpaqueCall("ceil_mode with auto_pad VALID, on which runtimes differ");
  w.output.resize(spatial.size());
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    if (mode == AutoPad::SameUpper || mode == AutoPad::SameLower) read_same(w, i, spatial[i], mode);
    else read_explicit(call, w, i, spatial[i], ceil_mode);
  }
  return w;
}

Window read_transposed_window(const Call& call, const Dims& spatial, const Dims& kernel) {
  const std::size_t d = spatial.size();
  Window w = read_taps(call, kernel);
  const AutoPad mode = read_auto_pad(call);
  const bool same = mode == AutoPad::SameUpper || mode == AutoPad::SameLower;
  const bool has_shape = call.has_attribute("output_shape");
  const auto extra = read_list(call, "output_padding", d, 0, 0),
             wanted = read_list(call, "output_shape", d, 1, 0);
  w.output.resize(d);
  for (std::size_t i = 0; i < d; ++i) {
    if (extra[i] >= std::max(w.strides[i], w.dilations[i]))
      throw OpaqueCall("output_padding as large as stride and dilation");
    const Dim full = Dim(w.strides[i]) * (spatial[i] - 1) + w.span(i) + extra[i];
    w.output[i] = full - w.pad_begin[i] - w.pad_end[i];
    if (has_shape || same) {
      if (!has_shape && extra[i] != 0)
        throw OpaqueCall("auto_pad SAME with output_padding, on which runtimes differ");
      w.output[i] = has_shape ? Dim(wanted[i]) : Dim(w.strides[i]) * spatial[i];
      const Dim total = full - w.output[i];
      if (total.at_least(0) != true)
        throw OpaqueCall("an output that may be larger than all windows together");
      share_pad(w, i, total, mode);
    }
    if (w.output[i].is_concrete() && w.output[i].concrete() < 1)
      throw IllegalCall("pads leave no output", "pads");
  }
  return w;
}

Dims spatial_extents(const Dims& shape) { return {shape.begin() + 2, shape.end()}; }

Dims image_shape(const Dim& batch, const Dim& channels, const Dims& spatial) {
  Dims out{batch, channels};
  out.insert(out.end(), spatial.begin(), spatial.end());
  return out;
}

}  // namespace isomer
