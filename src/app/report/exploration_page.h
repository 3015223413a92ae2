// The result of `isomer explore` as a page in one file that loads nothing from a network: a picture of passes
// and their effects, the best set, and the settings to paste.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace isomer {

// `explored`: what `isomer explore --json` prints.
std::string exploration_page(const nlohmann::ordered_json& explored, const std::string& model,
                             std::string_view version);

}  // namespace isomer
