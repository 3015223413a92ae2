// Isomer as a library, for C++20: makes ONNX models faster and proves that they compute the same.
//
//   auto model = isomer::api::load("model.onnx");
//   auto faster = isomer::api::optimize(model);
//   isomer::api::save(faster.model, "faster.onnx");
//
// A failure is thrown as an Error; an answer ("undecided", "not faster") is a value. No function prints or
// ends the process. None leaves a thread behind, except optimize with may_leave_thread in its options.
// Functions may be called from many threads at once, also with the same model.
// A program that needs only a part includes that part. docs/reference/cpp.md states the promises about later
// versions.
#pragma once

#include "isomer/compile.h"   // IWYU pragma: export
#include "isomer/model.h"     // IWYU pragma: export
#include "isomer/optimize.h"  // IWYU pragma: export
#include "isomer/prove.h"     // IWYU pragma: export
#include "isomer/tools.h"     // IWYU pragma: export
