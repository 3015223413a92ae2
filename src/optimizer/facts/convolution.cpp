#include "optimizer/facts/convolution.h"

#include <algorithm>

namespace isomer {
namespace {

// The pads that the node lets the runtime choose; false: they depend on sizes that are not known.
bool choose_pads(const Site& site, Convolution& c, const std::string& mode) {
  if (mode == "NOTSET") return true;
  const std::size_t rank = c.kernel.size();
  c.pads.assign(2 * rank, 0);
  if (mode == "VALID") return true;
  const auto& shape = site.inference.of(c.x).shape;
  if (!shape || (mode != "SAME_UPPER" && mode != "SAME_LOWER")) return false;
  for (std::size_t k = 0; k < rank; ++k) {
    std::int64_t total = c.dilations[k] * (c.kernel[k] - 1);
    if (c.strides[k] != 1) {
      const Dim& extent = (*shape)[k + 2];
      if (!extent.is_concrete()) return false;
      const std::int64_t x = extent.concrete(), steps = (x - 1) / c.strides[k];
      total = std::max<std::int64_t>(0, steps * c.strides[k] + total + 1 - x);
    }
    const std::int64_t less = total / 2, more = total - less;
    c.pads[k] = mode == "SAME_UPPER" ? less : more;
    c.pads[rank + k] = total - c.pads[k];
  }
  return true;
}

}  // namespace

std::optional<Convolution> convolution_at(const Site& site, NodeId id) {
  if (!site.is(id, "Conv")) return std::nullopt;
  const Node& node = site.node(id);
  const auto sizes = site.concrete_sizes(node.inputs[1]);
  if (!sizes || !site.is_constant(node.inputs[1]) || site.is_constant(node.inputs[0])) return std::nullopt;
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
  if (!choose_pads(site, out, attribute(node, "auto_pad", std::string("NOTSET")))) return std::nullopt;
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
