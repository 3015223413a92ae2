#include "model/eval/contraction.h"

#include <algorithm>
#include <numeric>

#include "model/eval/contraction_panel.h"
#include "model/eval/loop_index.h"
#include "model/eval/scalar.h"

namespace isomer {
namespace {

// One factor of the product while its axes are sorted into classes.
struct Factor {
  const ExprNode* read = nullptr;
  std::vector<Index> at;
  bool mentions(const Axis& axis) const {
    return std::ranges::any_of(at, [&](const Index& i) { return i.mentions(axis); });
  }
  void substitute(const Axis& axis, const Index& by) {
    for (Index& i : at) i = i.substitute([&](const Axis& a) { return a == axis ? by : Index(a); });
  }
};

// The divisor q, if the factor sees the axis only as floor(axis / q).
std::optional<std::int64_t> only_as_floor(const Factor& factor, const Axis& axis) {
  std::optional<std::int64_t> divisor;
  for (const Index& i : factor.at) {
    for (const Index::Term& t : i.terms()) {
      if (!Index::of_term(t).mentions(axis)) continue;
      if (t.atom.kind != Index::AtomKind::Floor || t.atom.inner->as_axis() != axis) return std::nullopt;
      const std::int64_t q = t.atom.divisor.concrete();
      if (divisor && *divisor != q) return std::nullopt;
      divisor = q;
    }
  }
  return divisor;
}

using AxisList = std::vector<Axis>;

struct Classes {
  AxisList batch, rows, columns, depth;
};

// The table of an index list over one class of axes: `strides` turns indices into offsets, `guards` are the
// tensor's axes that can leave it. nullopt if a term mentions axes of this class and of another one.
std::optional<OffsetTable> tabulate(const std::vector<Index>& at, const AxisList& axes,
                                    const std::vector<std::int64_t>& strides,
                                    const std::vector<std::size_t>& guards, bool with_constants) {
  Slots slots;
  for (const Axis& a : axes) slots.emplace(a.id, static_cast<int>(slots.size()));
  std::vector<LoopIndex> parts;
  for (const Index& i : at) {
    Index part = with_constants ? Index(i.offset()) : Index(0);
    for (const Index::Term& t : i.terms()) {
      const Index term = Index::of_term(t);
      const auto seen = term.axes();
      const auto ours = std::ranges::count_if(seen, [&](const Axis& a) { return slots.contains(a.id); });
      if (ours == 0) continue;
      if (static_cast<std::size_t>(ours) != seen.size()) return std::nullopt;
      part = part + term;
    }
    parts.emplace_back(part, slots);
  }
  OffsetTable table;
  table.points = 1;
  for (const Axis& a : axes) table.points = checked_multiply(table.points, a.extent.concrete());
  table.offsets.reserve(static_cast<std::size_t>(table.points));
  table.guarded.reserve(static_cast<std::size_t>(table.points) * guards.size());
  std::vector<std::int64_t> values(std::max<std::size_t>(axes.size(), 1), 0);
  for (std::int64_t point = 0; point < table.points; ++point) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < parts.size(); ++d) offset += strides[d] * parts[d].at(values.data());
    table.offsets.push_back(offset);
    for (const std::size_t g : guards) table.guarded.push_back(parts[g].at(values.data()));
    for (std::size_t k = axes.size(); k-- > 0;) {
      if (++values[k] < axes[k].extent.concrete()) break;
      values[k] = 0;
    }
  }
  return table;
}

std::vector<std::int64_t> row_major(const Dims& extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    stride = checked_multiply(stride, std::max<std::int64_t>(1, extents[d].concrete()));
  }
  return strides;
}

std::optional<ContractionOperand> tabulate_operand(const Factor& factor, const AxisList& batch,
                                                   const AxisList& own, const AxisList& depth) {
  ContractionOperand out;
  out.tensor = factor.read->tensor;
  std::vector<std::size_t> guards;
  for (std::size_t d = 0; d < factor.at.size(); ++d) {
    if (factor.at[d].is_inside(factor.read->extents[d])) continue;
    guards.push_back(d);
    out.guard_extents.push_back(factor.read->extents[d].concrete());
  }
  const auto strides = row_major(factor.read->extents);
  auto b = tabulate(factor.at, batch, strides, guards, true),
       o = tabulate(factor.at, own, strides, guards, false),
       k = tabulate(factor.at, depth, strides, guards, false);
  if (!b || !o || !k) return std::nullopt;
  out.batch = std::move(*b);
  out.own = std::move(*o);
  out.depth = std::move(*k);
  return out;
}

