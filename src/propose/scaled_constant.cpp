#include "propose/scaled_constant.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "propose/program_builder.h"

namespace isomer {
namespace {

constexpr double kClose = 1e-5;           // some roundings of floats
constexpr std::size_t kMostVectors = 96;  // whose products are tried
constexpr std::int64_t kMostElements = 1 << 26;

Extents without_ones(const Extents& extents) {
  Extents out;
  for (const std::int64_t e : extents)
    if (e != 1) out.push_back(e);
  return out;
}

// wanted[i, j, k] = ratio[j] · source[i, j, k], as flat tensors of [outer, length, inner]; `turned`: the
// source is [length, outer] of two axes.
struct View {
  std::int64_t outer, length, inner;
  bool turned;
};

std::optional<std::vector<double>> ratios(std::span<const float> wanted, std::span<const float> source,
                                          const View& v) {
  std::vector<double> out(static_cast<std::size_t>(v.length), 0);
  for (const bool check : {false, true})
    for (std::int64_t j = 0; j < v.length; ++j) {
      double largest = 0, size = 0;
      for (std::int64_t i = 0; i < v.outer; ++i)
        for (std::int64_t k = 0; k < v.inner; ++k) {
          const auto w = static_cast<std::size_t>((i * v.length + j) * v.inner + k);
          const double x = source[v.turned ? static_cast<std::size_t>(j * v.outer + i) : w], y = wanted[w];
          double& ratio = out[static_cast<std::size_t>(j)];
          if (!check && std::abs(x) > largest) {
            largest = std::abs(x);
            ratio = y / x;
          }
          size = std::max(size, std::abs(y));
          if (check && std::abs(y - ratio * x) > kClose * std::max(std::abs(y), 1e-3 * size))
            return std::nullopt;
        }
    }
  return out;
}

bool is_close(const std::vector<double>& r, const std::function<double(std::size_t)>& f) {
  for (std::size_t i = 0; i < r.size(); ++i)
    if (!(std::abs(r[i] - f(i)) <= kClose * std::max(std::abs(r[i]), 1e-30))) return false;
  return true;
}

// The vector as a program: a constant, an inverse, a product or a quotient.
std::optional<Value> explained(ProgramBuilder& b, const std::vector<double>& r,
                               const std::vector<Tensor>& sources) {
  std::vector<std::pair<Tensor, std::vector<double>>> vectors;
  for (const Tensor& t : sources) {
    if (t.type() != ElementType::Float || vectors.size() == kMostVectors) continue;
    if (t.count() == static_cast<std::int64_t>(r.size())) vectors.emplace_back(t, *t.doubles());
    else if (t.count() == 1)
      vectors.emplace_back(t, std::vector<double>(r.size(), static_cast<double>(t.as<float>()[0])));
  }
  const auto flat = [&](const Tensor& t) {
    return b.op("Reshape", {b.constant(t), b.integers({t.count()})});
  };
  for (const auto& [t, v] : vectors) {
    if (is_close(r, [&](std::size_t i) { return v[i]; })) return flat(t);
    if (is_close(r, [&](std::size_t i) { return 1 / v[i]; })) return b.op("Reciprocal", {flat(t)});
  }
  // A small number that is nobody's constant.
  for (const double literal : {-1.0, 2.0, -2.0, 0.5, -0.5, 4.0, 0.25})
    if (is_close(r, [&](std::size_t) { return literal; }))
      return b.op(
          "Expand",
          {b.constant(Tensor::of(ElementType::Float, {1}, std::vector<float>{static_cast<float>(literal)})),
           b.integers({static_cast<std::int64_t>(r.size())})});
  for (const auto& [t, v] : vectors)
    for (const auto& [s, w] : vectors) {
      if (is_close(r, [&](std::size_t i) { return v[i] * w[i]; })) return b.op("Mul", {flat(t), flat(s)});
      if (is_close(r, [&](std::size_t i) { return v[i] / w[i]; })) return b.op("Div", {flat(t), flat(s)});
    }
  return std::nullopt;
}

std::optional<Graph> along(const Tensor& wanted, const Tensor& source, const View& view,
                           const Extents& scale_shape, const std::vector<Tensor>& sources,
                           const std::map<std::string, int, std::less<>>& opsets) {
  const auto r = ratios(wanted.as<float>(), source.as<float>(), view);
  if (!r) return std::nullopt;
  ProgramBuilder b(opsets, "scaled.");
  const auto vector = explained(b, *r, sources);
  if (!vector) return std::nullopt;
  Value v = b.constant(source);
  if (view.turned) {
    v = b.op("Reshape", {v, b.integers({view.length, view.outer})});
    v = b.op("Transpose", {v}, with({{"perm", std::vector<std::int64_t>{1, 0}}}));
  }
  if (view.turned || source.extents() != wanted.extents())
    v = b.op("Reshape", {v, b.integers(wanted.extents())});
  // A product with one number is a vector of one.
  const bool is_one = view.length == 1;
  b.output(b.op("Mul", {v, is_one ? *vector : b.op("Reshape", {*vector, b.integers(scale_shape)})}));
  return b.graph();
}

}  // namespace

std::optional<Graph> scaled_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                     const std::map<std::string, int, std::less<>>& opsets) {
  if (wanted.type() != ElementType::Float || wanted.count() < 2 || wanted.count() > kMostElements)
    return std::nullopt;
  const Extents mine = without_ones(wanted.extents());
  for (const Tensor& source : sources) {
    if (source.type() != ElementType::Float || source.count() != wanted.count()) continue;
    const Extents theirs = without_ones(source.extents());
    const bool same = mine == theirs, turned = mine.size() == 2 && theirs == Extents{mine[1], mine[0]};
    for (std::size_t d = 0; d < wanted.extents().size(); ++d) {
      if (wanted.extents()[d] == 1) continue;
      View view{.outer = 1, .length = wanted.extents()[d], .inner = 1, .turned = false};
      for (std::size_t k = 0; k < d; ++k) view.outer *= wanted.extents()[k];
      for (std::size_t k = d + 1; k < wanted.extents().size(); ++k) view.inner *= wanted.extents()[k];
      Extents shape(wanted.extents().size(), 1);
      shape[d] = view.length;
      if (same)
        if (auto program = along(wanted, source, view, shape, sources, opsets)) return program;
      if (!turned) continue;
      // As a matrix [outer, length]: the axis that varies last, or the other one, by a matrix of one row.
      view.turned = true;
      if (view.inner == 1)
        if (auto program = along(wanted, source, view, shape, sources, opsets)) return program;
    }
  }
  return std::nullopt;
}

}  // namespace isomer
