// A program as bytes: a model in the reader's own format, as certificates hold it.
//
// A program has no functions, subgraphs or data in other files. Its inputs need no types: the code that uses
// the program has them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

Result<Graph> read_program(std::string_view bytes);

// Error: it has what a program may not have.
Result<std::string> write_program(const Graph& graph);

}  // namespace isomer
