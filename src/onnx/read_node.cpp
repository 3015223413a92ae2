#include "onnx/read_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "onnx/read_bodies.h"
#include "onnx/read_text.h"
#include "onnx/schemas.h"

namespace isomer::wire {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

std::string_view type_name(int type) {
  constexpr std::string_view kNames[] = {
      "undefined", "a float", "an int", "a string",        "a tensor",       "a graph", "floats", "ints",
      "strings",   "tensors", "graphs", "a sparse tensor", "sparse tensors", "a type",  "types"};
  return type >= 0 && type < 15 ? kNames[type] : "unknown";
}

// The types whose value fields are filled; an empty list leaves no trace.
std::vector<int> filled_fields(const AttributeProto& a) {
  std::vector<int> types;
  const auto note = [&](bool is_filled, int type) {
    if (is_filled) types.push_back(type);
  };
  note(a.has_f(), AttributeProto::FLOAT);
  note(a.has_i(), AttributeProto::INT);
  note(a.has_s(), AttributeProto::STRING);
  note(a.has_t(), AttributeProto::TENSOR);
  note(a.has_g(), AttributeProto::GRAPH);
  note(a.floats_size() > 0, AttributeProto::FLOATS);
  note(a.ints_size() > 0, AttributeProto::INTS);
  note(a.strings_size() > 0, AttributeProto::STRINGS);
  note(a.tensors_size() > 0, AttributeProto::TENSORS);
  note(a.graphs_size() > 0, AttributeProto::GRAPHS);
  note(a.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR);
  note(a.sparse_tensors_size() > 0, AttributeProto::SPARSE_TENSORS);
  note(a.has_tp(), AttributeProto::TYPE_PROTO);
  note(a.type_protos_size() > 0, AttributeProto::TYPE_PROTOS);
  return types;
}

Status check_value(const NodeProto& node, const AttributeProto& a, bool is_in_function) {
  if (a.type() == AttributeProto::UNDEFINED)
    return fault(node, a.name(), "has no type, or one that is not known");
  const std::vector<int> filled = filled_fields(a);
  if (!a.ref_attr_name().empty()) {
    if (!is_in_function)
      return fault(node, a.name(), "refers to a function's attribute, but is in no function");
    if (!filled.empty()) return fault(node, a.name(), "has a value and refers to a function's attribute");
    return Done{};
  }
  if (filled.size() > 1) return fault(node, a.name(), "has more than one value");
  if (!filled.empty() && filled.front() != a.type()) {
    return fault(node, a.name(),
                 fmt::format("says it is {} but holds {}", type_name(a.type()), type_name(filled.front())));
  }
  const bool needs_message = a.type() == AttributeProto::TENSOR || a.type() == AttributeProto::GRAPH ||
                             a.type() == AttributeProto::SPARSE_TENSOR ||
                             a.type() == AttributeProto::TYPE_PROTO;
  if (filled.empty() && needs_message)
    return fault(node, a.name(), fmt::format("should hold {}", type_name(a.type())));
  return Done{};
}

Status check_attributes(const NodeProto& node, bool is_in_function) {
  std::vector<std::string_view> names;
  for (const AttributeProto& a : node.attribute()) {
    if (a.name().empty()) return fault(node, "has an attribute without a name");
    ISOMER_TRY_DO(check_name(a.name(), "attribute"));
    ISOMER_TRY_DO(check_value(node, a, is_in_function));
    names.emplace_back(a.name());
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fault(node, *twice, "is given twice");
  return Done{};
}

// Attributes in double underscores are a compiler's own notes, which onnx lets pass.
bool is_internal(std::string_view name) {
  return name.size() >= 4 && name.starts_with("__") && name.ends_with("__");
}

Status check_schema_attributes(const NodeProto& node, const Schema& schema) {
  for (const AttributeProto& a : node.attribute()) {
    const auto known = schema.attribute(a.name());
    if (!known && is_internal(a.name())) continue;
    if (!known)
      return fault(node, a.name(), fmt::format("is unknown to {} of version {}", schema.name, schema.since));
    if (known->type != a.type()) {
      return fault(node, a.name(),
                   fmt::format("must be {}, is {}", type_name(known->type), type_name(a.type())));
    }
  }
  const std::string_view missing = schema.missing_attribute([&](std::string_view wanted) {
    return std::ranges::any_of(node.attribute(), [&](const AttributeProto& a) { return a.name() == wanted; });
  });
  if (!missing.empty()) return fault(node, missing, fmt::format("is missing, and {} needs it", schema.name));
  return Done{};
}

std::string count_text(int least, int most) {
  if (least == most) return fmt::format("{}", least);
  if (most == std::numeric_limits<int>::max()) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

Status check_arity(const NodeProto& node, const Schema& schema) {
  if (node.input_size() < schema.min_inputs || node.input_size() > schema.max_inputs) {
    return fault(node,
                 fmt::format("has {} inputs where {} of version {} takes {}", node.input_size(), schema.name,
                             schema.since, count_text(schema.min_inputs, schema.max_inputs)));
  }
  if (node.output_size() < schema.min_outputs || node.output_size() > schema.max_outputs) {
    return fault(node,
                 fmt::format("has {} outputs where {} of version {} has {}", node.output_size(), schema.name,
                             schema.since, count_text(schema.min_outputs, schema.max_outputs)));
  }
  for (int k = 0; k < std::min(node.input_size(), 32); ++k) {
    if ((schema.single_inputs >> k & 1u) != 0 && node.input(k).empty()) {
      return fault(node, fmt::format("lacks input {}, which {} needs", k, schema.name));
    }
  }
  return Done{};
}

// What ONNX Runtime's optimizer writes into the standard domain, whatever opset the model has.
bool is_runtimes_own(const NodeProto& node) {
  return node.op_type() == "LayerNormalization" || node.op_type() == "SimplifiedLayerNormalization";
}

Status check_call(const NodeProto& node, const onnx::FunctionProto& function) {
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    return fault(node, fmt::format("calls a function of {} inputs and {} outputs with {} and {}",
                                   function.input_size(), function.output_size(), node.input_size(),
                                   node.output_size()));
  }
  return Done{};
}

}  // namespace

Result<Opsets> read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& import : imports) {
    ISOMER_TRY_DO(check_name(import.domain(), "opset domain"));
    const std::string domain(normal_domain(import.domain()));
    const std::string shown = domain.empty() ? "ai.onnx" : printable(domain);
    const int newest = newest_version(domain);
    const std::int64_t version = import.version();
    if (newest > 0 && version > newest) {
      return Error{fmt::format("imports opset {} of {}; the newest known is {}", version, shown, newest)};
    }
    if (version < (domain.empty() ? kOldestOpset : 1)) {
      return Error{fmt::format(
          "imports opset {} of {}; the oldest known is {} and the newest {}; convert it with "
          "onnx.version_converter",
          version, shown, domain.empty() ? kOldestOpset : 1, domain.empty() ? kNewestOpset : newest)};
    }
    if (version > std::numeric_limits<int>::max())
      return Error{fmt::format("imports opset {} of {}", version, shown)};
    const auto [known, is_new] = opsets.emplace(domain, static_cast<int>(version));
    if (!is_new && known->second != version) {
      return Error{fmt::format("imports opsets {} and {} of {}; one domain has one version", known->second,
                               version, shown)};
    }
  }
  return opsets;
}

