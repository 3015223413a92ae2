// Operators for the sizes that a user names, in a model that runs at every size: a call at one of them takes
// the operators made for it, any other call the model's own nodes. Internal to compile.cpp.
#pragma once

#include "app/api/compile/output_folder.h"
#include "isomer/isomer.h"

namespace isomer::api {

// Whether the model leaves sizes open that the options give. Throws ErrorKind::BadInput: several sizes of
// something else than operators.
bool decides_by_size(const Model& model, const CompileOptions& options);

Compiled compile_for_sizes(const Model& model, const CompileOptions& options, const OutputFolder& folder);

}  // namespace isomer::api
