#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/emit.h"
#include "compiler/emit/module.h"
#include "compiler/emit/unit.h"

namespace isomer::lower {
namespace {

// {0}: the module; {1}: plans; {2}: rounds; {3}: bytes of memory for weights; {4}: one line for each plan.
// Weights begin elsewhere in that memory at each run, so that no cache has them from the run before, as in a
// model whose other layers ran meanwhile; what a unit reads besides was just written.
constexpr char kTiming[] = R"text(
#include <stdlib.h>
#include <time.h>

typedef struct {0}_module {0}_module;
namespace {{
struct im_plan {{
  int (*run)(const void* const*, void* const*, char*, const char*, im_team*);
  int64_t workspace, weights, inputs, outputs;
  int64_t bytes[32], origin[32];  // of inputs, then of outputs
}};
const im_plan im_plans[] = {{
{4}}};
const int64_t im_cold = {3};

int64_t im_now() {{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}}
char* im_memory(int64_t bytes) {{
  float* p = (float*)aligned_alloc(64, (size_t)(bytes + 191) / 64 * 64);
  uint32_t x = 1;
  for (int64_t k = 0; p != NULL && k < (bytes + 127) / 4; ++k) {{
    x = x * 1664525u + 1013904223u;
    p[k] = (float)(x >> 8) * 0x1p-24f;
  }}
  return (char*)p;
}}
}}  // namespace

extern "C" {{
struct {0}_module {{
  int none;
}};
{0}_module* {0}_create_at(const char*, long) {{ return ({0}_module*)calloc(1, sizeof({0}_module)); }}
void {0}_destroy({0}_module* module) {{ free(module); }}
size_t {0}_workspace_size(const {0}_module*) {{ return 64; }}
__attribute__((visibility("default"))) int {0}_run(const {0}_module*, const void* const* in, void* const* out, void*) {{
  double* const times = (double*)out[0];
  for (int64_t k = 0; k < {1} * {2}; ++k) times[k] = 0;
  const int64_t end = im_now() + (int64_t)(1e9 * *(const float*)in[0]);
  int64_t workspace = 64, weights = 64;
  for (const im_plan& p : im_plans) {{
    workspace = workspace > p.workspace ? workspace : p.workspace;
    weights = weights > p.weights ? weights : p.weights;
  }}
  char* const work = im_memory(workspace);
  char* const cold = im_memory(im_cold + weights);
  char* given[{1}][32] = {{}};
  int failed = work == NULL || cold == NULL;
  for (int64_t k = 0; k < {1}; ++k)
    for (int64_t b = 0; b < im_plans[k].inputs + im_plans[k].outputs; ++b) {{
      // Plans of one unit have the same memory: what one warms is warm for all.
      const bool is_same = k > 0 && im_plans[k - 1].inputs == im_plans[k].inputs && im_plans[k - 1].outputs == im_plans[k].outputs &&
                           memcmp(im_plans[k - 1].bytes, im_plans[k].bytes, sizeof(im_plans[k].bytes)) == 0;
      given[k][b] = is_same ? given[k - 1][b] : im_memory(im_plans[k].bytes[b]);
      failed = failed || given[k][b] == NULL;
    }}
  int64_t at = 0;
  // So often that a sample takes 20 microseconds; the first round warms.
  int64_t repeat[{1}];
  for (int64_t k = 0; k < {1}; ++k) repeat[k] = 1;
  for (int64_t round = -1; round < {2} && failed == 0 && (round < 1 || im_now() < end); ++round)
    for (int64_t turn = 0; turn < {1}; ++turn) {{
      const int64_t k = (turn + round + 1) % {1};
      const im_plan& p = im_plans[k];
      const void* inputs[33];
      void* outputs[33];
      for (int64_t b = 0; b < p.inputs; ++b) inputs[b] = given[k][b] + p.origin[b];
      for (int64_t b = 0; b < p.outputs; ++b) outputs[b] = given[k][p.inputs + b] + p.origin[p.inputs + b];
      const int64_t begin = im_now();
      for (int64_t r = 0; r < repeat[k]; ++r) {{
        failed |= p.run(inputs, outputs, work, cold + at, NULL);
        at = at + (p.weights + 63) / 64 * 64;
        if (at > im_cold) at = 0;
      }}
      const double ns = (double)(im_now() - begin) / (double)repeat[k];
      if (round < 0) repeat[k] = ns > 20000 ? 1 : (int64_t)(20000 / (ns + 1)) + 1;
      else times[k * {2} + round] = ns;
    }}
  for (int64_t k = {1} - 1; k >= 0; --k)
    for (int64_t b = 0; b < 32; ++b)
      if (k == 0 || given[k][b] != given[k - 1][b]) free(given[k][b]);
  free(cold);
  free(work);
  return failed;
}}
}}
)text";

std::string line_of(const Plan& plan, const std::string& prefix) {
  std::vector<std::int64_t> bytes, origins;
  for (const auto* ports : {&plan.inputs, &plan.outputs})
    for (const Port& port : *ports) {
      const Storage& s = plan.buffer(port.buffer);
      bytes.push_back(std::max<std::int64_t>(64, byte_size(s).concrete()));
      origins.push_back(origin(s).concrete() * stored_bytes(s.type));
    }
  return fmt::format("    {{{}_all, {}, {}, {}, {}, {{{}}}, {{{}}}}},\n", prefix, plan.workspace,
                     plan.weights, plan.inputs.size(), plan.outputs.size(), fmt::join(bytes, ", "),
                     fmt::join(origins, ", "));
}

}  // namespace

std::string timing_text(const std::vector<const Plan*>& plans, const std::string& name, Exactness exactness) {
  constexpr std::int64_t kColdBytes = std::int64_t{24} << 20;
  std::string code = kernels_of(exactness), lines;
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const std::string prefix = fmt::format("{}_plan{}", name, k);
    code += emit(*plans[k], prefix).code;
    lines += line_of(*plans[k], prefix);
  }
  return code + fmt::format(kTiming, name, plans.size(), kTimedRounds, kColdBytes, lines);
}

}  // namespace isomer::lower
