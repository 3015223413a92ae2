// Scatter, the name that ScatterElements had in opsets 9 and 10, and what all scatters share.
#include "model/ops/scatter.h"

#include <algorithm>

#include "model/ops/scatter_elements.h"

namespace isomer {
namespace {

constexpr ElementType kCount = ElementType::Int64;

// The last update that hits, or the data.
Expr overwritten(FormulaBuilder& f, const Scattering& s) {
  if (std::ranges::all_of(s.updates, [](const Axis& a) { return a.extent.is(1); })) {
    const std::vector<Index> first(s.updates.size(), Index(0));
    return where(s.hits(first), s.value(first), s.data);
  }
  Dims extents;
  for (const Axis& a : s.updates) extents.push_back(a.extent);
  const Expr number = index_number(linearize(to_indices(s.updates), extents));
  const Expr last =
      reduce(Reduction::Max, s.updates, where(s.hits(to_indices(s.updates)), number, integer(kCount, -1)));
  const Expr some = apply(Fn::Max, {last, integer(kCount, 0)});
  const Expr update =
      look_up(f, some, product(extents), [&](const Index& v) { return s.value(delinearize(v, extents)); });
  return where(apply(Fn::Less, {last, integer(kCount, 0)}), s.data, update);
}

}  // namespace

std::string read_scatter_reduction(const Call& call) {
  std::string reduction = call.opset < 16 ? "none" : call.text("reduction", "none");
  // ONNX has the last two since version 18; ONNX Runtime computes them in 16 and 17, too.
  const bool is_known = reduction == "none" || reduction == "add" || reduction == "mul" ||
                        reduction == "max" || reduction == "min";
  if (!is_known) throw IllegalCall("there is no such reduction", "reduction");
  if (reduction != "none" && !is_number(call.type(0))) throw OpaqueCall("a reduction of truth values");
  return reduction;
}

Expr scattered(FormulaBuilder& f, const Scattering& s, const std::string& reduction) {
  for (const Axis& a : s.updates)
    if (a.extent.is(0)) return s.data;
  if (reduction == "none") return overwritten(f, s);
  const ElementType type = s.data.type();
  const Expr update = s.value(to_indices(s.updates)), hits = s.hits(to_indices(s.updates));
  if (reduction == "add") return s.data + sum(s.updates, where(hits, update, integer(type, 0)));
  if (reduction == "mul")
    return s.data * reduce(Reduction::Product, s.updates, where(hits, update, integer(type, 1)));
  // The data is among what is compared, so it can stand for the updates that miss.
  const auto kind = reduction == "max" ? Reduction::Max : Reduction::Min;
  return reduce(kind, s.updates,
                apply(reduction == "max" ? Fn::Max : Fn::Min, {where(hits, update, s.data), s.data}));
}

namespace ops {

extern const Operator kScatter{
    .name = "Scatter",
    .doc = "y = data with updates at the indices along an axis",
    .define = define_scatter_elements,
    .since = 9,
    .last = 10,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace ops
}  // namespace isomer
