/* Runs a compiled model, dense.onnx of run.py: 8 numbers in, 4 out. No runtime, no Isomer: libdense.so and dense.weights are all of it. */
#include <stdio.h>
#include <stdlib.h>

#include "dense.h"

int main(int count, char** words) {
  if (count != 2) return fprintf(stderr, "usage: main dense.weights\n"), 2;
  float x[8], y[4];
  for (int i = 0; i < 8; ++i) x[i] = (float)(i - 4);

  dense_module* module = dense_create(words[1]); /* maps the file; many threads may share it */
  if (module == NULL) return fprintf(stderr, "%s is missing, or is another model's\n", words[1]), 1;
  const size_t size = (dense_workspace_size(module) + 63) / 64 * 64; /* aligned_alloc takes multiples */
  void* workspace = size == 0 ? NULL : aligned_alloc(64, size); /* each thread has its own */

  const void* inputs[] = {x}; /* in the order of interface.json */
  void* outputs[] = {y};
  const int failed = dense_run(module, inputs, outputs, workspace);
  for (int i = 0; i < 4; ++i) printf("%g\n", (double)y[i]);

  free(workspace);
  dense_destroy(module);
  return failed;
}
