#include "optimizer/propose/collapse/region_weights.h"

#include <algorithm>
#include <cmath>

#include "kernel/prove/shrink.h"
#include "model/graph/interpret.h"

namespace isomer {

using Role = FormDigit::Role;

namespace {

constexpr double kMostElements = 1 << 24;  // of all impulses together
constexpr double kMostOperations = 4e9;    // of the region on them
constexpr double kMostOfWindows = 2e10;    // the same for convolutions: 256 channels, 3x3, to 128
constexpr double kMostLooked = 4e8;        // of a look at what it does
constexpr std::int64_t kMostRuns = 8;

std::int64_t outputs_of(const FormWindow& w, std::int64_t size) {
  return floor_div(size + w.begin + w.end - w.span(), w.stride) + 1;
}

// A place from which each tap sees one phase's impulse; `inside`: in windows that no border cuts off.
std::optional<std::int64_t> place_in(const FormWindow& w, std::int64_t size, bool inside) {
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
}  // namespace

std::int64_t product_of(const Extents& e) {
  std::int64_t out = 1;
  for (const std::int64_t n : e) out *= n;
  return out;
}

std::vector<std::int64_t> permutation(const std::vector<std::size_t>& order) {
  return {order.begin(), order.end()};
}

// Sizes for a run: impulses along one batch axis.
struct RegionWeights::Run {
  std::optional<RegionRunner> runner;
  Extents input;            // its shape
  Extents batch;            // extents of the batch digits
  Extents spatial, places;  // of the windows: extents, and where the first impulse is
  Extents outputs;          // of the windows
  std::size_t carrier = 0;  // which batch digit counts the impulses
  std::int64_t runs = 1;    // the number of pieces that the impulses are cut into
};

RegionWeights::RegionWeights(ProgramBuilder& b, const RegionRunner& runner, const RegionForm& form,
                             bool affine)
    : b_(b), runner_(runner), form_(form), affine_(affine) {
  batch_ = form_.input_digits(Role::Batch);
  groups_ = form_.input_digits(Role::Group);
  channels_ = form_.input_digits(Role::Channel);
  windows_ = form_.input_digits(Role::Window);
  const auto numbers = [&](const std::vector<std::size_t>& which, const std::vector<FormDigit>& digits) {
    Extents out;
    for (const std::size_t k : which) {
      are_possible_ = are_possible_ && digits[k].extent.is_concrete();
      out.push_back(digits[k].extent.value().value_or(0));
    }
    return out;
  };
  group_sizes_ = numbers(groups_, form_.input);
  channel_sizes_ = numbers(channels_, form_.input);
  output_sizes_ = numbers(form_.output_digits(Role::Channel), form_.output);
}

std::int64_t RegionWeights::impulses() const {
  std::int64_t out = product_of(channel_sizes_);
  for (const FormWindow& w : form_.windows) out *= w.stride;
  return out;
}

// Windows as small as shows all taps, or as they are.
bool RegionWeights::choose_windows(Run& run, bool small) const {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const FormWindow& w = form_.windows[i];
    const std::int64_t natural = this->natural(windows_[i]);
    std::int64_t size = natural;
    std::optional<std::int64_t> place;
    // That may be more than exists: a place that all taps read.
    const std::int64_t enough = std::max(natural - 1, 2 * w.span() + w.stride);
    for (std::int64_t n = w.stride; small && n <= enough && !place; n += w.stride) {
      place = place_in(w, n, true);
      if (place) size = n;
    }
    if (!place) place = place_in(w, natural, true);
    if (!place) place = place_in(w, natural, false);
    if (!place) return false;
    run.spatial.push_back(size);
    run.places.push_back(*place);
    run.outputs.push_back(outputs_of(w, size));
  }
  return true;
}

Extents RegionWeights::input_shape(const Run& run) const {
  Extents out = runner_.input_sizes();
  for (std::size_t i = 0; i < windows_.size(); ++i) out[form_.input[windows_[i]].axis] = run.spatial[i];
  for (std::size_t i = 0; i < batch_.size(); ++i) out[form_.input[batch_[i]].axis] = run.batch[i];
  return out;
}
// The extents of the output's digits in a run.
Extents RegionWeights::digits_in(const Run& run) const {
  Extents out;
  for (const FormDigit& d : form_.output) out.push_back(d.role == Role::Channel ? d.extent.concrete() : 0);
  for (std::size_t i = 0; i < batch_.size(); ++i) out[other(batch_[i])] = run.batch[i];
  for (std::size_t i = 0; i < groups_.size(); ++i) out[other(groups_[i])] = group_sizes_[i];
  for (std::size_t i = 0; i < windows_.size(); ++i) out[other(windows_[i])] = run.outputs[i];
  return out;
}
// Whether the region runs so, with the outputs that are expected.
bool RegionWeights::prepare(Run& run) const {
  run.input = input_shape(run);
  run.runner = run.input == runner_.input_sizes() ? std::optional(runner_) : runner_.at(run.input);
  if (!run.runner) return false;
  const auto y = sizes_in(run.runner->inference(), run.runner->region().output);
  const std::size_t axes = form_.output.empty() ? 0 : form_.output.back().axis + 1;  // a scalar has no digits
  if (!y || y->size() != axes) return false;
  Extents expected(y->size(), 1);
  const Extents digits = digits_in(run);
  for (std::size_t k = 0; k < digits.size(); ++k) expected[form_.output[k].axis] *= digits[k];
  if (*y != expected) return false;
  const auto operations = isomer::operations(run.runner->program(), run.runner->inference());
  return operations &&
         *operations * static_cast<double>(run.runs) <=
             (windows_.empty() ? kMostOperations : kMostOfWindows) &&
         static_cast<double>(product_of(run.input)) * static_cast<double>(run.runs) <= kMostElements;
}

// The impulses along one batch axis, the others as short as possible.
std::optional<RegionWeights::Run> RegionWeights::run_for(std::int64_t count) const {
  if (batch_.empty() && count > 1) return std::nullopt;
  for (const bool small : {true, false}) {
    for (const bool alone : {true, false}) {
      for (std::size_t carrier = 0; carrier < std::max<std::size_t>(batch_.size(), 1); ++carrier) {
        Run run;
        if (!choose_windows(run, small)) return std::nullopt;
        run.carrier = carrier;
        for (std::size_t k = 0; k < batch_.size(); ++k)
          run.batch.push_back(k == carrier ? count : alone ? 1 : natural(batch_[k]));
        if (prepare(run)) return run;
      }
    }
    if (windows_.empty()) break;
  }
  return std::nullopt;
}

// At the sizes there are, the impulses in pieces.
std::optional<RegionWeights::Run> RegionWeights::cut_run_for(std::int64_t count) const {
  for (std::size_t carrier = 0; carrier < batch_.size(); ++carrier) {
    Run run;
    if (!choose_windows(run, false)) return std::nullopt;
    run.carrier = carrier;
    for (const std::size_t k : batch_) run.batch.push_back(natural(k));
    run.runs = (count + run.batch[carrier] - 1) / run.batch[carrier];
    if (run.runs <= kMostRuns && prepare(run)) return run;
  }
  return std::nullopt;
}

// [phases·rows, groups..., channels..., windows...], one impulse each, in all groups at once.
Value RegionWeights::images(const Run& run) {
  const Value v = impulse_images(b_, impulses_in(run));
  return b_.reshape(v, joined(joined(joined({impulses()}, group_sizes_), channel_sizes_), run.spatial));
}

// Images as the region's input.
Value RegionWeights::in_place(Value images, const Run& run) {
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
    if (i == run.carrier) continue;
    const std::size_t axis = form_.input[batch_[i]].axis;
    times[axis] = shape[axis];
    tiles = tiles || shape[axis] > 1;
    shape[axis] = 1;
  }
  v = b_.reshape(v, shape);
  return tiles ? b_.op("Tile", {v, b_.integers(times)}) : v;
}

