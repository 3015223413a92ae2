// Dim: an extent, concrete or symbolic. A polynomial with integer coefficients over symbols (batch, sequence,
// ...) and over floor, max and min of other extents, kept in one canonical form, so that equal forms are
// equal extents.
//
// Concrete extents are the ordinary case and cost no allocation. Symbols stand for integers >= 0 that the
// model's user may choose. Arithmetic that leaves 64 bits, or a form that outgrows every real model's, throws
// DimOverflow, which ops::define turns into a refusal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace isomer {

class DimOverflow : public std::overflow_error {
 public:
  DimOverflow() : std::overflow_error("an extent or index does not fit 64 bits") {}
};

std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_multiply(std::int64_t a, std::int64_t b);
std::int64_t floor_div(std::int64_t a, std::int64_t b);  // b != 0; rounds towards minus infinity
std::int64_t floor_mod(std::int64_t a, std::int64_t b);  // has b's sign

class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  static Dim symbol(std::string_view name);

  bool is_concrete() const { return form_ == nullptr; }
  std::optional<std::int64_t> value() const { return form_ ? std::nullopt : std::optional(value_); }
  std::int64_t concrete() const;  // checked
  bool is(std::int64_t value) const { return !form_ && value_ == value; }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

  // floor(a / b). b must not be zero where it is concrete; exact division is found where b divides every
  // coefficient.
  static Dim floor(const Dim& a, const Dim& b);
  static Dim ceil(const Dim& a, const Dim& b);
  static Dim mod(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);
  static Dim min(const Dim& a, const Dim& b);
  // a / b where b is known to divide a as a polynomial; nullopt otherwise.
  static std::optional<Dim> exact_quotient(const Dim& a, const Dim& b);

  // The answer for every value >= 0 of the symbols; nullopt if it depends on them or is unknown.
  std::optional<bool> at_least(const Dim& other) const;
  std::optional<bool> equals(const Dim& other) const;

  // The value under an assignment of symbols; nullopt where one is missing.
  using Assignment = std::function<std::optional<std::int64_t>(std::string_view)>;
  std::optional<std::int64_t> evaluate(const Assignment& assignment) const;
  // The form with each symbol replaced.
  using Substitution = std::function<Dim(std::string_view)>;
  Dim substitute(const Substitution& substitution) const;
  // Names of the symbols in it, sorted, each once.
  std::vector<std::string> symbols() const;

  std::string text() const;  // canonical: "12", "batch*64 + 1", "floor((h + 1)/2)"

  // The polynomial as Σ coefficient · Π factors, for code that converts extents to another algebra.
  struct Factor;
  struct Summand;
  std::vector<Summand> summands() const;

  struct Form;

 private:
  explicit Dim(std::shared_ptr<const Form> form) : form_(std::move(form)) {}
  static Dim of(Form form);
  Form as_form() const;
  static Dim atom(struct DimAtom atom);
  const struct DimAtom* as_atom() const;
  static Dim extremum(bool is_max, const Dim& a, const Dim& b);

  std::int64_t value_ = 0;
  std::shared_ptr<const Form> form_;
};

struct Dim::Factor {
  enum class Kind : std::uint8_t { Symbol, Floor, Max, Min } kind = Kind::Symbol;
  std::string symbol;  // of a Symbol
  Dim a, b;            // of the others: floor(a / b), max(a, b), min(a, b)
};
struct Dim::Summand {
  std::int64_t coefficient = 0;
  std::vector<Factor> factors;
};

using Dims = std::vector<Dim>;
using Extents = std::vector<std::int64_t>;

Dim product(const Dims& dims);
bool is_concrete(const Dims& dims);
std::optional<Extents> concrete(const Dims& dims);
Dims to_dims(const Extents& extents);
std::string text(const Dims& dims);  // "[1, batch, 64]"

}  // namespace isomer
