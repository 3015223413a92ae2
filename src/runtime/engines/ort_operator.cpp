#include "runtime/engines/ort_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "runtime/engines/ort_api.h"

namespace isomer {
namespace {

// The table's functions by their places in it, which never change: the runtime only adds to its end.
// clang-format off
#define ISOMER_PLACE(name) {#name, offsetof(OrtApi, name) / sizeof(void*)}
// clang-format on
struct Place {
  const char* name;
  std::size_t index;
};
constexpr Place kPlaces[] = {
    ISOMER_PLACE(CreateStatus),
    ISOMER_PLACE(CreateCustomOpDomain),
    ISOMER_PLACE(CustomOpDomain_Add),
    ISOMER_PLACE(AddCustomOpDomain),
    ISOMER_PLACE(KernelContext_GetInput),
    ISOMER_PLACE(KernelContext_GetOutput),
    ISOMER_PLACE(GetTensorMutableData),
    ISOMER_PLACE(GetTensorTypeAndShape),
    ISOMER_PLACE(ReleaseTensorTypeAndShapeInfo),
    ISOMER_PLACE(GetTensorShapeElementCount),
    ISOMER_PLACE(KernelInfoGetAttribute_int64),
    ISOMER_PLACE(GetDimensions),
    ISOMER_PLACE(GetDimensionsCount),
};
#undef ISOMER_PLACE
constexpr std::string_view kRankPlace = "GetDimensionsCount";

// {0}: names and places of the table's functions.
constexpr char kCalls[] = R"text(
#include <stddef.h>
#include <stdint.h>

namespace {{
typedef void* im_status;  // NULL: all is well
enum {{ IM_API = 16 }};    // the version of the table
enum {{ {0} }};
const void* const* im_api = NULL;
template <class... A>
im_status im_call(int place, A... a) {{
  return ((im_status (*)(A...))im_api[place])(a...);
}}
}}  // namespace
)text";

// A node's record of its weights' place in their file; for a whole model, they are all of it.
constexpr char kOwnWeights[] = R"text(  const int64_t begin = 0;
)text";
constexpr char kPartOfWeights[] = R"text(  int64_t begin = 0;
  if (im_status s = im_call(im_KernelInfoGetAttribute_int64, info, (const char*)"weights", &begin)) return s;
)text";

// The weights are beside the library: its own name with another ending, so that both may be renamed; or as
// they were named first, {0}.
constexpr char kWeightsPath[] = R"text(
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {{
im_status im_failed(const char* words) {{ return im_call(im_CreateStatus, 1, words); }}

char im_anchor;
bool im_weights_path(char* path) {{
  Dl_info about;
  if (dladdr(&im_anchor, &about) == 0 || strlen(about.dli_fname) + 64 + sizeof("{0}") > PATH_MAX) return false;
  strcpy(path, about.dli_fname);
  char* const slash = strrchr(path, '/');
  char* const file = slash == NULL ? path : slash + 1;
  char* const dot = strrchr(file, '.');
  if (dot != NULL) strcpy(dot, ".weights");
  if (dot == NULL || access(path, R_OK) != 0) strcpy(file, "{0}.weights");
  return true;
}}
}}  // namespace
)text";

