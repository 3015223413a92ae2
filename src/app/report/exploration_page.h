// What `isomer explore` found, as a page in one file that fetches nothing: a picture of passes and what each
// does, the best set, and what to paste.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace isomer {

// `explored`: what `isomer explore --json` prints.
std::string exploration_page(const nlohmann::ordered_json& explored, const std::string& model,
                             std::string_view version);

}  // namespace isomer
