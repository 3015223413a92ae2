// Any bytes as rules: refused with a line, or read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rules/text/rule.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto rules = isomer::parse_rules({reinterpret_cast<const char*>(data), size});
  if (!rules.ok() && !rules.error().message.starts_with("line ")) std::abort();
  return 0;
}
