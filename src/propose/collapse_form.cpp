#include "propose/collapse_form.h"

#include <algorithm>
#include <cmath>

#include "graph/interpret.h"
#include "prove/shrink.h"

namespace isomer {
namespace {

using Role = FormDigit::Role;
constexpr double kMostElements = 1 << 24;  // of all impulses together
constexpr double kMostOperations = 4e9;    // of the region on them
constexpr std::int64_t kMostRuns = 8;

std::int64_t product_of(const Extents& e) {
  std::int64_t out = 1;
  for (const std::int64_t n : e) out *= n;
  return out;
}

std::vector<std::size_t> joined_digits(std::initializer_list<std::vector<std::size_t>> lists) {
  std::vector<std::size_t> out;
  for (const auto& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

std::vector<std::int64_t> permutation(const std::vector<std::size_t>& order) {
  return {order.begin(), order.end()};
}

std::vector<std::int64_t> inverse(const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[order[k]] = static_cast<std::int64_t>(k);
  return out;
}

// With named extents: those that stay in their place are copied, one other may remain.
std::optional<Value> reshape(ProgramBuilder& b, Value v, const Dims& from, const Dims& to) {
  if (from == to) return v;
  std::vector<std::int64_t> target;
  int open = 0;
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (to[k].is_concrete()) target.push_back(to[k].concrete());
    else if (k < from.size() && from[k] == to[k]) target.push_back(0);
    else if (++open == 1) target.push_back(-1);
    else return std::nullopt;
  }
  return b.reshape(v, target);
}

Dims extents_of(const std::vector<FormDigit>& digits, const std::vector<std::size_t>& which) {
  Dims out;
  for (const std::size_t k : which) out.push_back(digits[k].extent);
  return out;
}

Dim merged(const std::vector<FormDigit>& digits, const std::vector<std::size_t>& which) {
  return product(extents_of(digits, which));
}

// The program of one form. "Canonical" is the order batch, groups, channels, windows.
class FormWriter {
 public:
  FormWriter(ProgramBuilder& b, const FormSite& site) : b_(b), site_(site), form_(site.form) {
    batch_ = form_.input_digits(Role::Batch);
    groups_ = form_.input_digits(Role::Group);
    channels_ = form_.input_digits(Role::Channel);
    windows_ = form_.input_digits(Role::Window);
    const auto number = [&](const std::vector<std::size_t>& which, const std::vector<FormDigit>& digits) {
      Extents out;
      for (const std::size_t k : which) {
        const auto& e = digits[k].extent;
        if (!e.is_concrete()) is_possible_ = false;
        out.push_back(e.is_concrete() ? e.concrete() : 0);
      }
      return out;
    };
    group_sizes_ = number(groups_, form_.input);
    channel_sizes_ = number(channels_, form_.input);
    output_sizes_ = number(form_.output_digits(Role::Channel), form_.output);
  }

  std::optional<Value> write(Value x) {
    if (!is_possible_) return std::nullopt;
    switch (form_.kind) {
      case RegionForm::Kind::Convolution: return convolution(x);
      case RegionForm::Kind::Product: return is_left() ? left_product(x) : product(x);
      case RegionForm::Kind::Scaling: return scaling(x);
    }
    return std::nullopt;
  }

 private:
  // --- weights ---

  // Sizes for a run: impulses along one batch axis.
  struct Run {
    std::optional<RegionRunner> runner;
    Extents input;            // its shape
    Extents batch;            // extents of the batch digits
    Extents spatial, places;  // of the windows: extents, and where the first impulse is
    Extents outputs;          // of the windows
    std::size_t carrier = 0;  // which batch digit counts the impulses
    std::int64_t runs = 1;    // impulses are cut into so many pieces
  };

  std::int64_t impulses() const {
    std::int64_t out = product_of(channel_sizes_);
    for (const FormWindow& w : form_.windows) out *= w.stride;
    return out;
  }

  // A place from which each tap sees one phase's impulse; `inside`: in windows that no border cuts off.
  static std::optional<std::int64_t> place_in(const FormWindow& w, std::int64_t size, bool inside) {
    const std::int64_t outputs = outputs_of(w, size);
    for (std::int64_t k = 0; k + w.stride <= size; ++k) {
      // From the middle outwards.
      const std::int64_t middle = (size - w.stride) / 2,
                         place = k % 2 == 0 ? middle + k / 2 : middle - (k + 1) / 2;
      if (place < 0 || place + w.stride > size) continue;
      bool all = true;
      for (std::int64_t u = 0; u < w.taps && all; ++u) {
        const std::int64_t at = place - w.low - w.dilation * u, phase = floor_mod(-at, w.stride);
        const std::int64_t p = (at + phase) / w.stride;
        const std::int64_t first = w.stride * p + w.low;
        all = p >= 0 && p < outputs && (!inside || (first >= 0 && first + w.span() <= size));
      }
      if (all) return place;
    }
    return std::nullopt;
  }
  static std::int64_t outputs_of(const FormWindow& w, std::int64_t size) {
    return floor_div(size + w.begin + w.end - w.span(), w.stride) + 1;
  }

  // Windows as small as shows all taps, or as they are.
  bool choose_windows(Run& run, bool small) const {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const FormWindow& w = form_.windows[i];
      const std::int64_t natural = site_.runner.input_sizes()[form_.input[windows_[i]].axis];
      std::int64_t size = natural;
      std::optional<std::int64_t> place;
      for (std::int64_t n = w.stride; small && n < natural && !place; n += w.stride)
        if ((place = place_in(w, n, true))) size = n;
      if (!place) place = place_in(w, natural, true);
      if (!place) place = place_in(w, natural, false);
      if (!place) return false;
      run.spatial.push_back(size);
      run.places.push_back(*place);
      run.outputs.push_back(outputs_of(w, size));
    }
    return true;
  }

  Extents input_shape(const Run& run) const {
    Extents out = site_.runner.input_sizes();
    for (std::size_t i = 0; i < windows_.size(); ++i) out[form_.input[windows_[i]].axis] = run.spatial[i];
    for (std::size_t i = 0; i < batch_.size(); ++i) out[form_.input[batch_[i]].axis] = run.batch[i];
    return out;
  }
  // The extents of the output's digits in a run.
  Extents digits_in(const Run& run) const {
    Extents out;
    for (const FormDigit& d : form_.output) out.push_back(d.role == Role::Channel ? d.extent.concrete() : 0);
    for (std::size_t i = 0; i < batch_.size(); ++i) out[other(batch_[i])] = run.batch[i];
    for (std::size_t i = 0; i < groups_.size(); ++i) out[other(groups_[i])] = group_sizes_[i];
    for (std::size_t i = 0; i < windows_.size(); ++i) out[other(windows_[i])] = run.outputs[i];
    return out;
  }
  std::size_t other(std::size_t digit) const { return static_cast<std::size_t>(form_.input[digit].other); }

  // Whether the region runs so, with the outputs that are expected.
  bool prepare(Run& run) const {
    run.input = input_shape(run);
    run.runner =
        run.input == site_.runner.input_sizes() ? std::optional(site_.runner) : site_.runner.at(run.input);
    if (!run.runner) return false;
    const auto y = sizes_in(run.runner->inference(), run.runner->region().output);
    if (!y || y->size() != site_.output.size()) return false;
    Extents expected(y->size(), 1);
    const Extents digits = digits_in(run);
    for (std::size_t k = 0; k < digits.size(); ++k) expected[form_.output[k].axis] *= digits[k];
    if (*y != expected) return false;
    const auto operations = isomer::operations(run.runner->program(), run.runner->inference());
    return operations && *operations * static_cast<double>(run.runs) <= kMostOperations &&
           static_cast<double>(product_of(run.input)) * static_cast<double>(run.runs) <= kMostElements;
  }

  std::optional<Run> run_for(std::int64_t count, bool may_cut) const {
    for (const bool small : {true, false}) {
      for (const bool alone : {true, false}) {
        for (std::size_t i = 0; i < std::max<std::size_t>(batch_.size(), 1); ++i) {
          const std::size_t carrier = is_right() && !batch_.empty() ? batch_.size() - 1 - i : i;
          Run run;
          if (!choose_windows(run, small)) continue;
          run.carrier = carrier;
          for (std::size_t k = 0; k < batch_.size(); ++k)
            run.batch.push_back(k == carrier ? count
                                : alone      ? 1
                                             : site_.runner.input_sizes()[form_.input[batch_[k]].axis]);
          if (batch_.empty() && count > 1) continue;
          if (prepare(run)) return run;
        }
      }
      if (windows_.empty()) break;
    }
    if (!may_cut) return std::nullopt;
    // At the sizes there are, in pieces.
    for (std::size_t carrier = 0; carrier < batch_.size(); ++carrier) {
      Run run;
      if (!choose_windows(run, false)) continue;
      run.carrier = carrier;
      for (std::size_t k = 0; k < batch_.size(); ++k)
        run.batch.push_back(site_.runner.input_sizes()[form_.input[batch_[k]].axis]);
      run.runs = (count + run.batch[carrier] - 1) / run.batch[carrier];
      if (run.runs <= kMostRuns && prepare(run)) return run;
    }
    return std::nullopt;
  }

  // [impulses, groups..., channels..., windows...], one impulse each, in all groups at once.
  Value impulse_images(const Run& run) {
    const std::int64_t n = impulses();
    Extents shape{n};
    shape.insert(shape.end(), groups_.size(), 1);
    shape = joined(shape, channel_sizes_);
    for (const FormWindow& w : form_.windows) shape.push_back(w.stride);
    Value v = b_.eye(n);
    v = b_.reshape(v, shape);
    if (product_of(group_sizes_) > 1) {
      Extents times(shape.size(), 1);
      std::ranges::copy(group_sizes_, times.begin() + 1);
      v = b_.op("Tile", {v, b_.integers(times)});
    }
    Extents begin(shape.size(), 0), end(shape.size(), 0);
    bool pads = false;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const std::size_t at = shape.size() - windows_.size() + i;
      begin[at] = run.places[i];
      end[at] = run.spatial[i] - form_.windows[i].stride - run.places[i];
      pads = pads || begin[at] != 0 || end[at] != 0;
    }
    return pads ? b_.op("Pad", {v, b_.integers(joined(begin, end))}) : v;
  }

