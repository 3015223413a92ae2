#include "cli/shape_option.h"

#include <CLI/CLI.hpp>

namespace isomer::cli {

void add_shape_option(CLI::App& command, std::vector<std::string>& shapes, const std::string& more) {
  command
      .add_option("--shape", shapes,
                  "Extents of an input (x=1x3x224x224) or of a dimension that inputs name (batch=8); may be "
                  "given several times" +
                      more +
                      " (default: the declared size, else 1 for a first axis and 128 for others, or the "
                      "first usual sizes at which the model runs)")
      ->type_name("NAME=SHAPE")
      ->expected(1)
      ->take_all();
}

void add_sizes_from_option(CLI::App& command, int& sizes_from) {
  command
      .add_option("--sizes-from", sizes_from,
                  "The least size of open dimensions in proofs (docs/concepts/equality.md)")
      ->check(CLI::IsMember({0, 1}))
      ->type_name("0|1")
      ->capture_default_str();
}

void add_value_option(CLI::App& command, std::vector<std::string>& values) {
  command
      .add_option("--value", values,
                  "Fill a generated input with a number (sr=16000); may be given several times (default: "
                  "from names and the model's own comparisons, else random)")
      ->type_name("NAME=NUMBER")
      ->expected(1)
      ->take_all();
}

}  // namespace isomer::cli
