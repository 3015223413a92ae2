#include "kernel/certify/last_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "kernel/prove/last_digits_reach.h"
#include "model/graph/names.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

// Whether two floats are the same or neighbours in their type; a zero is the neighbour of none.
template <class Bits>
bool are_neighbours(Bits a, Bits b) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (a == b) return true;
  if ((a & kSign) != (b & kSign) || (a & ~kSign) == 0 || (b & ~kSign) == 0) return false;
  return a > b ? a - b == 1 : b - a == 1;
}

template <class Bits>
bool all_neighbours(const Bytes& a, const Bytes& b) {
  for (std::size_t at = 0; at < a.size; at += sizeof(Bits)) {
    Bits x = 0, y = 0;
    std::memcpy(&x, a.data + at, sizeof x);
    std::memcpy(&y, b.data + at, sizeof y);
    if (!are_neighbours(x, y)) return false;
  }
  return true;
}

bool is_finite(const Tensor& tensor) {
  const auto numbers = tensor.doubles();
  return numbers && std::ranges::all_of(*numbers, [](double v) { return std::isfinite(v); });
}

bool differs_in_last_bits(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.extents() != b.extents() || a.same_bits(b)) return false;
  if (a.type() == ElementType::Float)
    return all_neighbours<std::uint32_t>(a.bytes(), b.bytes()) && is_finite(a) && is_finite(b);
  return a.type() == ElementType::Double && all_neighbours<std::uint64_t>(a.bytes(), b.bytes()) &&
         is_finite(a) && is_finite(b);
}

}  // namespace

Result<LastBits> with_last_bits_of(const Graph& graph, const Graph& out,
                                   const std::set<std::string>& folded) {
  const ValuesByName names = values_by_name(out);
  std::set<std::string> taken;
  const auto constant_of_out = [&](const Node& node) -> const Tensor* {
    if (node.kind != NodeKind::Initializer || !folded.contains(node.outputs[0])) return nullptr;
    const auto at = names.find(node.outputs[0]);
    if (at == names.end()) return nullptr;
    const Node& other = out.node(at->second.node);
    return other.kind == NodeKind::Initializer && differs_in_last_bits(node.tensor, other.tensor)
               ? &other.tensor
               : nullptr;
  };
  for (const NodeId id : graph.order())
    if (constant_of_out(graph.node(id)) != nullptr) taken.insert(graph.node(id).outputs[0]);
  if (taken.empty()) return LastBits{graph};
  LastBits made{.graph = with_changed_nodes(graph,
                                            [&](Node& node) {
                                              if (const Tensor* tensor = constant_of_out(node))
                                                node.tensor = *tensor;
                                            }),
                .constants = static_cast<int>(taken.size())};
  ISOMER_TRY(const Inference inference, infer(made.graph));
  std::map<Value, RoundedConstant> rounded;
  for (const NodeId id : made.graph.order())
    if (taken.contains(made.graph.node(id).outputs[0])) rounded.emplace(Value{id, 0}, RoundedConstant{});
  if (const Node* jump = first_jump(made.graph, inference, rounded))
    return Error{fmt::format("a folded constant differs in its last bit, which may decide what {} computes",
                             label(*jump))};
  return made;
}

}  // namespace isomer
