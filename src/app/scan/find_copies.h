// Finds equal models on a disk. Only files of one size are compared, and only models of one shape are read
// again, so most bytes are never read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/report/summary.h"
#include "app/scan/find_models.h"
#include "io/onnx/model.h"

namespace isomer {

// For each file, the first one with the same bytes: itself, if there is none before it. External files of
// models are not compared.
std::vector<std::size_t> first_of_same_bytes(const std::vector<FoundFile>& files,
                                             const std::function<bool()>& is_stopped);

// Models that a checker could not distinguish, though their files differ: names of nodes, metadata, weights
// in another file.
class SameGraphs {
 public:
  // The number of the first model that is the same as this one; nullopt: this is the first.
  std::optional<std::size_t> find_or_add(std::size_t number, const std::filesystem::path& path,
                                         const Model& model, const Summary& summary);

 private:
  struct Seen {
    std::size_t number;
    std::filesystem::path path;
    std::string digest;  // "": not yet computed
  };
  std::map<std::string, std::vector<Seen>> seen_;  // by what can be compared without reading weights
};

}  // namespace isomer