constexpr char kText[] = R"text(
namespace {{
const int im_input_types[] = {{{1}}}, im_output_types[] = {{{2}}};
const size_t im_input_sizes[] = {{{3}}};
const size_t im_by_sample[] = {{{9}}};  // ranks of inputs whose first extent is the batch's; 0: it is not
const int64_t im_output_shapes[] = {{{4}}};
const size_t im_output_ranks[] = {{{5}}};
const size_t im_inputs = {6}, im_outputs = {7};

struct im_kernel {{
  {0}_module* module;
  void* spare;  // a workspace that no run has
}};
// Runs of several threads each have a workspace; one is kept. Its size stands before it.
void* im_take_workspace(im_kernel* kernel, size_t bytes) {{
  char* kept = (char*)__atomic_exchange_n(&kernel->spare, (void*)NULL, __ATOMIC_ACQ_REL);
  if (kept != NULL && *(size_t*)kept >= bytes) return kept + 64;
  free(kept);
  kept = (char*)aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (kept == NULL) return NULL;
  *(size_t*)kept = bytes;
  return kept + 64;
}}
void im_keep_workspace(im_kernel* kernel, void* workspace) {{
  free(__atomic_exchange_n(&kernel->spare, (void*)((char*)workspace - 64), __ATOMIC_ACQ_REL));
}}

im_status im_make(const void*, const void*, const void* info, void** out) {{
  char path[PATH_MAX];
  if (!im_weights_path(path)) return im_failed("{0}: can't find the path of its library");
  (void)info;
{8}  im_kernel* kernel = (im_kernel*)calloc(1, sizeof(im_kernel));
  if (kernel == NULL || (kernel->module = {0}_create_at(path, (long)begin)) == NULL) {{
    free(kernel);
    return im_failed("{0}: its weights are not beside its library, or are another model's");
  }}
  *out = kernel;
  return NULL;
}}
void im_free(void* k) {{
  im_kernel* kernel = (im_kernel*)k;
  {0}_destroy(kernel->module);
  free(kernel->spare);
  free(kernel);
}}

)text";

// The code that runs one: with known sizes or a batch, and with open sizes.
constexpr char kCompute[] = R"text(im_status im_compute(void* k, void* context) {{
  im_kernel* kernel = (im_kernel*)k;
  const void* inputs[im_inputs + 1];
  void* outputs[im_outputs + 1];
  int64_t batch = -1;  // of all inputs that have one
  for (size_t i = 0; i < im_inputs; ++i) {{
    void *value = NULL, *data = NULL, *shape = NULL;
    size_t size = 0;
    if (im_status s = im_call(im_KernelContext_GetInput, context, i, &value)) return s;
    if (im_status s = im_call(im_GetTensorTypeAndShape, value, &shape)) return s;
    im_status counted = im_call(im_GetTensorShapeElementCount, shape, &size);
    int64_t first = 1;
    if (counted == NULL && im_by_sample[i] > 0) counted = im_call(im_GetDimensions, shape, &first, (size_t)1);
    ((void (*)(void*))im_api[im_ReleaseTensorTypeAndShapeInfo])(shape);
    if (counted != NULL) return counted;
    if (im_by_sample[i] > 0 && batch >= 0 && batch != first) return im_failed("{0}: inputs are batches of different sizes");
    if (im_by_sample[i] > 0) batch = first;
    if (size != (size_t)first * im_input_sizes[i]) return im_failed("{0}: an input has another size than the model was compiled for");
    if (im_status s = im_call(im_GetTensorMutableData, value, &data)) return s;
    inputs[i] = data;
  }}
  (void)batch;
  const int64_t* shape = im_output_shapes;
  for (size_t i = 0; i < im_outputs; ++i) {{
    void *value = NULL, *data = NULL;
    int64_t extents[64];
    for (size_t d = 0; d < im_output_ranks[i]; ++d) extents[d] = shape[d] >= 0 ? shape[d] : batch;
    if (im_status s = im_call(im_KernelContext_GetOutput, context, i, (const int64_t*)extents, im_output_ranks[i], &value)) return s;
    if (im_status s = im_call(im_GetTensorMutableData, value, &data)) return s;
    outputs[i] = data;
    shape += im_output_ranks[i];
  }}
  void* const workspace = im_take_workspace(kernel, {0}_workspace_size(kernel->module));
  if (workspace == NULL) return im_failed("{0}: no memory for its workspace");
  const int failed = {0}_run(kernel->module, {1}inputs, outputs, workspace);
  im_keep_workspace(kernel, workspace);
  return failed == 0 ? NULL : im_failed("{0}: an index that the model computes is outside of its tensor");
}}

)text";

