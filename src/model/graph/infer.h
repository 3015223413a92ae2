// Shapes, element types and small integer values of every value of a graph, concrete or symbolic, all derived
// from the operators' formulas. A formula's axes are the shape, and evaluating it over symbolic integers
// follows values through Shape-Gather-Concat-Reshape chains. Chains that go through floats (sizes divided and
// rounded, say) are followed where everything in them is concrete, in the arithmetic of the stored types, and
// as far as runtimes agree on the digits that decide (last_digits.h).
//
// For the outputs of a node without a formula two things are known: the rules of ONNX for its operator
// (opaque_outputs.h), and the element type that the file declares, because a runtime that knows the operator
// checks it when it loads the model. Declared extents are not checked by runtimes, so they are trusted only
// for the model's inputs, where the caller guarantees them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/eval/extent_bits.h"
#include "model/graph/graph.h"
#include "model/ops/operator.h"

namespace isomer {

struct ValueInfo {
  ElementType type = ElementType::Undefined;  // Undefined: not known
  std::optional<Dims> shape;                  // nullopt: rank not known
  std::optional<Dims> integers;               // elements of a small integer or bool tensor, where known
  std::optional<Tensor> constant = {};        // a small tensor computed from constants and known extents
};

// Its extents, if all of them are known numbers.
std::optional<Extents> concrete_shape(const ValueInfo& info);

struct Inference {
  // By node id of the graph's store, then output number. Nothing is known of an absent value.
  const ValueInfo& of(Value value) const;
  std::unordered_map<NodeId, std::vector<ValueInfo>> values;
  std::unordered_map<NodeId, std::string> opaque;  // operator nodes without a formula here, and why
  // The assumptions of formulas about extents, if any.
  std::unordered_map<NodeId, std::vector<SizeCondition>> conditions = {};
  std::unordered_map<NodeId, std::vector<IndexRange>> ranges = {};
  std::unordered_map<NodeId, std::vector<Inference>> bodies;  // of control flow and calls, one per body
  // Symbols for extents that depend on values, here and in bodies: they mean something in this inference
  // only.
  std::vector<std::string> made;
};

class Symbols;

struct InferOptions {
  std::map<std::string, std::int64_t, std::less<>> symbols;  // dim_params to bind
  // Input name -> concrete shape; binds the dim_params in the declared shape, too.
  std::map<std::string, Extents, std::less<>> shapes;
  // For a body: what is known of its inputs, how many bodies it is in, and the symbols of the graph outside.
  std::map<std::string, ValueInfo, std::less<>> known = {};
  int depth = 0;
  Symbols* outside = nullptr;
  // Larger tensors that are made of small ones alone (masks of a few numbers) are computed, too, up to so
  // many elements; floats only where float32 is exact.
  std::int64_t most_made = 0;
  std::set<std::string> taken = {};  // names that no new symbol may have
  int extent_bits = kExtentBits;     // an extent is at most 2^this
};

// Shape vectors, axes, permutations: integers of a tensor are followed up to this number of elements.
constexpr std::int64_t kMostIntegers = 1024;

// Error: a node that no legal model has (named), with the attribute or input at fault; options that don't fit
// the inputs.
Result<Inference> infer(const Graph& graph, const InferOptions& options = {});

// The definition of the call that a node makes, given what is known of its inputs. A Constant node is no call
// (constant.h): it is answered as opaque, though inference knows its value.
// `unseen`: inputs (one flag each) whose elements it is not to look at; then the answer holds for all of
// them.
Definition define_node(const Graph& graph, const Inference& inference, NodeId node,
                       const std::vector<bool>& unseen = {});

}  // namespace isomer
