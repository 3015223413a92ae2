#include "equate/combined_constant.h"

#include <algorithm>
#include <cmath>

#include "model/graph/program_builder.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostTaps = 64;
constexpr double kClose = 1e-5;

using Matrix = std::vector<std::vector<double>>;  // rows

// The wanted tensor as [..., outputs, ..., channels, ...] with its other axes as taps.
struct Reading {
  Extents shape;                // of the same elements
  std::size_t output, channel;  // axes
};

std::vector<Reading> readings(const Extents& wanted, std::int64_t outputs, std::int64_t channels) {
  std::vector<Extents> shapes{wanted};
  for (std::size_t d = 0; d < wanted.size(); ++d)
    if (wanted[d] != outputs && wanted[d] % outputs == 0) {
      for (const bool inner : {false, true}) {
        Extents split = wanted;
        split[d] = inner ? wanted[d] / outputs : outputs;
        split.insert(split.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                     inner ? outputs : wanted[d] / outputs);
        shapes.push_back(split);
      }
    }
  std::vector<Reading> out;
  for (const Extents& shape : shapes)
    for (std::size_t o = 0; o < shape.size(); ++o)
      for (std::size_t c = 0; c < shape.size(); ++c)
        if (o != c && shape[o] == outputs && shape[c] == channels) out.push_back({shape, o, c});
  return out;
}

// Per tap of the wanted tensor, where its elements begin, and the steps of outputs and channels.
struct Layout {
  std::vector<std::int64_t> taps;
  std::int64_t output_step = 0, channel_step = 0;
  Layout(const Reading& r) {  // NOLINT(google-explicit-constructor)
    Extents strides(r.shape.size(), 1);
    for (std::size_t d = r.shape.size(); d-- > 1;) strides[d - 1] = strides[d] * r.shape[d];
    output_step = strides[r.output];
    channel_step = strides[r.channel];
    taps = {0};
    for (std::size_t d = 0; d < r.shape.size(); ++d) {
      if (d == r.output || d == r.channel) continue;
      std::vector<std::int64_t> more;
      for (const std::int64_t t : taps)
        for (std::int64_t i = 0; i < r.shape[d]; ++i) more.push_back(t + i * strides[d]);
      taps = std::move(more);
    }
  }
};

