/* Isomer as a library, for C99 and for every language that calls C.
 *
 * Functions return ISOMER_OK or what went wrong; isomer_last_error() then has a sentence for people. No
 * exception leaves this interface. A handle or a string that a function gives is the caller's, and goes with
 * the function named beside it; NULL may be freed. Results are written only if the function returns
 * ISOMER_OK; pointers to results that the caller does not want may be NULL. Options: NULL for the defaults,
 * or a struct that its _init function has filled first, so that programs still run with later versions.
 * isomer.h says what each function does; docs/reference/cpp.md what is promised. */
#ifndef ISOMER_ISOMER_C_H
#define ISOMER_ISOMER_C_H

#include <stddef.h>
#include <stdint.h>

#ifndef ISOMER_API
#if defined(__GNUC__)
#define ISOMER_API __attribute__((visibility("default")))
#else
#define ISOMER_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum isomer_status {
  ISOMER_OK = 0,
  ISOMER_BAD_INPUT = 1,
  ISOMER_NOT_MODELLED = 2,
  ISOMER_RUNTIME_FAILED = 3,
  ISOMER_OUT_OF_MEMORY = 4,
  ISOMER_INTERNAL_ERROR = 5,
  ISOMER_STOPPED = 6 /* by the caller, where nothing can be given back */
} isomer_status;

ISOMER_API const char* isomer_version(void);
/* The message of this thread's last failed call; "" if none failed. Valid until the next failed call. */
ISOMER_API const char* isomer_last_error(void);
ISOMER_API void isomer_string_free(char* text);

/* ---- models */

typedef struct isomer_model isomer_model; /* isomer_model_free */

/* sizes: "batch=8", "x=1x3x224x224"; NULL and 0 for the model as it is. What is proved of the model is about
 * open sizes of at least 1. */
ISOMER_API isomer_status isomer_load(const char* path, const char* const* sizes, size_t size_count,
                                     isomer_model** model);
ISOMER_API isomer_status isomer_save(const isomer_model* model, const char* path);
ISOMER_API void isomer_model_free(isomer_model* model);
ISOMER_API isomer_status isomer_inspect(const isomer_model* model, const char* const* sizes,
                                        size_t size_count, char** json);

/* ---- tensors, by name */

typedef struct isomer_tensors isomer_tensors; /* isomer_tensors_free */

typedef struct isomer_tensor {
  const char* name;
  int32_t type; /* as ONNX numbers them: 1 float, 7 int64, ... */
  const int64_t* shape;
  size_t rank;
  const void* bytes; /* row-major, little-endian */
  size_t byte_count;
} isomer_tensor;

ISOMER_API isomer_status isomer_tensors_new(isomer_tensors** tensors);
ISOMER_API isomer_status isomer_tensors_load(const char* path, isomer_tensors** tensors); /* npz */
ISOMER_API isomer_status isomer_tensors_save(const isomer_tensors* tensors, const char* path);
ISOMER_API isomer_status isomer_tensors_add(isomer_tensors* tensors,
                                            const isomer_tensor* tensor); /* copied */
ISOMER_API size_t isomer_tensors_count(const isomer_tensors* tensors);
/* The k-th in the order of names; valid while the tensors are and nothing is added. */
ISOMER_API isomer_status isomer_tensors_at(const isomer_tensors* tensors, size_t k, isomer_tensor* tensor);
ISOMER_API void isomer_tensors_free(isomer_tensors* tensors);

/* ---- stopping, from any thread (not from a signal handler) */

typedef struct isomer_stop isomer_stop; /* isomer_stop_free, after its last use */
ISOMER_API isomer_status isomer_stop_new(isomer_stop** stop);
ISOMER_API void isomer_stop_request(isomer_stop* stop);
ISOMER_API void isomer_stop_free(isomer_stop* stop);

/* What is going on; one call at a time, and maybe by another thread. */
typedef void (*isomer_progress)(void* user, const char* now);

/* ---- runtimes, always in a process of their own */

typedef struct isomer_runtime_options {
  size_t struct_size;
  const char* name;    /* "ort" or "openvino" */
  const char* library; /* "": found */
  const char* worker;  /* "": found */
  int32_t threads;     /* 0: as many as the runtime likes */
  double memory_gib;   /* 0: three quarters of the machine's */
  double call_seconds;
} isomer_runtime_options;
ISOMER_API void isomer_runtime_options_init(isomer_runtime_options* options);

typedef enum isomer_engine {
  ISOMER_ENGINE_REFERENCE = 0,
  ISOMER_ENGINE_REFERENCE_IN_DOUBLE = 1,
  ISOMER_ENGINE_RUNTIME = 2
} isomer_engine;

/* runtime: of ISOMER_ENGINE_RUNTIME; NULL for the defaults. */
ISOMER_API isomer_status isomer_run(const isomer_model* model, const isomer_tensors* feeds,
                                    isomer_engine engine, const isomer_runtime_options* runtime,
                                    isomer_tensors** outputs);

/* ---- a faster model */

/* NODES: as COST, and only what leaves fewer nodes. */
typedef enum isomer_judge {
  ISOMER_JUDGE_RUNTIME = 0,
  ISOMER_JUDGE_COST = 1,
  ISOMER_JUDGE_NODES = 2
} isomer_judge;

