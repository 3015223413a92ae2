#include "app/api/compile/sized_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "compiler/cover/open_model.h"
#include "compiler/loops/lower.h"
#include "io/onnx/choose_by_size.h"
#include "io/onnx/size_arguments.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

// Extents of inputs that are this name.
std::vector<OrtSize> places_of(const std::string& name, const isomer::Graph& graph,
                               const Inference& inference, const std::vector<std::string>& inputs) {
  std::vector<OrtSize> out;
  for (const Value& v : graph.inputs()) {
    const auto at = std::ranges::find(inputs, graph.name_of(v));
    const auto& shape = inference.of(v).shape;
    if (at == inputs.end() || !shape) continue;
    for (std::size_t d = 0; d < shape->size(); ++d)
      if ((*shape)[d] == Dim::symbol(name))
        out.push_back({.input = static_cast<std::size_t>(at - inputs.begin()), .axis = d});
  }
  return out;
}

// The sizes that operators of all these plans support.
void bound(SizedLibrary::Size& size, const lower::Sizes& sizes) {
  for (const lower::OpenSize& s : sizes.open) {
    if (s.name != size.name) continue;
    size.least = std::max(size.least, s.least * s.step);
    if (s.most) size.most = std::min(size.most, *s.most * s.step);
    size.step = std::lcm(size.step, s.step);
  }
}

}  // namespace

std::optional<OpenShapes> open_shapes(const isomer::Graph& graph, const std::vector<std::string>& sizes) {
  const Inference as_it_is = take(infer(graph)), sized = take(infer(graph, take(parse_sizes(sizes, graph))));
  OpenShapes out;
  for (const Value& input : graph.inputs()) {
    if (concrete_shape(as_it_is.of(input))) continue;
    const auto shape = concrete_shape(sized.of(input));
    if (!shape) return std::nullopt;
    out.emplace(graph.name_of(input), *shape);
  }
  return out;
}

SizedLibrary::SizedLibrary(const Model& model, const Model& otherwise, fs::path scratch, fs::path runnable)
    : model_(model), otherwise_(otherwise), scratch_(std::move(scratch)), runnable_(std::move(runnable)) {}

// Whether all regions of the first source can be lowered with these sizes known and all others open.
bool SizedLibrary::try_open_regions(const std::map<std::string, std::int64_t>& fixed) {
  open_programs_.clear();
  fixed_ = fixed;
  auto open = open_model(model_.state().model, fixed);
  if (!open.ok()) {
    open_.reset();
    why_not_open_ = open.error().message;
    return false;
  }
  open_ = std::move(*open);
  bool is_all = true;
  for (const RegionProgram& region : sources_[0].programs) {
    auto program = open_region(*open_, *sources_[0].cut, region);
    const Status lowered = program.ok() ? lower::check_open(program->graph) : Status(program.error());
    if (lowered.ok()) {
      open_programs_.push_back(std::move(*program));
      continue;
    }
    if (is_all) why_not_open_ = lowered.error().message;
    is_all = false;
  }
  return is_all;
}

// The number that an extent has at all sizes that are given; nullopt: there are several.
std::optional<std::int64_t> SizedLibrary::given(const OrtSize& at) const {
  std::optional<std::int64_t> out;
  for (const Source& source : sources_) {
    const std::int64_t extent =
        open_shapes(model_.state().model.graph, source.sizes)->at(inputs_[at.input])[at.axis];
    if (out && *out != extent) return std::nullopt;
    out = extent;
  }
  return out;
}

// Operators that leave all sizes open; where that can't be, one size less: a height that a model declares
// open, and works at one only.
void SizedLibrary::find_open_regions() {
  if (try_open_regions({})) return;
  const std::string why = why_not_open_;
  const isomer::Graph& graph = model_.state().model.graph;
  const Inference inference = take(infer(graph));
  for (const std::string& name : sizes_of_inputs(graph, inference)) {
    const std::vector<OrtSize> places = places_of(name, graph, inference, inputs_);
    const bool is_batch = std::ranges::any_of(places, [](const OrtSize& at) { return at.axis == 0; });
    if (is_batch || places.empty()) continue;
    if (const auto number = given(places[0]); number && try_open_regions({{name, *number}})) return;
  }
  (void)try_open_regions({});
  why_not_open_ = why;
}