// Solves a·x = b for a symmetric, positive definite; nullopt: it is not.
std::optional<std::vector<double>> solved(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t best = i;
    for (std::size_t r = i + 1; r < n; ++r)
      if (std::abs(a[r][i]) > std::abs(a[best][i])) best = r;
    if (std::abs(a[best][i]) < 1e-12) return std::nullopt;
    std::swap(a[i], a[best]);
    std::swap(b[i], b[best]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double f = a[r][i] / a[i][i];
      if (f == 0) continue;
      for (std::size_t c = i; c < n; ++c) a[r][c] -= f * a[i][c];
      b[r] -= f * b[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) b[i] /= a[i][i];
  return b;
}

// coefficients[r][t]: what tap r of the wanted tensor takes of tap t.
std::optional<Matrix> coefficients(std::span<const float> wanted, const Layout& layout,
                                   std::span<const float> source, std::int64_t outputs, std::int64_t channels,
                                   std::int64_t taps) {
  const std::int64_t pairs = outputs * channels, step = std::max<std::int64_t>(1, pairs / (8 * taps + 64));
  if (pairs < 2 * taps) return std::nullopt;
  const auto n = static_cast<std::size_t>(taps);
  Matrix square(n, std::vector<double>(n, 0)), out;
  std::vector<std::vector<double>> right(layout.taps.size(), std::vector<double>(n, 0));
  const auto at = [&](std::int64_t p, std::size_t r) {
    return static_cast<double>(wanted[static_cast<std::size_t>(
        layout.taps[r] + p / channels * layout.output_step + p % channels * layout.channel_step)]);
  };
  for (std::int64_t p = 0; p < pairs; p += step)
    for (std::size_t t = 0; t < n; ++t) {
      const double w = source[static_cast<std::size_t>(p) * n + t];
      for (std::size_t u = 0; u < n; ++u) square[t][u] += w * source[static_cast<std::size_t>(p) * n + u];
      for (std::size_t r = 0; r < right.size(); ++r) right[r][t] += w * at(p, r);
    }
  for (const auto& b : right) {
    const auto row = solved(square, b);
    if (!row) return std::nullopt;
    out.push_back(*row);
  }
  return out;
}

// Whole numbers over one denominator.
std::optional<std::int64_t> rounded(Matrix& m) {
  for (const std::int64_t d : {1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 36, 48, 64, 96, 144, 288, 576}) {
    const bool fits = std::ranges::all_of(m, [&](const auto& row) {
      return std::ranges::all_of(row, [&](double v) {
        return std::abs(v * static_cast<double>(d) - std::round(v * static_cast<double>(d))) < 2e-3;
      });
    });
    if (!fits) continue;
    for (auto& row : m)
      for (double& v : row) v = std::round(v * static_cast<double>(d));
    return d;
  }
  return std::nullopt;
}

bool holds(std::span<const float> wanted, const Layout& layout, std::span<const float> source,
           const Matrix& m, std::int64_t denominator, std::int64_t pairs, std::int64_t channels) {
  const std::size_t n = m[0].size();
  for (std::int64_t p = 0; p < pairs; ++p)
    for (std::size_t r = 0; r < m.size(); ++r) {
      double sum = 0, size = 0;
      for (std::size_t t = 0; t < n; ++t) {
        const double term = m[r][t] * source[static_cast<std::size_t>(p) * n + t];
        sum += term;
        size += std::abs(term);
      }
      const double y = wanted[static_cast<std::size_t>(layout.taps[r] + p / channels * layout.output_step +
                                                       p % channels * layout.channel_step)];
      if (std::abs(y * static_cast<double>(denominator) - sum) > kClose * size + 1e-30) return false;
    }
  return true;
}

Graph program_of(const Tensor& wanted, const Reading& reading, const Tensor& source, const Matrix& m,
                 std::int64_t denominator, const Opsets& opsets) {
  ProgramBuilder b(opsets, "combined.");
  const auto taps = static_cast<std::int64_t>(m[0].size()), results = static_cast<std::int64_t>(m.size());
  const std::int64_t outputs = source.extents()[0], channels = source.extents()[1];
  std::vector<float> values;
  for (std::int64_t t = 0; t < taps; ++t)
    for (const auto& row : m) values.push_back(static_cast<float>(row[static_cast<std::size_t>(t)]));
  const Value matrix = b.constant(Tensor::of(ElementType::Float, {taps, results}, values));
  Value v = b.op("Reshape", {b.constant(source), b.integers({outputs * channels, taps})});
  v = b.op("MatMul", {v, matrix});
  if (denominator != 1)
    v = b.op("Div", {v, b.constant(Tensor::of(ElementType::Float, {},
                                              std::vector<float>{static_cast<float>(denominator)}))});
  // [outputs, channels, taps...] -> the reading's order.
  Extents split{outputs, channels};
  std::vector<std::int64_t> order(reading.shape.size());
  for (std::size_t d = 0; d < reading.shape.size(); ++d) {
    order[d] = d == reading.output ? 0 : d == reading.channel ? 1 : static_cast<std::int64_t>(split.size());
    if (d != reading.output && d != reading.channel) split.push_back(reading.shape[d]);
  }
  v = b.op("Reshape", {v, b.integers(split)});
  v = b.op("Transpose", {v}, with({{"perm", order}}));
  b.output(b.op("Reshape", {v, b.integers(wanted.extents())}));
  return b.graph();
}

}  // namespace

std::optional<Graph> combined_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                       const Opsets& opsets) {
  if (wanted.type() != ElementType::Float || wanted.rank() < 3) return std::nullopt;
  for (const Tensor& source : sources) {
    if (source.type() != ElementType::Float || source.rank() < 3) continue;
    const std::int64_t outputs = source.extents()[0], channels = source.extents()[1];
    const std::int64_t taps = element_count({source.extents().begin() + 2, source.extents().end()}).value();
    if (taps < 2 || taps > kMostTaps || outputs < 2 || channels < 2) continue;
    for (const Reading& reading : readings(wanted.extents(), outputs, channels)) {
      const Layout layout(reading);
      if (static_cast<std::int64_t>(layout.taps.size()) > kMostTaps) continue;
      auto m = coefficients(wanted.as<float>(), layout, source.as<float>(), outputs, channels, taps);
      if (!m) continue;
      const auto denominator = rounded(*m);
      if (!denominator || !holds(wanted.as<float>(), layout, source.as<float>(), *m, *denominator,
                                 outputs * channels, channels))
        continue;
      return program_of(wanted, reading, source, *m, *denominator, opsets);
    }
  }
  return std::nullopt;
}

}  // namespace isomer
