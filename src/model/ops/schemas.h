// The form of operator calls: the pinned onnx release's schemas of every version of each standard operator
// (schemas.inc), and the pinned ONNX Runtime's for its own operators (runtime_schemas.inc);
// tools/generate_schemas.py generates both. Decides what is unknown or malformed, for files, for texts and
// for any other user of a definition; meaning is the operators' own business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/expr/element_type.h"
#include "model/ops/shared/attribute.h"

namespace isomer {

constexpr int kOldestOpset =
    7;  // of the standard domain: the first with numpy broadcasting, which every formula assumes
constexpr int kNewestOpset = 28;  // of onnx 1.23; schemas_test compares it with the table

// onnx::AttributeProto::AttributeType.
enum class AttributeType : std::uint8_t {
  Undefined,
  Float,
  Int,
  String,
  Tensor,
  Graph,
  Floats,
  Ints,
  Strings,
  Tensors,
  Graphs,
  SparseTensor,
  SparseTensors,
  TypeProto,
  TypeProtos,
};

std::string_view name(AttributeType type);  // "a float", "ints"

struct SchemaAttribute {
  AttributeType type = AttributeType::Undefined;
  bool required = false;
};

struct Schema {
  std::string_view domain, name;
  int since;
  int min_inputs, max_inputs, min_outputs, max_outputs;
  std::uint32_t single_inputs;  // bit k: input k may not be an empty name
  bool deprecated;
  std::string_view attributes;  // "auto_pad:s kernel_shape:I value:t!"
  // Per input which element types it may have, bits in hexadecimal, and which input's type it must have:
  // "c02=0 c02=0 80".
  std::string_view types;

  std::optional<SchemaAttribute> attribute(std::string_view attribute_name) const;
  // The first required attribute that `present` does not know; empty if there is none.
  template <class Present>
  std::string_view missing_attribute(const Present& present) const;
  // Whether an input may have these elements. Types that no file has (of evaluation mod p) are none of its
  // business.
  bool takes(int input, ElementType type) const;
  // The first input that is of the same type; the input itself if that is any.
  int first_of_type(int input) const;
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
// The same of ONNX Runtime's own operators.
const Schema* find_runtime_schema(std::string_view domain, std::string_view op, std::int64_t version);
// Any version of it.
bool is_standard_operator(std::string_view domain, std::string_view op);

// The form of one call, wherever it was read.
struct CallForm {
  struct Given {
    std::string_view name;
    std::uint32_t types = 0;  // bit by AttributeType: what its value may be
  };
  std::string_view domain, op;
  std::int64_t version = 0;  // of the domain
  std::vector<bool> inputs;  // whether each is there
  int outputs = 0;
  std::vector<Given> attributes;
};
std::uint32_t types_of(const Attribute::Value& value);  // for CallForm::Given
std::vector<CallForm::Given> given_attributes(const Attributes& attributes);

struct FormFault {
  std::string attribute = {};  // "": it is not about one
  std::string message;
};
// The first difference of a call from its schema: number of inputs and outputs, attributes and their types.
std::optional<FormFault> find_fault(const CallForm& form, const Schema& schema);
// The same by whatever the call's domain has; an operator that a standard domain does not have is a fault.
// Domains that ONNX does not define may have anything.
std::optional<FormFault> find_fault(const CallForm& form);

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

}  // namespace isomer
