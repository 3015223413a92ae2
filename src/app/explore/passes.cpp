#include "app/explore/passes.h"

#include <algorithm>

#include "base/check.h"
#include "runtime/engines/engines.h"
#include "runtime/engines/library_names.h"

namespace isomer {
namespace {

Pass setting(const char* key, const char* value, bool changes_values = false) {
  return {std::string(key) + '=' + value, Pass::Kind::Setting, key, value, changes_values};
}

}  // namespace

std::string_view text(Pass::Kind kind) {
  switch (kind) {
    case Pass::Kind::Optimizer: return "optimizer";
    case Pass::Kind::Level: return "level";
    case Pass::Kind::Setting: return "setting";
  }
  ISOMER_UNREACHABLE("a kind of pass");
}

std::vector<std::string> names_of(const std::vector<Pass>& passes) {
  std::vector<std::string> names;
  for (const Pass& pass : passes) names.push_back(pass.name);
  return names;
}

std::vector<Pass> passes_of(const std::string& library, int threads) {
  std::vector<Pass> passes;
  if (const auto names = LibraryNames::of(library.empty() ? find_library(*engine_named("ort")) : library))
    for (std::string& name : names->optimizers()) passes.push_back({std::move(name)});
  passes.push_back({"level=basic", Pass::Kind::Level, {}, "basic"});
  passes.push_back({"level=extended", Pass::Kind::Level, {}, "extended"});
  passes.push_back(setting("session.enable_mem_pattern", "0"));
  passes.push_back(setting("session.enable_cpu_mem_arena", "0"));
  passes.push_back(setting("session.disable_prepacking", "1"));
  passes.push_back(setting("session.use_device_allocator_for_initializers", "1"));
  if (threads != 1) {  // one thread has none to wait for
    passes.push_back(setting("session.intra_op.allow_spinning", "0"));
    passes.push_back(setting("session.execution_mode", "1"));
  }
  passes.push_back(setting("session.set_denormal_as_zero", "1", true));
  passes.push_back(setting("optimization.enable_gelu_approximation", "1", true));
  return passes;
}

RuntimeOptions with_passes(RuntimeOptions options, const std::vector<Pass>& passes) {
  for (const Pass& pass : passes) {
    switch (pass.kind) {
      case Pass::Kind::Optimizer: options.disabled_optimizers.push_back(pass.name); break;
      case Pass::Kind::Level:
        options.level = std::min(
            options.level, pass.value == "basic" ? OptimizationLevel::Basic : OptimizationLevel::Extended);
        break;
      case Pass::Kind::Setting: options.config[pass.key] = pass.value; break;
    }
  }
  return options;
}

}  // namespace isomer
