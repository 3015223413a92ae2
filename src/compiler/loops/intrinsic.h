// Kernels of a user's own for `tensorize NAME`, in a text of schedules:
//
//   intrinsic dot8 (float[8, 4] a, float[4, 8] b) => (float[8, 8] c) { c = MatMul(a, b) }
//   code
//     for (int64_t i = 0; i < 8; ++i)
//       for (int64_t j = 0; j < 8; ++j)
//         for (int64_t k = 0; k < 4; ++k) c[8*i + j] += a[i*a_0 + k*a_1] * b[k*b_0 + j*b_1];
//   end
//
// What it computes is a graph whose one output is one sum over what it reads of the inputs. The code adds
// that to `c`, which is row-major; of an input `a` it has the first element and the strides a_0, a_1, ... of
// its axes. That a nest's innermost loops are this sum is for legality.h to decide; that the code computes it
// is not proved: `compile` runs it beside the graph before it is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/loops/nest.h"
#include "model/graph/graph.h"

namespace isomer::lower {

// Error: what is wrong, with the name of the intrinsic.
Result<std::vector<Intrinsic>> parse_intrinsics(std::string_view schedules);
// The same text, with an empty line for each of theirs.
std::string without_intrinsics(std::string_view schedules);

// Graphs by which its code is tried, inputs as they are and with their axes turned round: each is one nest,
// of one call.
struct Trial {
  Graph graph;
  std::string schedule;
};
Result<std::vector<Trial>> trials(const Intrinsic& intrinsic);

// The innermost loops of a nest as a call. Error: it has other loops, or another sum, as far as one sees
// here.
Status tensorize(const Plan& plan, Nest& nest, std::string_view name);

// Its name in C++.
std::string function_name(const Intrinsic& intrinsic);

}  // namespace isomer::lower
