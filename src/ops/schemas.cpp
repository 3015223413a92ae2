#include "onnx/schemas.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>

#include "base/check.h"

namespace isomer::wire {
namespace {

constexpr int kMany = std::numeric_limits<int>::max();

constexpr Schema kSchemas[] = {
#include "onnx/schemas.inc"
};

// onnx::AttributeProto::AttributeType by the generator's letters.
int attribute_type(char letter) {
  switch (letter) {
    case 'f': return 1;
    case 'i': return 2;
    case 's': return 3;
    case 't': return 4;
    case 'g': return 5;
    case 'F': return 6;
    case 'I': return 7;
    case 'S': return 8;
    case 'T': return 9;
    case 'G': return 10;
    case 'z': return 11;
    case 'Z': return 12;
    case 'y': return 13;
    case 'Y': return 14;
    default: ISOMER_CHECK(false, "schemas.inc has a letter that schemas.cpp doesn't know");
  }
  return 0;
}

// All versions of one operator, oldest first.
std::span<const Schema> versions(std::string_view domain, std::string_view op) {
  const auto key = [](const Schema& s) { return std::tuple(s.domain, s.name); };
  const auto found = std::ranges::equal_range(kSchemas, std::tuple(domain, op), {}, key);
  return {found.begin(), found.end()};
}

}  // namespace

std::optional<SchemaWord> next_word(std::string_view& list) {
  if (list.empty()) return std::nullopt;
  const std::string_view word = list.substr(0, list.find(' '));
  list.remove_prefix(std::min(list.size(), word.size() + 1));
  const std::size_t colon = word.find(':');
  ISOMER_CHECK(colon != std::string_view::npos && colon + 1 < word.size());
  return SchemaWord{word.substr(0, colon), {attribute_type(word[colon + 1]), word.back() == '!'}};
}

std::optional<SchemaAttribute> Schema::attribute(std::string_view attribute_name) const {
  std::string_view list = attributes;
  while (const auto word = next_word(list)) {
    if (word->name == attribute_name) return word->attribute;
  }
  return std::nullopt;
}

bool Schema::is_removed() const {
  // A first version that is marked deprecated (GroupNormalization 18) is discouraged, not removed: runtimes
  // run it.
  return deprecated && versions(domain, name).front().since < since;
}

std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

int newest_version(std::string_view domain) {
  const auto found = std::ranges::equal_range(kSchemas, domain, {}, &Schema::domain);
  int newest = 0;
  for (const Schema& schema : found) newest = std::max(newest, schema.since);
  return newest;
}

const Schema* find_schema(std::string_view domain, std::string_view op, std::int64_t version) {
  const Schema* found = nullptr;
  for (const Schema& schema : versions(domain, op)) {
    if (schema.since <= version) found = &schema;
  }
  return found;
}

bool is_standard_operator(std::string_view domain, std::string_view op) {
  return !versions(domain, op).empty();
}

}  // namespace isomer::wire
