// ScatterND: y = data, but y[the tuple indices[q], r] = updates[q, r], or that and the data combined. Known
// indices that fill a box, as the assignment to a slice writes them, make a case distinction.
#include "model/ops/scatter.h"

namespace isomer::ops {
namespace {

// Where a position's update is, if the tuples are exactly the positions of a box: each axis of q counts along
// one axis of the data.
struct Box {
  Domain inside;
  std::vector<Index> at;  // q
};

std::optional<Box> as_box(const Call& call, const std::vector<Axis>& p, FormulaBuilder& f) {
  const auto& known = call.in(1).integers;
  const Dims shape(call.shape(1).begin(), call.shape(1).end() - 1);
  const auto extents = concrete(shape);
  if (!known || known->empty() || !extents) return std::nullopt;
  const auto depth = static_cast<std::size_t>(call.shape(1).back().concrete());
  const auto q = f.axes(shape);
  Box box{.inside = {}, .at = std::vector<Index>(q.size(), Index(0))};
  std::vector<bool> counted(q.size(), false);
  for (std::size_t k = 0; k < depth; ++k) {
    Dims column;
    for (std::size_t i = k; i < known->size(); i += depth) column.push_back((*known)[i]);
    const auto indices = known_indices(column, call.shape(0)[k]);
    const auto affine = indices ? as_progression(*indices, *extents, q) : std::nullopt;
    if (!affine || affine->terms().size() > 1) return std::nullopt;
    const Index from = Index(p[k]) - Index(affine->offset());
    if (affine->terms().empty()) {
      box.inside = both(std::move(box.inside), equal_to(from, 0));
      continue;
    }
    const Index::Term& term = affine->terms()[0];
    const std::size_t axis = static_cast<std::size_t>(term.atom.axis.id - q[0].id);
    if (!term.scale.is(1) || counted[axis]) return std::nullopt;
    counted[axis] = true;
    box.inside = both(std::move(box.inside), between(0, from, shape[axis]));
    box.at[axis] = from;
  }
  for (std::size_t i = 0; i < q.size(); ++i)
    if (!counted[i] && (*extents)[i] != 1) return std::nullopt;
  return box;
}

Definition define_scatter_nd(const Call& call) {
  if (call.type(1) != ElementType::Int64) return invalid("indices must be int64");
  if (call.type(2) != call.type(0)) return invalid("updates have another type than the data");
  if (call.rank(0) < 1 || call.rank(1) < 1) return invalid("data and indices must have an axis");
  const auto depth = call.shape(1).back().value();
  if (!depth) return opaque("how long the tuples of indices are is not known");
  if (*depth < 1 || *depth > call.rank(0))
    return invalid("the tuples of indices are longer than the data's rank");
  if (call.rank(2) != call.rank(1) - 1 + call.rank(0) - *depth) return invalid("updates are of another rank");
  for (std::size_t i = 0; i < call.shape(2).size(); ++i) {
    const std::size_t tuples = call.shape(1).size() - 1;
    const Dim& expected =
        i < tuples ? call.shape(1)[i] : call.shape(0)[i - tuples + static_cast<std::size_t>(*depth)];
    if (!call.may_equal(call.shape(2)[i], expected)) return invalid("updates are of another shape");
  }
  for (std::int64_t k = 0; k < *depth; ++k)
    call.need_index(1, call.shape(0)[static_cast<std::size_t>(k)], static_cast<int>(k));
  const std::string reduction = read_scatter_reduction(call);
  auto f = call.formula();
  const auto data = f.input(0), indices = f.input(1), updates = f.input(2);
  const auto p = f.axes(data.shape());
  const Expr before = data.at(to_indices(p));
  const auto value = [&](std::vector<Index> at) {
    at.insert(at.end(), p.begin() + *depth, p.end());
    return updates.at(at);
  };
  if (const auto box = reduction == "none" ? as_box(call, p, f) : std::nullopt) {
    f.output(p, cases({{box->inside, value(box->at)}}, before));
    return std::move(f).finish();
  }
  const auto q = f.axes({indices.shape().begin(), indices.shape().end() - 1});
  const auto hits = [&](const std::vector<Index>& tuple) {
    Expr all;
    for (std::int64_t k = 0; k < *depth; ++k) {
      auto at = tuple;
      at.emplace_back(k);
      const Axis& here = p[static_cast<std::size_t>(k)];
      const Expr hit = apply(Fn::Equal, {index_number(here), wrapped_index(indices.at(at), here.extent)});
      all = all ? apply(Fn::And, {all, hit}) : hit;
    }
    return all;
  };
  f.output(p, scattered(f, {.updates = q, .hits = hits, .value = value, .data = before}, reduction));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kScatterND{
    .name = "ScatterND",
    .doc = "y = data with updates, or their sum, product, max or min with the data, at tuples of indices",
    .define = define_scatter_nd,
    .since = 11,
    .least_inputs = 3,
    .most_inputs = 3,
};

}  // namespace isomer::ops