typedef struct isomer_optimize_options {
  size_t struct_size;
  double seconds;
  isomer_judge judge;
  double min_gain;
  double max_error_growth;
  double max_size_growth; /* 0: 1.1, or 16 MiB more where that is larger */
  int32_t simplify;
  const char* strategy;
  int64_t steps; /* 0: as time allows */
  uint64_t seed;
  const isomer_tensors* feeds; /* NULL: made up, at these sizes */
  const char* const* sizes;
  size_t size_count;
  const isomer_runtime_options* runtime; /* NULL: the defaults */
  const char* cache;                     /* "": nothing is remembered */
  const char* scratch;                   /* "": the folder of temporary files */
  isomer_progress progress;              /* NULL: no progress is reported */
  void* user;                            /* given to progress */
  const isomer_stop* stop;               /* NULL: cannot be stopped */
} isomer_optimize_options;
ISOMER_API void isomer_optimize_options_init(isomer_optimize_options* options);

/* *model is the one that was given, again, where the report's "result" is "unchanged". */
ISOMER_API isomer_status isomer_optimize(const isomer_model* in, const isomer_optimize_options* options,
                                         isomer_model** model, char** certificate, char** report_json);
/* From file to file; certificate: "" or NULL for OUT.cert. */
ISOMER_API isomer_status isomer_optimize_file(const char* in, const char* out, const char* certificate,
                                              const isomer_optimize_options* options, char** report_json);

/* ---- equality */

typedef enum isomer_verdict { ISOMER_PROVED = 0, ISOMER_REFUTED = 1, ISOMER_UNDECIDED = 2 } isomer_verdict;

typedef struct isomer_prove_options {
  size_t struct_size;
  double seconds;
  const char* certificate; /* tried first; "": none */
  isomer_progress progress;
  void* user;
  const isomer_stop* stop;
} isomer_prove_options;
ISOMER_API void isomer_prove_options_init(isomer_prove_options* options);

/* *certificate: NULL unless it is proved. *counterexample: NULL unless it is refuted and feeds were found. */
ISOMER_API isomer_status isomer_prove_equal(const isomer_model* a, const isomer_model* b,
                                            const isomer_prove_options* options, isomer_verdict* verdict,
                                            char** certificate, isomer_tensors** counterexample, char** json);

/* *accepted: 1 if `out` is proved equal to `in`, else 0. */
ISOMER_API isomer_status isomer_check(const isomer_model* in, const isomer_model* out,
                                      const char* certificate, int* accepted, char** json);
/* What a certificate says was done. */
ISOMER_API isomer_status isomer_explain(const char* certificate, char** json);

/* ---- how far apart two models are, on one input */

typedef struct isomer_compare_options {
  size_t struct_size;
  isomer_engine engine; /* not ISOMER_ENGINE_REFERENCE_IN_DOUBLE */
  double tolerance;     /* of the largest value; negative: what is usual for its type */
  uint64_t seed;
  const isomer_tensors* feeds; /* NULL: made up, at these sizes */
  const char* const* sizes;
  size_t size_count;
  const isomer_runtime_options* runtime;
  const char* scratch;
  isomer_progress progress;
  void* user;
} isomer_compare_options;
ISOMER_API void isomer_compare_options_init(isomer_compare_options* options);

/* *differ: 1 if an output differs by more than the tolerance, else 0. */
ISOMER_API isomer_status isomer_compare(const isomer_model* a, const isomer_model* b,
                                        const isomer_compare_options* options, int* differ, char** json);

/* ---- rewrite rules: decides each rule of a file, for all sizes */

ISOMER_API isomer_status isomer_prove_rules(const char* path, char** json);

/* ---- speed */

typedef struct isomer_bench_options {
  size_t struct_size;
  double seconds; /* of one comparison, at most */
  uint64_t seed;
  const isomer_tensors* feeds; /* NULL: made up, at these sizes */
  const char* const* sizes;
  size_t size_count;
  const isomer_runtime_options* runtime;
  const char* cache;
  const char* scratch;
  isomer_progress progress;
  void* user;
} isomer_bench_options;
ISOMER_API void isomer_bench_options_init(isomer_bench_options* options);

/* The others are compared with the first. */
ISOMER_API isomer_status isomer_bench(const isomer_model* const* models, size_t count,
                                      const isomer_bench_options* options, char** json);

/* ---- a library of a model, which needs no runtime */

typedef struct isomer_compile_options {
  size_t struct_size;
  const char* name;     /* what every symbol begins with */
  const char* target;   /* "native", "x86-64", ... */
  const char* compiler; /* "": found */
  const char* schedules;
  int32_t as_operator; /* also model.onnx, for ONNX Runtime */
  int32_t threads;     /* of a run, unless its caller says another number */
  double seconds;      /* of comparing it with ONNX Runtime; 0: it is not compared */
  const char* sums;    /* "": as max_error_growth requires */
  double max_error_growth;
  const isomer_tensors* feeds; /* NULL: made up, at these sizes */
  const char* const* sizes;
  size_t size_count;
  const isomer_runtime_options* runtime; /* its number of threads is not used */
  const char* scratch;
  isomer_progress progress;
  void* user;
  const isomer_stop* stop;
} isomer_compile_options;
ISOMER_API void isomer_compile_options_init(isomer_compile_options* options);

/* Writes into a folder, which is made if it is not there. */
ISOMER_API isomer_status isomer_compile(const isomer_model* model, const char* folder,
                                        const isomer_compile_options* options, char** report_json);

#ifdef __cplusplus
}
#endif

#endif
