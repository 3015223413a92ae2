// Any bytes as a certificate: rejected, or read, written and read again as the same.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/certify/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto certificate = isomer::parse_certificate({reinterpret_cast<const char*>(data), size});
  if (!certificate.ok()) return 0;
  const std::string written = isomer::to_text(*certificate);
  const auto again = isomer::parse_certificate(written);
  ISOMER_CHECK(again.ok() && isomer::to_text(*again) == written, written);
  return 0;
}
