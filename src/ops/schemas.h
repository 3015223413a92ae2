// The standard operators: what the pinned onnx release says of every version of each (schemas.inc, generated
// by tools/generate_schemas.py from onnx.defs). Decides what is unknown or malformed; meaning is ops/'s
// business.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace isomer::wire {

constexpr int kOldestOpset =
    7;  // of the standard domain: the first with numpy broadcasting, which every formula assumes
constexpr int kNewestOpset = 28;  // of onnx 1.23; schemas_test compares it with the table
constexpr int kOldestIr = 3;      // the first that has opset imports
constexpr int kNewestIr = 14;     // onnx::Version::IR_VERSION of the same release

struct SchemaAttribute {
  int type = 0;  // a number of onnx::AttributeProto::AttributeType
  bool required = false;
};

struct Schema {
  std::string_view domain, name;
  int since;
  int min_inputs, max_inputs, min_outputs, max_outputs;
  std::uint32_t single_inputs;  // bit k: input k may not be an empty name
  bool deprecated;
  std::string_view attributes;  // "auto_pad:s kernel_shape:I value:t!"

  std::optional<SchemaAttribute> attribute(std::string_view attribute_name) const;
  // The first required attribute that `present` does not know; empty if there is none.
  template <class Present>
  std::string_view missing_attribute(const Present& present) const;
  // Whether the operator was taken out of the standard with this version, having been in it before.
  bool is_removed() const;
};

// "ai.onnx" is the long name of the standard domain "".
std::string_view normal_domain(std::string_view domain);
// The newest version of a standard domain; 0 for a domain that is not in the table.
int newest_version(std::string_view domain);
// The definition in force at a version of the domain; nullptr where the domain doesn't have the operator by
// then.
const Schema* find_schema(std::string_view domain, std::string_view op, std::int64_t version);
// Any version of it.
bool is_standard_operator(std::string_view domain, std::string_view op);

// One `name:letter!` of Schema::attributes, cut from the front of the list.
struct SchemaWord {
  std::string_view name;
  SchemaAttribute attribute;
};
std::optional<SchemaWord> next_word(std::string_view& list);

template <class Present>
std::string_view Schema::missing_attribute(const Present& present) const {
  std::string_view list = attributes;
  while (const auto word = next_word(list)) {
    if (word->attribute.required && !present(word->name)) return word->name;
  }
  return {};
}

}  // namespace isomer::wire