  // Images as the region's input, and its output as [impulses, groups..., outputs..., windows...].
  Value in_place(Value images, const Run& run, bool counts) {
    // The order of the input's digits, the carrier in its place; other batches have one element here.
    std::vector<std::int64_t> order;
    const auto index_in = [](const std::vector<std::size_t>& list, std::size_t k) {
      return static_cast<std::int64_t>(std::ranges::find(list, k) - list.begin());
    };
    const auto groups = static_cast<std::int64_t>(groups_.size()),
               channels = static_cast<std::int64_t>(channels_.size());
    for (std::size_t k = 0; k < form_.input.size(); ++k) {
      switch (form_.input[k].role) {
        case Role::Batch:
          if (k == batch_[run.carrier]) order.push_back(0);
          break;
        case Role::Group: order.push_back(1 + index_in(groups_, k)); break;
        case Role::Channel: order.push_back(1 + groups + index_in(channels_, k)); break;
        case Role::Window: order.push_back(1 + groups + channels + index_in(windows_, k)); break;
      }
    }
    if (batch_.empty()) order.insert(order.begin(), 0);
    Value v = b_.transpose(images, order);
    Extents shape = run.input, times(run.input.size(), 1);
    bool tiles = false;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      if (i == run.carrier && counts) continue;
      const std::size_t axis = form_.input[batch_[i]].axis;
      times[axis] = shape[axis];
      tiles = tiles || shape[axis] > 1;
      shape[axis] = 1;
    }
    v = b_.reshape(v, shape);
    return tiles ? b_.op("Tile", {v, b_.integers(times)}) : v;
  }

