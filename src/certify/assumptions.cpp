#include "certify/assumptions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/operator_text.h"

namespace isomer {

using Json = nlohmann::ordered_json;

std::string assumption_lines() {
  std::string out;
  for (const OwnOperator* op : own_operators()) out += Json{{"assume", op->text}}.dump() + "\n";
  return out;
}

Result<std::vector<std::string>> declare_assumptions(std::string_view certificate) {
  std::vector<std::string> out;
  while (!certificate.empty()) {
    const std::size_t end = certificate.find('\n');
    const Json json = Json::parse(certificate.substr(0, end), nullptr, false);
    certificate = end == std::string_view::npos ? std::string_view() : certificate.substr(end + 1);
    if (!json.is_object() || !json.contains("assume")) continue;
    if (json.size() != 1 || !json["assume"].is_string()) return Error{"an assumption is an operator's text"};
    out.push_back(json["assume"].get<std::string>());
    if (const Status declared = declare_operators(out.back()); !declared.ok())
      return Error{fmt::format("an assumption: {}", declared.error().message)};
  }
  return out;
}

}  // namespace isomer