FunctionName called_name(const NodeProto& node) {
  return {std::string(normal_domain(node.domain())), node.op_type(), node.overload()};
}

Status check_node(const NodeProto& node, const NodeContext& context) {
  ISOMER_TRY_DO(check_name(node.name(), "node name"));
  ISOMER_TRY_DO(check_name(node.op_type(), "operator"));
  ISOMER_TRY_DO(check_name(node.domain(), "operator domain"));
  ISOMER_TRY_DO(check_name(node.overload(), "operator overload"));
  if (node.op_type().empty()) return fault(node, "has no operator");
  ISOMER_TRY_DO(check_attributes(node, context.is_in_function));

  const std::string_view domain = normal_domain(node.domain());
  const auto version = context.opsets.find(domain);
  if (version == context.opsets.end()) {
    return fault(node, fmt::format("is of domain {}, for which there is no opset import", shown(domain)));
  }
  if (const auto function = context.functions.find(called_name(node)); function != context.functions.end()) {
    return check_call(node, *function->second);
  }
  if (newest_version(domain) == 0) return Done{};  // a custom domain: anything goes

  const Schema* schema = find_schema(domain, node.op_type(), version->second);
  if (schema == nullptr && domain.empty() && is_runtimes_own(node)) return Done{};
  if (schema == nullptr) {
    const std::string_view why =
        is_standard_operator(domain, node.op_type()) ? "came later than" : "is not in";
    return fault(
        node, fmt::format("operator {} {} opset {} of {}; custom operators need a domain of their own",
                          shown(node.op_type()), why, version->second, domain.empty() ? "ai.onnx" : domain));
  }
  if (schema->is_removed()) {
    return fault(node, fmt::format("operator {} was removed in opset {}", schema->name, schema->since));
  }
  ISOMER_TRY_DO(check_arity(node, *schema));
  ISOMER_TRY_DO(check_schema_attributes(node, *schema));
  return check_bodies(node, *schema);
}

}  // namespace isomer::wire
