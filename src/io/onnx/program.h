// A program as bytes: a model in the reader's own format, as certificates hold it.
//
// What a model may have and a program may not: functions, subgraphs, data in other files. Its inputs need no
// types: whoever takes the program knows what they are.
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
