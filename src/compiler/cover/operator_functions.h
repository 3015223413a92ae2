// Our operators as local functions of the model that uses them, so that a runtime without their library also
// runs it, and a checker has their definitions.
#pragma once

#include <optional>
#include <string>

#include "compiler/cover/region_program.h"
#include "io/onnx/local_functions.h"

namespace isomer {

// The region, written out.
LocalFunction function_of(const RegionProgram& region, const std::string& op);
// Something of the same types and ranks, for a branch that is never taken without the library.
LocalFunction stand_in_of(const RegionProgram& region, const std::string& op);
// The function of the operator that reads the shapes of inputs and returns the case of a call: none of them;
// then sizes without meaning, if it has any (`sizes` of them; nullopt: it returns none).
LocalFunction no_case_of(const std::string& op, std::size_t inputs, std::size_t cases,
                         std::optional<std::size_t> sizes, const Opsets& opsets);

}  // namespace isomer