  Value canonical_answer(Value y, const Run& run) {
    Value v = b_.reshape(y, digits_in(run));
    std::vector<std::size_t> order;
    for (const std::size_t k : batch_) order.push_back(other(k));
    if (!batch_.empty())
      std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(run.carrier),
                  order.begin() + static_cast<std::ptrdiff_t>(run.carrier) + 1);
    for (const std::size_t k : groups_) order.push_back(other(k));
    for (const std::size_t k : form_.output_digits(Role::Channel)) order.push_back(k);
    for (const std::size_t k : windows_) order.push_back(other(k));
    v = b_.transpose(v, permutation(order));
    // One of the other batches is enough.
    for (std::size_t i = 1; i < batch_.size(); ++i) {
      const std::size_t digit = i <= run.carrier ? i - 1 : i;
      if (run.batch[digit] > 1) v = b_.slice(v, static_cast<std::int64_t>(i), 0, 1);
    }
    const std::int64_t count = batch_.empty() ? 1 : run.batch[run.carrier];
    return b_.reshape(v, joined(joined(joined({count}, group_sizes_), output_sizes_), run.outputs));
  }

  // The region's answer to zeros, as [1, groups..., outputs..., windows...].
  std::optional<Value> answer_to_zeros(const Extents& spatial, Run& run) {
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{0}}) {
      run = Run{};
      run.spatial = spatial;
      for (std::size_t i = 0; i < windows_.size(); ++i)
        run.outputs.push_back(outputs_of(form_.windows[i], spatial[i]));
      for (const std::size_t k : batch_)
        run.batch.push_back(size == 1 ? 1 : site_.runner.input_sizes()[form_.input[k].axis]);
      if (!prepare(run)) continue;
      const Value y = canonical_answer(run.runner->run(b_, b_.zeros(run.input)), run);
      return batch_.empty() || run.batch[0] == 1 ? y : b_.slice(y, 0, 0, 1);
    }
    return std::nullopt;
  }

  // Where impulses reach products as rows of a unit matrix.
  RegionRunner::Selected selected(const Run& run) const {
    if (!groups_.empty() || batch_.empty()) return {};
    Extents one = run.input;
    for (const std::size_t k : batch_) one[form_.input[k].axis] = 1;
    const auto runner = site_.runner.at(one);
    if (!runner || product_of(one) * impulses() != product_of(run.input)) return {};
    std::vector<std::int64_t> places;
    for (std::int64_t r = 0; r < impulses(); ++r) {
      // The digits of its number: channels, then phases of the windows.
      Extents at(one.size(), 0);
      std::int64_t rest = r;
      for (std::size_t i = windows_.size(); i-- > 0; rest /= form_.windows[i].stride)
        at[form_.input[windows_[i]].axis] = run.places[i] + rest % form_.windows[i].stride;
      for (std::size_t i = channels_.size(); i-- > 0; rest /= channel_sizes_[i])
        at[form_.input[channels_[i]].axis] = rest % channel_sizes_[i];
      std::int64_t place = 0;
      for (std::size_t d = 0; d < one.size(); ++d) place = place * one[d] + at[d];
      places.push_back(place);
    }
    return runner->selected(places);
  }

  // [channels, phases..., groups, outputs, windows...]: what the region makes of the impulses.
  std::optional<Value> response(Run& run) {
    const std::int64_t n = impulses();
    auto found = run_for(n, true);
    if (!found) return std::nullopt;
    run = *found;
    Value answer;
    const Value images = impulse_images(run);
    if (run.runs == 1) {
      answer = canonical_answer(run.runner->run(b_, in_place(images, run, true), selected(run)), run);
    } else {
      const std::int64_t piece = run.batch[run.carrier];
      Extents pads(2 * (1 + groups_.size() + channels_.size() + windows_.size()), 0);
      pads[pads.size() / 2] = run.runs * piece - n;
      const Value padded = run.runs * piece == n ? images : b_.op("Pad", {images, b_.integers(pads)});
      std::vector<Value> parts;
      for (std::int64_t i = 0; i < run.runs; ++i)
        parts.push_back(canonical_answer(
            run.runner->run(b_, in_place(b_.slice(padded, 0, i * piece, (i + 1) * piece), run, true)), run));
      answer = b_.slice(b_.concat(parts, 0), 0, 0, n);
    }
    if (site_.constant != Constant::None) {
      Run at_zero;
      const auto rest = answer_to_zeros(run.spatial, at_zero);
      if (!rest) return std::nullopt;
      answer = b_.op("Sub", {answer, *rest});
    }
    Extents shape{product_of(channel_sizes_)};
    for (const FormWindow& w : form_.windows) shape.push_back(w.stride);
    shape = joined(shape, {product_of(group_sizes_), product_of(output_sizes_)});
    return b_.reshape(answer, joined(shape, run.outputs));
  }

  // --- forms ---

  // The input with its digits in this order, of these extents.
  std::optional<Value> arranged(Value x, const std::vector<std::size_t>& order, const Dims& to) {
    Dims split, moved;
    for (const FormDigit& d : form_.input) split.push_back(d.extent);
    const auto v = reshape(b_, x, site_.input, split);
    if (!v) return std::nullopt;
    for (const std::size_t k : order) moved.push_back(split[k]);
    return reshape(b_, b_.transpose(*v, permutation(order)), moved, to);
  }
  // The output out of its digits in this order, merged to these extents.
  std::optional<Value> restored(Value y, const Dims& from, const std::vector<std::size_t>& order) {
    Dims moved, split;
    for (const std::size_t k : order) moved.push_back(form_.output[k].extent);
    for (const FormDigit& d : form_.output) split.push_back(d.extent);
    const bool in_order = std::ranges::is_sorted(order);
    if (in_order) return reshape(b_, y, from, site_.output);
    const auto v = reshape(b_, y, from, moved);
    if (!v) return std::nullopt;
    return reshape(b_, b_.transpose(*v, inverse(order)), split, site_.output);
  }

  std::vector<std::size_t> outputs_in_order(const std::vector<std::size_t>& inputs) const {
    std::vector<std::size_t> out;
    for (const std::size_t k : inputs) out.push_back(other(k));
    return out;
  }

  // The answer to zeros at the sizes there are, [1, groups·outputs, windows...].
  std::optional<Value> constant_map() {
    Extents spatial;
    for (const std::size_t k : windows_) {
      if (site_.constant == Constant::Map && !form_.input[k].extent.is_concrete()) return std::nullopt;
      spatial.push_back(site_.runner.input_sizes()[form_.input[k].axis]);
    }
    Run run;
    const auto v = answer_to_zeros(spatial, run);
    if (!v) return std::nullopt;
    const std::int64_t all = product_of(group_sizes_) * product_of(output_sizes_);
    Value out = b_.reshape(*v, joined({1, all}, run.outputs));
    if (site_.constant == Constant::Map) return out;
    for (std::size_t i = 0; i < run.outputs.size(); ++i)
      out = b_.op("Gather", {out, b_.integers({run.outputs[i] / 2})},
                  with({{"axis", static_cast<std::int64_t>(i + 2)}}));
    return b_.reshape(out, {all});
  }

  // The kernel [groups·outputs, channels, taps...].
  std::optional<Value> kernel() {
    Run run;
    const auto answer = response(run);
    if (!answer) return std::nullopt;
    const std::size_t d = windows_.size();
    const std::int64_t rows = product_of(channel_sizes_), groups = product_of(group_sizes_),
                       outputs = product_of(output_sizes_);
    Value v = *answer;
    // [rows, phases..., groups, outputs, places...] -> [rows, groups·outputs, place·phase, ...]
    std::vector<std::int64_t> order{0, static_cast<std::int64_t>(d + 1), static_cast<std::int64_t>(d + 2)},
        shape{rows, groups * outputs};
    for (std::size_t i = 0; i < d; ++i) {
      order.push_back(static_cast<std::int64_t>(1 + i));
      order.push_back(static_cast<std::int64_t>(d + 3 + i));
      shape.push_back(form_.windows[i].stride * run.outputs[i]);
    }
    v = b_.reshape(b_.transpose(v, order), shape);
    // Tap u of the window at p sees the impulse at place: stride·p + low + dilation·u = place + phase.
    for (std::size_t i = 0; i < d; ++i) {
      const FormWindow& w = form_.windows[i];
      std::vector<std::int64_t> places;
      for (std::int64_t u = 0; u < w.taps; ++u) {
        const std::int64_t at = run.places[i] - w.low - w.dilation * u, phase = floor_mod(-at, w.stride);
        places.push_back(phase * run.outputs[i] + (at + phase) / w.stride);
      }
      v = b_.op("Gather", {v, b_.integers(places)}, with({{"axis", static_cast<std::int64_t>(i + 2)}}));
    }
    std::vector<std::int64_t> swap{1, 0};
    for (std::size_t i = 0; i < d; ++i) swap.push_back(static_cast<std::int64_t>(i + 2));
    return b_.transpose(v, swap);
  }

  std::optional<Value> convolution(Value x) {
    const auto order = joined_digits({batch_, groups_, channels_, windows_});
    const auto outputs = form_.output_digits(Role::Channel);
    Dims from{merged(form_.input, batch_), merged(form_.input, groups_) * merged(form_.input, channels_)};
    Dims to{from[0], merged(form_.input, groups_) * merged(form_.output, outputs)};
    for (const std::size_t k : windows_) {
      from.push_back(form_.input[k].extent);
      to.push_back(form_.output[other(k)].extent);
    }
    const auto in = arranged(x, order, from);
    const auto weights = kernel();
    if (!in || !weights) return std::nullopt;
    std::vector<Value> inputs{*in, *weights};
    std::optional<Value> constant;
    if (site_.constant != Constant::None) {
      constant = constant_map();
      if (!constant) return std::nullopt;
      if (site_.constant == Constant::Bias) inputs.push_back(*constant);
    }
    Extents taps, strides, dilations, begin, end;
    for (const FormWindow& w : form_.windows) {
      taps.push_back(w.taps);
      strides.push_back(w.stride);
      dilations.push_back(w.dilation);
      begin.push_back(w.begin);
      end.push_back(w.end);
    }
    auto attributes = with({{"kernel_shape", taps},
                            {"strides", strides},
                            {"pads", joined(begin, end)},
                            {"group", product_of(group_sizes_)}});
    if (std::ranges::any_of(dilations, [](std::int64_t n) { return n != 1; }))
      attributes.set("dilations", dilations);
    Value y = b_.op("Conv", inputs, attributes);
    if (site_.constant == Constant::Map) y = b_.op("Add", {y, *constant});
    return restored(y, to,
                    joined_digits({outputs_in_order(batch_), outputs_in_order(groups_), outputs,
                                   outputs_in_order(windows_)}));
  }

  // Channels last, in the input.
  bool is_right() const {
    return form_.kind == RegionForm::Kind::Product && groups_.empty() && !channels_.empty() &&
           channels_.back() + 1 == form_.input.size();
  }
  // Channels, then one or more batch axes, here and there.
  bool is_left() const {
    if (!groups_.empty() || is_right()) return false;
    // A broadcast product may not run for a batch of none.
    if (!is_concrete(site_.input)) return false;
    const auto last = form_.input.size() - 1;
    if (form_.input[last].role != Role::Batch || channels_.size() != channels_.back() - channels_.front() + 1)
      return false;
    const auto outputs = form_.output_digits(Role::Channel);
    if (outputs.empty() || outputs.size() != outputs.back() - outputs.front() + 1) return false;
    const auto batch = outputs_in_order(batch_);
    const auto before = static_cast<std::size_t>(
        std::ranges::count_if(batch_, [&](std::size_t k) { return k < channels_[0]; }));
    return std::ranges::is_sorted(batch) && outputs[0] == before;
  }

  // [groups, channels, outputs]; without groups [channels, outputs].
  std::optional<Value> matrix() {
    Run run;
    const auto answer = response(run);
    if (!answer) return std::nullopt;
    const std::int64_t rows = product_of(channel_sizes_), groups = product_of(group_sizes_),
                       outputs = product_of(output_sizes_);
    if (groups_.empty()) return b_.reshape(*answer, {rows, outputs});
    return b_.transpose(b_.reshape(*answer, {rows, groups, outputs}), {1, 0, 2});
  }

  std::optional<Value> product(Value x) {
    const auto outputs = form_.output_digits(Role::Channel);
    const auto weights = matrix();
    if (!weights) return std::nullopt;
    Dims from = extents_of(form_.input, batch_);
    std::vector<std::size_t> order = joined_digits({batch_, channels_});
    std::vector<std::size_t> back = joined_digits({outputs_in_order(batch_), outputs});
    if (!groups_.empty()) {
      from = {merged(form_.input, groups_), merged(form_.input, batch_)};
      order = joined_digits({groups_, batch_, channels_});
      back = joined_digits({outputs_in_order(groups_), outputs_in_order(batch_), outputs});
    }
    Dims to = from;
    from.push_back(merged(form_.input, channels_));
    to.push_back(merged(form_.output, outputs));
    if (from.size() < 2) {
      from.insert(from.begin(), 1);
      to.insert(to.begin(), 1);
    }
    const auto in = arranged(x, order, from);
    if (!in) return std::nullopt;
    Value y = b_.op("MatMul", {*in, *weights});
    if (site_.constant != Constant::None) {
      const auto constant = constant_map();
      if (!constant) return std::nullopt;
      const std::int64_t groups = product_of(group_sizes_), columns = product_of(output_sizes_);
      y = b_.op("Add",
                {y, b_.reshape(*constant, groups_.empty() ? Extents{columns} : Extents{groups, 1, columns})});
    }
    return restored(y, to, back);
  }

  std::optional<Value> left_product(Value x) {
    const auto outputs = form_.output_digits(Role::Channel);
    const auto weights = matrix();
    if (!weights) return std::nullopt;
    std::vector<std::size_t> before, behind;
    for (const std::size_t k : batch_) (k < channels_[0] ? before : behind).push_back(k);
    Dims from = extents_of(form_.input, before), to = from;
    from.push_back(merged(form_.input, channels_));
    to.push_back(merged(form_.output, outputs));
    from.push_back(merged(form_.input, behind));
    to.push_back(from.back());
    const auto in = arranged(x, joined_digits({before, channels_, behind}), from);
    if (!in) return std::nullopt;
    Value y = b_.op("MatMul", {b_.transpose(*weights, {1, 0}), *in});
    if (site_.constant != Constant::None) {
      const auto constant = constant_map();
      if (!constant) return std::nullopt;
      y = b_.op("Add", {y, b_.reshape(*constant, {product_of(output_sizes_), 1})});
    }
    return restored(y, to, joined_digits({outputs_in_order(before), outputs, outputs_in_order(behind)}));
  }

  // y = x · a + c, with a and c of one batch.
  std::optional<Value> scaling(Value x) {
    if (site_.input.size() != site_.output.size() || form_.input.size() != form_.output.size())
      return std::nullopt;
    for (const std::size_t k : joined_digits({batch_, groups_}))
      if (other(k) != k) return std::nullopt;
    Run run;
    for (const std::size_t k : batch_) {
      (void)k;
      run.batch.push_back(1);
    }
    if (!prepare(run)) return std::nullopt;
    const Value zero = run.runner->run(b_, b_.zeros(run.input));
    const Value one = run.runner->run(
        b_, b_.op("ConstantOfShape", {b_.integers(run.input)},
                  with({{"value", Tensor::of(ElementType::Float, {1}, std::vector<float>{1})}})));
    const Value factor = site_.constant == Constant::None ? one : b_.op("Sub", {one, zero});
    const Value y = b_.op("Mul", {x, factor});
    return site_.constant == Constant::None ? y : b_.op("Add", {y, zero});
  }

  ProgramBuilder& b_;
  const FormSite& site_;
  const RegionForm& form_;
  std::vector<std::size_t> batch_, groups_, channels_, windows_;  // digits of the input
  Extents group_sizes_, channel_sizes_, output_sizes_;
  bool is_possible_ = true;
};

}  // namespace

