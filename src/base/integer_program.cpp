#include "base/integer_program.h"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "base/installed_library.h"

namespace isomer {
namespace {

// HiGHS's C interface (highs_c_api.h), as far as it is used here. Its integers must be ints; the library is
// queried for that first.
constexpr InstalledLibrary kLibrary{"ISOMER_HIGHS_LIBRARY", "highspy", "", "libhighs.so", "libhighs.so.1"};
constexpr int kRowwise = 2, kMinimize = 1, kReal = 0, kInteger = 1, kOptimal = 7;
constexpr int kMostBranches = 20'000;  // of the search tree; extractions of 4096 nodes take less than 100
constexpr double kScale = 1000;        // costs have this sum: HiGHS's tolerances are absolute ones
constexpr double kGap = 1e-6;          // of that

struct Highs {
  void* (*create)();
  void (*destroy)(void*);
  int (*pass_program)(void*, int, int, int, int, int, double, const double*, const double*, const double*,
                      const double*, const double*, const int*, const int*, const double*, const int*);
  int (*set_bool)(void*, const char*, int);
  int (*set_int)(void*, const char*, int);
  int (*set_double)(void*, const char*, double);
  int (*run)(void*);
  int (*status)(const void*);
  int (*solution)(const void*, double*, double*, double*, double*);
  int (*size_of_int)(const void*);
};

template <class F>
bool load(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  return function != nullptr;
}

std::optional<Highs> opened() {
  // Never closed: its threads may outlive any point where we could.
  void* handle = ::dlopen(find_library(kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) handle = ::dlopen(kLibrary.linker_name.data(), RTLD_NOW | RTLD_LOCAL);
  Highs h{};
  if (handle == nullptr || !load(handle, "Highs_create", h.create) ||
      !load(handle, "Highs_destroy", h.destroy) || !load(handle, "Highs_passMip", h.pass_program) ||
      !load(handle, "Highs_setBoolOptionValue", h.set_bool) ||
      !load(handle, "Highs_setIntOptionValue", h.set_int) ||
      !load(handle, "Highs_setDoubleOptionValue", h.set_double) || !load(handle, "Highs_run", h.run) ||
      !load(handle, "Highs_getModelStatus", h.status) || !load(handle, "Highs_getSolution", h.solution) ||
      !load(handle, "Highs_getSizeofHighsInt", h.size_of_int))
    return std::nullopt;
  const std::unique_ptr<void, void (*)(void*)> asked(h.create(), h.destroy);
  if (h.size_of_int(asked.get()) != static_cast<int>(sizeof(int))) return std::nullopt;
  return h;
}

const std::optional<Highs>& highs() {
  static const std::optional<Highs> library = opened();
  return library;
}

}  // namespace

bool has_integer_solver() { return highs().has_value(); }

std::optional<std::vector<bool>> solved(const IntegerProgram& program, double seconds) {
  if (!highs()) return std::nullopt;
  const Highs& h = *highs();
  const std::size_t n = program.costs.size();
  const double sum = std::accumulate(program.costs.begin(), program.costs.end(), 0.0);
  std::vector<double> costs = program.costs;
  for (double& c : costs) c *= kScale / std::max(sum, 1.0);
  std::vector<double> least, most, factors;
  std::vector<int> starts, variables;
  for (const IntegerProgram::Row& row : program.rows) {
    starts.push_back(static_cast<int>(variables.size()));
    least.push_back(row.least);
    most.push_back(row.most);
    for (const auto& [variable, factor] : row.terms) {
      variables.push_back(variable);
      factors.push_back(factor);
    }
  }
  const std::vector<double> zeros(n, 0);
  std::vector<double> ones(n, 1);
  std::vector<int> integers(n, kInteger);
  for (std::size_t k = n - program.reals; k < n; ++k) {
    ones[k] = std::numeric_limits<double>::infinity();
    integers[k] = kReal;
  }
  const std::unique_ptr<void, void (*)(void*)> solver(h.create(), h.destroy);
  h.set_bool(solver.get(), "output_flag", 0);
  h.set_int(solver.get(), "threads", 1);
  h.set_int(solver.get(), "mip_max_nodes", kMostBranches);
  h.set_double(solver.get(), "mip_rel_gap", 0);
  h.set_double(solver.get(), "mip_abs_gap", kGap);
  h.set_double(solver.get(), "time_limit", std::max(seconds, 0.0));
  const int passed = h.pass_program(solver.get(), static_cast<int>(n), static_cast<int>(program.rows.size()),
                                    static_cast<int>(variables.size()), kRowwise, kMinimize, 0, costs.data(),
                                    zeros.data(), ones.data(), least.data(), most.data(), starts.data(),
                                    variables.data(), factors.data(), integers.data());
  if (passed < 0 || h.run(solver.get()) < 0 || h.status(solver.get()) != kOptimal) return std::nullopt;
  std::vector<double> values(n), reduced(n), rows(program.rows.size()), duals(program.rows.size());
  h.solution(solver.get(), values.data(), reduced.data(), rows.data(), duals.data());
  std::vector<bool> out(n);
  for (std::size_t k = 0; k < n; ++k) out[k] = values[k] > 0.5;
  return out;
}

}  // namespace isomer