constexpr char kComputeSizes[] = R"text(const size_t im_size_inputs[] = {{{1}}}, im_size_axes[] = {{{2}}};
const bool im_shape_only[] = {{{4}}};
im_status im_compute(void* k, void* context) {{
  im_kernel* kernel = (im_kernel*)k;
  const void* inputs[im_inputs + 1];
  void* outputs[im_outputs + 1];
  int64_t shapes[im_inputs + 1][64], sizes[{3}], extents[64];
  size_t ranks[im_inputs + 1];
  for (size_t i = 0; i < im_inputs; ++i) {{
    void *value = NULL, *data = NULL, *shape = NULL;
    if (im_status s = im_call(im_KernelContext_GetInput, context, i, &value)) return s;
    if (im_status s = im_call(im_GetTensorTypeAndShape, value, &shape)) return s;
    im_status counted = im_call(im_GetDimensionsCount, shape, &ranks[i]);
    if (counted == NULL && ranks[i] <= 64) counted = im_call(im_GetDimensions, shape, &shapes[i][0], ranks[i]);
    ((void (*)(void*))im_api[im_ReleaseTensorTypeAndShapeInfo])(shape);
    if (counted != NULL) return counted;
    if (im_status s = im_call(im_GetTensorMutableData, value, &data)) return s;
    inputs[i] = data;
    if (!im_shape_only[i]) continue;
    if (ranks[i] != 1 || shapes[i][0] > 64) return im_failed("{0}: sizes are no vector");
    ranks[i] = (size_t)shapes[i][0];
    memcpy(shapes[i], data, ranks[i] * sizeof(int64_t));
    inputs[i] = NULL;
  }}
  for (size_t k = 0; k < {3}; ++k) {{
    if (im_size_axes[k] >= ranks[im_size_inputs[k]]) return im_failed("{0}: an input has another rank than the model was compiled for");
    sizes[k] = shapes[im_size_inputs[k]][im_size_axes[k]];
  }}
  if (!{0}_may_have(sizes)) return im_failed("{0}: the model does not run at these sizes");
  for (size_t i = 0; i < im_inputs; ++i)
    if ((size_t){0}_shape_in(sizes, (int)i, extents) != ranks[i] || memcmp(extents, shapes[i], ranks[i] * sizeof(int64_t)) != 0)
      return im_failed("{0}: an input has another size than the model was compiled for");
  for (size_t i = 0; i < im_outputs; ++i) {{
    void *value = NULL, *data = NULL;
    const size_t rank = (size_t){0}_shape_out(sizes, (int)i, extents);
    if (im_status s = im_call(im_KernelContext_GetOutput, context, i, (const int64_t*)extents, rank, &value)) return s;
    if (im_status s = im_call(im_GetTensorMutableData, value, &data)) return s;
    outputs[i] = data;
  }}
  void* const workspace = im_take_workspace(kernel, {0}_workspace_size(kernel->module, sizes));
  if (workspace == NULL) return im_failed("{0}: no memory for its workspace");
  const int failed = {0}_run(kernel->module, sizes, inputs, outputs, workspace);
  im_keep_workspace(kernel, workspace);
  return failed == 0 ? NULL : im_failed("{0}: an index that the model computes is outside of its tensor");
}}

)text";

constexpr char kOperator[] = R"text(// As the runtime declares it, up to what version 16 has.
struct im_operator {{
  uint32_t version;
  void* (*make_1)(const void*, const void*, const void*);
  const char* (*name)(const void*);
  const char* (*provider)(const void*);
  int (*input_type)(const void*, size_t);
  size_t (*input_count)(const void*);
  int (*output_type)(const void*, size_t);
  size_t (*output_count)(const void*);
  void (*compute_1)(void*, void*);
  void (*free)(void*);
  int (*input_kind)(const void*, size_t);
  int (*output_kind)(const void*, size_t);
  int (*input_memory)(const void*, size_t);
  int (*fewest_inputs)(const void*);
  int (*equal_inputs)(const void*);
  int (*fewest_outputs)(const void*);
  int (*equal_outputs)(const void*);
  im_status (*make)(const void*, const void*, const void*, void**);
  im_status (*compute)(void*, void*);
  void* later[7];
}};
static_assert(sizeof(im_operator) == {1} * sizeof(void*), "as the registration copies it");
const im_operator im_the_operator = {{
    IM_API,
    NULL,
    [](const void*) {{ return "{0}"; }},
    [](const void*) -> const char* {{ return NULL; }},
    [](const void*, size_t i) {{ return im_input_types[i]; }},
    [](const void*) {{ return (size_t)im_inputs; }},
    [](const void*, size_t i) {{ return im_output_types[i]; }},
    [](const void*) {{ return (size_t)im_outputs; }},
    NULL,
    im_free,
    [](const void*, size_t) {{ return 0; }},
    [](const void*, size_t) {{ return 0; }},
    [](const void*, size_t) {{ return 0; }},
    [](const void*) {{ return 0; }},
    [](const void*) {{ return 0; }},
    [](const void*) {{ return 0; }},
    [](const void*) {{ return 0; }},
    im_make,
    im_compute,
    {{}}}};
}}  // namespace
)text";

