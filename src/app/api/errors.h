// Converts results and internal exceptions to Error, the only exception that leaves the library.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "isomer/isomer.h"
#include "runtime/engines/outcome.h"

namespace isomer::api {

template <class T>
T take(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  const isomer::Error& e = result.error();
  throw Error(ErrorKind::BadInput, e.message, e.node, e.attribute);
}

template <class T>
T take(Outcome<T> outcome) {
  if (outcome.ok()) return std::move(outcome).value();
  throw Error(ErrorKind::Runtime, to_error(outcome.error()).message);
}

template <class Function>
auto guarded(const Function& function) {
  try {
    return function();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::OutOfMemory, "not enough memory");
  } catch (const InternalError& bug) {
    throw Error(ErrorKind::Internal, bug.what());
  } catch (const std::exception& bug) {
    throw Error(ErrorKind::Internal, std::string("internal error: ") + bug.what());
  }
}

}  // namespace isomer::api
