#include "kernel/certify/digest.h"

#include <algorithm>
#include <type_traits>
#include <unordered_map>

#include "base/blake2b.h"
#include "base/mapped_bytes.h"
#include "model/graph/names.h"
#include "model/ops/own_operators.h"

namespace isomer {
namespace {

// Tensors that are larger are hashed by pieces, each alone: what is a hole in a sparse file has a digest that
// is known.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 26;
constexpr std::size_t kPiece = std::size_t{1} << 20;

std::string piecewise_digest(const Bytes& bytes) {
  static const std::string kOfHole = [] {
    const std::vector<std::byte> zeros(kPiece);
    return Blake2b().add(zeros.data(), zeros.size()).hex();
  }();
  Blake2b all;
  for (std::size_t at = 0; at < bytes.size; at += kPiece) {
    const std::byte* data = bytes.data + at;
    const std::size_t size = std::min(kPiece, bytes.size - at);
    const bool is_hole = size == kPiece && hole_at(data, size) == size;
    const std::string piece = is_hole ? kOfHole : Blake2b().add(data, size).hex();
    if (!is_hole) let_go(data, size);
    all.add(piece.data(), piece.size());
  }
  return all.hex();
}

// A stream of fields that can be read in one way only: numbers of 8 bytes, texts and lists after their
// length.
class Stream {
 public:
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Stream& add(T value) {
    const auto word = static_cast<std::int64_t>(value);
    hash_.add(&word, sizeof word);
    return *this;
  }
  Stream& add(const std::string& text) { return add_bytes(text.data(), text.size()); }
  Stream& add(float value) { return add_bytes(&value, sizeof value); }
  template <class T>
  Stream& add(const std::vector<T>& list) {
    add(list.size());
    for (const T& item : list) add(item);
    return *this;
  }
  Stream& add(const Tensor& tensor) {
    add(tensor.type());
    if (tensor.type() == ElementType::Undefined) return *this;
    add(tensor.extents());
    if (tensor.type() == ElementType::String) return add(tensor.strings());
    if (tensor.bytes().size > kMostAtOnce) return add(piecewise_digest(tensor.bytes()));
    add_bytes(tensor.bytes().data, tensor.bytes().size);
    let_go(tensor.bytes().data, tensor.bytes().size);
    return *this;
  }
  Stream& add(const RawAttribute& raw) {
    add(raw.content()).add(raw.is_graph);
    return raw.outside.empty() ? *this : add(raw.outside);
  }
  Stream& add(const Attributes& attributes) {
    add(attributes.all().size());
    for (const Attribute& a : attributes.all()) {
      add(a.name).add(a.value.index());
      std::visit([&](const auto& value) { add(value); }, a.value);
    }
    return *this;
  }
  Stream& add(const std::optional<Dim>& dim) { return add(dim.has_value()).add(dim ? dim->text() : ""); }
  Stream& add(const DeclaredType& type) {
    add(type.type).add(type.is_tensor).add(type.spelling).add(type.shape.has_value());
    return type.shape ? add(*type.shape) : *this;
  }
  std::string hex() const { return hash_.hex(); }

 private:
  Stream& add_bytes(const void* data, std::size_t size) {
    add(size);
    hash_.add(data, size);
    return *this;
  }
  Blake2b hash_;
};

std::string node_digest(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Stream out;
  out.add(node.kind).add(node.op).add(node.domain).add(node.overload).add(node.outputs).add(node.extras);
  out.add(names_of(graph, node.inputs)).add(names_of(graph, node.captures));
  out.add(node.attributes).add(node.declared).add(node.tensor).add(graph.is_overridable(id));
  out.add(node.bodies.size());
  for (const Body& body : node.bodies)
    out.add(body.attribute).add(model_digest(*body.graph)).add(body.captured);
  return out.hex();
}

// For constants that two graphs over one store share: their bytes are read once.
using KnownDigests = std::unordered_map<const Node*, std::string>;

std::string node_digest(const Graph& graph, NodeId id, KnownDigests& known) {
  const Node& node = graph.node(id);
  if (node.kind != NodeKind::Initializer || graph.is_overridable(id)) return node_digest(graph, id);
  auto [at, is_new] = known.try_emplace(&node);
  if (is_new) at->second = node_digest(graph, id);
  return at->second;
}

std::string model_digest(const Graph& graph, KnownDigests& known) {
  Stream out;
  out.add(names_of(graph, graph.inputs())).add(names_of(graph, graph.outputs()));
  out.add(graph.opsets.size());
  for (const auto& [domain, version] : graph.opsets) out.add(domain).add(version);
  out.add(graph.functions->size());
  for (const auto& [f, digest] : *graph.functions) out.add(f.domain).add(f.name).add(f.overload).add(digest);
  std::vector<std::string> nodes;
  for (const NodeId id : graph.order()) nodes.push_back(node_digest(graph, id, known));
  std::ranges::sort(nodes);
  return out.add(nodes).hex();
}

}  // namespace

std::string model_digest(const Graph& graph) {
  KnownDigests known;
  return model_digest(graph, known);
}

Certificate with_digests(Certificate certificate, const Graph& in, const Graph& out) {
  KnownDigests known;
  certificate.in_digest = model_digest(in, known);
  certificate.out_digest = model_digest(out, known);
  if (in.opsets.own) certificate.assumed = in.opsets.own->texts();
  if (!certificate.steps.empty() || certificate.pairing) certificate.sizes_from = in.sizes_from;
  return certificate;
}

}  // namespace isomer
