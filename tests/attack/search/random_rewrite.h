// Random rewrites: a small program with a random change. Most are wrong, some are right; the code that draws
// them trusts none.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer::testing {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t end) { return random() % end; }

// A region's nodes as a list that can be changed; what a node reads comes before it.
class RandomRewrite {
 public:
  RandomRewrite(const Graph& region, const Inference& inference, Random& random);

  // Changes something. What was done; nullopt: nothing came to mind.
  std::optional<std::string> change();
  // The program, as a claim about this graph writes it: fresh names, constants of the model by name.
  Graph program(const Graph& graph, const std::string& replaced) const;

 private:
  struct Ref {
    int part = -1;  // -1: absent
    std::uint32_t output = 0;
    friend bool operator==(const Ref&, const Ref&) = default;
  };
  struct Part {
    Node node;
    std::vector<Ref> inputs;
    bool is_new = false;       // no node of the region any more
    std::vector<Dims> shapes;  // of the outputs; empty: not known
    std::vector<ElementType> types;
  };

  bool swap_inputs();
  bool other_operator();
  bool other_attribute();
  bool other_input();
  bool drop_node();
  bool other_constant();
  bool swap_neighbours();
  bool commute();
  bool insert_identity();
  bool negate_twice();
  bool transpose_twice();
  bool subtract_by_adding();
  bool reassociate();
  bool distribute();

  std::vector<int> operators() const;
  std::optional<int> some_operator(const std::vector<std::string>& names = {});
  bool is_like(Ref a, Ref b) const;  // same type and shape
  // A node put in before the part at `at`; its shape is the one of `like`.
  Ref insert(int at, const std::string& op, const std::vector<Ref>& inputs, Ref like,
             Attributes attributes = {});
  void redirect(Ref from, Ref to, int after);  // readers behind `after`, and the output

  std::vector<Part> parts_;
  Ref result_;
  Random& random_;
};

}  // namespace isomer::testing
