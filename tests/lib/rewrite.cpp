// isomer-rewrite [--infer] IN OUT: reads a model and writes it, changing nothing. What the suites judge the
// reader and the writer by; --infer also infers shapes and hashes the graph on the way.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "io/onnx/model.h"
#include "model/graph/canonical_hash.h"
#include "model/graph/infer.h"

namespace {

int refuse(const std::string& message) {
  std::fprintf(stderr, "isomer: %s\n", message.c_str());
  return 2;
}

int rewrite(const std::string& input, const std::string& output, bool with_inference) {
  const auto model = isomer::read_model(input);
  if (!model.ok()) return refuse(model.error().message);
  if (with_inference) {
    const auto inference = isomer::infer(model->graph);
    if (!inference.ok()) return refuse(inference.error().message);
    std::printf("%s\n", isomer::canonical_hashes(model->graph).graph.hex().c_str());
  }
  const auto written = isomer::write_model(*model, output);
  return written.ok() ? 0 : refuse(written.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool with_inference = !arguments.empty() && arguments.front() == "--infer";
  if (with_inference) arguments.erase(arguments.begin());
  if (arguments.size() != 2) return refuse("usage: isomer-rewrite [--infer] IN OUT");
  try {
    return rewrite(arguments[0], arguments[1], with_inference);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "isomer: internal error: %s\n", bug.what());
    return 70;  // EX_SOFTWARE of sysexits.h
  }
}
