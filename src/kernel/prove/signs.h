// Signs of values, and what follows from them: whether a quotient, a root or a logarithm may be undefined.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/graph/infer.h"

namespace isomer {

// Known facts about all elements of an input.
struct InputSign {
  bool positive = false, nonnegative = false;
  std::optional<Value> same_as = {};  // equal values are one tensor
};

// Constants of more elements are not looked through for their signs.
constexpr std::int64_t kMostFactElements = 1 << 20;

// Whether a formula of finite inputs may be undefined or infinite.
bool may_be_undefined(const Formula& formula, const std::vector<InputSign>& inputs = {});
// The same for a node, whose constants are known: x / 8 never is.
bool may_be_undefined(const Graph& graph, NodeId id, const Formula& formula);
// Nodes of a graph whose values may be undefined or infinite though all that is fed is finite.
std::set<NodeId> partial_nodes(const Graph& graph, const Inference& inference);

// Whether small changes of these inputs may decide if a function in the formula is defined: the root of a
// possibly negative value, the exponent of a power. `steady`: inputs that are constants with a known sign,
// which a small change leaves as it is.
bool may_be_undefined_near(const Formula& formula, const std::vector<InputSign>& inputs,
                           const std::vector<bool>& changed, const std::vector<bool>& steady);

// Whether sums over possibly empty axes count as such. An empty sum is empty whatever the digits are.
enum class Emptiness : std::uint8_t { Counts, Ignored };

// The signs of all values of a graph.
class ValueSigns {
 public:
  // Called for every operator in order; the formula is nullptr if it has none.
  using Visit = std::function<void(NodeId, const Formula*, const std::vector<InputSign>&)>;
  ValueSigns(const Graph& graph, const Inference& inference, Emptiness emptiness, const Visit& visit = {});
  std::vector<InputSign> inputs_of(const Node& node) const;

 private:
  std::map<Value, InputSign> known_;
};

}  // namespace isomer
