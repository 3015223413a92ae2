#include "cli/certificate_beside.h"

#include "isomer/isomer.h"

namespace isomer::cli {

std::string certificate_beside(const std::filesystem::path& model) {
  const std::filesystem::path beside = model.string() + ".cert";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(beside, ignored)) return "";
  try {
    return api::load_certificate(beside);
  } catch (const api::Error&) {
    return "";  // one that can't be read proves nothing
  }
}

}  // namespace isomer::cli
