// A model as a library of its own, in C++.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "isomer/model.h"

namespace isomer::api {

// ---- A model as a library of its own

struct CompileOptions {
  std::string name = "model";     // what every symbol begins with: a C identifier
  std::string target = "native";  // one of compile_targets()
  std::string compiler = {};      // a C++ compiler; "": $CXX, else clang++ or g++ of $PATH
  bool fixed_sizes = false;       // of as_operator: model.onnx is for the one size that is given
  std::string schedules = {};     // how loops run, where it is not left to Isomer: docs/guides/compile.md
  // Also model.onnx, in which the regions that are faster so are operators of ONNX Runtime.
  bool as_operator = false;
  // Seconds of looking for faster schedules of loops, by measuring; 0: those that Isomer chooses are taken.
  double tune_seconds = 0;
  std::string tune_search = "evolution";  // one of tune_searches()
  std::filesystem::path tuning = {};   // a folder that remembers what was measured; "": nothing is remembered
  std::filesystem::path objects = {};  // a folder that remembers what was compiled; "": nothing is remembered
  int threads = 1;                     // of a run, if its user says nothing else; the runtime has as many
  double budget = 300;                 // seconds of the whole run, but for tune_seconds
  // Time to compare its speed with ONNX Runtime, and six times that where it leaves open whether operators
  // are faster; 0: no comparison.
  double seconds = 5;
  double min_gain = 1.02;  // as in OptimizeOptions, for operators
  std::string sums =
      {};  // how products are added, one of sums_of_products(); "": as max_error_growth requires
  // Rounding error against float64, compared with the runtime's (or 1e-6, if that is more): the first way of
  // sums_of_products() that keeps it is taken. 0: it is not measured.
  double max_error_growth = 2;
  // The model is run on the runtime on them, to compare. Their sizes are those that the model leaves open.
  // With as_operator: a repeated name begins another size ("x=1x3x48x160", "x=1x3x48x320"); model.onnx has
  // operators for each, and runs at every other size as before. Without it: an extent may be ?, which leaves
  // it open ("x=?x3x48x?").
  Inputs inputs = {};
  Run run = {};  // with the runtime's `threads` as above
};

struct Compiled {
  struct Nest {
    std::string name, text;  // the loops that compute one tensor
  };
  std::vector<Nest> nests = {};
  // max |y - y64| / max |y64|, the worst output; nullopt: not measured.
  struct Errors {
    double module = 0, runtime = 0;
    bool kept = true;  // it is within max_error_growth
  };
  std::optional<Errors> errors = {};
  std::string sums = {};               // the way that was taken
  std::optional<Interval> ratio = {};  // of the runtime's latency to the module's: more than 1 is faster
  std::string not_compared = {};       // why there is no ratio
  bool is_operator = false;            // model.onnx has operators; else it is a given one
  std::string reason = {};             // of as_operator: why model.onnx is the model as it was; or ""
  std::string json = {};               // what `isomer compile --json` prints
};

ISOMER_API std::vector<std::string> compile_targets();
// Ways of looking for schedules.
ISOMER_API std::vector<std::string> tune_searches();
// The folder of this user's records: beside the cache of measurements; "" where that is none.
ISOMER_API std::filesystem::path default_tuning();
ISOMER_API std::filesystem::path default_objects();  // the same for compiled objects
// Each rounds less than the one before, and takes longer: docs/reference/json.md.
ISOMER_API std::vector<std::string> sums_of_products();
// Writes libNAME.so, libNAME.a, NAME.h, NAME.hpp, NAME.weights, NAME.cpp and interface.json into the folder,
// or nothing. Where the model can be run here, outputs are compared with the runtime's first: Error, if they
// differ by more than rounding can do.
ISOMER_API Compiled compile(const Model& model, const std::filesystem::path& folder,
                            const CompileOptions& options = {});

}  // namespace isomer::api
