// Random tensor programs of small extents, as trees that can be rewritten and mutated and then written down
// as formulas: they attack the prover.
//
// The trees have reindexing (strides, repeats, flips, unaligned reshapes, zero outside), pointwise functions,
// choices and reductions over parts of boxes; they know no normal forms or fields.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "model/expr/formula.h"

namespace isomer::attack {

struct Node;
using Ref = std::shared_ptr<const Node>;

struct Node {
  enum class Kind : std::uint8_t { Input, Move, Unary, Binary, Scale, Shift, Reduce, Choose };
  Kind kind = Kind::Input;
  Extents shape = {};
  int input = 0;
  Fn fn = Fn::Add;
  double number = 0;                     // Scale, Shift
  std::vector<Index> at = {};            // Move: of args[0]; axis ids are this node's dimensions
  Domain when = {};                      // Move, Choose: over the position; Reduce: then the reduced axes too
  Reduction reduction = Reduction::Sum;  // over the last axes of args[0]
  std::vector<Ref> args = {};
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

struct Pair {
  std::vector<Extents> inputs;
  Ref a, b;
  bool mutated = false;
};

Ref make(Node node);
// The axes that a node's indices and conditions are written with.
Axis local_axis(const Extents& shape, std::size_t dim);
std::int64_t evaluate(const Index& index, const std::vector<std::int64_t>& axes);
bool holds(const Domain& when, const std::vector<std::int64_t>& axes);
std::vector<Extents> positions_of(const Extents& shape);

// A pair of programs over common inputs: the second rewritten from the first, and maybe mutated.
Pair random_pair(std::uint64_t seed);
Ref random_program(Random& random, const std::vector<Extents>& inputs, const Extents& shape, int depth);
Ref random_move(Random& random, const Ref& from, const Extents& shape);
Index random_index(Random& random, const Extents& shape, std::int64_t extent);
Index random_condition(Random& random, const Extents& shape);
Fn random_unary(Random& random);
// One step that keeps the meaning; nullopt: the step that was drawn doesn't fit.
std::optional<Ref> rewritten(Random& random, const Ref& root, const std::vector<Extents>& inputs);
// One step that usually doesn't.
std::optional<Ref> mutated(Random& random, const Ref& root, const std::vector<Extents>& inputs);

// The program as a formula; which nodes become stages is drawn.
Formula formula_of(Random& random, const Ref& root, const std::vector<Extents>& inputs);

}  // namespace isomer::attack
