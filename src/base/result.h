// Result<T>: a value, or a fault of the world (a bad file, a bad attribute, a rejected request) with a
// message that lets the user fix it. Result<T, E>: or another kind of failure, with a function `message_of`.
//
// Not for our own bugs (ISOMER_CHECK) and not for outcomes that are answers (Opaque, Verdict).
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace isomer {

// The fault and its place: the node and the attribute are empty if there is none to name.
struct Error {
  std::string message;
  std::string node = {};
  std::string attribute = {};
};

inline const std::string& message_of(const Error& error) { return error.message; }

template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(E error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    check();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const E& error() const {
    ISOMER_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  void check() const {
    if (!ok()) fail_check("result.ok()", __FILE__, __LINE__, message_of(*std::get_if<1>(&state_)));
  }
  std::variant<T, E> state_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace isomer

// Evaluates a Result; on error returns it from the enclosing function, else binds the value.
#define ISOMER_JOIN_(a, b) a##b
#define ISOMER_JOIN(a, b) ISOMER_JOIN_(a, b)
#define ISOMER_TRY(declaration, expression)                                                \
  auto ISOMER_JOIN(result_, __LINE__) = (expression);                                      \
  if (!ISOMER_JOIN(result_, __LINE__).ok()) return ISOMER_JOIN(result_, __LINE__).error(); \
  declaration = std::move(ISOMER_JOIN(result_, __LINE__)).value()
#define ISOMER_TRY_DO(expression)              \
  do {                                         \
    auto result_ = (expression);               \
    if (!result_.ok()) return result_.error(); \
  } while (false)