// Splits an output axis that one factor sees only as floor(axis / q) into quotient and remainder, so that a
// group is a batch.
void split_groups(AxisList& output, std::vector<Index>& out_at, Factor& a, Factor& b, int& next_id) {
  for (std::size_t k = 0; k < output.size(); ++k) {
    const Axis axis = output[k];
    if (!a.mentions(axis) || !b.mentions(axis)) continue;
    auto q = only_as_floor(a, axis);
    if (!q) q = only_as_floor(b, axis);
    if (!q || axis.extent.concrete() % *q != 0 || *q == axis.extent.concrete()) continue;
    const Axis group{.id = next_id++, .extent = axis.extent.concrete() / *q},
        member{.id = next_id++, .extent = *q};
    const Index both = Dim(*q) * Index(group) + Index(member);
    a.substitute(axis, both);
    b.substitute(axis, both);
    for (Index& i : out_at) i = i.substitute([&](const Axis& x) { return x == axis ? both : Index(x); });
    output[k] = group;
    output.insert(output.begin() + static_cast<std::ptrdiff_t>(k) + 1, member);
    ++k;
  }
}

}  // namespace

std::optional<Contraction> Contraction::compile(const Stage& stage) {
  const ExprNode& sum = *stage.value;
  if (sum.kind != ExprNode::Kind::Reduce || sum.reduction != Reduction::Sum || !sum.domain.empty())
    return std::nullopt;
  const ExprNode& product = *sum.args[0];
  if (product.kind != ExprNode::Kind::Apply || product.fn != Fn::Mul) return std::nullopt;
  Factor a{product.args[0].get(), product.args[0]->at}, b{product.args[1].get(), product.args[1]->at};
  if (a.read->kind != ExprNode::Kind::Read || b.read->kind != ExprNode::Kind::Read) return std::nullopt;

  AxisList output = stage.axes;
  std::vector<Index> out_at = to_indices(stage.axes);
  int next_id = 0;
  for (const AxisList* list : {&stage.axes, &sum.axes})
    for (const Axis& x : *list) next_id = std::max(next_id, x.id + 1);
  split_groups(output, out_at, a, b, next_id);

  Classes classes;
  classes.depth = sum.axes;
  for (const Axis& x : output) {
    const bool in_a = a.mentions(x), in_b = b.mentions(x);
    (in_a && in_b ? classes.batch : in_b ? classes.columns : classes.rows).push_back(x);
  }
  const auto points = [](const AxisList& axes) {
    return std::accumulate(axes.begin(), axes.end(), 1.0, [](double n, const Axis& x) {
      return n * static_cast<double>(x.extent.concrete());
    });
  };
  if (points(classes.rows) > points(classes.columns)) {  // the longer side is the vectorised one
    std::swap(a, b);
    std::swap(classes.rows, classes.columns);
  }

  Contraction out;
  out.type_ = stage.type;
  auto left = tabulate_operand(a, classes.batch, classes.rows, classes.depth);
  auto right = tabulate_operand(b, classes.batch, classes.columns, classes.depth);
  const auto strides = row_major(stage.shape());
  auto batch = tabulate(out_at, classes.batch, strides, {}, true),
       rows = tabulate(out_at, classes.rows, strides, {}, false),
       columns = tabulate(out_at, classes.columns, strides, {}, false);
  if (!left || !right || !batch || !rows || !columns) return std::nullopt;
  out.a_ = std::move(*left);
  out.b_ = std::move(*right);
  out.out_batch_ = std::move(*batch);
  out.out_rows_ = std::move(*rows);
  out.out_columns_ = std::move(*columns);
  return out;
}

namespace {

template <class T>
constexpr std::int64_t kDepthBlock =
    256;  // a panel of B of 16 floats × 256 is 16 KiB: half of the first-level cache
constexpr std::int64_t kRowBlock = 96;       // a multiple of every tile's rows
constexpr std::int64_t kColumnBlock = 1024;  // B's block of 1 MiB in floats stays in the second-level cache

}  // namespace

