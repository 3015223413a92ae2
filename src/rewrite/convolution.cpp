#include "rewrite/convolution.h"

namespace isomer {

std::optional<Convolution> convolution_at(const Site& site, NodeId id) {
  if (!site.is(id, "Conv")) return std::nullopt;
  const Node& node = site.node(id);
  const auto sizes = site.concrete_sizes(node.inputs[1]);
  if (!sizes || !site.is_constant(node.inputs[1]) || site.is_constant(node.inputs[0]) ||
      attribute(node, "auto_pad", std::string("NOTSET")) != "NOTSET")
    return std::nullopt;
  const Extents kernel(sizes->begin() + 2, sizes->end()), ones(kernel.size(), 1);
  Convolution out{.id = id,
                  .x = node.inputs[0],
                  .weights = node.inputs[1],
                  .w = *sizes,
                  .kernel = kernel,
                  .strides = attribute(node, "strides", ones),
                  .dilations = attribute(node, "dilations", ones),
                  .pads = attribute(node, "pads", Extents(2 * kernel.size(), 0)),
                  .channels = (*sizes)[0],
                  .groups = attribute(node, "group", 1)};
  if (node.inputs.size() > 2) out.bias = node.inputs[2];
  if (out.bias.exists() && !site.is_constant(out.bias)) return std::nullopt;
  return out;
}

Attributes attributes_of(const Convolution& c) {
  return with({{"kernel_shape", c.kernel},
               {"strides", c.strides},
               {"dilations", c.dilations},
               {"pads", c.pads},
               {"group", c.groups}});
}

}  // namespace isomer
