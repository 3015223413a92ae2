#include "optimizer/plans/verify.h"

#include <fmt/format.h>

#include <map>
#include <random>
#include <tuple>

#include "optimizer/facts/proof_cache.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // of all weights: 1 GiB of float32

// Numbers that are far from 0 and from each other, of both signs unless all are positive.
Tensor drawn(ElementType type, const Extents& extents, std::int64_t count, bool positive,
             std::mt19937_64& random) {
  std::uniform_real_distribution<double> sizes(0.5, 1.5);
  const auto next = [&] { return (positive || random() % 2 == 0 ? 1 : -1) * sizes(random); };
  const auto values = [&]<class T>(T, auto stored) {
    std::vector<T> out(static_cast<std::size_t>(count));
    for (T& v : out) v = stored(next());
    return Tensor::of(type, extents, out);
  };
  switch (type) {
    case ElementType::Double: return values(double{}, [](double v) { return v; });
    case ElementType::Float16:
      return values(std::uint16_t{}, [](double v) { return float_to_float16(static_cast<float>(v)); });
    case ElementType::BFloat16:
      return values(std::uint16_t{}, [](double v) { return float_to_bfloat16(static_cast<float>(v)); });
    default: return values(float{}, [](double v) { return static_cast<float>(v); });
  }
}

class Weights {
 public:
  explicit Weights(std::uint64_t key) : random_(key) {}

  // A tensor for an input of the region that stands for a constant. Error: it has no size that can be made.
  Result<Tensor> of(const Node& input, const KnownRegion::Constant& known) {
    const ElementType type = input.declared.type;
    if (!is_float(type)) return Error{"a weight that is no float"};
    Extents extents;
    for (const auto& d : *input.declared.shape) {
      if (!d || !d->is_concrete()) return Error{"a weight of unknown size"};
      extents.push_back(d->concrete());
    }
    const auto count = element_count(extents);
    if (!count || *count > kMostElements - used_) return Error{"weights that are too large to be made"};
    // Equal constants come together; of two such groups of one size it is not known which is which.
    Shared& shared = shared_[{static_cast<int>(type), extents, known.positive, known.same}];
    if (known.same > 1 && shared.left > 0) {
      --shared.left;
      return shared.tensor;
    }
    used_ += *count;
    shared.tensor = drawn(type, extents, *count, known.positive, random_);
    shared.left = known.same - 1;
    return shared.tensor;
  }

 private:
  struct Shared {
    Tensor tensor;
    int left = 0;
  };
  std::mt19937_64 random_;
  std::map<std::tuple<int, Extents, bool, int>, Shared> shared_;
  std::int64_t used_ = 0;
};

// The region with weights.
Result<Graph> model_of(const KnownRegion& region, std::uint64_t key) {
  Graph out = region.graph.without_nodes();
  out.sizes_from = 1;  // as of models that are read; for a model where it is 0, its steps are proved again
  Weights weights(key);
  std::map<Value, Value> moved;
  for (const NodeId id : region.graph.order()) {
    Node node = region.graph.node(id);
    if (node.kind == NodeKind::Input)
      if (const auto known = region.constants.find(node.outputs.at(0)); known != region.constants.end()) {
        Node constant;
        constant.kind = NodeKind::Initializer;
        constant.outputs = node.outputs;
        ISOMER_TRY(constant.tensor, weights.of(node, known->second));
        node = std::move(constant);
      }
    for (Value& v : node.inputs)
      if (v.exists()) v = moved.at(v);
    const auto count = static_cast<std::uint32_t>(node.outputs.size());
    const bool is_input = node.kind == NodeKind::Input;
    const NodeId made = out.add(std::move(node));
    if (is_input) out.add_input({made, 0});
    for (std::uint32_t k = 0; k < count; ++k) moved.emplace(Value{id, k}, Value{made, k});
  }
  for (const Value& v : region.graph.outputs()) out.add_output(moved.at(v));
  return out;
}

}  // namespace

std::optional<std::string> why_not_proved(const Plan& plan, std::uint64_t key) {
  auto now = model_of(plan.region, key);
  if (!now.ok()) return now.error().message;
  ProofCache proofs;
  std::size_t number = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const auto piece = Workpiece::of(*now);
    if (!piece.ok()) return piece.error().message;
    // Claims that follow one another are about one graph.
    std::vector<ProvedClaim> proved;
    for (; at < plan.steps.size() && std::holds_alternative<Claim>(plan.steps[at]); ++at, ++number) {
      auto answer = piece->prove(std::get<Claim>(plan.steps[at]), {.key = key}, proofs.source());
      if (const auto* why = std::get_if<std::string>(&answer))
        return fmt::format("claim {}: {}", number + 1, *why);
      proved.push_back(std::get<ProvedClaim>(std::move(answer)));
    }
    if (now = piece->with(proved); !now.ok()) return now.error().message;
    // A plan ends with what is folded (plan.h).
    if (now = fold_constants(*now, std::get<FoldStep>(plan.steps.at(at)).values); !now.ok())
      return now.error().message;
  }
  return std::nullopt;
}

}  // namespace isomer