void SizedLibrary::compile(std::vector<Source> sources, const CompileRequest& request, Wanted wanted) {
  sources_ = std::move(sources);
  wanted_ = wanted;
  const isomer::Graph& graph = model_.state().model.graph;
  const OpenShapes open = *open_shapes(graph, sources_[0].sizes);
  for (const Value& v : graph.inputs())
    if (open.contains(graph.name_of(v))) inputs_.push_back(graph.name_of(v));
  if (wanted != Wanted::Given) find_open_regions();
  std::vector<RegionSource> regions;
  if (has_given())
    for (const Source& source : sources_)
      for (const RegionProgram& p : source.programs) regions.push_back({.program = &p.graph});
  for (const RegionProgram& p : open_programs_)
    regions.push_back({.program = &p.graph, .sizes = open_->model.graph.name_of(open_->sizes)});
  CompiledRegions library =
      take(compile_regions(regions, request, [&](const CompiledRegions& made) { return choice(made); }));
  choice_ = library.choice;
  compiled_ = {.functions = library.functions,
               .compiler = library.compiler,
               .compiler_seconds = library.compiler_seconds,
               .library = library.library,
               .library_bytes = library.library_bytes};
  write_cases(library);
  for (CompiledRegions::Region& region : library.regions)
    if (region.failure.empty()) compiled_.plans.push_back(std::move(region.plan));
}

std::optional<OrtChoice> SizedLibrary::choice(const CompiledRegions& library) {
  const isomer::Graph& graph = model_.state().model.graph;
  const Inference inference = take(infer(graph));
  OrtChoice out;
  for (const Value& v : graph.inputs())
    if (std::ranges::find(inputs_, graph.name_of(v)) != inputs_.end())
      out.inputs.push_back(inference.of(v).type);
  for (const Source& source : sources_) {
    if (!has_given()) break;
    const OpenShapes shapes = *open_shapes(graph, source.sizes);
    out.shapes.emplace_back();
    for (const std::string& input : inputs_) out.shapes.back().push_back(shapes.at(input));
  }
  const auto end = library.regions.end(), begin = end - static_cast<std::ptrdiff_t>(open_programs_.size());
  const bool has_open = std::any_of(begin, end, [](const auto& region) { return region.failure.empty(); });
  if (!has_open) {
    if (begin != end) why_not_open_ = begin->failure;
    open_.reset();
    return out;
  }
  for (const std::string& name : sizes_of_inputs(open_->model.graph, open_->inference)) {
    Size size{.name = name,
              .at = places_of(name, graph, inference, inputs_),
              .most = std::numeric_limits<std::int64_t>::max()};
    for (auto region = begin; region != end; ++region)
      if (region->failure.empty()) bound(size, region->plan.sizes);
    sizes_.push_back(std::move(size));
  }
  for (const auto& [name, number] : fixed_)
    sizes_.push_back({name, places_of(name, graph, inference, inputs_), number, number});
  for (const Size& size : sizes_)
    out.sizes.push_back({.at = size.at, .least = size.least, .most = size.most, .step = size.step});
  return out;
}

void SizedLibrary::write_cases(const CompiledRegions& library) {
  std::size_t number = 0;
  std::vector<LocalFunction>& bodies = compiled_.bodies;
  const auto write = [&](const CutModel& cut, const std::vector<RegionProgram>& programs) {
    std::vector<OperatorPlace> places;
    for (const RegionProgram& p : programs) {
      const CompiledRegions::Region& region = library.regions[number++];
      if (!region.failure.empty()) continue;
      places.push_back({&p, region.op, region.weights});
      bodies.push_back(stand_in_of(p, region.op));
    }
    files_.push_back(scratch_ / fmt::format("size{}.onnx", files_.size()));
    take(write_model(take(with_operators(cut, places)), files_.back()));
  };
  if (has_given())
    for (const Source& source : sources_) write(*source.cut, source.programs);
  if (open_) write(*open_, open_programs_);
  std::optional<std::size_t> sizes;
  if (open_) sizes = std::ranges::count_if(sizes_, [](const Size& size) { return size.least != size.most; });
  bodies.push_back(no_case_of(library.choice, inputs_.size(), files_.size(), sizes,
                              otherwise_.state().model.graph.opsets));
}

Model SizedLibrary::choose(const std::vector<bool>& taken, bool with_open) const {
  const RunnableFile otherwise(otherwise_.state(), runnable_);
  SizeChoice choice{.domain = kOrtOperatorDomain, .op = choice_, .inputs = inputs_, .has_sizes = has_open()};
  for (std::size_t k = 0; has_given() && k < sources_.size(); ++k)
    choice.cases.push_back(taken[k] ? std::optional(files_[k]) : std::nullopt);
  if (has_open()) choice.cases.push_back(with_open ? std::optional(files_.back()) : std::nullopt);
  const fs::path file = scratch_ / "joined.onnx";
  take(write_choice(otherwise.path(), choice, file));
  return load(file);
}

}  // namespace isomer::api
