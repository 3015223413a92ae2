// Graphs of one region in an e-graph: which classes their values are, what nodes stand for, and how constants
// that steps made are computed from those that the region has.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "optimizer/facts/machine.h"
#include "optimizer/search/saturate/e_graph.h"
#include "optimizer/search/steps.h"

namespace isomer {

// Where a graph is in the e-graph.
struct Placed {
  std::map<Value, EGraph::Class> classes;
  std::map<Value, EGraph::NodeNumber> makers;  // of values
  std::map<EGraph::NodeNumber, Value> values;  // the first that each of them makes
  std::set<EGraph::NodeNumber> nodes;          // all, those of several outputs, too
  std::vector<EGraph::Class> outputs;
};

// The meaning of a node of the e-graph. Operators of several outputs are a node whose class is no value, and
// one `Output` for each.
struct Word {
  enum class Kind : std::uint8_t { Input, Constant, Operator, Output } kind = Kind::Input;
  Node node = {};            // Input, Operator
  Tensor tensor = {};        // Constant
  std::uint32_t output = 0;  // Output
};

class ProgramClasses {
 public:
  explicit ProgramClasses(const Graph& region);

  // Adds what is not there yet; its constants may be computed as the draft says.
  Placed add(const Draft& draft, const Machine& machine);
  // The same graph's place, after values were united.
  Placed current(const Placed& placed) const;
  // Values that are the same.
  void unite(EGraph::Class a, EGraph::Class b) { graph_.unite(a, b); }
  void rebuild() { graph_.rebuild(); }

  const EGraph& graph() const { return graph_; }
  const Word& word(EGraph::NodeNumber n) const { return words_[n]; }
  // How a constant is computed from others; nullptr: it is one of the region, or nothing but its elements.
  const Graph* recipe(EGraph::Class c) const;
  // The class of a constant, if there is one.
  std::optional<EGraph::Class> class_of(const Tensor& constant);

  // Equal for claims of a placed graph that say the same of the same classes.
  Digest key(const Graph& graph, const Placed& placed, const Claim& claim);

 private:
  Digest content(const Tensor& tensor);
  Digest what(const Node& node) const;
  EGraph::NodeNumber add(Digest what, std::vector<EGraph::Class> children, double price, Word word);
  EGraph::NodeNumber add_constant(const Tensor& tensor);
  void add_recipes(const Draft& draft);

  EGraph graph_;
  std::vector<Word> words_;  // by node
  std::map<EGraph::Class, Graph> recipes_;
  std::set<EGraph::Class> own_;                           // constants of the region
  std::map<Digest, std::pair<Tensor, Digest>> contents_;  // by the place of the bytes, which are kept
};

}  // namespace isomer
