#include "app/inputs/sized_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/inputs/find_inputs.h"
#include "io/onnx/size_arguments.h"

namespace isomer {

Result<SizedModel> read_at_sizes(const std::filesystem::path& file, const Graph& graph,
                                 const std::vector<std::string>& sizes, bool assumes) {
  ISOMER_TRY(InferOptions options, parse_sizes(sizes, graph));
  SizedModel out{.model = {}, .sizes = sizes};
  if (assumes) {
    ISOMER_TRY(FoundInputs found, find_inputs({.graphs = {&graph}, .sizes = {options}}));
    options = std::move(found.sizes.options);
    if (!found.sizes.assumed.empty()) {
      out.sizes.clear();
      for (const auto& [name, shape] : options.shapes)
        out.sizes.push_back(fmt::format("{}={}", name, fmt::join(shape, "x")));
    }
  }
  ISOMER_TRY(out.model, read_model_at(file, options));
  return out;
}

}  // namespace isomer
