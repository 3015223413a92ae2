#include "model/ops/shared/pool.h"

namespace isomer {
namespace {

// Every window of a pool must hold an element of the input: of nothing there is no maximum and no average.
void require_elements(const Window& w, std::size_t i, const Dim& extent) {
  if (extent.is(0)) throw OpaqueCall("a pool over an empty input");
  const Dim most = w.kernel[i] - 1;
  if (most.at_least(w.pad_begin[i]) == false || most.at_least(w.pad_end[i]) == false)
    throw OpaqueCall("pads as large as the kernel");
  // Taps are `dilation` apart: those of a window that begins in the padding may step over a smaller input.
  if (w.dilations[i] > 1 && !w.pad_begin[i].is(0) && extent.at_least(w.dilations[i]) != true)
    throw OpaqueCall("a dilated window may step over the whole input");
}

// Where the padded input is shorter than the kernel, by less than a stride, the standard has no window, and
// ONNX Runtime one. With ceil_mode both have one.
void need_whole_window(const Call& call, const Window& w, std::size_t i, const Dim& extent) {
  if (w.overhangs || w.strides[i] == 1 || !w.pad_begin[i].is_concrete() || !w.pad_end[i].is_concrete())
    return;
  const Dim slack = extent + w.pad_begin[i] + w.pad_end[i] - w.span(i);
  if (slack.at_least(0) != true) call.need(slack * (slack + w.strides[i]));
}

}  // namespace

Pool read_pool(const Call& call, FormulaBuilder& f) {
  const auto x = f.input(0);
  if (x.rank() < 3) throw IllegalCall("a pool needs an input of rank >= 3");
  const Dims spatial = spatial_extents(x.shape());
  const auto kernel = call.integers("kernel_shape");
  if (!kernel || kernel->size() != spatial.size())
    throw IllegalCall("kernel_shape has not one value per spatial dimension", "kernel_shape");
  Pool pool{
      .window = read_window(call, spatial, to_dims(*kernel)), .p = {}, .k = {}, .tap = {}, .inside = {}};
  // The runtime refuses images without elements, unless there are none of them.
  call.need(x.extent(0) * (product(Dims(x.shape().begin() + 1, x.shape().end())) - Dim(1)));
  for (const Dim& extent : pool.window.output) call.need(extent);
  pool.p = f.axes(image_shape(x.extent(0), x.extent(1), pool.window.output));
  pool.k = f.axes(pool.window.kernel);
  std::vector<Index> at{pool.p[0], pool.p[1]};
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    require_elements(pool.window, i, spatial[i]);
    need_whole_window(call, pool.window, i, spatial[i]);
    at.push_back(pool.window.position(i, pool.p[i + 2], pool.k[i]));
    const bool leaves =
        pool.window.overhangs || !pool.window.pad_begin[i].is(0) || !pool.window.pad_end[i].is(0);
    if (leaves && !at.back().is_inside(spatial[i]))
      pool.inside = both(pool.inside, between(0, at.back(), spatial[i]));
  }
  pool.tap = x.at(at);
  return pool;
}

}  // namespace isomer
