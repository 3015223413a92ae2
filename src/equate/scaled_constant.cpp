#include "equate/scaled_constant.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/graph/program_builder.h"

namespace isomer {
namespace {

constexpr double kClose = 1e-5;           // some roundings of floats
constexpr std::size_t kMostVectors = 96;  // whose products are tried
constexpr std::int64_t kMostElements = 1 << 26;
constexpr double kMostWork = 1e9;  // products, in the search for a folded shift

Extents without_ones(const Extents& extents) {
  Extents out;
  for (const std::int64_t e : extents)
    if (e != 1) out.push_back(e);
  return out;
}

// wanted[i, j, k] = ratio[j] · source[i, j, k], as flat tensors of [outer, length, inner]; `turned`: of two
// axes, outer or inner being 1, and the source has them the other way round.
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
          const double x = source[v.turned ? static_cast<std::size_t>((k * v.length + j) * v.outer + i) : w],
                       y = wanted[w];
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
  // A small number that is no constant of the model.
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

std::optional<Value> along(ProgramBuilder& b, const Tensor& wanted, const Tensor& source, const View& view,
                           const Extents& scale_shape, const std::vector<Tensor>& sources) {
  const auto r = ratios(wanted.as<float>(), source.as<float>(), view);
  if (!r) return std::nullopt;
  const auto vector = explained(b, *r, sources);
  if (!vector) return std::nullopt;
  Value v = b.constant(source);
  if (view.turned) {
    v = b.op("Reshape", {v, b.integers({view.inner == 1 ? view.length : view.inner,
                                        view.inner == 1 ? view.outer : view.length})});
    v = b.op("Transpose", {v}, with({{"perm", std::vector<std::int64_t>{1, 0}}}));
  }
  if (view.turned || source.extents() != wanted.extents())
    v = b.op("Reshape", {v, b.integers(wanted.extents())});
  // A product with one number is a vector of one.
  const bool is_one = view.length == 1;
  return b.op("Mul", {v, is_one ? *vector : b.op("Reshape", {*vector, b.integers(scale_shape)})});
}

// The whole tensor as one source, scaled along one axis.
std::optional<Value> whole(ProgramBuilder& b, const Tensor& wanted, const Tensor& source,
                           const std::vector<Tensor>& sources) {
  if (source.type() != ElementType::Float || source.count() != wanted.count()) return std::nullopt;
  const Extents mine = without_ones(wanted.extents()), theirs = without_ones(source.extents());
  const bool same = mine == theirs, turned = mine.size() == 2 && theirs == Extents{mine[1], mine[0]};
  for (std::size_t d = 0; d < wanted.extents().size(); ++d) {
    if (wanted.extents()[d] == 1) continue;
    View view{.outer = 1, .length = wanted.extents()[d], .inner = 1, .turned = false};
    for (std::size_t k = 0; k < d; ++k) view.outer *= wanted.extents()[k];
    for (std::size_t k = d + 1; k < wanted.extents().size(); ++k) view.inner *= wanted.extents()[k];
    Extents shape(wanted.extents().size(), 1);
    shape[d] = view.length;
    if (same)
      if (auto v = along(b, wanted, source, view, shape, sources)) return v;
    if (!turned) continue;
    view.turned = true;
    if (view.inner == 1 || view.outer == 1)
      if (auto v = along(b, wanted, source, view, shape, sources)) return v;
  }
  return std::nullopt;
}

Tensor columns(const Tensor& matrix, std::int64_t from, std::int64_t count) {
  const std::int64_t rows = matrix.extents()[0], all = matrix.extents()[1];
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows * count));
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row =
        matrix.as<float>().subspan(static_cast<std::size_t>(r * all + from), static_cast<std::size_t>(count));
    values.insert(values.end(), row.begin(), row.end());
  }
  return Tensor::of(ElementType::Float, {rows, count}, values);
}

