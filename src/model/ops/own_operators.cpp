#include "model/ops/own_operators.h"

#include <fmt/format.h>

#include <algorithm>

namespace isomer {
namespace {

bool is_taken(std::string_view domain) {
  if (domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft")) return true;
  return std::ranges::any_of(all_operators(), [&](const Operator* op) { return op->domain == domain; });
}

}  // namespace

Status OwnOperators::add(OwnOperator op) {
  if (is_taken(op.domain))
    return Error{fmt::format("{}::{}: the domain '{}' is not one's own", op.domain, op.name, op.domain)};
  for (const auto& entry : entries_) {
    if (entry->stated.domain != op.domain || entry->stated.name != op.name) continue;
    if (entry->stated.text == op.text) return Done{};
    return Error{fmt::format("{}::{} is stated twice, and not as the same", op.domain, op.name)};
  }
  auto entry = std::make_shared<Entry>(Entry{.stated = std::move(op), .op = {}});
  entry->op = {.name = entry->stated.name,
               .doc = "stated by the user",
               .stated = &entry->stated.define,
               .domain = entry->stated.domain,
               .least_inputs = entry->stated.inputs,
               .most_inputs = entry->stated.inputs};
  entries_.push_back(std::move(entry));
  return Done{};
}

const Operator* OwnOperators::find(std::string_view domain, std::string_view name) const {
  for (const auto& entry : entries_)
    if (entry->stated.domain == domain && entry->stated.name == name) return &entry->op;
  return nullptr;
}

std::vector<std::string> OwnOperators::texts() const {
  std::vector<std::string> out;
  for (const auto& entry : entries_) out.push_back(entry->stated.text);
  return out;
}

}  // namespace isomer
