// Words of the vocabulary at given shapes, compiled for the finite field in two instances of sizes.
//
// Inference determines the shapes that a word accepts; a word that is left out for another reason has that
// reason.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "model/eval/program.h"
#include "rules/generate/lanes.h"
#include "rules/generate/term.h"

namespace isomer::rules {

constexpr std::size_t kInstances = 2;
constexpr std::uint64_t kFieldKey = 20;  // of all that is drawn

using Numbers = std::vector<std::uint64_t>;  // a value in both instances, one after the other

struct Shape {
  Role role = Role::Data;
  std::array<Extents, kInstances> extents;
  std::array<Dims, kInstances> dims;
  std::array<std::size_t, kInstances> counts{};  // of elements
};
using ShapeId = std::uint32_t;

struct WordProgram {
  std::array<Program, kInstances> programs;  // of kLanes terms at once
  // Constants; operands are to be filled in.
  std::array<std::vector<std::optional<Tensor>>, kInstances> inputs;
  std::size_t output = 0;
  ShapeId shape = 0;
};

class WordPrograms {
 public:
  explicit WordPrograms(Words& words);
  ShapeId shape_id(Role role, std::array<Extents, kInstances> extents);
  const Shape& shape(ShapeId id) const { return shapes_[id]; }
  WordId word(std::size_t choice) const { return word_ids_[choice]; }
  std::size_t choice(WordId word) const;
  // nullptr: the word does not take these shapes.
  const WordProgram* find(std::size_t choice, ShapeId a, std::optional<ShapeId> b);
  // The operands of one term.
  struct Operand {
    ShapeId shape = 0;
    const std::uint64_t* data = nullptr;
  };
  using Operands = std::array<Operand, 2>;
  // Terms of one program, kLanes at most. From any thread. Empty: the program does not run.
  std::vector<Numbers> run(const WordProgram& program, std::size_t operands,
                           std::span<const Operands> terms) const;

 private:
  bool takes(const Choice& choice, const Shape& a, const Shape* b) const;
  std::unique_ptr<WordProgram> compile(std::size_t choice, ShapeId a, std::optional<ShapeId> b);
  bool compile_instance(std::size_t choice, ShapeId a, std::optional<ShapeId> b, std::size_t instance,
                        WordProgram& out, Extents& result) const;

  Words& words_;
  std::vector<WordId> word_ids_;  // of the vocabulary
  std::vector<Shape> shapes_;
  std::map<std::pair<Role, std::array<Extents, kInstances>>, ShapeId> shape_ids_;
  std::unordered_map<std::uint64_t, std::unique_ptr<WordProgram>> programs_;
};

}  // namespace isomer::rules
