#include "app/scan/describe_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "model/graph/constant.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

// A type of fewer of the weights' bytes than this is beside the point: scales, biases.
constexpr double kLeastShare = 0.1;

// Weights of a graph and of all bodies in it.
std::map<ElementType, std::uint64_t> bytes_by_type(const Graph& whole) {
  std::map<ElementType, std::uint64_t> bytes;
  std::vector<const Graph*> left{&whole};
  while (!left.empty()) {
    const Graph& graph = *left.back();
    left.pop_back();
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::Initializer) bytes[node.tensor.type()] += node.tensor.bytes().size;
      else if (const auto tensor = known_constant(graph, {id, 0}))
        bytes[tensor->type()] += tensor->bytes().size;
      for (const Body& body : node.bodies) left.push_back(body.graph.get());
    }
  }
  return bytes;
}

// Types of weights; sizes, indices and conditions are of others.
bool is_precision(ElementType type) {
  using enum ElementType;
  return type != Undefined && type != String && type != Bool && type != Int32 && type != Int64 &&
         type != Uint32 && type != Uint64;
}

std::string precision_name(ElementType type) {
  if (type == ElementType::Float) return "float32";
  return type == ElementType::Double ? "float64" : std::string(name(type));
}

std::vector<std::string> precision_of(const Graph& graph) {
  std::vector<std::pair<std::uint64_t, ElementType>> types;
  std::uint64_t all = 0;
  for (const auto& [type, bytes] : bytes_by_type(graph)) {
    if (!is_precision(type) || bytes == 0) continue;
    types.emplace_back(bytes, type);
    all += bytes;
  }
  std::ranges::sort(types, std::greater<>{});
  std::vector<std::string> names;
  for (const auto& [bytes, type] : types)
    if (static_cast<double>(bytes) >= kLeastShare * static_cast<double>(all))
      names.push_back(precision_name(type));
  return names;
}

// How often operators occur, by what their names are or contain: ONNX Runtime has fused and quantized forms
// of most (QLinearConv, FusedMatMul, MultiHeadAttention).
class Operators {
 public:
  explicit Operators(const Summary& summary) : summary_(summary) {}
  std::uint64_t named(const std::set<std::string_view>& names) const {
    return count([&](const OperatorCount& kind) { return names.contains(kind.op); });
  }
  std::uint64_t containing(std::string_view part) const {
    return count([&](const OperatorCount& kind) { return kind.op.find(part) != std::string::npos; });
  }
  std::uint64_t of_domain(std::string_view domain) const {
    return count([&](const OperatorCount& kind) { return kind.domain == domain; });
  }

 private:
  template <class Predicate>
  std::uint64_t count(const Predicate& is_meant) const {
    std::uint64_t sum = 0;
    for (const OperatorCount& kind : summary_.operators)
      if (is_meant(kind)) sum += kind.count;
    return sum;
  }
  const Summary& summary_;
};

std::vector<std::string> kinds_of(const Operators& has) {
  const std::uint64_t products = has.containing("MatMul") + has.named({"Gemm", "Einsum"});
  const std::uint64_t softmaxes = has.named({"Softmax"});
  std::vector<std::string> kinds;
  if (has.of_domain("ai.onnx.ml") > 0) kinds.emplace_back("classical ML");
  if (has.containing("LSTM") + has.containing("GRU") + has.named({"RNN"}) > 0)
    kinds.emplace_back("recurrent");
  // Scores and the weighted sum are two products beside each softmax; one softmax may be a classifier's.
  if (has.containing("Attention") > 0 || (softmaxes >= 2 && products >= 2 * softmaxes))
    kinds.emplace_back("attention");
  if (has.containing("Conv") > 0) kinds.emplace_back("convolution");
  if (kinds.empty()) kinds.emplace_back(products > 0 ? "matrix products" : "no layers with weights");
  if (has.named({"If", "Loop", "Scan"}) > 0) kinds.emplace_back("control flow");
  return kinds;
}

std::string quantization_of(const Operators& has) {
  if (has.containing("DynamicQuantize") + has.named({"MatMulInteger", "ConvInteger"}) > 0) return "dynamic";
  if (has.containing("QLinear") + has.named({"QuantizeLinear"}) > 0) return "static";
  return has.named({"DequantizeLinear", "MatMulNBits"}) > 0 ? "weights only" : "";
}

}  // namespace

Description describe_file(const fs::path& path) {
  Description out{.head = read_head(path)};
  std::error_code failure;
  const fs::path certificate = path.string() + ".cert";
  if (fs::is_regular_file(certificate, failure)) out.certificate = certificate;
  return out;
}

Result<Description> describe_model(const fs::path& path, const Model& model) {
  Description out = describe_file(path);
  ISOMER_TRY(out.summary, summarize(model, {}));
  out.external_bytes = external_bytes(model);
  const Operators has(*out.summary);
  out.kinds = kinds_of(has);
  out.precision = precision_of(model.graph);
  out.quantization = quantization_of(has);
  return out;
}

}  // namespace isomer
