// ISOMER_CHECK: our own bugs, found at run time, in Release too.
//
// A failed check throws InternalError, which only the command line catches; it never means bad input
// (that is a Result) and never an undecided question (that is a value).
#pragma once

#include <stdexcept>
#include <string>

namespace isomer {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& why);

}  // namespace isomer

#define ISOMER_CHECK(condition, ...)                                                                  \
  do {                                                                                                \
    if (!(condition)) ::isomer::fail_check(#condition, __FILE__, __LINE__, std::string{__VA_ARGS__}); \
  } while (false)

// For a branch that no correct program takes; never returns.
#define ISOMER_UNREACHABLE(why) ::isomer::fail_check("unreachable", __FILE__, __LINE__, why)
