#include "model/graph/content.h"

#include <algorithm>
#include <bit>

namespace isomer {
namespace {

std::size_t string_bytes(const Tensor& tensor) {
  std::size_t bytes = 0;
  for (const std::string& s : tensor.strings()) bytes += s.size() + 1;
  return bytes;
}

bool same_place(const Tensor& a, const Tensor& b) {
  if (a.type() == ElementType::String) return &a.strings() == &b.strings();
  return a.bytes().data == b.bytes().data && a.bytes().size == b.bytes().size;
}

void add_place(Hasher& hasher, const Tensor& tensor) {
  const void* place = tensor.type() == ElementType::String ? static_cast<const void*>(&tensor.strings())
                                                           : static_cast<const void*>(tensor.bytes().data);
  hasher.add(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(place)));
}

void add_elements(Hasher& hasher, const Tensor& tensor) {
  if (tensor.type() == ElementType::String) {
    for (const std::string& s : tensor.strings()) hasher.add(std::string_view(s));
  } else {
    hasher.add_bytes(tensor.bytes().data, tensor.bytes().size);
  }
}

bool same_floats(float a, float b) {  // NaN equals itself, +0 and -0 differ
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

struct SameValue {
  bool operator()(float a, float b) const { return same_floats(a, b); }
  bool operator()(const std::vector<float>& a, const std::vector<float>& b) const {
    return std::ranges::equal(a, b, same_floats);
  }
  bool operator()(const Tensor& a, const Tensor& b) const { return same_content(a, b); }
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

struct AddValue {
  Hasher& hasher;
  ContentDigests digests;

  void operator()(std::int64_t x) const { hasher.add(x); }
  void operator()(float x) const { hasher.add_bytes(&x, sizeof x); }
  void operator()(const std::string& x) const { hasher.add(std::string_view(x)); }
  void operator()(const Tensor& x) const { add_content(hasher, x, digests); }
  void operator()(const RawAttribute& x) const {
    hasher.add(std::string_view(x.content())).add(x.is_graph ? 1 : 0);
    for (const Tensor& tensor : x.outside) add_content(hasher, tensor, digests);
  }
  template <class T>
  void operator()(const std::vector<T>& xs) const {
    hasher.add(static_cast<std::uint64_t>(xs.size()));
    for (const T& x : xs) (*this)(x);
  }
};

void add_values(Hasher& hasher, const std::vector<Value>& values) {
  hasher.add(static_cast<std::uint64_t>(values.size()));
  for (const Value& v : values) hasher.add(std::uint64_t{v.node} << 32 | v.output);
}

}  // namespace

bool is_small(const Tensor& tensor) {
  if (tensor.type() != ElementType::String) return tensor.bytes().size <= kSmallTensorBytes;
  return tensor.strings().size() <= kSmallTensorBytes && string_bytes(tensor) <= kSmallTensorBytes;
}

void add_content(Hasher& hasher, const Tensor& tensor, ContentDigests digests) {
  hasher.add(static_cast<int>(tensor.type()));
  if (tensor.type() == ElementType::Undefined) return;
  hasher.add(tensor.rank());
  for (const std::int64_t extent : tensor.extents()) hasher.add(extent);
  const bool by_elements = digests == ContentDigests::Full || is_small(tensor);
  hasher.add(by_elements ? 1 : 0);
  if (by_elements) add_elements(hasher, tensor);
  else add_place(hasher, tensor);
}

void add_content(Hasher& hasher, const Attributes& attributes, ContentDigests digests) {
  hasher.add(static_cast<std::uint64_t>(attributes.all().size()));
  for (const Attribute& a : attributes.all()) {
    hasher.add(std::string_view(a.name)).add(static_cast<std::uint64_t>(a.value.index()));
    std::visit(AddValue{hasher, digests}, a.value);
  }
}

void add_content(Hasher& hasher, const Dim& dim) {
  if (const auto value = dim.value()) hasher.add(1).add(*value);
  else hasher.add(2).add(std::string_view(dim.text()));
}

void add_content(Hasher& hasher, const DeclaredType& type) {
  hasher.add(static_cast<int>(type.type)).add(type.is_tensor ? 1 : 0).add(std::string_view(type.spelling));
  hasher.add(type.shape ? static_cast<int>(type.shape->size()) : -1);
  if (!type.shape) return;
  for (const auto& dim : *type.shape) {
    if (dim) add_content(hasher, *dim);
    else hasher.add(0);
  }
}

Digest content_digest(const Node& node) {
  Hasher hasher;
  hasher.add(static_cast<int>(node.kind));
  for (const std::string* text : {&node.op, &node.domain, &node.overload, &node.name, &node.extras})
    hasher.add(std::string_view(*text));
  add_values(hasher, node.inputs);
  add_values(hasher, node.captures);
  hasher.add(static_cast<std::uint64_t>(node.outputs.size()));
  for (const std::string& output : node.outputs) hasher.add(std::string_view(output));
  add_content(hasher, node.attributes);
  add_content(hasher, node.declared);
  add_content(hasher, node.tensor);
  return hasher.digest();
}

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.extents() != b.extents()) return false;
  if (a.type() == ElementType::Undefined || same_place(a, b)) return true;
  return is_small(a) && is_small(b) && a.same_bits(b);
}

bool same_content(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const Attribute& x, const Attribute& y) {
    return x.name == y.name && std::visit(SameValue{}, x.value, y.value);
  });
}

bool same_content(const Node& a, const Node& b) {
  return a.kind == b.kind && a.op == b.op && a.domain == b.domain && a.overload == b.overload &&
         a.name == b.name && a.inputs == b.inputs && a.captures == b.captures && a.outputs == b.outputs &&
         a.extras == b.extras && a.declared == b.declared && same_content(a.attributes, b.attributes) &&
         same_content(a.tensor, b.tensor);
}

}  // namespace isomer
