// Any bytes as a worker's message, or as samples of a cache: rejected or read, never a crash, at any depth.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "base/check.h"
#include "runtime/judge/timing_cache.h"
#include "runtime/worker/plain_cbor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const nlohmann::json json = isomer::json_from_cbor(bytes);
  if (!json.is_discarded()) {
    const auto written = nlohmann::json::to_cbor(json);
    ISOMER_CHECK(isomer::is_plain_cbor({reinterpret_cast<const char*>(written.data()), written.size()}));
  }
  if (const auto samples = isomer::samples_from(bytes)) {
    const std::string again = isomer::to_bytes(*samples);
    const auto read = isomer::samples_from(again);
    ISOMER_CHECK(read && isomer::to_bytes(*read) == again);
  }
  return 0;
}
