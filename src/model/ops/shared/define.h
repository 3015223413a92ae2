// Small words that operator files share: refusals, axis arithmetic, elementwise definitions.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "model/ops/operator.h"

namespace isomer {

inline Definition opaque(std::string reason) { return Opaque{std::move(reason)}; }
inline Definition invalid(std::string message, std::string attribute = {}) {
  return Invalid{std::move(message), std::move(attribute)};
}

// An axis attribute in -rank..rank-1 as 0..rank-1; nullopt if it lies outside.
std::optional<int> normalize_axis(std::int64_t axis, int rank);
// The same for a list of axes; nullopt if one lies outside or is there twice.
std::optional<std::vector<int>> normalize_axes(const std::vector<std::int64_t>& axes, int rank);

// A list of integers that is an attribute before an opset and an input from it on.
struct IntegerList {
  bool given = false;
  std::optional<Dims> values = {};                            // nullopt: not given, or not known
  std::optional<std::vector<std::int64_t>> concrete() const;  // nullopt also where one is symbolic
};
IntegerList integer_list(const Call& call, std::string_view attribute, int input, int input_since);

bool is_bool(ElementType type);
bool is_number(ElementType type);         // a float or an integer, not Bool
bool is_signed_number(ElementType type);  // a float or a signed integer
using TypeTest = bool (*)(ElementType);
// Throws OpaqueCall unless the first `count` inputs, where present, are of one type that is accepted.
void require_types(const Call& call, TypeTest accepts, int count = 1 << 30);

// A float attribute. Throws OpaqueCall if it is infinite or NaN: algebra has rational numbers only.
double finite_real(const Call& call, std::string_view name, float otherwise);

// y[p] = f(a[p], b[p], ...) with numpy's broadcasting over all present inputs, which must be of one type that
// is accepted.
Definition elementwise(const Call& call, const std::function<Expr(const std::vector<Expr>&)>& f,
                       TypeTest accepts = is_number);
Definition elementwise(const Call& call, Fn fn, TypeTest accepts = is_number);
// The same for inputs of different types; what types they may have is the caller's to check.
Definition broadcasting(const Call& call, const std::function<Expr(const std::vector<Expr>&)>& f);

// Whole numbers are divided by input 1: none of its known numbers may be 0.
void need_divisor(const Call& call);

// The only element of an input: its value where that is known, else a read of it. The input must have one
// element.
Expr scalar(const Call& call, const FormulaBuilder& f, int k);
// An element of a constant tensor as a number; element is counted in row-major order.
Expr constant_element(const Tensor& tensor, std::int64_t element);
// values[at], for 0 <= at < values.size(); at least one value.
Expr tabulate(const Index& at, const std::vector<Expr>& values);
// y = x, for what turns out to change nothing.
Definition identity(const Call& call);

}  // namespace isomer