Extents smaller_input(const RegionRunner& runner, const RegionForm& form) {
  Extents out = runner.input_sizes();
  std::size_t window = 0;
  for (const FormDigit& d : form.input) {
    if (d.role == Role::Batch) out[d.axis] = 1;
    if (d.role != Role::Window) continue;
    const FormWindow& w = form.windows[window++];
    const std::int64_t enough = 3 * w.span();
    if (out[d.axis] > enough) out[d.axis] -= (out[d.axis] - enough) / w.stride * w.stride;
  }
  return out;
}

std::optional<bool> is_even(const RegionRunner& runner, const RegionForm& form) {
  const auto windows = form.input_digits(Role::Window);
  if (windows.empty()) return true;
  const Extents smaller = smaller_input(runner, form);
  auto small = runner.at(smaller);
  const RegionRunner& used = small ? *small : runner;
  const auto work = operations(used.program(), used.inference());
  if (!work || *work > kMostOperations / 10) return std::nullopt;
  // The extents of the output's digits, and which of them are windows'.
  Extents digits;
  std::vector<bool> is_window;
  for (const FormDigit& d : form.output) {
    is_window.push_back(d.role == Role::Window);
    const std::size_t from = d.other >= 0 ? form.input[static_cast<std::size_t>(d.other)].axis : 0;
    if (d.role == Role::Batch) digits.push_back(used.input_sizes()[from]);
    else if (d.role == Role::Window) {
      const auto at = std::ranges::find(windows, static_cast<std::size_t>(d.other)) - windows.begin();
      const FormWindow& w = form.windows[static_cast<std::size_t>(at)];
      digits.push_back(floor_div(used.input_sizes()[from] + w.begin + w.end - w.span(), w.stride) + 1);
    } else if (d.extent.is_concrete()) digits.push_back(d.extent.concrete());
    else return std::nullopt;
  }
  const Value x = used.region().input;
  const auto count = static_cast<std::size_t>(product_of(used.input_sizes()));
  const auto zeros = Tensor::of(ElementType::Float, used.input_sizes(), std::vector<float>(count, 0));
  const auto outcome = interpret(used.program(), {{used.program().name_of(x), zeros}});
  if (!outcome.ok() || outcome->opaque) return std::nullopt;
  const auto y = outcome->outputs.begin()->second.doubles();
  if (!y || static_cast<std::int64_t>(y->size()) != product_of(digits)) return std::nullopt;
  double scale = 0;
  for (const double v : *y) scale = std::max(scale, std::abs(v));
  for (std::size_t n = 0; n < y->size(); ++n) {
    // The same element at the first place of all windows.
    std::size_t rest = n, first = 0, stride = 1;
    for (std::size_t k = digits.size(); k-- > 0;) {
      const auto extent = static_cast<std::size_t>(digits[k]);
      if (!is_window[k]) first += rest % extent * stride;
      rest /= extent;
      stride *= extent;
    }
    if (std::abs((*y)[n] - (*y)[first]) > 1e-5 * scale) return false;
  }
  return true;
}

std::optional<Value> write_form(ProgramBuilder& b, const FormSite& site, Value x) {
  return FormWriter(b, site).write(x);
}

}  // namespace isomer
