// ProgramCache: compiled programs of a run, so that fifty equal blocks compile once.
//
// A definition may use the values of its inputs, but mostly doesn't. It is first evaluated with types and
// extents alone, then with integers, then with constants, and the result is kept under exactly the facts that
// it was given. A formula that was given for fewer facts holds for every value of the rest.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "model/eval/program.h"
#include "model/graph/graph.h"
#include "model/graph/interpret.h"
#include "model/ops/operator.h"

namespace isomer {

// One input of a node at run time.
struct Argument {
  ElementType type = ElementType::Undefined;  // in the model; the tensor may be in the run's arithmetic
  Tensor tensor;
  std::optional<Tensor> constant = {};  // in the model's type, where it is known before the run
  std::optional<Tensor> stored = {};    // a float as Native computes it, where that is followed, too
  bool is_exact = true;                 // nothing was rounded so far
  bool is_agreed = true;                // every runtime computes these digits of it
};
using Arguments = std::vector<std::optional<Argument>>;  // nullopt: absent

struct Compiled {
  Program program;
  std::vector<ElementType> types;  // of the outputs, in the model
  std::size_t inputs = 0;          // that the program takes
  bool jumps = false, narrows = false, has_agreed_digits = true;
  std::optional<Program> stored = {};  // in the model's types, where that is followed, too
};

class ProgramCache {
 public:
  ProgramCache(const Graph& graph, Arithmetic arithmetic, bool with_stored)
      : graph_(graph), arithmetic_(arithmetic), with_stored_(with_stored) {}

  using Answer = std::variant<std::shared_ptr<const Compiled>, Opaque, Invalid>;
  Answer find(const Node& node, const Arguments& arguments);
  std::size_t compiled_count() const { return compiled_count_; }

 private:
  enum class Knowledge : std::uint8_t { Types, Integers, Constants };
  Call call(const Node& node, const Arguments& arguments, Knowledge knowledge) const;
  std::optional<Tensor> value(const Argument& argument, Knowledge knowledge) const;
  Answer compile(const Operator& op, const Node& node, const Call& call);
  void pin(const Call& call);

  const Graph& graph_;
  Arithmetic arithmetic_;
  bool with_stored_;
  std::unordered_map<Digest, Answer> answers_;
  std::vector<Tensor> pinned_;
  std::size_t compiled_count_ = 0;
};

}  // namespace isomer
