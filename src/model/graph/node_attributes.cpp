#include "model/graph/node_attributes.h"

namespace isomer {

std::int64_t attribute(const Node& node, std::string_view name, std::int64_t otherwise) {
  const auto* found = node.attributes.find_as<std::int64_t>(name);
  return found ? *found : otherwise;
}

std::vector<std::int64_t> attribute(const Node& node, std::string_view name,
                                    const std::vector<std::int64_t>& otherwise) {
  const auto* found = node.attributes.find_as<std::vector<std::int64_t>>(name);
  return found ? *found : otherwise;
}

std::string attribute(const Node& node, std::string_view name, const std::string& otherwise) {
  const auto* found = node.attributes.find_as<std::string>(name);
  return found ? *found : otherwise;
}

bool is_plain_product(const Node& node) {
  if (!node.domain.empty() || (node.op != "MatMul" && node.op != "Gemm")) return false;
  const auto is_one = [&](const char* name) {
    const auto* factor = node.attributes.find_as<float>(name);
    return factor == nullptr || *factor == 1;
  };
  return is_one("alpha") && is_one("beta") && attribute(node, "transA", std::int64_t{0}) == 0;
}

bool has_transposed_weights(const Node& product) {
  return product.op == "Gemm" && attribute(product, "transB", std::int64_t{0}) != 0;
}

}  // namespace isomer
