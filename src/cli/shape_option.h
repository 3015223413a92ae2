// The options --shape NAME=SHAPE of several commands, concrete extents for an input, or a value for a
// symbolic dimension, and --value NAME=NUMBER of those that make inputs up.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace isomer::cli {

// `more`: what else there is to say of it.
void add_shape_option(CLI::App& command, std::vector<std::string>& shapes, const std::string& more = "");

// Least open size that a proof covers.
void add_sizes_from_option(CLI::App& command, int& sizes_from);

void add_value_option(CLI::App& command, std::vector<std::string>& values);

}  // namespace isomer::cli
