// Look-ups: what Gather, GatherND, GatherElements and the scatters share.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

bool is_index_type(ElementType type);  // int32 or int64

// An index along an axis as int64; a negative one counts from the end.
Expr wrapped_index(const Expr& index, const Dim& extent);

// data(index), for an index that is computed: Σ_v (v = index ? data(v) : 0), a sum of which one term is not
// zero. `data` answers for any index along the axis.
Expr look_up(FormulaBuilder& f, const Expr& index, const Dim& extent,
             const std::function<Expr(const Index&)>& data);

// The same, and zero for an index outside of the axis.
Expr look_up_or_zero(FormulaBuilder& f, const Expr& index, const Dim& extent,
                     const std::function<Expr(const Index&)>& data);

// Known indices along an axis, brought to 0..extent-1; nullopt where one is not known to lie on one side of
// zero.
std::optional<Dims> known_indices(const std::optional<Dims>& known, const Dim& extent);

// The values as base + Σ stride · q over positions q in row-major order, if they are of that form.
std::optional<Index> as_progression(const Dims& values, const Extents& extents, const std::vector<Axis>& q);

// The values as base + Σ stride · digit, where the digits are those of the position written with some
// radices: a channel shuffle goes in equal steps digit by digit.
std::optional<Index> as_digits(const Dims& values, const Index& position);

}  // namespace isomer
