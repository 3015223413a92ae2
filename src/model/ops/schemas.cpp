#include "model/ops/schemas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <span>
#include <tuple>

#include "base/check.h"
#include "base/printable.h"

namespace isomer {
namespace {

constexpr int kMany = std::numeric_limits<int>::max();
constexpr std::size_t kLongestShown = 120;  // bytes of a name in a message

constexpr Schema kSchemas[] = {
#include "model/ops/schemas.inc"
};
constexpr Schema kRuntimeSchemas[] = {
#include "model/ops/runtime_schemas.inc"
};

AttributeType attribute_type(char letter) {
  using enum AttributeType;
  switch (letter) {
    case 'f': return Float;
    case 'i': return Int;
    case 's': return String;
    case 't': return Tensor;
    case 'g': return Graph;
    case 'F': return Floats;
    case 'I': return Ints;
    case 'S': return Strings;
    case 'T': return Tensors;
    case 'G': return Graphs;
    case 'z': return SparseTensor;
    case 'Z': return SparseTensors;
    case 'y': return TypeProto;
    case 'Y': return TypeProtos;
    default: ISOMER_CHECK(false, "schemas.inc has a letter that schemas.cpp doesn't know");
  }
  return Undefined;
}

constexpr std::uint32_t bit(AttributeType type) { return 1u << static_cast<unsigned>(type); }

// The first of several.
std::string_view name_of(std::uint32_t types) {
  return name(static_cast<AttributeType>(std::countr_zero(types)));
}

// All versions of one operator, oldest first.
std::span<const Schema> versions(std::span<const Schema> table, std::string_view domain,
                                 std::string_view op) {
  const auto key = [](const Schema& s) { return std::tuple(s.domain, s.name); };
  const auto found = std::ranges::equal_range(table, std::tuple(domain, op), {}, key);
  return {found.begin(), found.end()};
}

// One word of Schema::types.
struct InputTypes {
  std::uint32_t allowed = 0;
  std::optional<int> first = {};
};
InputTypes read_types(std::string_view list, int input) {
  for (int k = 0; k < input; ++k) {
    const std::size_t space = list.find(' ');
    if (space == std::string_view::npos) break;  // the last one is that of all that follow
    list.remove_prefix(space + 1);
  }
  InputTypes out;
  const char* const end = list.data() + list.size();
  const auto read = std::from_chars(list.data(), end, out.allowed, 16);
  ISOMER_CHECK(read.ec == std::errc{});
  if (read.ptr == end || *read.ptr != '=') return out;
  int first = 0;
  ISOMER_CHECK(std::from_chars(read.ptr + 1, end, first).ec == std::errc{});
  out.first = first;
  return out;
}

const Schema* in_force(std::span<const Schema> all, std::int64_t version) {
  const Schema* found = nullptr;
  for (const Schema& schema : all) {
    if (schema.since <= version) found = &schema;
  }
  return found;
}

// Attributes in double underscores are a compiler's own notes, which onnx lets pass.
bool is_internal(std::string_view name) {
  return name.size() >= 4 && name.starts_with("__") && name.ends_with("__");
}

std::optional<FormFault> find_attribute_fault(const CallForm& form, const Schema& schema) {
  for (const CallForm::Given& given : form.attributes) {
    const auto fault = [&](std::string message) {
      return FormFault{std::string(given.name), std::move(message)};
    };
    const auto known = schema.attribute(given.name);
    if (!known && is_internal(given.name)) continue;
    if (!known) return fault(fmt::format("is unknown to {} of version {}", schema.name, schema.since));
    if ((given.types & bit(known->type)) == 0)
      return fault(fmt::format("must be {}, is {}", name(known->type), name_of(given.types)));
  }
  const std::string_view missing = schema.missing_attribute([&](std::string_view wanted) {
    return std::ranges::find(form.attributes, wanted, &CallForm::Given::name) != form.attributes.end();
  });
  if (missing.empty()) return std::nullopt;
  return FormFault{std::string(missing), fmt::format("is missing, and {} needs it", schema.name)};
}

std::string count_text(int least, int most) {
  if (least == most) return fmt::format("{}", least);
  if (most == kMany) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

std::optional<FormFault> find_arity_fault(const CallForm& form, const Schema& schema) {
  const auto fault = [](std::string message) { return FormFault{{}, std::move(message)}; };
  const auto inputs = static_cast<int>(form.inputs.size());
  if (inputs < schema.min_inputs || inputs > schema.max_inputs) {
    return fault(fmt::format("has {} inputs where {} of version {} takes {}", inputs, schema.name,
                             schema.since, count_text(schema.min_inputs, schema.max_inputs)));
  }
  if (form.outputs < schema.min_outputs || form.outputs > schema.max_outputs) {
    return fault(fmt::format("has {} outputs where {} of version {} has {}", form.outputs, schema.name,
                             schema.since, count_text(schema.min_outputs, schema.max_outputs)));
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(form.inputs.size(), 32); ++k) {
    if ((schema.single_inputs >> k & 1u) != 0 && !form.inputs[k])
      return fault(fmt::format("lacks input {}, which {} needs", k, schema.name));
  }
  return std::nullopt;
}

// Operators that ONNX Runtime's optimizer writes into the standard domain, whatever opset the model has.
bool is_runtimes_own(std::string_view op) {
  return op == "LayerNormalization" || op == "SimplifiedLayerNormalization";
}

}  // namespace

std::string_view name(AttributeType type) {
  constexpr std::array<std::string_view, 15> kNames = {
      "undefined", "a float", "an int", "a string",        "a tensor",       "a graph", "floats", "ints",
      "strings",   "tensors", "graphs", "a sparse tensor", "sparse tensors", "a type",  "types"};
  const auto number = static_cast<std::size_t>(type);
  return number < kNames.size() ? kNames[number] : "unknown";
}

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

bool Schema::takes(int input, ElementType type) const {
  const auto number = static_cast<int>(type);
  if (number == 0 || number > kLastOnnxType || types.empty()) return true;
  return (read_types(types, input).allowed >> number & 1u) != 0;
}

int Schema::first_of_type(int input) const {
  return types.empty() ? input : read_types(types, input).first.value_or(input);
}

bool Schema::is_removed() const {
  // A first version that is marked deprecated (GroupNormalization 18) is discouraged, not removed: runtimes
  // run it.
  return deprecated && versions(kSchemas, domain, name).front().since < since;
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
  return in_force(versions(kSchemas, domain, op), version);
}

const Schema* find_runtime_schema(std::string_view domain, std::string_view op, std::int64_t version) {
  return in_force(versions(kRuntimeSchemas, domain, op), version);
}

bool is_standard_operator(std::string_view domain, std::string_view op) {
  return !versions(kSchemas, domain, op).empty();
}

std::uint32_t types_of(const Attribute::Value& value) {
  using enum AttributeType;
  struct Types {
    std::uint32_t operator()(std::int64_t) const { return bit(Int); }
    std::uint32_t operator()(float) const { return bit(Float); }
    std::uint32_t operator()(const std::string&) const { return bit(String); }
    std::uint32_t operator()(const isomer::Tensor&) const { return bit(AttributeType::Tensor); }
    std::uint32_t operator()(const std::vector<std::int64_t>&) const { return bit(Ints); }
    std::uint32_t operator()(const std::vector<float>&) const { return bit(Floats); }
    std::uint32_t operator()(const std::vector<std::string>&) const { return bit(Strings); }
    std::uint32_t operator()(const RawAttribute& raw) const {
      return raw.is_graph
                 ? bit(Graph) | bit(Graphs)
                 : bit(Tensors) | bit(SparseTensor) | bit(SparseTensors) | bit(TypeProto) | bit(TypeProtos);
    }
  };
  return std::visit(Types{}, value);
}

std::vector<CallForm::Given> given_attributes(const Attributes& attributes) {
  std::vector<CallForm::Given> out;
  for (const Attribute& a : attributes.all()) out.push_back({a.name, types_of(a.value)});
  return out;
}

std::optional<FormFault> find_fault(const CallForm& form, const Schema& schema) {
  if (auto fault = find_arity_fault(form, schema)) return fault;
  return find_attribute_fault(form, schema);
}

std::optional<FormFault> find_fault(const CallForm& form) {
  if (newest_version(form.domain) == 0) return std::nullopt;  // a custom domain: anything goes
  const Schema* schema = find_schema(form.domain, form.op, form.version);
  if (schema == nullptr && form.domain.empty() && is_runtimes_own(form.op))
    schema = find_runtime_schema(form.domain, form.op, form.version);
  if (schema == nullptr) {
    const std::string_view why = is_standard_operator(form.domain, form.op) ? "came later than" : "is not in";
    return FormFault{
        {},
        fmt::format("operator '{}' {} opset {} of {}; custom operators need a domain of their own",
                    printable(form.op, kLongestShown), why, form.version,
                    form.domain.empty() ? "ai.onnx" : form.domain)};
  }
  if (schema->is_removed())
    return FormFault{{}, fmt::format("operator {} was removed in opset {}", schema->name, schema->since)};
  return find_fault(form, *schema);
}

}  // namespace isomer
