// Operators for several sizes, and for every size, in one library; and the model in which the sizes of a call
// choose among them. Internal to compile_sizes.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/api/compile/compile_candidate.h"
#include "compiler/cover/region_program.h"
#include "isomer/isomer.h"

namespace isomer::api {

using OpenShapes = std::map<std::string, Extents>;
// Shapes of the inputs that the model leaves open; nullopt: one of them stays so.
std::optional<OpenShapes> open_shapes(const isomer::Graph& graph, const std::vector<std::string>& sizes);

class SizedLibrary {
 public:
  // The facts at one size: a cut model, and regions of it.
  struct Source {
    std::vector<std::string> sizes;
    const CutModel* cut = nullptr;
    std::vector<RegionProgram> programs;
  };
  // An open size that operators take: the numbers that they take.
  struct Size {
    std::string name;
    std::vector<OrtSize> at;  // extents of the model's inputs
    std::int64_t least = 0, most = 0, step = 1;
  };

  // `otherwise`: equal to the model; it runs where no case is one of ours.
  SizedLibrary(const Model& model, const Model& otherwise, std::filesystem::path scratch,
               std::filesystem::path runnable);

  // Which operators are compiled: those of each source, for its sizes; those of the first source's regions,
  // for every size, as far as they can be; or both.
  enum class Wanted : std::uint8_t { Given, Every, Both };
  void compile(std::vector<Source> sources, const CompileRequest& request, Wanted wanted);
  const Candidate& compiled() const { return compiled_; }  // without a model
  bool has_open() const { return open_.has_value(); }
  bool has_given() const { return wanted_ != Wanted::Every; }
  const std::string& why_not_open() const { return why_not_open_; }
  const std::vector<Size>& open_sizes() const { return sizes_; }
  const std::vector<std::string>& inputs() const { return inputs_; }  // whose shapes decide
  // The model that takes some of the sources, and else the operators for every size if `with_open`. `taken`:
  // a bool for each source that was compiled.
  Model choose(const std::vector<bool>& taken, bool with_open) const;

 private:
  void find_open_regions();
  bool try_open_regions(const std::map<std::string, std::int64_t>& fixed);
  std::optional<std::int64_t> given(const OrtSize& at) const;
  std::optional<OrtChoice> choice(const CompiledRegions& library);
  void write_cases(const CompiledRegions& library);

  Model model_, otherwise_;
  Wanted wanted_ = Wanted::Both;
  std::filesystem::path scratch_, runnable_;
  std::vector<Source> sources_;
  std::optional<CutModel> open_;
  std::map<std::string, std::int64_t> fixed_;  // sizes that operators for every size know
  std::vector<RegionProgram> open_programs_;
  std::string why_not_open_;
  std::vector<Size> sizes_;
  std::vector<std::string> inputs_;
  std::vector<std::filesystem::path> files_;  // of the sources, then of every size
  std::string choice_;                        // the operator
  Candidate compiled_;
};

}  // namespace isomer::api
