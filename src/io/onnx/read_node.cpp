#include "io/onnx/read_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/onnx/read_bodies.h"
#include "io/onnx/read_text.h"
#include "model/ops/schemas.h"

namespace isomer::wire {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

std::string_view type_name(int type) { return name(static_cast<AttributeType>(type)); }

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

CallForm form_of(const NodeProto& node, int version) {
  CallForm form{.domain = normal_domain(node.domain()),
                .op = node.op_type(),
                .version = version,
                .inputs = {},
                .outputs = node.output_size(),
                .attributes = {}};
  for (const std::string& input : node.input()) form.inputs.push_back(!input.empty());
  for (const AttributeProto& a : node.attribute()) form.attributes.push_back({a.name(), 1u << a.type()});
  return form;
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
  if (const auto found = find_fault(form_of(node, version->second)))
    return found->attribute.empty() ? fault(node, found->message)
                                    : fault(node, found->attribute, found->message);
  const Schema* schema = find_schema(domain, node.op_type(), version->second);
  return schema == nullptr ? Status(Done{}) : check_bodies(node, *schema);
}

}  // namespace isomer::wire
