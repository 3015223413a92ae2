#include "app/scan/find_copies.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <memory>

#include "base/mapped_bytes.h"
#include "io/onnx/descriptor.h"
#include "kernel/certify/digest.h"

namespace isomer {
namespace {

std::shared_ptr<const void> mapping_of(const FoundFile& file) {
  const wire::Descriptor open(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!open.is_open() || ::fstat(open.get(), &status) != 0) return nullptr;
  if (static_cast<std::uint64_t>(status.st_size) != file.bytes) return nullptr;
  return map_file(open.get(), file.bytes);
}

bool have_same_bytes(const FoundFile& a, const FoundFile& b) {
  const auto first = mapping_of(a), second = mapping_of(b);
  return first && second && same_bytes(first.get(), second.get(), a.bytes);
}

std::string shape_of(const Model& model, const Summary& summary) {
  std::string text = fmt::format("{} {} {}", summary.nodes, summary.weight_bytes, model.graph.order().size());
  for (const OperatorCount& kind : summary.operators)
    text += fmt::format(" {}.{} {}", kind.domain, kind.op, kind.count);
  return text;
}

}  // namespace

std::vector<std::size_t> first_of_same_bytes(const std::vector<FoundFile>& files,
                                             const std::function<bool()>& is_stopped) {
  std::vector<std::size_t> first;
  std::map<std::uint64_t, std::vector<std::size_t>> distinct;  // by size
  for (std::size_t k = 0; k < files.size(); ++k) {
    first.push_back(k);
    if (files[k].bytes == 0) continue;
    std::vector<std::size_t>& others = distinct[files[k].bytes];
    for (const std::size_t other : others)
      if (first[k] == k && !is_stopped() && have_same_bytes(files[other], files[k])) first[k] = other;
    if (first[k] == k) others.push_back(k);
  }
  return first;
}

std::optional<std::size_t> SameGraphs::find_or_add(std::size_t number, const std::filesystem::path& path,
                                                   const Model& model, const Summary& summary) {
  std::vector<Seen>& alike = seen_[shape_of(model, summary)];
  Seen now{number, path, alike.empty() ? "" : model_digest(model.graph)};
  for (Seen& other : alike) {
    if (other.digest.empty()) {
      const auto again = read_model(other.path);
      if (again.ok()) other.digest = model_digest(again->graph);
    }
    if (other.digest == now.digest) return other.number;
  }
  alike.push_back(std::move(now));
  return std::nullopt;
}

}  // namespace isomer
