#include "ops/own_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

namespace isomer {
namespace {

struct Entry {
  OwnOperator stated;
  Operator op;
};

// Never shrinks, so that what was found stays.
struct Declared {
  std::mutex mutex;
  std::deque<Entry> all;
};

Declared& declared() {
  static Declared the;
  return the;
}

bool is_taken(std::string_view domain) {
  if (domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft")) return true;
  return std::ranges::any_of(all_operators(), [&](const Operator* op) { return op->domain == domain; });
}

}  // namespace

Status declare_operator(OwnOperator op) {
  if (is_taken(op.domain))
    return Error{fmt::format("{}::{}: the domain '{}' is not one's own", op.domain, op.name, op.domain)};
  Declared& the = declared();
  const std::scoped_lock lock(the.mutex);
  for (const Entry& entry : the.all) {
    if (entry.stated.domain != op.domain || entry.stated.name != op.name) continue;
    if (entry.stated.text == op.text) return Done{};
    return Error{fmt::format("{}::{} is stated twice, and not as the same", op.domain, op.name)};
  }
  Entry& entry = the.all.emplace_back(Entry{.stated = std::move(op), .op = {}});
  entry.op = {.name = entry.stated.name,
              .doc = "stated by the user",
              .domain = entry.stated.domain,
              .least_inputs = entry.stated.inputs,
              .most_inputs = entry.stated.inputs};
  return Done{};
}

std::vector<const OwnOperator*> own_operators() {
  Declared& the = declared();
  const std::scoped_lock lock(the.mutex);
  std::vector<const OwnOperator*> out;
  for (const Entry& entry : the.all) out.push_back(&entry.stated);
  return out;
}

const Operator* find_own_operator(std::string_view domain, std::string_view name) {
  if (domain.empty()) return nullptr;
  Declared& the = declared();
  const std::scoped_lock lock(the.mutex);
  for (const Entry& entry : the.all)
    if (entry.stated.domain == domain && entry.stated.name == name) return &entry.op;
  return nullptr;
}

Definition define_own(const Operator& op, const Call& call) {
  for (const OwnOperator* own : own_operators())
    if (own->domain == op.domain && own->name == op.name) return own->define(call);
  return Opaque{"not stated"};
}

}  // namespace isomer