// A matrix whose columns are those of several sources, each scaled: siblings that were merged.
std::optional<Value> side_by_side(ProgramBuilder& b, const Tensor& wanted,
                                  const std::vector<Tensor>& sources) {
  if (wanted.rank() != 2) return std::nullopt;
  std::vector<Value> parts;
  for (std::int64_t from = 0; from < wanted.extents()[1];) {
    std::optional<Value> part;
    for (const Tensor& source : sources) {
      if (source.rank() != 2 || source.extents()[0] != wanted.extents()[0]) continue;
      const std::int64_t count = source.extents()[1];
      if (count < 2 || from + count > wanted.extents()[1] || count == wanted.extents()[1]) continue;
      part = whole(b, columns(wanted, from, count), source, sources);
      if (!part) continue;
      from += count;
      break;
    }
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return b.concat(parts, 1);
}

// A matrix that is the product of two.
std::optional<Value> product(ProgramBuilder& b, const Tensor& wanted, const std::vector<Tensor>& sources) {
  if (wanted.rank() != 2) return std::nullopt;
  const std::int64_t rows = wanted.extents()[0], all = wanted.extents()[1];
  const auto w = wanted.as<float>();
  for (const Tensor& x : sources)
    for (const Tensor& y : sources) {
      if (x.type() != ElementType::Float || y.type() != ElementType::Float || x.rank() != 2 ||
          y.rank() != 2 || x.extents()[0] != rows || y.extents()[1] != all ||
          x.extents()[1] != y.extents()[0])
        continue;
      const std::int64_t inner = x.extents()[1];
      const auto u = x.as<float>(), v = y.as<float>();
      // A few elements of every part are enough to see whether it fits.
      bool is_it = true;
      for (std::int64_t k = 0; k < 64 && is_it; ++k) {
        const std::int64_t i = k * 2654435761 % rows, j = k * 40503 % all;
        double sum = 0, size = 0;
        for (std::int64_t c = 0; c < inner; ++c) {
          const double term = static_cast<double>(u[static_cast<std::size_t>(i * inner + c)]) *
                              static_cast<double>(v[static_cast<std::size_t>(c * all + j)]);
          sum += term;
          size += std::abs(term);
        }
        is_it =
            std::abs(static_cast<double>(w[static_cast<std::size_t>(i * all + j)]) - sum) <= kClose * size;
      }
      if (is_it) return b.op("MatMul", {b.constant(x), b.constant(y)});
    }
  return std::nullopt;
}

// A vector b + v·M, or v·M alone: a shift that was folded into the bias behind it.
std::optional<Value> shifted(ProgramBuilder& b, const Tensor& wanted, const std::vector<Tensor>& sources) {
  if (wanted.rank() != 1) return std::nullopt;
  const std::int64_t n = wanted.count();
  double work = 0;
  for (const Tensor& m : sources) {
    if (m.type() != ElementType::Float || m.rank() != 2 || m.extents()[1] != n) continue;
    const std::int64_t k = m.extents()[0];
    for (const Tensor& v : sources) {
      if (v.type() != ElementType::Float || v.count() != k || v.rank() != 1) continue;
      work += static_cast<double>(m.count());
      if (work > kMostWork) return std::nullopt;
      std::vector<double> rest, size;
      for (const float w : wanted.as<float>()) {
        rest.push_back(static_cast<double>(w));
        size.push_back(std::abs(rest.back()));
      }
      for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const double term = static_cast<double>(v.as<float>()[static_cast<std::size_t>(i)]) *
                              static_cast<double>(m.as<float>()[static_cast<std::size_t>(i * n + j)]);
          rest[static_cast<std::size_t>(j)] -= term;
          size[static_cast<std::size_t>(j)] += std::abs(term);
        }
      const auto is_rest = [&](const auto& of) {
        for (std::size_t j = 0; j < rest.size(); ++j)
          if (std::abs(rest[j] - of(j)) > kClose * size[j]) return false;
        return true;
      };
      const auto product = [&] {
        return b.reshape(b.op("MatMul", {b.reshape(b.constant(v), {1, k}), b.constant(m)}), {n});
      };
      if (is_rest([](std::size_t) { return 0.0; })) return product();
      for (const Tensor& t : sources) {
        if (t.type() != ElementType::Float || t.extents() != wanted.extents()) continue;
        if (is_rest([&](std::size_t j) { return static_cast<double>(t.as<float>()[j]); }))
          return b.op("Add", {product(), b.constant(t)});
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Graph> scaled_constant(const Tensor& wanted, const std::vector<Tensor>& sources,
                                     const Opsets& opsets) {
  if (wanted.type() != ElementType::Float || wanted.count() < 2 || wanted.count() > kMostElements)
    return std::nullopt;
  const auto written = [&](const auto& find) -> std::optional<Graph> {
    ProgramBuilder b(opsets, "scaled.");
    const std::optional<Value> made = find(b);
    if (!made) return std::nullopt;
    b.output(*made);
    return b.graph();
  };
  for (const Tensor& source : sources)
    if (auto program = written([&](ProgramBuilder& b) { return whole(b, wanted, source, sources); }))
      return program;
  if (auto program = written([&](ProgramBuilder& b) { return side_by_side(b, wanted, sources); }))
    return program;
  if (auto program = written([&](ProgramBuilder& b) { return product(b, wanted, sources); })) return program;
  return written([&](ProgramBuilder& b) { return shifted(b, wanted, sources); });
}

}  // namespace isomer
