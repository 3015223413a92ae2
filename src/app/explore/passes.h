// The names of a runtime's switches: its own optimizers, its levels, and settings that change speed. A
// registry of names only: trials find whether one affects a model (explore.h), because ONNX Runtime ignores
// names that it does not know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engines/runtime.h"

namespace isomer {

struct Pass {
  enum class Kind : std::uint8_t { Optimizer, Level, Setting };
  std::string name;  // "SkipLayerNormFusion", "level=extended", "session.disable_prepacking=1"
  Kind kind = Kind::Optimizer;
  std::string key = {}, value = {};  // of a setting
  bool changes_values = false;       // what is computed, beyond rounding: shown, never chosen
};

std::string_view text(Pass::Kind kind);  // "optimizer", "level", "setting"

std::vector<std::string> names_of(const std::vector<Pass>& passes);

// Those of this library of ONNX Runtime ("": the one that is found), for this number of threads.
std::vector<Pass> passes_of(const std::string& library, int threads);

// The options without these optimizers, at these levels, with these settings.
RuntimeOptions with_passes(RuntimeOptions options, const std::vector<Pass>& passes);

}  // namespace isomer
