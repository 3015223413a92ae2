// The engines that this build can judge with.
#pragma once

#include <span>
#include <string_view>

#include "base/installed_library.h"
#include "runtime/engines/runtime.h"

namespace isomer {

struct Engine : InstalledLibrary {
  std::string_view name;   // as --runtime says it
  std::string_view title;  // for people
  OpenRuntime open;
};

std::span<const Engine> engines();
const Engine* engine_named(std::string_view name);

}  // namespace isomer
