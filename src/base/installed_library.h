// The path of a library that is loaded at run time, from the environment, so that no program contains a path
// of the machine that built it.
#pragma once

#include <string>
#include <string_view>

namespace isomer {

struct InstalledLibrary {
  std::string_view variable;     // the environment variable that names the library
  std::string_view package;      // the Python package that carries it
  std::string_view folder;       // below the package
  std::string_view file;         // how the file's name begins
  std::string_view linker_name;  // the name for the dynamic linker, tried last
};

// The path in the environment variable, else the library in the Python package of $VIRTUAL_ENV, else in that
// of the python3 in the path, else the name that the dynamic linker knows.
std::string find_library(const InstalledLibrary& library);

}  // namespace isomer
