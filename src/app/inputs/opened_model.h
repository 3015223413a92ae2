// A model with values among its outputs that it only computes on its way: to look inside of a runtime.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "io/onnx/model.h"
#include "model/graph/interpret.h"
#include "optimizer/search/trials.h"

namespace isomer {

// With these values beside its own outputs; those of unknown type or shape on these feeds are left out.
// nullopt: nothing is known of the model at these sizes, or its values would need too much memory together.
std::optional<Model> opened_model(const Model& model, const NamedTensors& feeds,
                                  const std::set<std::string>& values);

}  // namespace isomer
