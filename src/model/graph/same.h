// Whether two nodes, and two graphs, of different files have the same content: every element of every
// constant, the bytes that attributes refer to in other files, and all bodies. Functions are compared by
// content, never by name alone.
//
// content.h is about one store, and identifies large tensors by their address; names.h is about names.
#pragma once

#include <optional>
#include <string>

#include "model/graph/graph.h"

namespace isomer {

bool same_elements(const Attributes& a, const Attributes& b);

// The bodies of two nodes: graphs in their attributes, functions that they call, with all that these call.
// Values by name. True of nodes that run nothing; the attributes themselves are not compared.
bool same_inside(const Graph& a, const Node& x, const Graph& b, const Node& y);

// Where two graphs differ, by the names of their values, in anything that a file says; nullopt: nowhere.
std::optional<std::string> first_difference(const Graph& a, const Graph& b);

}  // namespace isomer
