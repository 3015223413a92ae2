#include "optimizer/propose/collapse/collapse_form.h"

#include <algorithm>

#include "optimizer/propose/collapse/region_weights.h"

namespace isomer {
namespace {

using Role = FormDigit::Role;

std::vector<std::size_t> joined_digits(std::initializer_list<std::vector<std::size_t>> lists) {
  std::vector<std::size_t> out;
  for (const auto& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

std::vector<std::int64_t> inverse(const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[order[k]] = static_cast<std::int64_t>(k);
  return out;
}

Dims extents_of(const std::vector<FormDigit>& digits, const std::vector<std::size_t>& which) {
  Dims out;
  for (const std::size_t k : which) out.push_back(digits[k].extent);
  return out;
}

Dim merged(const std::vector<FormDigit>& digits, const std::vector<std::size_t>& which) {
  return product(extents_of(digits, which));
}

// The program of one form.
class FormWriter {
 public:
  FormWriter(ProgramBuilder& b, const FormSite& site)
      : b_(b),
        site_(site),
        form_(site.form),
        weights_(b, site.runner, site.form, site.constant != Constant::None),
        batch_(form_.input_digits(Role::Batch)),
        groups_(form_.input_digits(Role::Group)),
        channels_(form_.input_digits(Role::Channel)),
        windows_(form_.input_digits(Role::Window)),
        outputs_(form_.output_digits(Role::Channel)) {}

  std::optional<Value> write(Value x) {
    if (!weights_.are_possible()) return std::nullopt;
    switch (form_.kind) {
      case RegionForm::Kind::Convolution: return convolution(x);
      case RegionForm::Kind::Product: return is_left() ? left_product(x) : product(x);
      case RegionForm::Kind::Scaling: return scaling(x);
    }
    return std::nullopt;
  }

 private:
  // The input with its digits in this order, of these extents.
  std::optional<Value> arrange(Value x, const std::vector<std::size_t>& order, const Dims& to) {
    if (std::ranges::is_sorted(order)) return b_.reshape(x, site_.input, to);
    Dims split, moved;
    for (const FormDigit& d : form_.input) split.push_back(d.extent);
    const auto v = b_.reshape(x, site_.input, split);
    if (!v) return std::nullopt;
    for (const std::size_t k : order) moved.push_back(split[k]);
    return b_.reshape(b_.transpose(*v, permutation(order)), moved, to);
  }
  // The output out of its digits in this order, merged to these extents.
  std::optional<Value> restored(Value y, const Dims& from, const std::vector<std::size_t>& order) {
    if (std::ranges::is_sorted(order)) return b_.reshape(y, from, site_.output);
    Dims moved, split;
    for (const std::size_t k : order) moved.push_back(form_.output[k].extent);
    for (const FormDigit& d : form_.output) split.push_back(d.extent);
    const auto v = b_.reshape(y, from, moved);
    if (!v) return std::nullopt;
    return b_.reshape(b_.transpose(*v, inverse(order)), split, site_.output);
  }

  std::optional<Value> convolution(Value x) {
    // A constant of the output's size has to be of a known one.
    const bool has_map = site_.constant == Constant::Map;
    Dims from{merged(form_.input, batch_), merged(form_.input, groups_) * merged(form_.input, channels_)};
    Dims to{from[0], merged(form_.input, groups_) * merged(form_.output, outputs_)};
    for (const std::size_t k : windows_) {
      from.push_back(form_.input[k].extent);
      to.push_back(form_.output[other(k)].extent);
      if (has_map && !to.back().is_concrete()) return std::nullopt;
    }
    const auto in = arrange(x, joined_digits({batch_, groups_, channels_, windows_}), from);
    const auto kernel = weights_.kernel();
    if (!in || !kernel) return std::nullopt;
    std::vector<Value> inputs{*in, *kernel};
    if (site_.constant == Constant::Bias) {
      const auto bias = weights_.bias();
      if (!bias) return std::nullopt;
      inputs.push_back(*bias);
    }
    Value y = b_.op("Conv", inputs, attributes());
    if (has_map) {
      const auto map = weights_.constants();
      if (!map) return std::nullopt;
      y = b_.op("Add", {y, *map});
    }
    return restored(y, to, joined_digits({others(batch_), others(groups_), outputs_, others(windows_)}));
  }

  Attributes attributes() const {
    Extents taps, strides, dilations, begin, end;
    for (const FormWindow& w : form_.windows) {
      taps.push_back(w.taps);
      strides.push_back(w.stride);
      dilations.push_back(w.dilation);
      begin.push_back(w.begin);
      end.push_back(w.end);
    }
    Attributes out = with({{"kernel_shape", taps},
                           {"strides", strides},
                           {"pads", joined(begin, end)},
                           {"group", weights_.groups()}});
    if (std::ranges::any_of(dilations, [](std::int64_t n) { return n != 1; }))
      out.set("dilations", dilations);
    return out;
  }

  // Channels, then one or more batch axes, here and there.
  bool is_left() const {
    if (!groups_.empty() || channels_.back() + 1 == form_.input.size()) return false;
    // A broadcast product may not run for a batch of none.
    if (!is_concrete(site_.input)) return false;
    const auto are_together = [](const std::vector<std::size_t>& digits) {
      return !digits.empty() && digits.size() == digits.back() - digits.front() + 1;
    };
    if (!are_together(channels_) || !are_together(outputs_)) return false;
    const auto before = static_cast<std::size_t>(
        std::ranges::count_if(batch_, [&](std::size_t k) { return k < channels_[0]; }));
    return std::ranges::is_sorted(others(batch_)) && outputs_[0] == before;
  }

  std::optional<Value> product(Value x) {
    const auto matrix = weights_.matrix();
    Dims from = extents_of(form_.input, batch_);
    std::vector<std::size_t> order = joined_digits({batch_, channels_});
    std::vector<std::size_t> back = joined_digits({others(batch_), outputs_});
    if (!groups_.empty()) {
      from = {merged(form_.input, groups_), merged(form_.input, batch_)};
      order = joined_digits({groups_, batch_, channels_});
      back = joined_digits({others(groups_), others(batch_), outputs_});
    }
    if (from.empty()) from = {1};
    Dims to = from;
    from.push_back(merged(form_.input, channels_));
    to.push_back(merged(form_.output, outputs_));
    const auto in = arrange(x, order, from);
    if (!in || !matrix) return std::nullopt;
    const std::int64_t groups = weights_.groups(), columns = weights_.outputs();
    const auto y = shifted(b_.op("MatMul", {*in, *matrix}),
                           groups_.empty() ? Extents{columns} : Extents{groups, 1, columns});
    return y ? restored(*y, to, back) : std::nullopt;
  }

  std::optional<Value> left_product(Value x) {
    const auto matrix = weights_.matrix();
    std::vector<std::size_t> before, behind;
    for (const std::size_t k : batch_) (k < channels_[0] ? before : behind).push_back(k);
    Dims from = extents_of(form_.input, before), to = from;
    from.push_back(merged(form_.input, channels_));
    to.push_back(merged(form_.output, outputs_));
    from.push_back(merged(form_.input, behind));
    to.push_back(from.back());
    const auto in = arrange(x, joined_digits({before, channels_, behind}), from);
    if (!in || !matrix) return std::nullopt;
    const auto y = shifted(b_.op("MatMul", {b_.transpose(*matrix, {1, 0}), *in}), {weights_.outputs(), 1});
    return y ? restored(*y, to, joined_digits({others(before), outputs_, others(behind)})) : std::nullopt;
  }

  // With the constants, if there are any, in this shape.
  std::optional<Value> shifted(Value y, const Extents& shape) {
    if (site_.constant == Constant::None) return y;
    const auto bias = weights_.bias();
    if (!bias) return std::nullopt;
    return b_.op("Add", {y, b_.reshape(*bias, shape)});
  }

  // y = x · a + c, with a and c of one batch.
  std::optional<Value> scaling(Value x) {
    if (form_.input.size() != form_.output.size()) return std::nullopt;
    for (const std::size_t k : joined_digits({batch_, groups_}))
      if (other(k) != k) return std::nullopt;
    const auto line = weights_.line();
    if (!line) return std::nullopt;
    const Value y = b_.op("Mul", {x, line->slope});
    return line->shift.exists() ? b_.op("Add", {y, line->shift}) : y;
  }

  std::size_t other(std::size_t digit) const { return static_cast<std::size_t>(form_.input[digit].other); }
  std::vector<std::size_t> others(const std::vector<std::size_t>& digits) const {
    std::vector<std::size_t> out;
    for (const std::size_t k : digits) out.push_back(other(k));
    return out;
  }

  ProgramBuilder& b_;
  const FormSite& site_;
  const RegionForm& form_;
  RegionWeights weights_;
  std::vector<std::size_t> batch_, groups_, channels_, windows_;  // digits of the input
  std::vector<std::size_t> outputs_;                              // the output's channels
};

}  // namespace

std::optional<Value> write_form(ProgramBuilder& b, const FormSite& site, Value x) {
  return FormWriter(b, site).write(x);
}

}  // namespace isomer
