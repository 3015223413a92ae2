// Any bytes as text: refused with a place, or a graph that prints and parses to itself.
#include <cstdint>
#include <string_view>

#include "model/graph/text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto graph = isomer::parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph.ok()) return 0;
  const std::string printed = isomer::text(*graph);
  const auto again = isomer::parse_graph(printed);
  ISOMER_CHECK(again.ok() && isomer::text(*again) == printed, printed);
  return 0;
}
