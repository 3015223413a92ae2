// Expr: what one element of a tensor is, as an expression over index variables.
//
//   a number · an index as a number · tensor[index, ...] (zero outside) · a pointwise function ·
//   a case distinction on indices · a reduction (Σ, Π, max, min) over further axes
//
// Expressions are immutable, shared and typed: every node has the ElementType that its value is computed in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/expr/element_type.h"
#include "model/expr/index.h"

namespace isomer {

// The pointwise functions. Add, Sub, Neg, Mul (and Div by what doesn't depend on inputs) are understood as
// algebra; the others are opaque to it but for the laws that scalar laws declare. Integers wrap; their Div
// truncates.
enum class Fn : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Neg,
  Abs,
  Relu,
  Sign,
  Exp,
  Log,
  Sqrt,
  Pow,
  Max,
  Min,
  Floor,
  Ceil,
  Round /* half to even */,
  Mod /* sign of the divisor */,
  Fmod /* sign of the dividend */,
  Erf,
  Sigmoid,
  Softplus,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Equal,
  Less,
  LessOrEqual,
  And,
  Or,
  Xor,
  Not,
  IsNaN,
  IsPositiveInf,
  IsNegativeInf,
  BitAnd,
  BitOr,
  BitXor,
  BitNot,
  ShiftLeft,
  ShiftRight,
  Where /* (Bool, T, T) */,
  Cast /* to the node's type */,
};
int arity(Fn fn);
std::string_view name(Fn fn);

enum class Reduction : std::uint8_t { Sum, Product, Max, Min };
std::string_view name(Reduction reduction);

// A conjunction: every index in it is >= 0. Empty means "always".
using Domain = std::vector<Index>;
Domain equal_to(const Index& a, const Index& b);
Domain between(const Index& low, const Index& a, const Index& high);  // low <= a < high
Domain both(Domain a, const Domain& b);

// Where a Read reads: an input of the formula, or an earlier stage of it.
struct TensorRef {
  enum class Kind : std::uint8_t { Input, Stage } kind = Kind::Input;
  int number = 0;
  friend bool operator==(const TensorRef&, const TensorRef&) = default;
};

struct ExprNode;
using ExprRef = std::shared_ptr<const ExprNode>;

struct ExprNode {
  enum class Kind : std::uint8_t { Number, IndexNumber, Read, Apply, Cases, Reduce };
  struct Case {
    Domain when;
    ExprRef value;
  };

  Kind kind = Kind::Number;
  ElementType type = ElementType::Undefined;

  double number = 0;                     // Number of a float type
  std::int64_t integer = 0;              // Number of an integer type or Bool (uint64: the same bits)
  Index index;                           // IndexNumber; its type is an integer type
  TensorRef tensor;                      // Read
  std::vector<Index> at;                 // Read
  Dims extents;                          // Read: the tensor's extents; outside of them the value is zero
  Fn fn = Fn::Add;                       // Apply
  std::vector<ExprRef> args;             // Apply; Cases: {otherwise}; Reduce: {body}
  std::vector<Case> cases;               // Cases: the first that holds counts
  Reduction reduction = Reduction::Sum;  // Reduce
  std::vector<Axis> axes;                // Reduce
  Domain domain;                         // Reduce: points outside are skipped
};

// A handle with the operators of arithmetic, so that an operator's formula reads like the paper's.
class Expr {
 public:
  Expr() = default;
  Expr(ExprRef node) : node_(std::move(node)) {}  // NOLINT(google-explicit-constructor)
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprRef& ref() const { return node_; }
  ElementType type() const { return node_->type; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  ExprRef node_;
};

Expr number(ElementType type, double value);         // for float types; for integers the value must be whole
Expr integer(ElementType type, std::int64_t value);  // for integer types, Bool, and floats
Expr index_number(const Index& index, ElementType type = ElementType::Int64);
Expr read(TensorRef tensor, ElementType type, Dims extents, std::vector<Index> at);
Expr apply(Fn fn, std::vector<Expr> args);  // checks types: equal types in, Bool out of comparisons
Expr cast(const Expr& a, ElementType to);
Expr where(const Expr& condition, const Expr& yes, const Expr& no);
Expr cases(std::vector<std::pair<Domain, Expr>> cases, const Expr& otherwise);
Expr reduce(Reduction reduction, std::vector<Axis> axes, const Expr& body, Domain domain = {});
Expr sum(std::vector<Axis> axes, const Expr& body, Domain domain = {});

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
// With a plain number, taken in the other operand's type.
Expr operator+(const Expr& a, double b);
Expr operator-(const Expr& a, double b);
Expr operator*(const Expr& a, double b);
Expr operator/(const Expr& a, double b);
Expr operator-(double a, const Expr& b);
Expr operator/(double a, const Expr& b);

// Whether the value depends on the axis (as an index, in a condition, or further down).
bool mentions(const ExprNode& expr, const Axis& axis);

std::string text(const Expr& expr);  // for people and golden tests

}  // namespace isomer
