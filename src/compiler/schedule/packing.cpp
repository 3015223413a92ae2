#include "compiler/schedule/packing.h"

#include <algorithm>

#include "model/eval/program.h"

namespace isomer::lower {

std::int64_t extent(const Axis& axis) { return axis.extent.concrete(); }

bool is_known(const std::vector<Axis>& axes) {
  return std::ranges::all_of(axes, [](const Axis& a) { return a.extent.is_concrete(); });
}

bool is_plain(const Index& index) {
  return std::ranges::all_of(index.terms(),
                             [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
}

bool is_plain(const Index& index, const Nest& nest) {
  return std::ranges::all_of(index.terms(), [&](const Index::Term& t) {
    if (t.atom.kind == Index::AtomKind::Axis) return true;
    return nest.strip && std::ranges::all_of(t.atom.inner->axes(), [&](const Axis& a) {
             return a == nest.strip->rows || a.extent.is(1);
           });
  });
}

bool contains(const std::vector<Axis>& axes, const Axis& axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

int Packing::add(Storage s) {
  if (s.kind == Storage::Kind::Weight && plan_.has_values) {
    Hasher hasher;
    for (const Dim& e : s.extents) hasher.add(e.concrete());
    hasher.add_bytes(s.value.bytes().data, s.value.bytes().size);
    const auto [from, to] = weights_.equal_range(hasher.digest());
    for (auto at = from; at != to; ++at)
      if (storage(at->second).extents == s.extents && storage(at->second).value.same_bits(s.value))
        return at->second;
    weights_.emplace(hasher.digest(), static_cast<int>(plan_.buffers.size()));
  }
  plan_.buffers.push_back(std::move(s));
  return static_cast<int>(plan_.buffers.size()) - 1;
}

std::optional<Storage> Packing::compute(const Expr& value, const std::vector<Axis>& axes,
                                        std::string name) const {
  std::optional<int> source;
  const Expr alone = with_reads(value, [&](const ExprNode& e) -> std::optional<Expr> {
    source = e.tensor.number;
    return read({.kind = TensorRef::Kind::Input, .number = 0}, e.type, e.extents, e.at);
  });
  if (!source || !is_known(axes)) return std::nullopt;
  const Storage& weight = storage(*source);
  Storage out{.kind = Storage::Kind::Weight, .name = std::move(name), .type = value.type()};
  for (const Axis& a : axes) out.extents.push_back(a.extent);
  out.strides = row_major(out.extents);
  out.size = product(out.extents);
  if (!plan_.has_values) return out;
  Formula formula;
  formula.inputs = {TensorType{weight.type, weight.extents}};
  formula.stages.push_back({.type = value.type(), .axes = axes, .value = alone});
  formula.outputs = {0};
  auto tensors = Program::compile(formula).run({weight.value});
  if (!tensors) return std::nullopt;
  out.value = tensors->front();
  return out;
}

}  // namespace isomer::lower
