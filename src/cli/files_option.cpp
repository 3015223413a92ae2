#include "cli/files_option.h"

#include <CLI/CLI.hpp>

namespace isomer::cli {

void add_file_options(CLI::App& command, api::OptimizeFiles& files) {
  command.add_option("IN", files.in, "An ONNX file")->type_name("")->required();
  command.add_option("-o,--output", files.out, "Where the result goes")->type_name("OUT")->required();
  command.add_option("--certificate", files.certificate, "Where the proof goes (default: OUT.cert)")
      ->type_name("FILE");
}

}  // namespace isomer::cli