// {0}: what is added to the domain, as calls; {1}: the domain; {2}: what is looked at before.
constexpr char kRegistration[] = R"text(
struct im_api_base {{
  const void* (*table)(uint32_t);
  const char* (*version)(void);
}};
extern "C" __attribute__((visibility("default"), weak)) void* RegisterCustomOps(void* options, const im_api_base* base) {{
  im_api = (const void* const*)base->table(IM_API);
  if (im_api == NULL) return NULL;  // an older runtime, which then says that it doesn't know the operator
{2}  void* domain = NULL;
  if (im_status s = im_call(im_CreateCustomOpDomain, (const char*)"{1}", &domain)) return s;
{0}  return im_call(im_AddCustomOpDomain, options, domain);
}}
)text";

// Whether the weights are those that were written with the library: {0}: the file; {1}: its size; {2}: what
// it begins with.
constexpr char kWeightsCheck[] = R"text(  char path[PATH_MAX], begin[sizeof("{2}") - 1];
  if (!im_weights_path(path)) return im_failed("{0}: can't find the path of its library");
  const int file = open(path, O_RDONLY);
  struct stat about;
  const bool is_it = file >= 0 && fstat(file, &about) == 0 && about.st_size == {1} &&
                     read(file, begin, sizeof(begin)) == (long)sizeof(begin) && memcmp(begin, "{2}", sizeof(begin)) == 0;
  if (file >= 0) close(file);
  if (!is_it) return im_failed("{0}: its weights are not beside its library, or are another model's");
)text";

// An operator of another file under a name of its own: {0}: a number; {1}: of the file; {2}: the name; {3}:
// words that an operator has.
constexpr char kNamed[] = R"text(  static const void* operator_{0}[{3}];
  memcpy(operator_{0}, {1}_operator(im_api), sizeof(operator_{0}));
  const char* (*const name_{0})(const void*) = [](const void*) -> const char* {{ return "{2}"; }};
  memcpy(&operator_{0}[2], &name_{0}, sizeof(name_{0}));
)text";
constexpr int kOperatorWords = 26;

std::string added(const std::string& what) {
  return fmt::format("  if (im_status s = im_call(im_CustomOpDomain_Add, domain, {})) return s;\n", what);
}
std::string registration(const std::string& added, const std::string& check = "") {
  return fmt::format(kRegistration, added, kOrtOperatorDomain, check);
}

std::string list(const std::vector<std::string>& words) {
  return words.empty() ? "0" : fmt::format("{}", fmt::join(words, ", "));
}

// `of_ranks`: also the calls that read a shape of any rank.
std::string calls(bool of_ranks = false) {
  std::vector<std::string> places;
  for (const Place& p : kPlaces)
    if (of_ranks || p.name != kRankPlace) places.push_back(fmt::format("im_{} = {}", p.name, p.index));
  return fmt::format(kCalls, list(places));
}

// `base`: what the weights' file is named after; `begin`: code that says where in it they are.
std::string kernel_text(const std::string& name, const std::vector<OrtPort>& inputs,
                        const std::vector<OrtPort>& outputs, const std::string& base, const char* begin,
                        const std::vector<OrtSize>& open = {}) {
  std::vector<std::string> input_types, output_types, sizes, by_sample, shapes, ranks, shape_only;
  for (const OrtPort& port : inputs) {
    const ElementType type = port.is_shape_only ? ElementType::Int64 : port.type;
    input_types.push_back(fmt::format("{}", static_cast<int>(type)));
    shape_only.emplace_back(port.is_shape_only ? "true" : "false");
    std::int64_t size = 1;
    for (const std::int64_t e : port.extents) size *= open.empty() ? e : 0;  // which has its own query
    sizes.push_back(fmt::format("{}", size));
    by_sample.push_back(fmt::format("{}", port.by_sample ? port.extents.size() : 0));
  }
  for (const OrtPort& port : outputs) {
    output_types.push_back(fmt::format("{}", static_cast<int>(port.type)));
    for (std::size_t d = 0; d < port.extents.size(); ++d)
      shapes.push_back(fmt::format("{}", port.by_sample && d == 0 ? -1 : port.extents[d]));
    ranks.push_back(fmt::format("{}", port.extents.size()));
  }
  std::vector<std::string> size_inputs, size_axes;
  for (const OrtSize& size : open) {
    size_inputs.push_back(fmt::format("{}", size.input));
    size_axes.push_back(fmt::format("{}", size.axis));
  }
  const std::string compute =
      open.empty() ? fmt::format(kCompute, name,
                                 std::ranges::any_of(inputs, &OrtPort::by_sample) ? "(size_t)batch, " : "")
                   : fmt::format(kComputeSizes, name, list(size_inputs), list(size_axes), open.size(),
                                 list(shape_only));
  return calls(!open.empty()) + fmt::format(kWeightsPath, base) +
         fmt::format(kText, name, list(input_types), list(output_types), list(sizes), list(shapes),
                     list(ranks), inputs.size(), outputs.size(), begin, list(by_sample)) +
         compute + fmt::format(kOperator, name, kOperatorWords);
}

