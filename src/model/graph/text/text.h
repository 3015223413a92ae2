// A graph in ONNX's own text syntax (onnx.parser, onnx.printer): the language of golden tests, of
// rules, and of displayed graphs.
//
//   <ir_version: 8, opset_import: ["" : 17]>
//   agraph (float[N, 128] x) => (float[N, 4] y) <float[128, 4] w = {...}, float[N, 4] t> {
//     t = MatMul (x, w)
//     [name] y = Softmax <axis = -1> (t)
//   }
//
// Ours beyond ONNX's: names that aren't identifiers are quoted wherever they stand; what the graph carries as
// bytes is written in hexadecimal (`body: raw_graph = "0a1f..."`), and the outer values that it reads as
// `captures: values = [x, y]`. Not in the text: extras, and everything of a model beyond its graph.
// Subgraphs, local functions and external data are not read.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

struct TextOptions {
  int ir_version = 8;  // of the model that the text is; a graph has none
  // Tensors with more elements are written {...}, which can't be read back.
  std::int64_t most_elements = std::numeric_limits<std::int64_t>::max();
};

// Values without a name of their own get one.
std::string text(const Graph& graph, const TextOptions& options = {});

// An attribute's value: "-1", "[1, 1]"; of a tensor its type, of a subgraph {...}.
std::string value_text(const Attribute& attribute);

// Which calls a text may have: those that a file may (model/ops/schemas.h), or any that can be written, for
// graphs that tests make up.
enum class TextCalls : std::uint8_t { AsInFiles, Any };

// Error: "line 3, column 7: expected ')'". Never recurses by more than a type's depth, which is bounded.
Result<Graph> parse_graph(std::string_view text, TextCalls calls = TextCalls::AsInFiles);

}  // namespace isomer