// The output as [impulses, groups..., outputs..., windows...].
Value RegionWeights::canonical_answer(Value y, const Run& run) {
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

// The region's answer to zeros, as [1, groups..., outputs..., windows...]; `outputs`: of the windows.
std::optional<Value> RegionWeights::answer_to_zeros(const Extents& spatial, Extents& outputs) {
  for (const bool alone : {true, false}) {
    Run run;
    run.spatial = spatial;
    for (std::size_t i = 0; i < windows_.size(); ++i)
      run.outputs.push_back(outputs_of(form_.windows[i], spatial[i]));
    for (const std::size_t k : batch_) run.batch.push_back(alone ? 1 : natural(k));
    if (!prepare(run)) continue;
    outputs = run.outputs;
    const Value y = canonical_answer(run.runner->run(b_, b_.zeros(run.input)), run);
    return batch_.empty() || run.batch[0] == 1 ? y : b_.slice(y, 0, 0, 1);
  }
  return std::nullopt;
}

// Where impulses reach products as rows of a unit matrix.
RegionRunner::Selected RegionWeights::selected(const Run& run) const {
  if (!groups_.empty() || batch_.empty()) return {};
  Extents one = run.input;
  for (const std::size_t k : batch_) one[form_.input[k].axis] = 1;
  const auto runner = runner_.at(one);
  if (!runner || product_of(one) * impulses() != product_of(run.input)) return {};
  std::vector<std::int64_t> places;
  for (std::int64_t r = 0; r < impulses(); ++r) {
    // The digits of its number: phases of the windows, then channels.
    Extents at(one.size(), 0);
    std::int64_t rest = r;
    for (std::size_t i = channels_.size(); i-- > 0; rest /= channel_sizes_[i])
      at[form_.input[channels_[i]].axis] = rest % channel_sizes_[i];
    for (std::size_t i = windows_.size(); i-- > 0; rest /= form_.windows[i].stride)
      at[form_.input[windows_[i]].axis] = run.places[i] + rest % form_.windows[i].stride;
    std::int64_t place = 0;
    for (std::size_t d = 0; d < one.size(); ++d) place = place * one[d] + at[d];
    places.push_back(place);
  }
  return runner->selected(places);
}

Value RegionWeights::answer_in_pieces(Value images, const Run& run, const RegionRunner::Shifts& zeros) {
  const std::int64_t piece = run.batch[run.carrier], n = impulses();
  Extents pads(2 * (1 + groups_.size() + channels_.size() + windows_.size()), 0);
  pads[pads.size() / 2] = run.runs * piece - n;
  if (run.runs * piece != n) images = b_.op("Pad", {images, b_.integers(pads)});
  std::vector<Value> parts;
  for (std::int64_t i = 0; i < run.runs; ++i) {
    const Value part = in_place(b_.slice(images, 0, i * piece, (i + 1) * piece), run);
    parts.push_back(canonical_answer(run.runner->run(b_, part, {}, zeros), run));
  }
  return b_.slice(b_.concat(parts, 0), 0, 0, n);
}

// [phases·rows, groups·outputs, windows...]: what the region makes of the impulses.
std::optional<Value> RegionWeights::response(Run& run) {
  auto found = run_for(impulses());
  if (!found) found = cut_run_for(impulses());
  if (!found) return std::nullopt;
  run = *found;
  // Without the shift, or, where it is unknown, minus the response to zeros.
  const auto zeros = affine_ ? run.runner->shifts() : RegionRunner::Shifts{};
  Value answer = images(run);
  answer = run.runs > 1 ? answer_in_pieces(answer, run, zeros.value_or(RegionRunner::Shifts{}))
                        : canonical_answer(run.runner->run(b_, in_place(answer, run), selected(run),
                                                           zeros.value_or(RegionRunner::Shifts{})),
                                           run);
  if (!zeros) {
    Extents outputs;
    const auto rest = answer_to_zeros(run.spatial, outputs);
    if (!rest) return std::nullopt;
    answer = b_.op("Sub", {answer, *rest});
  }
  return b_.reshape(answer, joined({impulses(), groups() * outputs()}, run.outputs));
}

Impulses RegionWeights::impulses_in(const Run& run) const {
  Impulses out{
      .rows = product_of(channel_sizes_), .groups = groups(), .spatial = run.spatial, .place = run.places};
  for (const FormWindow& w : form_.windows) out.stride.push_back(w.stride);
  return out;
}

// The kernel [groups·outputs, channels, taps...].
std::optional<Value> RegionWeights::kernel() {
  Run run;
  const auto answer = response(run);
  if (!answer) return std::nullopt;
  Extents taps, begin, dilation;
  for (const FormWindow& w : form_.windows) {
    taps.push_back(w.taps);
    begin.push_back(-w.low);
    dilation.push_back(w.dilation);
  }
  return kernel_from(b_, impulses_in(run), *answer, joined({impulses(), groups() * outputs()}, run.outputs),
                     taps, begin, dilation);
}

// [groups, channels, outputs]; without groups [channels, outputs].
std::optional<Value> RegionWeights::matrix() {
  Run run;
  const auto answer = response(run);
  if (!answer) return std::nullopt;
  const std::int64_t rows = product_of(channel_sizes_), groups = this->groups(), outputs = this->outputs();
  if (groups_.empty()) return b_.reshape(*answer, {rows, outputs});
  return b_.transpose(b_.reshape(*answer, {rows, groups, outputs}), {1, 0, 2});
}

std::optional<Value> RegionWeights::constants() {
  Extents spatial, outputs;
  for (const std::size_t k : windows_) spatial.push_back(natural(k));
  const auto v = answer_to_zeros(spatial, outputs);
  if (!v) return std::nullopt;
  return b_.reshape(*v, joined({1, groups() * this->outputs()}, outputs));
}

std::optional<Value> RegionWeights::bias() {
  auto v = constants();
  if (!v) return std::nullopt;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const std::int64_t middle = outputs_of(form_.windows[i], natural(windows_[i])) / 2;
    v = b_.op("Gather", {*v, b_.integers({middle})}, with({{"axis", static_cast<std::int64_t>(i + 2)}}));
  }
  return b_.reshape(*v, {groups() * outputs()});
}

