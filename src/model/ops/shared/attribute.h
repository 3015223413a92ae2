// Attribute: a node's attribute value. Kinds that formulas read are parsed; others (graphs, types, sparse
// tensors, references inside functions) are kept as their bytes in the file, so that they stay unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/expr/tensor.h"

namespace isomer {

// Bytes of the attribute as the file had it. Tensors in it may have their elements in files of their own:
// then what it says is the message without their places, and these elements.
struct RawAttribute {
  std::string bytes;
  bool is_graph = false;            // holds one or more subgraphs
  std::string without_places = {};  // the bytes, if there is something outside
  std::vector<Tensor> outside = {};
  const std::string& content() const { return outside.empty() ? bytes : without_places; }
  friend bool operator==(const RawAttribute& a, const RawAttribute& b);
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
