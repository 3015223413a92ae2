// Sweeping: two models are proved equal value by value, as in hardware verification.
//
// Every value of both models has a class; values of one class are equal for all inputs of the models. Two
// nodes that apply one operator to inputs of equal classes have outputs of equal classes; that needs no
// formula, only that the operator is a function. Other pairs are proved: each of the two values as a small
// program that begins where both models have values of a common class, which are inputs of that program by
// the same name. The caller of the sweep decides which pairs to prove, and where to begin.
//
// A folded constant of B is replaced by a program over constants of A (rounding.h): the proof is then about B
// with the program's exact value in place of the stored one. A number that A has rounded (its float that is
// nearest to √2) is replaced by a program over literals in the same way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "kernel/prove/prove.h"
#include "kernel/prove/rounding.h"
#include "model/graph/infer.h"

namespace isomer {

enum class Side : std::uint8_t { A, B };

class Sweep {
 public:
  // Graphs without calls of local functions (flatten.h), whose inputs of one name have one type and shape.
  // All must outlive this. Every node of A, which computes nothing that its outputs don't need, gets its
  // classes here; B's by `add_to_b`, in their order. `moved`: values of A that only move others (a
  // transposed copy, say). Where the class of one is open, both regions use A's definition of it.
  Sweep(const Graph& a, const Inference& a_info, const Graph& b, const Inference& b_info,
        const std::vector<Value>& moved = {});
  void add_to_b(NodeId id);

  int class_of(Side side, Value value) const;
  // Whether both models have a value of this class.
  bool is_common(int value_class) const;
  // The first value of a model that has this class; none: it has no such value.
  Value in_a(int value_class) const;
  Value in_b(int value_class) const;

  std::size_t position_in_b(NodeId id) const { return static_cast<std::size_t>(b_.position.at(id)); }

  // A value of each model as a program; classes in `open` are followed to what they are computed from.
  struct Regions {
    Graph a, b;
    std::set<int> a_begins, b_begins;  // classes that are inputs
    std::set<int> constants;           // classes of constants that only B has, and that no program replaces
    std::set<int> constants_of_a;      // classes of constants that A's program reads
    std::set<int> settled;             // classes of all constants that a proof of these regions would use
    std::set<std::string> partial;     // inputs that may be undefined
    std::set<NodeId> inner_b;          // nodes of B that its program has
  };
  Result<Regions> regions(Value a, Value b, const std::set<int>& open) const;

  // Proves that two values are equal, and if they are, gives b the class of a.
  Verdict prove(Value a, Value b, const std::set<int>& open, const ProofSource& ask, ProveOptions options);

  // Replaces a constant, wherever it is read: one that only B has by a program over constants of A, one of A
  // by a program over literals or over constants of B. Error: it is another number, or a proof has taken it
  // as it is.
  Result<Rounding> replace_constant(Side side, Value constant, const Graph& program);
  // Undoes that; an Error if a proof has used it.
  Status restore_constant(Side side, Value constant);
  struct Folded {
    Side side;
    std::string name;
    Graph program;
    Rounding rounding;
    // On constants whose numbers some attempts of a proof know, too.
    bool leans_on_small = false;
  };
  const std::map<int, Folded>& folded() const { return folded_; }

  // A node on the way to its model's outputs where a rounded constant may make a jump; nullptr: there is
  // none.
  const Node* jump_behind_rounding() const;

  // A node on the way to its model's outputs that reads a constant which leans on symbols (rounding.h), and
  // may make something else of it than a proof has seen; nullptr: there is none. In w·x + v·x only the sum of
  // w and v is determined: each may be off by what the other takes away, and both are called rounding.
  const Node* undetermined_constant() const;

  // A node on the way to B's outputs that A has no counterpart of, that no proof has looked at, and that may
  // fail; nullptr: there is none.
  const Node* unaccounted() const;
  // The same for B's other nodes, which a runtime runs too. Their counterparts may be among A's other nodes,
  // those of `whole_a`: both run or neither does. Call it last: A's other nodes get classes here.
  const Node* unaccounted_dead(const Graph& whole_a, const Inference& whole_a_info);

 private:
  friend class RegionWriter;
  struct Model {
    const Graph* graph;
    const Inference* info;
    std::unordered_map<NodeId, std::vector<int>> classes;
    std::unordered_map<NodeId, int> position;
    std::set<Value> computed_from;  // what inference has computed floats from, as the model would
    // Nodes of A that may compute something else than inference says where a size is 0; nodes of B that may
    // also fail where A runs.
    std::set<NodeId> doubtful;
  };
  struct Entry {
    Side side;
    NodeId node;
    std::vector<int> inputs;
    std::vector<int> outputs;
    bool is_taken = false;  // if it is no function (random, say): its one counterpart was found
  };
  const Model& model(Side side) const { return side == Side::A ? a_ : b_; }
  Model& model(Side side) { return side == Side::A ? a_ : b_; }
  static void note_computed(Model& m);
  int fresh(Side side, Value value);
  void note(Side side, int value_class, Value value);
  int root(int value_class) const;
  void add(Side side, NodeId id);
  int constant_class(Side side, Value value, const Tensor& tensor);
  bool is_same(const Entry& x, const Entry& y) const;
  // The known value before the models run: a constant, or integers that follow from extents.
  std::optional<Tensor> known(Side side, Value value) const;
  std::optional<Dims> extents_in(Side side, Value value) const;
  bool is_constant_of(Side side, const Tensor& tensor) const;
  const Node* jump_behind_rounding(const Model& model, Side side) const;
  void note_determined(Side side, Value value, const std::set<int>& begins);
  void note_added(Side side, Value value, const std::set<int>& open, const ProofSource& ask,
                  const ProveOptions& options);
  bool leans(Side side, Value constant) const;
  // Classes of the outputs of an operator that computes the same as before; `told`: the classes otherwise,
  // empty: new ones.
  std::vector<int> operator_classes(Side side, NodeId id, const std::vector<int>& told = {});
  bool may_fail_in_b(NodeId id) const;
  bool is_accounted_for(NodeId id) const;

  Model a_, b_;
  std::set<std::string> symbols_;  // of the inputs: they mean the same in both models
  std::string prefix_ = "a";       // with it before, A's other symbols are none of these
  Dims sizes_;                     // what holds of them wherever A runs, each >= 0
  std::set<NodeId> partial_;       // nodes of A whose values may be undefined
  mutable std::vector<int> parent_;
  struct Class {
    Value first_in_a = Value::none(), first_in_b = Value::none();
    bool is_total = false;
  };
  std::vector<Class> classes_;
  std::unordered_map<Digest, std::vector<std::pair<Tensor, int>>> constants_;
  std::map<std::string, int> named_;  // inputs, and integers that are extents
  std::unordered_map<Digest, std::vector<Entry>> entries_;
  std::set<int> followed_in_a_;
  std::map<int, Folded> folded_;
  std::set<int> settled_;  // constants whose present numbers or symbols a proof has used: they must stay
  std::set<int> seen_;     // classes in B that proofs have expanded
  // Constants that a proof determines, by the node that reads them and as which of its inputs.
  std::set<std::tuple<Side, NodeId, std::size_t>> determined_;
};

}  // namespace isomer
