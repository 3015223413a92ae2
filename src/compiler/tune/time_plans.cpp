#include "compiler/tune/time_plans.h"

#include <filesystem>
#include <span>

#include "compiler/emit/unit.h"
#include "runtime/judge/scratch_model.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr auto kRounds = static_cast<std::size_t>(lower::kTimedRounds);

Failure refused(const Error& error) { return Failure{FailureKind::Refused, error.message}; }

std::vector<std::vector<double>> whole_rounds(std::size_t plans, std::span<const double> ns) {
  std::vector<std::vector<double>> out(plans);
  for (std::size_t r = 0; r < kRounds; ++r) {
    bool is_whole = true;
    for (std::size_t k = 0; k < plans; ++k) is_whole = is_whole && ns[k * kRounds + r] > 0;
    if (!is_whole) continue;
    for (std::size_t k = 0; k < plans; ++k) out[k].push_back(ns[k * kRounds + r]);
  }
  return out;
}

}  // namespace

Outcome<std::vector<std::vector<double>>> time_plans(Judge& judge,
                                                     const std::vector<const lower::Plan*>& plans,
                                                     const CompileRequest& compile, RuntimeOptions runtime,
                                                     double seconds) {
  const Extents extents{static_cast<std::int64_t>(plans.size()), lower::kTimedRounds};
  const auto library =
      compile_timing(lower::timing_text(plans, compile.name, compile.exactness), extents, compile);
  const auto model = timing_model(compile.name, extents);
  if (!library) return refused(library.error());
  if (!model) return refused(model.error());
  const auto file = ScratchModel::write(*model, compile.folder / "timing.onnx");
  if (!file) return refused(file.error());
  runtime.custom_op_libraries.push_back(fs::absolute(*library).string());
  const NamedTensors feeds{
      {"seconds", Tensor::of(ElementType::Float, {1}, std::vector<float>{static_cast<float>(seconds)})}};
  const auto outputs = judge.run(file->source(), feeds, runtime);
  std::error_code failure;
  fs::remove_all(compile.folder, failure);
  if (!outputs) return outputs.error();
  const auto times = outputs->find("times");
  if (times == outputs->end() || times->second.type() != ElementType::Double ||
      times->second.extents() != extents)
    return Failure{FailureKind::Garbled, "no times"};
  return whole_rounds(plans.size(), times->second.as<double>());
}

}  // namespace isomer
