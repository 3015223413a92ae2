#include "io/onnx/read_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/blake2b.h"
#include "io/onnx/read_attribute.h"
#include "io/onnx/read_bodies.h"
#include "io/onnx/read_scope.h"
#include "io/onnx/read_text.h"
#include "io/onnx/tensor_walk.h"
#include "model/ops/schemas.h"

namespace isomer::wire {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Runtimes inline every call, so a file of a kilobyte can stand for more nodes than there is memory for.
constexpr std::uint64_t kMostInlinedNodes = 10'000'000;

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

std::string title(const FunctionName& name) { return shown(name.domain + "." + name.name); }

// Calls `visit` on each node of the list and of all bodies in it.
template <class Visit>
void for_each_node(const Nodes& nodes, const Visit& visit) {
  std::vector<const Nodes*> pending{&nodes};
  while (!pending.empty()) {
    const Nodes& list = *pending.back();
    pending.pop_back();
    for (const auto& node : list) {
      visit(node);
      for (const onnx::GraphProto* body : bodies_of(node)) pending.push_back(&body->node());
    }
  }
}

// How many nodes each function comes to when every call in it is written out.
class InlinedSizes {
 public:
  explicit InlinedSizes(const Functions& functions) : functions_(functions) {}

  // Callees before callers, by a stack of our own; a callee that is still open is a caller too: recursion.
  Status compute(const FunctionName& root) {
    std::vector<const Functions::value_type*> stack{&*functions_.find(root)};
    while (!stack.empty()) {
      const auto& [name, function] = *stack.back();
      const auto [state, is_new] = states_.try_emplace(name);
      if (state->second.is_known) {
        stack.pop_back();
        continue;
      }
      std::vector<const Functions::value_type*> unknown;
      const std::uint64_t size =
          count(function->node(), [&](const auto& callee) { unknown.push_back(&callee); });
      if (unknown.empty()) {
        state->second = {true, size};
        stack.pop_back();
        continue;
      }
      if (!is_new)
        return Error{fmt::format("function {} calls itself, directly or through others", title(name))};
      stack.insert(stack.end(), unknown.begin(), unknown.end());
    }
    return Done{};
  }

  // The size of a list of nodes, where callees of unknown size are reported instead.
  template <class Unknown>
  std::uint64_t count(const Nodes& nodes, const Unknown& unknown) const {
    std::uint64_t size = 0;
    for_each_node(nodes, [&](const onnx::NodeProto& node) {
      const auto callee = functions_.find(called_name(node));
      const auto state = callee == functions_.end() ? states_.end() : states_.find(callee->first);
      if (callee == functions_.end()) size = saturating_add(size, 1);
      else if (state != states_.end() && state->second.is_known)
        size = saturating_add(size, state->second.size);
      else unknown(*callee);
    });
    return size;
  }

 private:
  struct State {
    bool is_known = false;
    std::uint64_t size = 0;
  };
  const Functions& functions_;
  std::map<FunctionName, State> states_;
};

Result<Functions> by_name(const onnx::ModelProto& model) {
  Functions functions;
  for (const auto& function : model.functions()) {
    const FunctionName name{std::string(normal_domain(function.domain())), function.name(),
                            function.overload()};
    for (const std::string* text : {&name.domain, &name.name, &name.overload})
      ISOMER_TRY_DO(check_name(*text, "function"));
    if (name.name.empty()) return Error{"there is a function without a name"};
    // Runtimes disagree on which of the two such a node means.
    if (is_standard_operator(name.domain, name.name)) {
      return Error{fmt::format("function {} has the name of a standard operator; give it a domain of its own",
                               title(name))};
    }
    if (!functions.emplace(name, &function).second)
      return Error{fmt::format("there are two functions {}", title(name))};
  }
  return functions;
}

Status check_function(const onnx::FunctionProto& function, const Functions& functions) {
  ISOMER_TRY(const Opsets opsets, read_opsets(function.opset_import()));
  std::set<std::string_view> attributes;
  for (const std::string& name : function.attribute()) {
    if (!attributes.insert(name).second) return Error{fmt::format("has two attributes {}", shown(name))};
  }
  for (const auto& attribute : function.attribute_proto()) {
    if (!attributes.insert(attribute.name()).second)
      return Error{fmt::format("has two attributes {}", shown(attribute.name()))};
  }
  return check_function_names(function, {opsets, functions, true});
}

}  // namespace

Result<Functions> read_functions(const onnx::ModelProto& model) {
  ISOMER_TRY(Functions functions, by_name(model));
  InlinedSizes sizes(functions);
  for (const auto& [name, function] : functions) {
    ISOMER_TRY_DO(sizes.compute(name));
    if (const auto checked = check_function(*function, functions); !checked.ok()) {
      return Error{fmt::format("function {}: {}", title(name), checked.error().message), checked.error().node,
                   checked.error().attribute};
    }
  }
  const std::uint64_t inlined = sizes.count(model.graph().node(), [](const auto&) {});
  if (inlined > kMostInlinedNodes) {
    return Error{fmt::format("would have {} nodes once its functions are inlined, over {}",
                             inlined == ~std::uint64_t{0} ? "2^64" : fmt::format("{}", inlined),
                             kMostInlinedNodes)};
  }
  return functions;
}

Result<FunctionDigests> function_digests(const Functions& functions, const TensorSource& source) {
  FunctionDigests digests;
  for (const auto& [name, function] : functions) {
    TensorWalk inside;
    inside.add(*function);
    ISOMER_TRY(const std::vector<Tensor> outside, external_tensors(inside, source));
    const std::string bytes =
        outside.empty() ? function->SerializeAsString() : bytes_without_places(*function);
    // The message says how large each tensor is.
    Blake2b hash;
    const std::uint64_t size = bytes.size();
    hash.add(&size, sizeof size).add(bytes.data(), bytes.size());
    for (const Tensor& tensor : outside) hash.add(tensor.bytes().data, tensor.bytes().size);
    digests.emplace(name, hash.hex());
  }
  return digests;
}

}  // namespace isomer::wire
