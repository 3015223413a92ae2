// A linear region written in one of the forms that runtimes have: the program, with weights that are the
// region's own nodes applied to impulses.
#pragma once

#include <optional>

#include "model/graph/program_builder.h"
#include "optimizer/facts/region_form.h"
#include "optimizer/facts/region_runner.h"

namespace isomer {

// The region's response to zeros: none, the same at all places of the windows, or one for each place.
enum class Constant : std::uint8_t { None, Bias, Map };

struct FormSite {
  const RegionRunner& runner;
  const RegionForm& form;
  const Dims& input;  // the shape of the region's input, and of its output
  const Dims& output;
  Constant constant = Constant::None;
};

// The region's output from its input `x`; nullopt: the weights are not found, or a shape can't be written.
std::optional<Value> write_form(ProgramBuilder& b, const FormSite& site, Value x);

}  // namespace isomer