// For one of several operators in a library: the functions for its registration.
constexpr char kFound[] =
    R"text(extern "C" __attribute__((visibility("hidden"))) const void* {}_operator(const void* const* api) {{
  im_api = api;
  return &im_the_operator;
}}
)text";

// {1}: types of inputs; {2}: of outputs; {3}, {4}: their numbers; {5}: all extents of all cases; {6}: how
// many each input has; {7}: cases of known shapes; {8}: input, axis and size of extents that are sizes; {9}:
// how many of these; {10}: least, most and step of sizes; {11}: sizes; {12}: those that are no
// fixed ones.
constexpr char kChoice[] = R"text(
#include <stdlib.h>
#include <string.h>

namespace {{
const int im_input_types[] = {{{1}}}, im_output_types[] = {{{2}}};
const size_t im_inputs = {3}, im_outputs = {4};
im_status im_make(const void*, const void*, const void*, void** out) {{
  return *out = malloc(1), (im_status)NULL;
}}
void im_free(void* k) {{ free(k); }}

const int64_t im_extents[] = {{{5}}}, im_ranks[] = {{{6}}};
const int64_t im_places[][3] = {{{8}}}, im_bounds[][3] = {{{10}}};
im_status im_compute(void*, void* context) {{
  int64_t shapes[im_inputs + 1][16], sizes[{11} + 1];
  size_t ranks[im_inputs + 1];
  for (size_t i = 0; i < im_inputs; ++i) {{
    void *value = NULL, *shape = NULL;
    if (im_status s = im_call(im_KernelContext_GetInput, context, i, &value)) return s;
    if (im_status s = im_call(im_GetTensorTypeAndShape, value, &shape)) return s;
    im_status counted = im_call(im_GetDimensionsCount, shape, &ranks[i]);
    if (counted == NULL && ranks[i] <= 16) counted = im_call(im_GetDimensions, shape, &shapes[i][0], ranks[i]);
    ((void (*)(void*))im_api[im_ReleaseTensorTypeAndShapeInfo])(shape);
    if (counted != NULL) return counted;
  }}
  bool is_case[{7} + 2];
  const int64_t* extents = im_extents;
  for (size_t k = 0; k < {7}; ++k) {{
    is_case[k] = true;
    for (size_t i = 0; i < im_inputs; ++i) {{
      const size_t rank = (size_t)im_ranks[k * im_inputs + i];
      is_case[k] = is_case[k] && ranks[i] == rank && memcmp(extents, shapes[i], rank * sizeof(int64_t)) == 0;
      extents += rank;
    }}
  }}
  bool fits = true;
  for (size_t k = 0; k < {11}; ++k) sizes[k] = -1;
  for (size_t k = 0; k < {9}; ++k) {{
    const size_t input = (size_t)im_places[k][0], axis = (size_t)im_places[k][1];
    int64_t* const size = &sizes[im_places[k][2]];
    if (axis >= ranks[input] || ranks[input] > 16) {{
      fits = false;
      continue;
    }}
    if (*size < 0) *size = shapes[input][axis];
    fits = fits && *size == shapes[input][axis];
  }}
  for (size_t k = 0; k < {11}; ++k)
    fits = fits && sizes[k] >= im_bounds[k][0] && sizes[k] <= im_bounds[k][1] && sizes[k] % im_bounds[k][2] == 0;
  is_case[{7}] = fits;
  const int64_t count = {12};
  for (size_t i = 0; i < im_outputs; ++i) {{
    void *value = NULL, *data = NULL;
    const bool is_sizes = {11} > 0 && i + 1 == im_outputs;
    if (im_status s = im_call(im_KernelContext_GetOutput, context, i, &count, (size_t)(is_sizes ? 1 : 0), &value)) return s;
    if (im_status s = im_call(im_GetTensorMutableData, value, &data)) return s;
    if (is_sizes) memcpy(data, sizes, {12} * sizeof(int64_t));
    else *(bool*)data = is_case[i];
  }}
  return NULL;
}}

)text";

constexpr char kTitle[] = "\n// ---- The model as an operator of ONNX Runtime, 1.16 or later\n\n";
constexpr char kBegin[] = "#if !defined(IM_PART) && !defined(__wasm__)\n", kEnd[] = "#endif\n";

}  // namespace

