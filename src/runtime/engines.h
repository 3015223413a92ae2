// The engines that this build can judge with, and where their libraries are.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace isomer {

struct Engine {
  std::string_view name;         // as --runtime says it
  std::string_view title;        // for people
  std::string_view variable;     // the environment variable that names the library
  std::string_view package;      // the Python package that carries it
  std::string_view folder;       // below the package
  std::string_view file;         // how the file's name begins
  std::string_view linker_name;  // what the dynamic linker is asked for at last
  OpenRuntime open;
};

std::span<const Engine> engines();
const Engine* engine_named(std::string_view name);

// The library of an engine: what the environment variable says, else the Python package of $VIRTUAL_ENV, else
// that of the python3 in the path, else the name that the dynamic linker knows.
std::string find_library(const Engine& engine);

}  // namespace isomer