template <class T>
void Contraction::run_typed(const T* a, const T* b, T* out, Zeros zeros) const {
  constexpr int kRows = TileShape<T>::kRows, kColumns = TileShape<T>::kColumns;
  const std::int64_t rows = out_rows_.points, columns = out_columns_.points, depth = a_.depth.points;
  if (rows == 0 || columns == 0 || out_batch_.points == 0) return;
  std::vector<T> packed_a(static_cast<std::size_t>((kRowBlock + kRows) * kDepthBlock<T>)),
      packed_b(static_cast<std::size_t>((kColumnBlock + kColumns) * kDepthBlock<T>));
  const bool skips = zeros == Zeros::Skipped;
  std::vector<Panel> rows_of(static_cast<std::size_t>(kRowBlock / kRows + 1)),
      columns_of(static_cast<std::size_t>(kColumnBlock / kColumns));
  bool has_negative_zero = false;  // among the elements
  T tile[kRows * kColumns];
  ScalarContext context;

  const auto add_tile = [&](std::int64_t batch, std::int64_t row, std::int64_t column, bool start) {
    const std::int64_t base = out_batch_.offsets[static_cast<std::size_t>(batch)];
    for (int r = 0; r < kRows && row + r < rows; ++r) {
      const std::int64_t at = base + out_rows_.offsets[static_cast<std::size_t>(row + r)];
      for (int c = 0; c < kColumns && column + c < columns; ++c) {
        T& element = out[at + out_columns_.offsets[static_cast<std::size_t>(column + c)]];
        element = start ? tile[r * kColumns + c]
                        : scalar::binary<Fn::Add>(element, tile[r * kColumns + c], context);
      }
    }
  };

  for (std::int64_t batch = 0; batch < out_batch_.points; ++batch) {
    for (std::int64_t column = 0; column < columns; column += kColumnBlock) {
      const std::int64_t width = std::min(kColumnBlock, columns - column);
      for (std::int64_t k = 0; k < std::max<std::int64_t>(depth, 1); k += kDepthBlock<T>) {
        const std::int64_t deep = std::min(kDepthBlock<T>, depth - k);
        pack<kColumns>(b_, b, batch, column, width, k, deep, packed_b.data());
        bool is_any_sparse = false;
        for (std::int64_t j = 0; j < width; j += kColumns) {
          Panel& own = columns_of[static_cast<std::size_t>(j / kColumns)];
          own.look<kColumns>(packed_b.data() + j * deep, deep, true);
          is_any_sparse = is_any_sparse || own.is_sparse();
        }
        for (std::int64_t row = 0; row < rows; row += kRowBlock) {
          const std::int64_t height = std::min(kRowBlock, rows - row);
          pack<kRows>(a_, a, batch, row, height, k, deep, packed_a.data());
          for (std::int64_t i = 0; i < height; i += kRows)
            rows_of[static_cast<std::size_t>(i / kRows)].look<kRows>(packed_a.data() + i * deep, deep,
                                                                     is_any_sparse);
          for (std::int64_t j = 0; j < width; j += kColumns) {
            const Panel& own_b = columns_of[static_cast<std::size_t>(j / kColumns)];
            const T* panel_b = packed_b.data() + j * deep;
            for (std::int64_t i = 0; i < height; i += kRows) {
              const Panel& own_a = rows_of[static_cast<std::size_t>(i / kRows)];
              const T* panel_a = packed_a.data() + i * deep;
              if (own_b.is_finite && own_a.is_zero()) {
                if (k > 0) continue;
                std::fill(std::begin(tile), std::end(tile), T{});
              } else if (const Panel* sparse = skips ? sparse_one(own_a, own_b) : nullptr) {
                // Zero added to an element changes it only if that is -0.
                if (sparse->is_zero() && k > 0 && !has_negative_zero) continue;
                multiply_used<T>(panel_a, panel_b, deep, *sparse, tile);
              } else {
                multiply_tile<T>(panel_a, panel_b, deep, tile);
              }
              has_negative_zero = has_negative_zero || has_minus_zero<T>(tile);
              add_tile(batch, row + i, column + j, k == 0);
            }
          }
        }
      }
    }
  }
}

void Contraction::run(const void* a, const void* b, void* out, Zeros zeros) const {
  with_compute_type(type_, [&]<class T>(T) {
    run_typed(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), zeros);
  });
}

}  // namespace isomer