std::string ort_operator_text(const std::string& name, const std::vector<OrtPort>& inputs,
                              const std::vector<OrtPort>& outputs, const std::vector<OrtSize>& sizes) {
  return std::string(kTitle) + kBegin + kernel_text(name, inputs, outputs, name, kOwnWeights, sizes) +
         registration(added("&im_the_operator")) + kEnd;
}

std::string ort_region_text(const std::string& name, const std::string& base,
                            const std::vector<OrtPort>& inputs, const std::vector<OrtPort>& outputs,
                            const std::vector<OrtSize>& sizes) {
  return std::string(kTitle) + kBegin + kernel_text(name, inputs, outputs, base, kPartOfWeights, sizes) +
         fmt::format(kFound, name) + kEnd;
}

std::string ort_choice_text(const std::string& name, const OrtChoice& choice) {
  constexpr int kBool = static_cast<int>(ElementType::Bool), kInt64 = static_cast<int>(ElementType::Int64);
  std::vector<std::string> inputs, outputs(choice.shapes.size(), fmt::format("{}", kBool)), extents, ranks,
      places, bounds;
  for (const ElementType type : choice.inputs) inputs.push_back(fmt::format("{}", static_cast<int>(type)));
  if (!choice.sizes.empty())
    for (const int type : {kBool, kInt64}) outputs.push_back(fmt::format("{}", type));
  for (const auto& shapes : choice.shapes)
    for (const std::vector<std::int64_t>& shape : shapes) {
      for (const std::int64_t e : shape) extents.push_back(fmt::format("{}", e));
      ranks.push_back(fmt::format("{}", shape.size()));
    }
  for (std::size_t k = 0; k < choice.sizes.size(); ++k) {
    const OrtChoice::Size& size = choice.sizes[k];
    for (const OrtSize& at : size.at) places.push_back(fmt::format("{{{}, {}, {}}}", at.input, at.axis, k));
    bounds.push_back(fmt::format("{{{}, {}, {}}}", size.least, size.most, size.step));
  }
  const auto rows = [](const std::vector<std::string>& words) { return words.empty() ? "{0}" : list(words); };
  return std::string(kTitle) + kBegin + calls(true) +
         fmt::format(kChoice, name, list(inputs), list(outputs), inputs.size(), outputs.size(), list(extents),
                     list(ranks), choice.shapes.size(), rows(places), places.size(), rows(bounds),
                     choice.sizes.size(),
                     std::ranges::count_if(choice.sizes, std::not_fn(&OrtChoice::Size::is_fixed))) +
         fmt::format(kOperator, name, kOperatorWords) + fmt::format(kFound, name) + kEnd;
}

std::string ort_registration_text(const std::vector<OrtNamedOperator>& operators, const std::string& base,
                                  const OrtWeights& weights) {
  std::string declared, all;
  std::set<std::string> known;
  for (const OrtNamedOperator& op : operators) {
    if (known.insert(op.code).second)
      declared += fmt::format("extern \"C\" const void* {}_operator(const void* const* api);\n", op.code);
    all += fmt::format(kNamed, all.size(), op.code, op.name, kOperatorWords) +
           added(fmt::format("(const void*)operator_{}", all.size()));
  }
  const std::string check =
      weights.bytes > 0 ? fmt::format(kWeightsCheck, base, weights.bytes, weights.begin) : "";
  return calls() + fmt::format(kWeightsPath, base) + declared + registration(all, check);
}

}  // namespace isomer
