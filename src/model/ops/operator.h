// Operator: the definition of one ONNX operator. One operator, one file: its name, versions, one line of doc
// and its formula. How a legal call of it is drawn at random, to test it, is in tests/contract/samples.
//
// A definition answers for one Call: a Formula; or Opaque with the reason, where these attributes or types
// are legal but not modelled exactly, or something needed is not known; or Invalid, where no legal ONNX model
// has such a call.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/expr/formula.h"
#include "model/expr/tensor.h"
#include "model/ops/shared/attribute.h"

namespace isomer {

struct Opaque {
  std::string reason;
};
struct Invalid {
  std::string message;
  std::string attribute = {};
};
using Definition = std::variant<Formula, Opaque, Invalid>;

// Thrown by Call's methods where the call is not one that a legal model makes (a missing input, an attribute
// of another kind); `define` turns it into Invalid.
class IllegalCall : public std::runtime_error {
 public:
  explicit IllegalCall(const std::string& message, std::string at = {})
      : std::runtime_error(message), attribute(std::move(at)) {}
  std::string attribute;
};

// Thrown by what definitions share where a call is legal but not modelled exactly; `define` turns it into
// Opaque.
class OpaqueCall : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One application of an operator: all that its definition may look at.
class Call {
 public:
  struct Input {
    TensorType type;
    std::optional<Dims> integers = {};    // its elements, where it is a small integer or bool tensor whose
                                          // values are known (maybe symbolic)
    std::optional<Tensor> constant = {};  // its value, where that is known
  };

  int opset = 0;                             // version of the operator's domain that the model imports
  std::vector<std::optional<Input>> inputs;  // nullopt: absent (an empty name, or past the end)
  int output_count = 1;
  Attributes attributes;

  int input_count() const { return static_cast<int>(inputs.size()); }
  bool has(int k) const { return k < input_count() && inputs[static_cast<std::size_t>(k)].has_value(); }
  const Input& in(int k) const;  // throws IllegalCall if it is absent
  const Dims& shape(int k) const { return in(k).type.shape; }
  int rank(int k) const { return static_cast<int>(shape(k).size()); }
  ElementType type(int k) const { return in(k).type.type; }

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  // An attribute that is 0 or 1. Throws OpaqueCall for any other number: ONNX gives it no meaning.
  bool flag(std::string_view name, bool otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  bool has_attribute(std::string_view name) const { return attributes.find(name) != nullptr; }

  // A formula builder over this call's inputs.
  FormulaBuilder formula() const;

  // The definition's assumptions (see SizeCondition), where symbols leave them open; `define` puts them into
  // the formula.
  void need(const Dim& extent) const { take_for_granted(SizeCondition::Kind::Needed, extent); }
  void runs_if(const Dim& extent) const { take_for_granted(SizeCondition::Kind::Runs, extent); }
  void exact_if(const Dim& extent) const { take_for_granted(SizeCondition::Kind::Exact, extent); }
  // Whether they may be equal; where that depends on symbols, it is needed.
  bool may_equal(const Dim& a, const Dim& b) const;
  // Every element of an input is an index along an axis of this extent.
  void need_index(int input, const Dim& extent, std::optional<int> place = {}) const;
  // The common shape of broadcasting; nullopt where there is none.
  std::optional<Dims> broadcast(const std::vector<Dims>& shapes) const;

  struct TakenForGranted {
    std::vector<SizeCondition> conditions;
    std::vector<IndexRange> ranges;
  };
  TakenForGranted taken_for_granted() const { return std::exchange(granted_, {}); }

 private:
  void take_for_granted(SizeCondition::Kind kind, const Dim& extent) const;
  mutable TakenForGranted granted_ = {};
};

struct Operator {
  std::string_view name;
  std::string_view doc;  // one line: what it computes
  Definition (*define)(const Call& call) = nullptr;
  // In its place, of an operator that a user states (own_operators.h).
  const std::function<Definition(const Call&)>* stated = nullptr;
  int since = 1;       // first opset in which it exists (its domain's version)
  int last = 1 << 30;  // last opset in which it exists
  std::string_view domain = "";
  int least_inputs = 1;       // the number of first inputs that must be present
  int most_inputs = 1 << 30;  // more than these are no legal call
};

// The explicit list of all defined operators (model/ops/list.h), and one of them; nullptr: there is none.
std::span<const Operator* const> all_operators();
const Operator* find_operator(std::string_view domain, std::string_view name);

// The definition of a call, with what holds for every operator checked first (element types that formulas
// can't compute with, extents that overflow); the only way in which others call Operator::define.
Definition define(const Operator& op, const Call& call);

}  // namespace isomer
