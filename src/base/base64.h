// Base64 (RFC 4648, with padding): bytes as a text that JSON can hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace isomer {

std::string to_base64(std::string_view bytes);

// nullopt: not what to_base64 writes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace isomer
