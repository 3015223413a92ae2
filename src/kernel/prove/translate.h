// From graphs to normal forms: every value that an output depends on, each once.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "kernel/normal/normal_form.h"
#include "kernel/prove/signs.h"
#include "kernel/prove/value_numbers.h"
#include "kernel/prove/verdict.h"
#include "model/graph/infer.h"

namespace isomer {

// Shared by two programs in one proof: forms by value number.
class Translator {
 public:
  struct Options {
    bool cut_common = false;  // values that both programs compute alike are symbols
    bool seal = false;        // every node's outputs are scalars to the next: linear in the number of nodes
    bool use_facts = false;   // signs of constants, read off their bytes
    std::set<std::string> partial_inputs = {};  // inputs that may be undefined
  };
  Translator(NormalForms& forms, const ValueNumbers& numbers, Options options)
      : forms_(forms), numbers_(numbers), options_(std::move(options)) {}

  // The outputs of a program. Throws Undecided.
  std::vector<Form> outputs(const Graph& graph, const Inference& inference);
  // Registers all that has to be defined for one output of a program whose outputs are known.
  void answer_for(const Graph& graph, const Inference& inference, Value output);
  // Whether every index of the second program, whose outputs are known, points into its axis if those of the
  // first do. Call it last: it makes new forms.
  bool indices_follow(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info);
  const std::vector<ValueFact>& facts() const { return facts_; }
  // Constants whose elements took part as numbers, by value number.
  const std::set<int>& expanded() const { return expanded_; }

 private:
  using Key = std::pair<int, std::uint32_t>;
  bool is_symbol(const Graph& graph, const Inference& inference, Value value) const;
  std::vector<NodeId> needed(const Graph& graph, const Inference& inference,
                             const std::vector<Value>& outputs) const;
  // Whether a value is finite for all finite inputs; false: not seen to be.
  bool is_total(const Graph& graph, const Inference& inference, NodeId id);
  void add_node(const Graph& graph, const Inference& inference, NodeId id);
  void add_symbol(const Graph& graph, const Inference& inference, Value value);
  void add_constant(const Graph& graph, Value value, const Tensor& tensor);
  Form with_unit_axes(const Form& plain, const Extents& extents);
  std::optional<NormalForms::Indices> indices(const Graph& graph, Value value, const IndexRange& range);
  Key key(const Graph& graph, Value value) const { return {numbers_.of(graph, value.node), value.output}; }

  NormalForms& forms_;
  const ValueNumbers& numbers_;
  Options options_;
  std::map<Key, Form> known_;
  std::vector<std::pair<Tensor, Form>> constants_;  // without axes of one element
  std::map<int, std::vector<int>> partial_;         // by value number: what has to be defined for it
  std::map<int, bool> total_;                       // by value number
  std::vector<ValueFact> facts_;
  std::set<int> expanded_;
};

// Whether every element of its outputs is a number or an element of an input, whatever the elements are.
bool only_selects(const Formula& formula);

// The inputs that a formula's expressions read.
std::vector<bool> read_inputs(const Formula& formula);

}  // namespace isomer
