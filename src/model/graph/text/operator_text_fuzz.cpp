// Any bytes as custom operators: rejected with a line, or read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/graph/text/operator_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto operators = isomer::parse_operators({reinterpret_cast<const char*>(data), size});
  if (!operators.ok() && operators.error().message.empty()) std::abort();
  return 0;
}