std::optional<RegionWeights::Line> RegionWeights::line() {
  Run run;
  run.batch.assign(batch_.size(), 1);
  if (!windows_.empty() || !prepare(run)) return std::nullopt;
  const Tensor one = Tensor::of(ElementType::Float, {1}, std::vector<float>{1});
  const Value ones = b_.op("ConstantOfShape", {b_.integers(run.input)}, with({{"value", one}}));
  if (!affine_) return Line{.slope = run.runner->run(b_, ones)};
  const Value shift = run.runner->run(b_, b_.zeros(run.input));
  const auto zeros = run.runner->shifts();
  if (zeros) return Line{.slope = run.runner->run(b_, ones, {}, *zeros), .shift = shift};
  return Line{.slope = b_.op("Sub", {run.runner->run(b_, ones), shift}), .shift = shift};
}

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

bool keeps_digits(const RegionRunner& runner, const RegionForm& form) {
  constexpr double kMostLost = 0x1p-14;   // a long sum loses 2^-18; 4096 that cancels 2^-12
  constexpr double kMostShift = 0x1p+12;  // times what inputs of size 1 do
  const auto small = runner.at(smaller_input(runner, form));
  const RegionRunner& used = small ? *small : runner;
  const auto work = operations(used.program(), used.inference());
  if (!work || *work > kMostLooked) return false;
  // The answer to numbers that are spread over [-size, size).
  const auto answer = [&](float size, Arithmetic arithmetic) {
    std::vector<float> x(static_cast<std::size_t>(product_of(used.input_sizes())));
    for (std::size_t n = 0; n < x.size(); ++n)
      x[n] = size * (static_cast<float>((n + 1) * 40503 % 65536) / 32768 - 1);
    const NamedTensors feeds{
        {used.program().name_of(used.region().input), Tensor::of(ElementType::Float, used.input_sizes(), x)}};
    const auto outcome = interpret(used.program(), feeds, arithmetic);
    if (!outcome.ok() || outcome->opaque) return std::vector<double>();
    return outcome->outputs.begin()->second.doubles().value_or(std::vector<double>());
  };
  const auto largest = [](const std::vector<double>& a, const std::vector<double>& b) {
    double out = a.empty() || a.size() != b.size() ? std::nan("") : 0;
    for (std::size_t n = 0; n < a.size() && !std::isnan(out); ++n)
      out = std::isfinite(a[n] - b[n]) ? std::max(out, std::abs(a[n] - b[n])) : std::nan("");
    return out;
  };
  const std::vector<double> shift = answer(0, Arithmetic::Double), none(shift.size(), 0);
  const auto keeps = [&](float size) {
    const auto exact = answer(size, Arithmetic::Double);
    return largest(answer(size, Arithmetic::Native), exact) <= kMostLost * largest(exact, none);
  };
  if (!keeps(1) || !(largest(shift, none) <= kMostShift * largest(answer(1, Arithmetic::Double), shift)))
    return false;
  return form.kind != RegionForm::Kind::Scaling || (keeps(0x1p+64F) && keeps(0x1p-64F));
}

std::optional<bool> is_even(const RegionRunner& runner, const RegionForm& form) {
  const auto windows = form.input_digits(Role::Window);
  if (windows.empty()) return true;
  const Extents smaller = smaller_input(runner, form);
  auto small = runner.at(smaller);
  const RegionRunner& used = small ? *small : runner;
  const auto work = operations(used.program(), used.inference());
  if (!work || *work > kMostLooked) return std::nullopt;
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

}  // namespace isomer
