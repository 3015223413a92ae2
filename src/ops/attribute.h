// Attribute: a node's attribute value. What formulas read is parsed; what they never read (graphs, types,
// sparse tensors, references inside functions) is carried as the bytes it had in the file, so that it
// survives untouched.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "algebra/tensor.h"

namespace isomer {

// Bytes of the attribute as the file had it, and the outer values that a subgraph in it captures, by name.
struct RawAttribute {
  std::string bytes;
  bool is_graph = false;  // holds one or more subgraphs
  friend bool operator==(const RawAttribute&, const RawAttribute&) = default;
};

struct Attribute {
  using Value = std::variant<std::int64_t, float, std::string, Tensor, std::vector<std::int64_t>,
                             std::vector<float>, std::vector<std::string>, RawAttribute>;
  std::string name;
  Value value;
};

// Sorted by name, each name once.
class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(std::vector<Attribute> attributes);
  const Attribute::Value* find(std::string_view name) const;
  template <class T>
  const T* find_as(std::string_view name) const {
    const Attribute::Value* value = find(name);
    return value ? std::get_if<T>(value) : nullptr;
  }
  const std::vector<Attribute>& all() const { return all_; }
  void set(std::string name, Attribute::Value value);

 private:
  std::vector<Attribute> all_;
};

}  // namespace isomer
