// A compiled model as an operator of ONNX Runtime: the additional C++ for that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/expr/element_type.h"

namespace isomer {

inline constexpr char kOrtOperatorDomain[] = "isomer";  // of the operator; it is called as the module is

struct OrtPort {
  ElementType type = ElementType::Float;
  std::vector<std::int64_t> extents = {};
  bool by_sample = false;  // the first extent, which is 1 here, is that of a batch, of any size
  // The operator gets this input's extents, as a tensor of int64, and no elements: the module reads none.
  bool is_shape_only = false;
};

// Where a size that a run is given is found: an axis of an input.
struct OrtSize {
  std::size_t input = 0, axis = 0;
};

// C++ that follows a module's code and exports RegisterCustomOps. It includes no header of ONNX Runtime and
// links nothing: the functions that it calls are in the table that the runtime passes. Weights are found
// beside the library, under its name with another ending: LIBRARY.weights for LIBRARY.so, else NAME.weights.
// `sizes`: for a module with open sizes; open extents of ports are -1.
std::string ort_operator_text(const std::string& name, const std::vector<OrtPort>& inputs,
                              const std::vector<OrtPort>& outputs, const std::vector<OrtSize>& sizes = {});

// The same for one of several operators in a library, each in a file of its own: `name` is that of its code.
// The weights of all are in one file beside the library, and its node says as `weights` where its own begin.
std::string ort_region_text(const std::string& name, const std::string& base,
                            const std::vector<OrtPort>& inputs, const std::vector<OrtPort>& outputs,
                            const std::vector<OrtSize>& sizes = {});

// An operator that looks at the shapes of a model's inputs and says which of several cases a call is: a bool
// for each case, then the open sizes of the last one as int64.
struct OrtChoice {
  struct Size {
    std::vector<OrtSize> at = {};  // extents that are this size: all of them are equal
    std::int64_t least = 1, most = 1, step = 1;
    bool is_fixed() const { return least == most; }
  };
  std::vector<ElementType> inputs = {};
  std::vector<std::vector<std::vector<std::int64_t>>> shapes = {};  // of all inputs, by case
  // The sizes of the last case; none: there is no such case. Fixed ones come last, and are no output.
  std::vector<Size> sizes = {};
};
std::string ort_choice_text(const std::string& name, const OrtChoice& choice);
// An operator as the runtime knows it, and whose code it has: several may have the same.
struct OrtNamedOperator {
  std::string name, code;
};
// The file of the weights of all operators: how large it is, and what it begins with.
struct OrtWeights {
  std::uint64_t bytes = 0;  // 0: there is no such file
  std::string begin = {};
};
// The file beside theirs that exports RegisterCustomOps, which refuses weights of another library.
std::string ort_registration_text(const std::vector<OrtNamedOperator>& operators, const std::string& base,
                                  const OrtWeights& weights);

}  // namespace isomer
